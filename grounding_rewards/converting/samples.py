"""Read rows of a data set as samples, with their targets, the same for all trainers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from grounding_rewards.converting.prompts import Message, Wording, read_prompt
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.spaces import PIXEL, CoordSpace
from grounding_rewards.errors import MISSING, ConvertError, GroundingRewardsError, TargetError
from grounding_rewards.scoring import KINDS, Recipe
from grounding_rewards.tables.columns import columns_read
from grounding_rewards.tables.image_files import Image, ImageInfo, read_images
from grounding_rewards.tables.json_lines import is_utf8
from grounding_rewards.tables.layouts import Layout as Benchmark
from grounding_rewards.tables.layouts import TargetCells
from grounding_rewards.tables.rows import value_at
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.read import read_target, read_with_form
from grounding_rewards.targets.requirements import Requirements, violations
from grounding_rewards.targets.suspects import SuspectTargets, inverted_boxes, suspect_targets
from grounding_rewards.targets.target import NativeForm, Target
from grounding_rewards.targets.write import plain_numbers, to_wire

NO_SPACE = (
    f"target: nothing names its space; give --target-space ({', '.join(CoordSpace)}), or --recipe NAME, whose own "
    "targets the rows have"
)
_SIZES = ("image_size", "model_image_size")


def written(target: Target) -> str:
    """Return a target as the JSON of its wire form."""
    wire = to_wire(target)
    try:
        text = json.dumps(wire, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConvertError(f"target: cannot be written as JSON ({error})") from None
    return text if is_utf8(text) else json.dumps(wire)  # half a surrogate pair as a JSON escape


def _no_space(targets: Sequence[Target]) -> str:
    """Return the error of targets without a space, with the numbers by which to tell it."""
    numbers = [n for each in targets if each.space is None for region in each.regions for n in region.numbers]
    least, most = min(numbers, default=0.0), max(numbers, default=0.0)
    said = "; these look like unit" if numbers and 0 <= least <= most <= 1 else ""
    return f"{NO_SPACE}{said}{f'; numbers are {least:g} to {most:g}' if numbers and not said else ''}"


Size = tuple[float, float]
Look = Callable[[Image], ImageInfo | None]
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns; None for an absent one. ``a.b`` is the field b of the column a."""

    instruction: str = ""  # texts or conversations
    target: str | None = None
    image: str | None = None  # images, or lists of images
    image_size: str | None = None  # width and height in one column, or in two with a comma between them
    id: str | None = None
    source: str | None = None  # names of data sets
    refusal: str | None = None  # which rows are to be refused

    @property
    def read(self) -> tuple[str, ...]:
        """Return the columns to read."""
        return columns_read(vars(self).values())


@dataclass(frozen=True)
class Sample:
    """One row of a data set."""

    index: int  # number of the row in the input, from 0
    source: str  # its data set
    target: Target  # with the image's size and the sample's name in it
    wire: str  # the target as JSON
    messages: tuple[Message, ...]
    images: tuple[Image, ...] = ()  # in the order of their ``<image>`` in the messages
    split: str | None = None
    turned: int = 0  # number of its images that their EXIF data ask to turn
    own_form: bool = False  # True where its target was in the recipe's own form

    @property
    def name(self) -> str:
        """Return the sample's name as text."""
        return str(self.target.id)


