"""Options that several verbs share, and the recipe that they build."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.batch.columns import Columns
from grounding_rewards.catalogue import recipe
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PoolError, RecipeError, SpaceError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.image_files import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS, ImageFiles
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.unique_keys import unique_keys

FILED_ROWS = (
    "Rows: JSON lines, JSON or CSV (.jsonl, .json, .csv, .tsv, also with .gz or .zst), Parquet (.parquet), or a "
    "directory of them or of `save_to_disk`."
)

ROWS = (
    "Rows: JSON lines, JSON or CSV (.jsonl, .json, .csv, .tsv, also with .gz or .zst), Parquet (.parquet), a directory "
    "of them or of `save_to_disk`, or - for JSON lines or Parquet from standard input."
)


class OnBadTarget(StrEnum):
    """The handling of a row whose target cannot be used."""

    RAISE = "raise"
    ABSTAIN = "abstain"


Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the recipe; may be given several times."),
]
NAMED = (
    "A name that `grounding-rewards recipes` lists, your own by module:attr or /path/file.py:attr, or a file of "
    "`Recipe.to_dict()` (.json, .yaml)."
)
PIPELINES = "qwen2_5_vl, qwen3_vl, ..., or a trainer's, as verl+qwen3_vl or easyr1+qwen3_vl"
_RESIZED = "The size of the image that the model saw"


def _bound(least: str, text: str) -> Any:
    help = f"{least} pixels that an image is resized to, as the launch sets it for {text}."
    return typer.Option(metavar="PIXELS", help=help, rich_help_panel=_RESIZED)


_MODEL, _PROCESSOR = "the model's images", "the processor, where the trainer resizes before it"
MinPixels = Annotated[int | None, _bound("Least", _MODEL)]
MaxPixels = Annotated[int | None, _bound("Most", _MODEL)]
ProcessorMinPixels = Annotated[int | None, _bound("Least", _PROCESSOR)]
ProcessorMaxPixels = Annotated[int | None, _bound("Most", _PROCESSOR)]
BadTargets = Annotated[
    OnBadTarget,
    typer.Option("--bad-target", help="A target that cannot be used: stop, or leave the row out of all figures."),
]
BoxFormats = Annotated[
    BoxFormat | None,
    typer.Option(
        "--box-format",
        help="How targets write boxes: corners (xxyy: left, right, top, bottom; yxyx: y first); corner, width and "
        "height; or centre, width and height. A recipe's own form has its own way. Default: xyxy, and a warning where "
        "numbers cannot be that.",
    ),
]
Rollouts = Annotated[
    list[Path],
    typer.Argument(
        metavar="ROLLOUTS...",
        help="Files of rollouts (.parquet, .jsonl, .json, .csv, ...), directories that adapters record, or trainers' "
        "logs.",
    ),
]
Rounds = Annotated[
    list[int] | None,
    typer.Option("--round", metavar="N", help="Only rollouts of this round count; may be given several times."),
]
By = Annotated[str, typer.Option(metavar="COLUMN", help="The column that samples are counted by.")]
TargetSpace = Annotated[
    CoordSpace | None, typer.Option(help="The space of targets that name none. Default: their recipe's own.")
]
TargetRecipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help="The recipe whose form targets have, where rollouts name none that is installed; your own by module:attr "
        "or /path/file.py:attr.",
    ),
]
_IMAGES = "Images"


def _folder(path: Path | None) -> Path | None:
    if path is not None:
        os.scandir(path).close()  # which raises where it is no directory
    return path


ImageRoot = Annotated[
    Path | None,
    typer.Option(
        "--image-root",
        "--image-dir",
        metavar="DIR",
        help="The folder in which relative paths of images start, and which they may not leave. Default: the folder "
        "of the data.",
        callback=_folder,
        rich_help_panel=_IMAGES,
    ),
]
MaxImageBytes = Annotated[
    int, typer.Option(metavar="N", min=1, help="An image of more bytes is not read.", rich_help_panel=_IMAGES)
]
MaxImagePixels = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="An image of more pixels, as its header says, is not read.",
        rich_help_panel=_IMAGES,
    ),
]


def _encoding(name: str | None) -> str | None:
    try:
        "".encode(name or "utf-8")
    except LookupError:
        raise RecipeError(f"--encoding: got {name!r:.80}; expected the name of one, such as gbk or utf-16") from None
    return name


Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="The encoding of JSON lines, JSON and CSV, such as gbk or utf-16. Default: UTF-8.",
        callback=_encoding,
    ),
]
RowsSplit = Annotated[str | None, typer.Option("--split", metavar="NAME", help="Which split of a directory.")]
HINT = "; name the folder of relative paths by --image-root"
DATA = "Training data"
TrainingRows = Annotated[
    Path | None,
    typer.Option(
        metavar="DATA",
        help="The rows to train on: a file or a directory, as `convert` reads them. They are written as they are.",
        rich_help_panel=DATA,
    ),
]
SampleColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where DATA names its samples, `a.b` for a field. Default: sample_id, or where `convert` packs it.",
        rich_help_panel=DATA,
    ),
]
Split = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which split of a directory of DATA.", rich_help_panel=DATA)
]


def _recipe_options(
    option: Options = None,
    response_space: Annotated[
        str | None,
        typer.Option(
            metavar="SPACE",
            help=f"The space that the model answers in: {', '.join(CoordSpace)}. Default: the recipe's own.",
        ),
    ] = None,
    target_space: TargetSpace = None,
    family: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model's family, as `grounding-rewards families` lists them, or the folder of its checkpoint. It "
            "sets --response-space, --model, its bounds and which of several answers counts, where they are not given.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The resizing, where rows do not say this size: {PIPELINES}. Sets --response-space, too.",
            rich_help_panel=_RESIZED,
        ),
    ] = None,
    min_pixels: MinPixels = None,
    max_pixels: MaxPixels = None,
    processor_min_pixels: ProcessorMinPixels = None,
    processor_max_pixels: ProcessorMaxPixels = None,
) -> dict[str, Any]:
    return read_options(
        option, response_space=response_space, target_space=target_space, family=family, model=model,
        min_pixels=min_pixels, max_pixels=max_pixels, processor_min_pixels=processor_min_pixels,
        processor_max_pixels=processor_max_pixels,
    )  # fmt: skip


def of_each(chosen: dict[str, Any], files: int) -> list[dict[str, Any]]:
    """Return the recipe's options for each file: ``A,B`` as a space, a family or a model is a value of one file each.

    >>> of_each({"response_space": "pixel,thousandths", "format_weight": 0.1}, 2)[1]
    {'response_space': 'thousandths', 'format_weight': 0.1}

    Raises:
        RecipeError: there are more or fewer values than files.
    """
    each = [{**chosen} for _ in range(files)]
    for name in ("response_space", "family", "model"):
        values = str(chosen.get(name, "")).split(",")
        if len(values) > 1:
            if len(values) != files:
                raise RecipeError(
                    f"--{name.replace('_', '-')}: got {len(values)} values, {chosen[name]:.80}; expected one, or one "
                    f"for each file ({files})"
                )
            for own, value in zip(each, values, strict=True):
                own[name] = value
    return each


def column(role: str, text: str) -> Any:
    """Build the option that names a column; its help lists the names that are taken without it."""
    names = " ".join(GUESSED[role])
    return typer.Option(metavar="NAME", help=f"{text} By name: {names}.", rich_help_panel="Columns of the file")


RefusalColumn = Annotated[
    str | None,
    column("refusal", "Which rows are to be refused: true, 1 or `refusal` there; their targets do not count."),
]


def _columns(
    response_column: Annotated[str | None, column("response", "The model's response.")] = None,
    target_column: Annotated[str | None, column("target", "The target: the right answer.")] = None,
    image_size_column: Annotated[
        str | None,
        column("image-size", "Width and height of the original image, where needed: one column, or two as `W,H`."),
    ] = None,
    model_image_size_column: Annotated[
        str | None, column("model-image-size", "Width and height of the image that the model saw, where needed.")
    ] = None,
    id_column: Annotated[
        str | None, column("id", "The sample's name, for groups and errors; else its target's id.")
    ] = None,
    token_length_column: Annotated[
        str | None, column("token-length", "The response's length in tokens, for rewards of length.")
    ] = None,
    image_column: Annotated[str | None, column("image", "The image, read for a size that a row lacks.")] = None,
    refusal_column: RefusalColumn = None,
) -> Columns:
    return Columns(
        response_column or "", target_column or "", image_size_column or "", model_image_size_column or "",
        id_column or "", token_length_column or "", image_column or "", refusal_column or "",
    )  # fmt: skip


def _image_files(
    image_root: ImageRoot = None,
    max_image_bytes: MaxImageBytes = MAX_IMAGE_BYTES,
    max_image_pixels: MaxImagePixels = MAX_IMAGE_PIXELS,
) -> ImageFiles:
    root = "" if image_root is None else str(image_root.absolute())
    return ImageFiles(root, max_image_bytes, max_image_pixels, HINT)


def _screenshots(
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Training data with the samples' screenshots.", rich_help_panel=DATA),
    ] = None,
    image_column: Annotated[
        str | None,
        typer.Option(metavar="C", help="Column of images. Default: images or image.", rich_help_panel=DATA),
    ] = None,
    image_root: ImageRoot = None,
    max_image_bytes: MaxImageBytes = MAX_IMAGE_BYTES,
    max_image_pixels: MaxImagePixels = MAX_IMAGE_PIXELS,
    id_column: SampleColumn = None,
    split: Split = None,
) -> Any:
    from grounding_rewards.pool.report.samples import Screenshots

    root = "" if image_root is None else str(image_root)
    images = ImageFiles(root, max_image_bytes, max_image_pixels, HINT)
    return None if data is None else Screenshots(data, image_column, images, id_column, split)


RecipeOptions = Annotated[dict[str, Any], _recipe_options]
FileColumns = Annotated[Columns, _columns]
SizedImages = Annotated[ImageFiles, _image_files]
SampleScreens = Annotated[Any, _screenshots]
"""Several options as one argument: ``application.strict`` calls the function for it."""


def check_data(data: Path | None, id_column: str | None, split: str | None) -> None:
    """Check that no option says how to read ``--data`` where there is none."""
    if data is None and (id_column is not None or split is not None):
        raise PoolError(
            f"{'--split' if id_column is None else '--id-column'} says how --data is read; name it by --data"
        )


def read_options(options: Sequence[str] | None, flag: str = "--option", **named: Any) -> dict[str, Any]:
    """Return options of a recipe, or of what ``flag`` is of: those of the flag, and ``named`` ones with their own."""
    given = {name: value for name, value in named.items() if value is not None}
    values = {name: str(value) if isinstance(value, CoordSpace) else value for name, value in given.items()}
    for option in options or ():
        key, equals, value = option.partition("=")
        if not (key and equals):
            example = "format_weight=0.1" if flag == "--option" else "timeout=60"
            raise RecipeError(f"{flag}: got {option!r}; expected KEY=VALUE, such as {example}")
        if key in values:
            raise RecipeError(f"{flag}: {key} is given twice")
        values[key] = read_value(value)
    return values


def target_recipe(name: str | None) -> Recipe | None:
    """Build the recipe whose form targets have; None where none is named.

    Targets do not depend on the space that the model answers in, so no option asks for it.

    >>> target_recipe("click").target_space
    <CoordSpace.PIXEL: 'pixel'>
    """
    if name is None:
        return None
    try:
        return recipe(name)
    except SpaceError:
        return recipe(name, response_space=CoordSpace.PIXEL)


def unlabelled(recipe: Recipe) -> str:
    """Return the remark on the ``acc`` of a recipe that looks at no target."""
    return f"{recipe.name} compares nothing with targets: its acc does not say that a response is right"


def read_value(text: str) -> Any:
    """Read a value as JSON where it is JSON, else as the text."""
    try:
        # NaN and Infinity, which are no JSON, stay texts.
        return json.loads(text, parse_constant=str, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return text
