"""``grounding-rewards convert``: a data set to the rows that a trainer reads."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.catalogue import recipe as build
from grounding_rewards.cli import options, terminal
from grounding_rewards.converting import LAYOUTS, Wording
from grounding_rewards.converting.run import Converted, Converter, NotConvertedError
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.errors import ConvertError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.image_files import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS


class Trainer(StrEnum):
    """Trainers to convert for."""

    VERL = "verl"
    TRL = "trl"
    EASYR1 = "easyr1"


_COLUMNS = "Columns of the input, else guessed by name"
_PROMPT = "Prompts"
_ROWS = "Rows"


def _column(role: str, text: str) -> Any:
    """Build the option that names a column; its help lists the names that are taken without it."""
    names = " ".join(GUESSED[role])
    return typer.Option(metavar="NAME", help=f"{text}. By name: {names}.", rich_help_panel=_COLUMNS)


def convert(
    file: Annotated[Path, typer.Argument(metavar="IN", help=options.ROWS)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .parquet or .jsonl.")],
    trainer: Annotated[Trainer, typer.Option("--for", help="Trainer to convert for.")],
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help="The recipe whose own form and space the targets are in."),
    ] = None,
    option: options.Options = None,
    target_space: Annotated[
        str | None,
        typer.Option(metavar="SPACE", help=f"The space of targets that do not name one: {', '.join(CoordSpace)}."),
    ] = None,
    box_format: options.BoxFormats = None,
    target_column: Annotated[str | None, _column("target", "The target")] = None,
    instruction_column: Annotated[str | None, _column("instruction", "The instruction: a text, or messages")] = None,
    image_column: Annotated[str | None, _column("image", "The image, or a list: paths or bytes")] = None,
    image_size_column: Annotated[
        str | None, _column("image-size", "Width and height: one column, or two as `W,H`")
    ] = None,
    id_column: Annotated[str | None, _column("id", "The sample's name")] = None,
    refusal_column: Annotated[
        str | None, _column("refusal", "Which rows are to be refused: true, 1 or `refusal` there")
    ] = None,
    source_column: Annotated[str | None, _column("source", "The data set that a row is from")] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="The data set that all rows are from.", rich_help_panel=_ROWS)
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Split of a directory.", rich_help_panel=_ROWS)
    ] = None,
    encoding: options.Encoding = None,
    image_root: options.ImageRoot = None,
    no_image_check: Annotated[
        bool,
        typer.Option(
            "--no-image-check",
            help="Open no image files, for they lie elsewhere; sizes must be in the rows.",
            rich_help_panel=_ROWS,
        ),
    ] = False,
    max_image_bytes: options.MaxImageBytes = MAX_IMAGE_BYTES,
    max_image_pixels: options.MaxImagePixels = MAX_IMAGE_PIXELS,
    drop_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave a column out; may be given several times.", rich_help_panel=_ROWS),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows that cannot be converted.", rich_help_panel=_ROWS)
    ] = False,
    template: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Prompt, with {instruction} for the instruction.", rich_help_panel=_PROMPT),
    ] = None,
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A system message before it.", rich_help_panel=_PROMPT)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on stdout, also where rows are bad.")
    ] = False,
) -> None:
    """Pack a data set into the rows that verl, TRL or EasyR1 reads.

    Target, image size and sample id are packed into what the trainer hands to its reward function, with boxes as xyxy.
    A row that cannot be read, or whose image cannot, is reported with its number, and then nothing is written, or, with
    `--skip-bad`, all other rows. Other columns stay, unless the trainer uses their names for columns of its own.

    Images are PNG, JPEG, WebP, GIF or BMP in regular files. Relative paths stay inside the folder of the data, or
    inside `--image-root`; absolute paths are read as they are.

    Columns are named by options, `a.b` for the field b of the column a, or taken by the names that the options list;
    each guess is printed on stderr, and `none` as the column prevents it. A source that an option names goes where the
    adapter reads it: verl's data_source, TRL's column source, source in the extra of EasyR1's targets.

    Annotations of ScreenSpot, ScreenSpot-v2, ScreenSpot-Pro and OSWorld-G are recognised by their fields and need no
    options: boxes become xyxy, polygons and refusals stay what they are. A note says which layout it is;
    `--target-column` and `--box-format` go before it.

    `--json` holds: rows, written, problems (row, place and why of every bad row), guesses, space, spaces, split, files,
    left_out, without_size, turned, repeated_ids, notes and warnings. Exit codes: 0 written; 1 under --strict
    after a warning; 2 an error, or rows that cannot be converted, and nothing written; 129, 130 and 143 ended by a
    signal, and nothing written.

    Example: `grounding-rewards convert clicks.jsonl train.parquet --for verl --target-space pixel`
    """
    if source is not None and source_column is not None:
        raise ConvertError("--source and --source-column: give one of the two")
    if recipe is None and option:
        raise ConvertError("--option is an option of the recipe; name it by --recipe")
    own = {**options.read_options(option), **({} if target_space is None else {"target_space": target_space})}
    built = None if recipe is None else build(recipe, **own)
    space = None if target_space is None else as_space(target_space)
    columns = {
        "target": target_column, "instruction": instruction_column, "image": image_column,
        "image-size": image_size_column, "id": id_column, "source": source_column, "refusal": refusal_column,
    }  # fmt: skip
    converter = Converter(
        layout=LAYOUTS[trainer.value],
        columns=columns,
        wording=Wording(system, template),
        recipe=built,
        space=space,
        box_format=box_format,
        source=source,
        split=split,
        encoding=encoding,
        folder=None if image_root is None else str(image_root.absolute()),
        max_image_bytes=max_image_bytes,
        max_image_pixels=max_image_pixels,
        dropped=tuple(drop_column or ()),
        skip_bad=skip_bad,
        image_check=not no_image_check,
        all_in_json=as_json,
        reporting=terminal.REPORTING,
    )
    try:
        converted = converter.run(file, out)
    except NotConvertedError as error:
        if as_json:
            terminal.print_json(_summary(file, out, trainer.value, built, error.result))
        raise
    if as_json:
        terminal.print_json(_summary(file, out, trainer.value, built, converted))
    else:
        left = f" ({len(converted.problems)} left out)" if converted.problems else ""
        line = f"{converted.written} rows for {trainer.value}{left} written to {out}"
        terminal.say(line)


def _summary(file: Path, out: Path, trainer: str, recipe: Recipe | None, converted: Converted) -> dict[str, Any]:
    return {
        "file": str(file),
        "out": str(out),
        "for": trainer,
        "recipe": None if recipe is None else recipe.to_dict(),
        **converted.as_json(),
    }