@dataclass(frozen=True)
class Reading:
    """Settings for reading rows."""

    columns: ColumnNames = ColumnNames()
    recipe: Recipe | None = None  # the recipe that will score the rows, whose own form of targets is tried first
    space: CoordSpace | None = None  # the space of targets that do not name one; None for the recipe's
    box_format: BoxFormat | None = None  # how boxes are written, as in ``Targets.from_list``
    benchmark: Benchmark | None = None  # the layout of the benchmark whose rows these are
    wording: Wording = field(default_factory=Wording)
    look: Look = lambda image: None  # reads the size of an image; None where it cannot be read from here
    folder: str | None = None  # the folder of relative image paths; None leaves them as they are
    source: str | None = None  # the data set of all rows; None leaves that to a column
    unnamed: str = "unknown"  # the source of rows without one
    split: str | None = None
    prefix: str = ""  # what names of samples begin with
    # roles whose columns options name: such an id goes before that of a target, such a size before the image's own
    chosen: frozenset[str] = frozenset()

    @property
    def target_space(self) -> CoordSpace | None:
        """The space of targets that do not name one; None where each must."""
        return self.space or (self.recipe.target_space if self.recipe else None)

    @property
    def native(self) -> NativeForm | None:
        """The recipe's own form of targets."""
        return self.recipe.native if self.recipe else None

    @property
    def needs(self) -> Requirements | None:
        """The requirements of the recipe."""
        return self.recipe.requirements if self.recipe else None

    @property
    def label_free(self) -> bool:
        """True where targets may be empty."""
        return self.recipe is not None and self.recipe.label_free

    @property
    def cells(self) -> TargetCells:
        """The columns of which targets are made."""
        refusal = self.columns.refusal or ""
        return TargetCells(self.columns.target or "", refusal, self.benchmark, self.native is not None)


class ReadRows(NamedTuple):
    """Samples of some rows, None for a row with a problem; these problems by the row's place; suspicious targets."""

    samples: tuple[Sample | None, ...]
    problems: Mapping[int, str]
    suspects: Sequence[SuspectTargets] = ()


def read_rows(rows: Sequence[Mapping[str, Any]], reading: Reading, start: int = 0) -> ReadRows:
    """Read rows, dicts of at least ``reading.columns.read``; ``start`` is the number of the first one in the input."""
    samples: list[Sample | None] = [None] * len(rows)
    problems: dict[int, str] = {}
    errors: dict[int, TargetError] = {}
    for place, row in enumerate(rows):
        try:
            samples[place] = _read(row, reading, start + place)
        except TargetError as error:
            errors[place], problems[place] = error, f"target, {error.problem}"
        except GroundingRewardsError as error:
            problems[place] = str(error)
    good = [(place, sample) for place, sample in enumerate(samples) if sample is not None]
    unfit, noticed = _checked([sample for _, sample in good], reading)
    for index, why in unfit.items():
        place = good[index][0]
        samples[place], problems[place] = None, why
    noticed = [replace(each, row=good[each.row][0]) for each in noticed]
    noticed += inverted_boxes(errors, reading.needs)
    return ReadRows(tuple(samples), dict(sorted(problems.items())), noticed)


def _checked(samples: Sequence[Sample], reading: Reading) -> tuple[dict[int, str], list[SuspectTargets]]:
    """Return the errors of targets that could be written, by place, and suspicious ones; a size may be unknown yet."""
    texts, noticed, errors = [sample.wire for sample in samples], list[SuspectTargets](), dict[int, TargetError]()
    if reading.label_free:
        again: Sequence[Target | None] = [read_target(text, native=reading.native, label_free=True) for text in texts]
    else:
        table = Targets.from_list(texts, native=reading.native, space=reading.target_space, bad_target="abstain")
        again = table.rows
        into = next((each.target.space for each in samples if each.target.space is not None), PIXEL)
        accepts = reading.needs.accepts if reading.needs else frozenset(KINDS)
        errors = {
            row: error
            for row, error in violations(table, Requirements(into, None, accepts)).items()
            if not (error.field in _SIZES and error.came is MISSING)
        }
        own_form = frozenset(place for place, sample in enumerate(samples) if sample.own_form)
        noticed = suspect_targets(
            table.changed(errors={**table.errors, **errors}, box_format=reading.box_format, own_form=own_form),
            reading.needs, partly=True,
        )  # fmt: skip
    no_space = _no_space([sample.target for sample in samples])
    problems = {
        row: no_space if error.field == "space" and error.came is MISSING else f"target, {error.problem}"
        for row, error in errors.items()
    }
    for row, (sample, other) in enumerate(zip(samples, again, strict=True)):
        if sample.target.space is None and sample.target.ends:
            problems.setdefault(row, no_space)
        if other != sample.target:
            problems[row] = 'target: would not read back as the same; JSON cannot hold its "extra"'
    return problems, noticed


