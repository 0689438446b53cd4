"""``grounding-rewards convert``: somebody's data set in, the rows that a trainer reads out."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.converter import Converted, Converter
from grounding_rewards.converting import FORMS, Truths, Wording
from grounding_rewards.errors import ConvertError
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import CoordSpace, as_space


class Trainer(StrEnum):
    """Who will read the rows."""

    VERL = "verl"
    TRL = "trl"
    EASYR1 = "easyr1"


_COLUMNS = "Columns of the input; a.b is the field b of the column a. Without them, usual names are looked for"
_PROMPT = "Prompts"
_ROWS = "Rows"


def convert(
    file: Annotated[
        Path, typer.Argument(metavar="IN", help="Parquet, JSON lines, or a directory of them or of `save_to_disk`.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write: .parquet or .jsonl.")],
    trainer: Annotated[Trainer, typer.Option("--for", help="The trainer that will read the rows.")],
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help="The recipe whose own form and space the targets are in."),
    ] = None,
    option: options.Options = None,
    target_space: Annotated[
        str | None,
        typer.Option(metavar="SPACE", help=f"The space of targets that do not name one: {', '.join(CoordSpace)}."),
    ] = None,
    target_column: Annotated[str | None, typer.Option(help="What counts as right.", rich_help_panel=_COLUMNS)] = None,
    instruction_column: Annotated[
        str | None, typer.Option(help="What is asked: a text, or messages.", rich_help_panel=_COLUMNS)
    ] = None,
    image_column: Annotated[
        str | None, typer.Option(help="The image, or a list: paths or bytes.", rich_help_panel=_COLUMNS)
    ] = None,
    image_size_column: Annotated[
        str | None,
        typer.Option(help="Width and height: one column, or two as `W,H`.", rich_help_panel=_COLUMNS),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="The sample's name.", rich_help_panel=_COLUMNS)] = None,
    source_column: Annotated[
        str | None, typer.Option(help="The data set that a row is from.", rich_help_panel=_COLUMNS)
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="The data set that all rows are from.", rich_help_panel=_ROWS)
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which split of a directory.", rich_help_panel=_ROWS)
    ] = None,
    image_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where relative paths of images lie.", rich_help_panel=_ROWS),
    ] = None,
    drop_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave a column out; may be given several times.", rich_help_panel=_ROWS),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows that cannot be converted.", rich_help_panel=_ROWS)
    ] = False,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="What is asked, with {instruction} for the instruction.", rich_help_panel=_PROMPT
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A system message before it.", rich_help_panel=_PROMPT)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")] = False,
) -> None:
    """Pack a data set into the rows that verl, TRL or EasyR1 reads.

    Target, image size and sample id are packed into what the trainer hands to its reward function. A row that cannot
    be read is reported with its number, and then nothing is written, or, with `--skip-bad`, all other rows. Other
    columns stay, unless the trainer uses their names for columns of its own.

    Example: `grounding-rewards convert clicks.jsonl train.parquet --for verl --target-space pixel`
    """
    if source is not None and source_column is not None:
        raise ConvertError("--source and --source-column: give one of the two")
    built = None if recipe is None else _built(recipe, option, target_space)
    if built is None and option:
        raise ConvertError("--option is an option of the recipe; name it by --recipe")
    space = None if target_space is None else as_space(target_space)
    given = {
        "target": target_column, "instruction": instruction_column, "image": image_column,
        "image-size": image_size_column, "id": id_column, "source": source_column,
    }  # fmt: skip
    converter = Converter(
        form=FORMS[trainer.value],
        truths=lambda column: Truths.of(built, space, column),
        given=given,
        wording=Wording(system, template),
        source=source,
        split=split,
        folder=None if image_dir is None else str(image_dir.absolute()),
        dropped=tuple(drop_column or ()),
        skip_bad=skip_bad,
        label_free=built is not None and built.label_free,
    )
    found = converter.run(file, out)
    if as_json:
        terminal.print_json(_summary(file, out, trainer.value, built, found))
    else:
        sys.stderr.write(terminal.printable(_line(out, trainer.value, found)) + "\n")


def _built(name: str, given: list[str] | None, target_space: str | None) -> Recipe:
    found = options.read_options(given, None)
    return options.built(name, found if target_space is None else {**found, "target_space": target_space})


def _summary(file: Path, out: Path, trainer: str, recipe: Recipe | None, found: Converted) -> dict[str, Any]:
    return {
        "file": str(file),
        "out": str(out),
        "for": trainer,
        "recipe": None if recipe is None else recipe.to_dict(),
        "rows": found.rows,
        "written": found.rows - len(found.problems),
        "problems": [{"row": row, "place": place, "why": why} for row, place, why in found.problems],
        "guesses": dict(found.guesses),
        "left_out": list(found.left_out),
        "without_size": found.without_size,
        "repeated_ids": found.repeated,
    }


def _line(out: Path, trainer: str, found: Converted) -> str:
    left = f" ({len(found.problems)} left out)" if found.problems else ""
    return f"{found.rows - len(found.problems)} rows for {trainer}{left} written to {out}"
