"""Rows of a data set into samples: the same for all trainers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grounding_rewards.converting.columns import Columns, value_at
from grounding_rewards.converting.pictures import Picture, read_pictures
from grounding_rewards.converting.prompts import Message, Wording, read_prompt
from grounding_rewards.converting.truths import Truths, told, with_facts, written
from grounding_rewards.errors import ConvertError, GroundingRewardsError, TargetError
from grounding_rewards.pool.identity import sample_id
from grounding_rewards.sizes import read_size
from grounding_rewards.truth import Target
from grounding_rewards.writing import to_wire

Size = tuple[float, float]
Measure = Callable[[Picture], Size | None]


@dataclass(frozen=True)
class Sample:
    """One row, read.

    Attributes:
        index: number of the row in the input, from 0.
        source: the data set that it is from.
        target: what counts as right, with the image's size and the sample's name in it.
        wire: the same as JSON.
        messages: what is asked.
        pictures: the images, in the order of their ``<image>`` in the messages.
        split: the split that it is from; "" where none is named.
    """

    index: int
    source: str
    target: Target
    wire: str
    messages: tuple[Message, ...]
    pictures: tuple[Picture, ...] = ()
    split: str = ""

    @property
    def name(self) -> str:
        """The sample's name as text."""
        return str(self.target.id)


@dataclass(frozen=True)
class Reading:
    """How rows are read.

    Attributes:
        columns: which column holds what.
        truths: how targets are read.
        wording: what goes around instructions.
        measure: the size of an image where no column and no target says it; None where it cannot be told from here.
        folder: where relative paths of images lie; None leaves them as they are.
        source: the data set that all rows are from; None leaves that to a column.
        unnamed: the source of rows for which nothing says one.
        split: the split that they are from.
        chosen: which columns an option named, by role: such an id goes before that of a target.
    """

    columns: Columns
    truths: Truths = field(default_factory=Truths)
    wording: Wording = field(default_factory=Wording)
    measure: Measure = lambda picture: None
    folder: str | None = None
    source: str | None = None
    unnamed: str = "unknown"
    split: str = ""
    chosen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Read:
    """Some rows, read: a sample each, None where a row has a problem, which is told by the row's place among them."""

    samples: tuple[Sample | None, ...]
    problems: Mapping[int, str]


def read_rows(rows: Sequence[Mapping[str, Any]], reading: Reading, start: int = 0) -> Read:
    """Read rows.

    Args:
        rows: their columns as dicts, at least ``reading.columns.read``.
        reading: how.
        start: number of the first one in the input.

    Returns:
        Samples and problems; a row has one or the other.

    >>> from grounding_rewards.spaces import PIXEL
    >>> reading = Reading(Columns("ask", target="box"), Truths(space=PIXEL))
    >>> rows = [{"ask": "Save", "box": {"bbox": [1, 2, 3, 4], "id": "a"}}, {"box": {"bbox": [3, 2, 1]}}]
    >>> found = read_rows(rows, reading)
    >>> found.samples[0].wire
    '{"bbox": [1, 2, 3, 4], "space": "pixel", "id": "a"}'
    >>> found.problems
    {1: "target, field 'bbox': got [3, 2, 1]; expected 4 numbers x1 y1 x2 y2"}
    """
    samples: list[Sample | None] = []
    problems: dict[int, str] = {}
    for place, row in enumerate(rows):
        try:
            samples.append(_read(row, reading, start + place))
        except TargetError as error:
            problems[place] = told(error)
        except GroundingRewardsError as error:
            problems[place] = str(error)
        if place in problems:
            samples.append(None)
    good = [(place, sample) for place, sample in enumerate(samples) if sample is not None]
    unfit = reading.truths.unfit([sample.wire for _, sample in good], [sample.target for _, sample in good])
    for index, why in unfit.items():
        place = good[index][0]
        samples[place], problems[place] = None, why
    return Read(tuple(samples), dict(sorted(problems.items())))


def _read(row: Mapping[str, Any], reading: Reading, index: int) -> Sample:
    columns = reading.columns
    target = reading.truths.read(value_at(row, columns.target), index)
    given = read_pictures(value_at(row, columns.image)) if columns.image else ()
    pictures = tuple(picture.within(reading.folder) for picture in given)
    asked = value_at(row, columns.instruction)
    messages = read_prompt(asked, reading.wording, len(pictures))
    source = reading.source or _text(value_at(row, columns.source), "source")
    size = _size(row, columns, target) or (reading.measure(pictures[-1]) if pictures else None)
    name = _name(row, reading, target)
    if name is None:
        content = [picture.data or picture.path for picture in given]
        image = content[0] if len(content) == 1 else content or None
        name = sample_id(source=source, image=image, instruction=asked, target=to_wire(target) or None)
    target = with_facts(target, size, name)
    _check_texts(name, source, *(message.text for message in messages), *(picture.path for picture in pictures))
    return Sample(index, source or reading.unnamed, target, written(target), messages, pictures, reading.split)


def _size(row: Mapping[str, Any], columns: Columns, target: Target) -> Size | None:
    """The size that columns or the target say; where both do, they must agree."""
    values = [value_at(row, name) for name in columns.image_size]
    said = None if all(value is None for value in values) else read_size(values[0] if len(values) == 1 else values)
    if said is None and any(value is not None for value in values):
        came = values[0] if len(values) == 1 else values
        raise ConvertError(f"image size ({','.join(columns.image_size)}): got {came!r:.80}; expected [width, height]")
    if said and target.image_size and said != target.image_size:
        raise ConvertError(f"image size: the target says {list(target.image_size)}, the column {list(said)}")
    return said or target.image_size


def _name(row: Mapping[str, Any], reading: Reading, target: Target) -> str | int | None:
    """The name that the row has: an option's column, then the target's own, then a column of a usual name."""
    given = value_at(row, reading.columns.id)
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int) or given == ""):
        raise ConvertError(f"id ({reading.columns.id}): got {given!r:.80}; expected a text or a whole number")
    first, second = (given, target.id) if "id" in reading.chosen else (target.id, given)
    return second if first is None else first


def _text(value: Any, what: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ConvertError(f"{what}: got {value!r:.80}; expected a text")
    return value or None


def _check_texts(*texts: str | int | None) -> None:
    for text in texts:
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise ConvertError(f"got {text!r:.80}; half a surrogate pair is no character, and cannot be read") from None
