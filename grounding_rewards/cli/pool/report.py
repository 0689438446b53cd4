"""``grounding-rewards pool report``: rounds, transitions and pools as one page with pictures."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import terminal
from grounding_rewards.cli.options import (
    By,
    ImageRoot,
    MaxImageBytes,
    MaxImagePixels,
    TargetRecipe,
    TargetSpace,
    target_recipe,
)
from grounding_rewards.converting.image_files import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS, ImageFiles
from grounding_rewards.errors import PictureError
from grounding_rewards.explain.plot.figure import figures
from grounding_rewards.pool.report import sample_rows as report_samples
from grounding_rewards.pool.report.inputs import Inputs, Options, read_inputs

PAGE = "report.html"
_DATA = "Screenshots"
_HINT = "; name the folder of relative paths by --image-root"


def make_report(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUTS...",
            help="Rollouts or statistics of samples (PATH, PATH@ROUND, TEMPERATURE=PATH) and .manifest.json files.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help=f"Where to write {PAGE} and the pictures; made if need be.")
    ],
    title: Annotated[str, typer.Option(metavar="TEXT", help="What stands above the page.")] = "Pools by round",
    by: By = "source",
    target_space: TargetSpace = None,
    recipe: TargetRecipe = None,
    samples: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many of the hardest samples, and of suspects, are shown.")
    ] = 6,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Training data with the samples' screenshots.", rich_help_panel=_DATA),
    ] = None,
    image_column: Annotated[
        str | None, typer.Option(metavar="C", help="Its images. Default: images, or image.", rich_help_panel=_DATA)
    ] = None,
    image_root: ImageRoot = None,
    max_image_bytes: MaxImageBytes = MAX_IMAGE_BYTES,
    max_image_pixels: MaxImagePixels = MAX_IMAGE_PIXELS,
    id_column: Annotated[
        str | None,
        typer.Option(
            metavar="C", help="Its names of samples. Default: where `convert` puts them.", rich_help_panel=_DATA
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="S", help="Its split, where it has several.", rich_help_panel=_DATA)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers that are shown as JSON on stdout.")
    ] = False,
) -> None:
    """Write a page on rounds of rollouts: one HTML file that opens without a network, and its pictures beside it.

    A file whose every rollout has a `round` is parted by it; any other file is a round, in the order given. Files
    of one temperature each that name no round, or that are given as TEMPERATURE=PATH, are one round's sweep. Shown are
    a table of rounds, right rollouts by sample, transitions with what chance would show, correctness by source and by
    size of the target, samples without signal, temperatures, what each step of `pool next` removed, and the hardest and
    the suspect samples with their clicks, over their screenshots where `--data` has them. What has no data says what it
    would need. The same command writes the same files; pictures of an older report that it does not have are removed.

    Example: `grounding-rewards pool report round1/ round2/ pool.parquet.manifest.json --out report`
    """
    from grounding_rewards.pool.report.data import report
    from grounding_rewards.pool.report.wording import plural

    figures()
    if out.exists() and not out.is_dir():
        raise PictureError(f"{out}: is no directory")
    warned, notes = dict[str, None](), dict[str, None]()
    options = Options(by, target_space, target_recipe(recipe), lambda text: warned.update({text: None}))
    with terminal.progress("counting rollouts") as advance:
        given = read_inputs(inputs, options)
        advance(1.0)
    hardest, suspects = _samples(given, samples, options)
    if data is not None:
        root = "" if image_root is None else str(image_root)
        images = ImageFiles(root, max_image_bytes, max_image_pixels, _HINT)
        where = report_samples.Data(data, image_column, images, id_column, split)
        seen, remarks = report_samples.with_screenshots([*hardest, *suspects], where)
        warned |= dict.fromkeys(remarks)
        hardest, suspects = seen[: len(hardest)], seen[len(hardest) :]
    found = report(
        title, [part.round for part in given.parts], by_temperature=given.by_temperature, unswept=given.unswept,
        pools=given.pools, hardest=hardest, suspects=suspects, remarks=(*warned, *notes),
    )  # fmt: skip
    written = _write(found, out)
    for text in warned:
        terminal.warn(text)
    if as_json:
        terminal.print_json({"page": str(out / PAGE), "pictures": written, "warnings": list(warned), **found.to_json()})
        return
    for remark in notes:
        terminal.note(remark)
    made = f"{plural(len(found.rounds), 'round')} and {plural(len(found.pools), 'pool')} written to {out / PAGE}"
    sys.stderr.write(terminal.printable(f"{made}, {plural(len(written), 'picture')}") + "\n")


def _samples(given: Inputs, most: int, options: Options) -> tuple[list[Any], list[Any]]:
    """The samples of the last round that are shown one by one."""
    return report_samples.shown_samples(given.parts[-1], most, options) if given.parts and most else ([], [])


def _write(found: Any, out: Path) -> list[str]:
    """Write the pictures and then the page; return the names of the pictures.

    Pictures of an older page that this one does not have are removed before the new page is there.
    """
    from grounding_rewards.pool.report.page import page
    from grounding_rewards.pool.report.pictures import FILES
    from grounding_rewards.tables.atomic import atomic_files, output_of
    from grounding_rewards.tables.data_paths import made_directory

    pictures = {drawing.file: (drawing, data) for drawing, data in _drawn(found)}
    html = page(found, pictures).encode("utf-8", "backslashreplace")

    def older() -> Iterator[Path]:
        there = sorted({output_of(path) for path in out.iterdir()}) if (out / PAGE).exists() else []
        yield from (path for path in there if FILES.fullmatch(path.name) and path.name not in pictures)

    with made_directory(out), atomic_files() as files:
        files.open(out / PAGE).write(html)
        for name, (_, data) in pictures.items():
            files.open(out / name).write(data)
        files.removed = older()  # looked up when the names change: another run may have written more by then
    return list(pictures)


def _drawn(found: Any) -> Iterator[tuple[Any, bytes]]:
    """The pictures and their bytes, which say neither when nor by what they were written."""
    from grounding_rewards.pool.report.page import DOTS
    from grounding_rewards.pool.report.pictures import drawings

    every = list(drawings(found))
    with terminal.progress("drawing") as advance:
        for number, drawing in enumerate(every):
            data = io.BytesIO()
            drawing.draw().savefig(data, format="png", dpi=DOTS, metadata={"Software": None})
            advance((number + 1) / len(every))
            yield drawing, data.getvalue()
