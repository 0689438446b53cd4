"""``grounding-rewards convert``: a data set to the rows that a trainer reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.converting import Wording, layout_of
from grounding_rewards.converting.filters import Filters, Selection
from grounding_rewards.converting.run import Converter, NotConvertedError
from grounding_rewards.converting.samples import Reading
from grounding_rewards.coords.spaces import as_space
from grounding_rewards.errors import ConvertError
from grounding_rewards.settings.declared import option
from grounding_rewards.settings.groups import TrainingColumns

Named = dict[str, str | None]
"""Columns that options name, by role."""

_ROWS = "Rows"


@dataclass(frozen=True)
class Kept:
    """Rows and columns that are kept, and the data set that they are from."""

    source: str | None = option("The data set that all rows are from.", None, metavar="NAME", panel=_ROWS)
    no_image_check: bool = option(
        "Open no image files, for they lie elsewhere; sizes must be in the rows.", False, panel=_ROWS
    )
    drop_column: list[str] | None = option(
        "Leave a column out; may be given several times.", None, metavar="NAME", panel=_ROWS
    )
    skip_bad: bool = option("Leave out rows that cannot be converted.", False, panel=_ROWS)


def _columns(*, target_column: str | None, instruction_column: str | None, **named: str | None) -> Named:
    named = {"target_column": target_column, "instruction_column": instruction_column, **named}
    return {name.removesuffix("_column").replace("_", "-"): column for name, column in named.items()}


DataColumns = Annotated[Named, options.group(_columns, TrainingColumns)]


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=options.ROWS)],
    *,
    trainer: Annotated[options.Trainer, typer.Option("--for", help="Trainer to convert for.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write: .parquet or .jsonl.")],
    recipe: options.MaybeRecipe = None,
    chosen: options.RecipeOptions,
    box_format: options.BoxFormats = None,
    columns: DataColumns,
    kept: Annotated[Kept, options.group(Kept)],
    split: options.RowsSplit = None,
    encoding: options.Encoding = None,
    shape: options.RowShape,
    images: options.SizedImages,
    filters: Annotated[Filters, options.group(Filters)],
    wording: Annotated[Wording, options.group(Wording)],
    as_json: options.AsJson = False,
) -> None:
    """Pack a data set into the rows that a trainer reads.

    Target, image size and sample id are packed into what the trainer hands to its reward function, with boxes as xyxy.
    A row that cannot be read, or whose image cannot, is reported with its number, and then nothing is written, or, with
    `--skip-bad`, all other rows. Other columns stay, unless the trainer uses their names for columns of its own.

    Images are PNG, JPEG, WebP, GIF or BMP in regular files. Relative paths stay inside the folder of the data, or
    inside `--image-root`; absolute paths are read as they are.

    Columns are named by options, `a.b` for the field b of the column a, or taken by the names that the options list;
    each guess is printed on stderr, and `none` as the column prevents it. A source goes where the
    adapter reads it: verl's data_source, source in the extra of EasyR1's targets, else a column source.

    Annotations of ScreenSpot, ScreenSpot-v2, ScreenSpot-Pro and OSWorld-G are recognised by their fields and need no
    options: boxes become xyxy, polygons and refusals stay what they are. A note says which layout it is;
    `--target-column` and `--box-format` override it. Files of public training sets (docs/training-sets.md) are
    recognised, too; their rows that train nothing are left out and counted.

    The result of `--json` has rows, written, problems (row, place and why of every bad row, also where nothing is
    written), guesses, space, spaces, split, files, left_out, without_size, turned and repeated_ids. Exit codes: 0
    written; 1 under --strict after a warning; 2 an error, or rows that cannot be converted, and nothing written; 129,
    130 and 143 ended by a signal, and nothing written.

    Example: `grounding-rewards convert clicks.jsonl --for verl --target-space pixel --out train.parquet`
    """
    if kept.source is not None and columns["source"] is not None:
        raise ConvertError("--source and --source-column: give one of the two")
    options.check_recipe(recipe, chosen)
    space, read = chosen.get("target_space"), options.target_recipe(recipe, **chosen)
    converter = Converter(
        layout=layout_of(trainer), columns=columns,
        reading=Reading(
            recipe=read, space=None if space is None else as_space(space), box_format=box_format,
            wording=wording, source=kept.source, split=split,
        ),
        encoding=encoding, shape=shape, images=images, dropped=tuple(kept.drop_column or ()),
        skip_bad=kept.skip_bad, selection=Selection(filters), image_check=not kept.no_image_check,
        all_in_json=as_json, reporting=terminal.REPORTING,
    )  # fmt: skip
    about = {"file": str(file), "out": str(out), "for": trainer.value, "recipe": read and read.to_dict()}
    try:
        converted = converter.run(file, out)
    except NotConvertedError as error:
        if as_json:
            terminal.print_json({**about, **error.result.as_json()})
        raise
    if as_json:
        terminal.print_json({**about, **converted.as_json()})
    else:
        left = f" ({len(converted.problems)} left out)" if converted.problems else ""
        terminal.say(f"{converted.written} rows for {trainer.value}{left} written to {out}")
