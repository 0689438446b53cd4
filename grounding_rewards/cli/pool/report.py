"""``grounding-rewards pool report``: rounds, transitions and pools as one page with pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

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
        Path, typer.Option("--out", metavar="DIR", help="Where to write report.html and the pictures; made if need be.")
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
    from grounding_rewards.pool.report.files import write_report
    from grounding_rewards.pool.report.sample_rows import Screenshots
    from grounding_rewards.pool.report.wording import plural

    images = ImageFiles("" if image_root is None else str(image_root), max_image_bytes, max_image_pixels, _HINT)
    found = write_report(
        inputs, out, title=title, by=by, target_space=target_space, recipe=target_recipe(recipe), samples=samples,
        data=None if data is None else Screenshots(data, image_column, images, id_column, split),
        reporting=terminal.REPORTING,
    )  # fmt: skip
    if as_json:
        terminal.print_json(found)
        return
    rounds, pools, pictures = (plural(len(found[name]), name[:-1]) for name in ("rounds", "pools", "pictures"))
    sys.stderr.write(terminal.printable(f"{rounds} and {pools} written to {found['page']}, {pictures}") + "\n")