def _read(row: Mapping[str, Any], reading: Reading, index: int) -> Sample:
    columns = reading.columns
    space = reading.target_space
    (value,) = reading.cells.values([row], space)
    target, own_form = read_with_form(value, index, reading.native, space, reading.label_free, reading.box_format)
    originals = read_images(value_at(row, columns.image)) if columns.image else ()
    asked = value_at(row, columns.instruction)
    messages = read_prompt(asked, reading.wording, len(originals))
    source = reading.source or _source(row, columns)
    infos = [reading.look(image) for image in originals]
    images = tuple(image.within(reading.folder) for image in originals)
    # As in the adapters, targets are on the last of several images.
    size = _size(row, reading, target, infos[-1] if infos else None)
    name = _name(row, reading, target)
    if name is None:
        content = [image.data or image.path for image in originals]
        image = content[0] if len(content) == 1 else content or None
        name = sample_id(source=source, image=image, instruction=asked, target=to_wire(target) or None)
    target = target.changed(image_size=size, id=f"{reading.prefix}{name}" if reading.prefix else name)
    _check_texts(name, source, *(message.text for message in messages), *(image.path for image in images))
    turned = sum(info is not None and info.turned for info in infos)
    return Sample(
        index, source or reading.unnamed, target, written(target), messages, images, reading.split, turned, own_form
    )


def _size(row: Mapping[str, Any], reading: Reading, target: Target, info: ImageInfo | None) -> Size | None:
    """Return the size by columns or the target, which must agree, else that of the image itself."""
    columns, stated = reading.columns.image_size, _size_of(row, reading.columns)
    if stated and target.image_size and stated != target.image_size:
        raise ConvertError(f"image size: the target says {list(target.image_size)}, the column {list(stated)}")
    if info is None:
        return stated or target.image_size
    if stated and not target.image_size and "image-size" not in reading.chosen and info.size != stated:
        raise ConvertError(
            f"image size ({columns}, by its name): got {plain_numbers(stated)}, and the image is "
            f"{plain_numbers(info.size)}; if the column is right, name it by --image-size-column {columns}, else "
            "give --image-size-column none"
        )
    return stated or target.image_size or info.size


def _size_of(row: Mapping[str, Any], columns: ColumnNames) -> Size | None:
    came = value_at(row, columns.image_size)
    if came is None:
        return None
    stated = read_size(came)
    if stated is None:
        raise ConvertError(
            f"image size ({columns.image_size}): got {came!r:.80}; expected [width, height]; --image-size-column names "
            "another, or none"
        )
    return stated


def _name(row: Mapping[str, Any], reading: Reading, target: Target) -> str | int | None:
    """Return the row's name: of an option's column, else the target's own, else of a guessed column."""
    name = value_at(row, reading.columns.id)
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int) or name == ""):
        raise ConvertError(
            f"id ({reading.columns.id}): got {name!r:.80}; expected a text or a whole number; --id-column names "
            "another, or none"
        )
    if isinstance(name, int) and abs(name) > _LARGEST_ID:
        raise ConvertError(f"id ({reading.columns.id}): got {name!r:.80}, which 64 bits do not hold; write it as text")
    first, second = (name, target.id) if "id" in reading.chosen else (target.id, name)
    return second if first is None else first


def _source(row: Mapping[str, Any], columns: ColumnNames) -> str | None:
    value = value_at(row, columns.source)
    if value is not None and not isinstance(value, str):
        raise ConvertError(
            f"source ({columns.source}): got {value!r:.80}; expected a text; --source-column names another, or none"
        )
    return value or None


def _check_texts(*texts: str | int | None) -> None:
    for text in texts:
        if not is_utf8(str(text)):
            raise ConvertError(
                f"got {text!r:.80}; half a surrogate pair is no character, and cannot be read; a file or folder "
                "of such a name needs another one"
            )
