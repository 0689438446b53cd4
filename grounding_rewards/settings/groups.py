"""Groups of settings that several commands share: what answers mean, targets, columns, rows and images."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError
from grounding_rewards.settings.declared import check, option
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.image_files import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS, ImageFiles
from grounding_rewards.targets.box_format import BoxFormat

_RESIZED = "The size of the image that the model saw"
_COLUMNS = "Columns of the file"
_IMAGES = "Images"
_JOIN = "Answers in another file"
_MODEL, _PROCESSOR = "the model's images", "the processor, where the trainer resizes before it"


class OnBadTarget(StrEnum):
    """The handling of a row whose target cannot be used."""

    RAISE = "raise"
    ABSTAIN = "abstain"


def _bound(least: str, text: str) -> Any:
    help = f"{least} pixels that an image is resized to, as the launch sets it for {text}."
    return option(help, None, least=1, metavar="PIXELS", panel=_RESIZED)


@dataclass(frozen=True)
class Answers:
    """The meaning of the numbers in answers."""

    response_space: str | None = option(
        f"The space that the model answers in: {', '.join(CoordSpace)}. Default: the recipe's own.", None,
        metavar="SPACE", choices=CoordSpace,
    )  # fmt: skip
    family: str | None = option(
        "The model's family, as `grounding-rewards families` lists them, the folder of its checkpoint, or auto:MODEL. "
        "It sets --response-space, --pipeline, its bounds and which answer counts, where they are not given.", None,
        metavar="NAME",
    )  # fmt: skip
    model: str | None = option(
        "The resizing, where rows do not say this size: qwen2_5_vl, qwen3_vl, ..., or a trainer's, as verl+qwen3_vl or "
        "easyr1+qwen3_vl. Sets --response-space, too.", None, metavar="NAME", panel=_RESIZED, flags=["--pipeline"],
    )  # fmt: skip
    min_pixels: int | None = _bound("Least", _MODEL)
    max_pixels: int | None = _bound("Most", _MODEL)
    processor_min_pixels: int | None = _bound("Least", _PROCESSOR)
    processor_max_pixels: int | None = _bound("Most", _PROCESSOR)


@dataclass(frozen=True)
class TargetForm:
    """The form of targets."""

    target_space: CoordSpace | None = option(
        "The space of targets that name none. Default: their recipe's own.", None, choices=CoordSpace
    )
    box_format: BoxFormat | None = option(
        "How targets write boxes: corners (xxyy: left, right, top, bottom; yxyx: y first); corner, width and height; "
        "or centre, width and height. A recipe's own form has its own way. Default: xyxy, and a warning where numbers "
        "cannot be that.", None, choices=BoxFormat,
    )  # fmt: skip
    bad_target: OnBadTarget = option(
        "A target that cannot be used: stop, or leave the row out of all figures.", OnBadTarget.RAISE,
        choices=OnBadTarget,
    )  # fmt: skip


def _column(role: str, text: str) -> Any:
    """Declare the name of a column; its help lists the names that are taken without it."""
    return option(f"{text} By name: {' '.join(GUESSED[role])}.", None, metavar="NAME", panel=_COLUMNS)


@dataclass(frozen=True)
class TargetColumns:
    """Columns of rows with targets."""

    target_column: str | None = _column("target", "The target: the right answer.")
    image_column: str | None = _column("image", "The image, or a list of them: paths or bytes.")
    image_size_column: str | None = _column(
        "image-size", "Width and height of the original image, where needed: one column, or two as `W,H`."
    )
    id_column: str | None = _column("id", "The sample's name, for groups and errors; else its target's id.")
    refusal_column: str | None = _column(
        "refusal", "Which rows are to be refused: true, 1 or `refusal` there; their targets do not count."
    )


@dataclass(frozen=True)
class ResponseColumns(TargetColumns):
    """Columns of rows with responses and targets."""

    response_column: str | None = _column("response", "The model's response.")
    model_image_size_column: str | None = _column(
        "model-image-size", "Width and height of the image that the model saw, where needed."
    )
    token_length_column: str | None = _column("token-length", "The response's length in tokens, for rewards of length.")


@dataclass(frozen=True)
class InstructionColumns(TargetColumns):
    """Columns of rows that a model is asked, or trained on."""

    instruction_column: str | None = _column("instruction", "The instruction: a text, or messages.")


@dataclass(frozen=True)
class TrainingColumns(InstructionColumns):
    """Columns of rows that become a trainer's."""

    source_column: str | None = _column("source", "The data set that a row is from.")


@dataclass(frozen=True)
class RowSource:
    """Rows of a file or a directory."""

    split: str | None = option("Which split of a directory.", None, metavar="NAME")
    encoding: str | None = option(
        "The encoding of JSON lines, JSON and CSV, such as gbk or utf-16. Default: UTF-8.", None, metavar="NAME"
    )


@dataclass(frozen=True)
class RowShape:
    """Rows of training sets, and lists in them."""

    layout: str | None = option(
        "The training set whose rows these are, as docs/training-sets.md lists them, a file of layouts (.toml), or "
        "none. Default: the one whose fields they surely have.", None, metavar="NAME",
    )  # fmt: skip
    explode: list[str] | None = option(
        "A list that becomes a row an item, whose fields are then `LIST.field`; of a conversation a row for each "
        "answer, with fields asked and answer. May be given several times.", None, metavar="LIST",
    )  # fmt: skip


@dataclass(frozen=True)
class AnswerFile:
    """Answers in another file than the targets."""

    predictions: list[Path] | None = option(
        "The model's answers, where FILE has annotations alone: a file or directory as FILE may be. A row for each "
        "answer, then one for each sample without any, which counts as wrong. Twice for `eval --paired`.", None,
        metavar="ANSWERS", panel=_JOIN,
    )  # fmt: skip
    id: str | None = option(
        "The column of both that names the sample; A,B for several, A=B where the answers call A B, ROW where they "
        "name numbers of rows. Default: sample_id, else id, else an image and an instruction, else ROW where the "
        "answers' ids count all rows.", None, metavar="COLUMN", panel=_JOIN,
    )  # fmt: skip


@dataclass(frozen=True)
class Images:
    """Images of rows."""

    image_root: Path | None = option(
        "The folder in which relative paths of images start, and which they may not leave. Default: the folder of the "
        "data.", None, metavar="DIR", panel=_IMAGES,
    )  # fmt: skip
    max_image_bytes: int = option(
        "An image of more bytes is not read.", MAX_IMAGE_BYTES, least=1, metavar="N", panel=_IMAGES
    )
    max_image_pixels: int = option(
        "An image of more pixels, as its header says, is not read.", MAX_IMAGE_PIXELS, least=1, metavar="N",
        panel=_IMAGES,
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self, RecipeError)

    def files(self, hint: str = "") -> ImageFiles:
        """Return the images' files within these bounds."""
        root = "" if self.image_root is None else str(Path(self.image_root).absolute())
        return ImageFiles(root, self.max_image_bytes, self.max_image_pixels, hint)
