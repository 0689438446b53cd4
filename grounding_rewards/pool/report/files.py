"""Write a report: one self-contained HTML page and its pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from grounding_rewards._version import __version__
from grounding_rewards.coords.image_header import image_size
from grounding_rewards.errors import PictureError
from grounding_rewards.explain.plot.figure import figures
from grounding_rewards.pool.report.data import Report, report
from grounding_rewards.pool.report.inputs import Options, read_inputs
from grounding_rewards.pool.report.pictures import FILES, Drawing, drawings
from grounding_rewards.pool.report.samples import Screenshots, shown_samples, with_screenshots
from grounding_rewards.pool.report.sections import sections
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.atomic import atomic_files, output_of
from grounding_rewards.tables.data_paths import made_directory
from grounding_rewards.tables.reporting import SILENT, Reporting

PAGE = "report.html"


def write_report(
    inputs: Sequence[str],
    out: Path,
    *,
    title: str = "Pools by round",
    by: str = "source",
    target_space: str | None = None,
    recipe: Recipe | None = None,
    samples: int = 6,
    data: Screenshots | None = None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    """Write a report from files, as ``grounding-rewards pool report`` does.

    Args:
        inputs: rollouts, statistics and manifests of pools; see ``read_inputs``.
        out: the directory of the page and its pictures, made if need be.
        title: the page's heading.
        by: the column that samples are counted by.
        target_space: the space of targets that name none.
        recipe: the recipe whose form targets have, where rollouts name none that is installed.
        samples: the number of hardest samples, and of suspects, to show.
        data: the training data with screenshots; None shows an empty screen.
        reporting: takes warnings and progress.

    Returns:
        The page, the names of its pictures, the warnings, and all of ``Report.to_json``.

    Raises:
        PictureError: matplotlib or jinja2 is not installed, or ``out`` is a file.
        PoolError: an input does not fit.
        TableError: a file cannot be read or written.
    """
    figures()
    if out.exists() and not out.is_dir():
        raise PictureError(f"{out}: is not a directory")
    warnings = dict[str, None]()  # a set in order: every round warns of the same recipes
    options = Options(by, target_space, recipe, lambda text: warnings.update({text: None}))
    with reporting.progress("counting rollouts") as advance:
        read = read_inputs(inputs, options)
        advance(1.0)
    hardest, suspects = shown_samples(read.parts[-1], samples, options) if read.parts and samples else ([], [])
    if data is not None:
        shown, remarks = with_screenshots([*hardest, *suspects], data)  # both at once: the data are read once
        warnings |= dict.fromkeys(remarks)
        hardest, suspects = shown[: len(hardest)], shown[len(hardest) :]
    numbers = report(
        title, read.parts, by_temperature=read.by_temperature, unswept=read.unswept,
        pools=read.pools, hardest=hardest, suspects=suspects, remarks=tuple(warnings),
    )  # fmt: skip
    pictures = _write(numbers, out, reporting)
    unread = [sample for sample in (*hardest, *suspects) if not sample.outlines]
    table = read.parts[-1].table if read.parts else None
    if unread and table and "target" in table.columns and recipe is None and target_space is None:
        reporting.note(
            f"the page has fewer pictures, for the targets of {len(unread)} of {len(hardest) + len(suspects)} samples "
            "shown name no space, and rollouts no installed recipe; give --recipe NAME or --target-space SPACE"
        )
    for text in warnings:
        reporting.warn(text)
    return {"page": str(out / PAGE), "pictures": pictures, "warnings": list(warnings), **numbers.to_json()}


def _write(numbers: Report, out: Path, reporting: Reporting) -> list[str]:
    """Write the pictures and then the page, without the pictures of an older page; return the names of the pictures."""
    pictures, every = dict[str, tuple[Drawing, bytes]](), list(drawings(numbers))  # drawn before files are opened
    with reporting.progress("drawing") as advance:
        for number, drawing in enumerate(every, 1):
            data = io.BytesIO()  # without date or program, so that the same numbers give the same bytes
            drawing.draw().savefig(data, format="png", dpi=DOTS, metadata={"Software": None})
            pictures[drawing.file] = drawing, data.getvalue()
            advance(number / len(every))
    html = page(numbers, pictures).encode("utf-8")

    def older() -> Iterator[Path]:
        # Without a page the directory is not ours, and nothing in it is removed.
        there = sorted({output_of(path) for path in out.iterdir()}) if (out / PAGE).exists() else []
        yield from (path for path in there if FILES.fullmatch(path.name) and path.name not in pictures)

    with made_directory(out), atomic_files() as files:
        files.open(out / PAGE).write(html)  # opened first, so renamed last: its pictures are there
        for name, (_, png) in pictures.items():
            files.open(out / name).write(png)
        files.removed = older()  # listed when the files take their names: another run may have written more by then
    return list(pictures)


DOTS = 150
"""Dots an inch of the pictures' files."""

_SHOWN = 100  # dots an inch on the page


def page(numbers: Report, pictures: Mapping[str, tuple[Drawing, bytes]]) -> str:
    """Render the HTML text.

    Texts from data are escaped. The page loads nothing from a network, and its content policy forbids it. Pictures come
    with their PNG bytes, by file.

    Raises:
        PictureError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise PictureError("a report needs jinja2: pip install 'grounding-rewards[report]'") from error
    # Names, instructions and responses are data: unescaped they would run as HTML in the reader's browser.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html").read_text("utf-8"))
    embedded = {(drawing.section, drawing.place): _embedded(drawing, data) for drawing, data in pictures.values()}
    html: str = template.render(
        title=numbers.title,
        remarks=numbers.remarks,
        sections=list(sections(numbers)),
        pictures=embedded,
        version=__version__,
    )
    return html.encode("utf-8", "replace").decode("utf-8")  # lone surrogates of responses fit into no file


def _embedded(drawing: Drawing, data: bytes) -> dict[str, Any]:
    wide, high = image_size(data) or (0, 0)
    uri = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    size = {"width": round(wide * _SHOWN / DOTS), "height": round(high * _SHOWN / DOTS)}
    return {"uri": uri, "alt": drawing.alt, "file": drawing.file, **size}
