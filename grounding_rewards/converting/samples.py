"""Read rows of a data set as samples, the same for all trainers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from grounding_rewards.converting.columns import ColumnNames, value_at
from grounding_rewards.converting.images import Image, ImageInfo, read_images
from grounding_rewards.converting.prompts import Message, Wording, read_prompt
from grounding_rewards.converting.targets import TargetReader, with_facts, written
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import ConvertError, GroundingRewardsError, TargetError
from grounding_rewards.tables.sample_ids import sample_id
from grounding_rewards.targets.findings import Finding
from grounding_rewards.targets.target import Target
from grounding_rewards.targets.write import plain_numbers, to_wire

Size = tuple[float, float]
Look = Callable[[Image], ImageInfo | None]
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class Sample:
    """One row of a data set.

    Attributes:
        index: number of the row in the input, from 0.
        source: the data set that it is from.
        target: what counts as right, with the image's size and the sample's name in it.
        wire: the same as JSON.
        messages: what is asked.
        images: the images, in the order of their ``<image>`` in the messages.
        split: the split that it is from; "" where none is named.
        turned: how many of its images are to be turned, as their EXIF data say.
    """

    index: int
    source: str
    target: Target
    wire: str
    messages: tuple[Message, ...]
    images: tuple[Image, ...] = ()
    split: str = ""
    turned: int = 0

    @property
    def name(self) -> str:
        """Return the sample's name as text."""
        return str(self.target.id)


@dataclass(frozen=True)
class Reading:
    """Settings for reading rows.

    Attributes:
        columns: which column holds what.
        truths: how targets are read.
        wording: what goes around instructions.
        look: looks at an image as the row has it; None where that cannot be done from here; raises where there is none.
        folder: where relative paths of images lie; None leaves them as they are.
        source: the data set that all rows are from; None leaves that to a column.
        unnamed: the source of rows for which nothing says one.
        split: the split that they are from.
        chosen: which columns an option named, by role: such an id goes before that of a target, and such a size before
            that of the image itself.
    """

    columns: ColumnNames
    target_reader: TargetReader = field(default_factory=TargetReader)
    wording: Wording = field(default_factory=Wording)
    look: Look = lambda image: None
    folder: str | None = None
    source: str | None = None
    unnamed: str = "unknown"
    split: str = ""
    chosen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReadRows:
    """Samples of some rows, None for a row with a problem.

    Attributes:
        samples: of each row, or None.
        problems: of each row without one.
        findings: what looks wrong with targets.
    """

    samples: tuple[Sample | None, ...]
    problems: Mapping[int, str]
    findings: Sequence[Finding] = ()


def read_rows(rows: Sequence[Mapping[str, Any]], reading: Reading, start: int = 0) -> ReadRows:
    """Read rows.

    Args:
        rows: their columns as dicts, at least ``reading.columns.read``.
        reading: how.
        start: number of the first one in the input.

    Returns:
        Samples and problems; a row has one or the other.

    >>> from grounding_rewards.coords.spaces import PIXEL
    >>> reading = Reading(ColumnNames("ask", target="box"), TargetReader(space=PIXEL))
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
            problems[place] = f"target, {error.problem}"
        except GroundingRewardsError as error:
            problems[place] = str(error)
        if place in problems:
            samples.append(None)
    good = [(place, sample) for place, sample in enumerate(samples) if sample is not None]
    unfit, noticed = reading.target_reader.check(
        [sample.wire for _, sample in good], [sample.target for _, sample in good]
    )
    for index, why in unfit.items():
        place = good[index][0]
        samples[place], problems[place] = None, why
    noticed = [replace(each, row=good[each.row][0]) for each in noticed]
    return ReadRows(tuple(samples), dict(sorted(problems.items())), noticed)


def _read(row: Mapping[str, Any], reading: Reading, index: int) -> Sample:
    columns = reading.columns
    target = reading.target_reader.read(value_at(row, columns.target), index)
    given = read_images(value_at(row, columns.image)) if columns.image else ()
    asked = value_at(row, columns.instruction)
    messages = read_prompt(asked, reading.wording, len(given))
    source = reading.source or _source(row, columns)
    seen = [reading.look(image) for image in given]
    images = tuple(image.within(reading.folder) for image in given)
    size = _size(row, reading, target, seen[-1] if seen else None)
    name = _name(row, reading, target)
    if name is None:
        content = [image.data or image.path for image in given]
        image = content[0] if len(content) == 1 else content or None
        name = sample_id(source=source, image=image, instruction=asked, target=to_wire(target) or None)
    target = with_facts(target, size, name)
    _check_texts(name, source, *(message.text for message in messages), *(image.path for image in images))
    turned = sum(each is not None and each.turned for each in seen)
    return Sample(index, source or reading.unnamed, target, written(target), messages, images, reading.split, turned)


def _size(row: Mapping[str, Any], reading: Reading, target: Target, seen: ImageInfo | None) -> Size | None:
    """Return the size by columns or the target, which must agree, else that of the image itself."""
    columns, said = ",".join(reading.columns.image_size), _said(row, reading.columns)
    if said and target.image_size and said != target.image_size:
        raise ConvertError(f"image size: the target says {list(target.image_size)}, the column {list(said)}")
    if seen is None:
        return said or target.image_size
    if said and not target.image_size and "image-size" not in reading.chosen and seen.size != said:
        raise ConvertError(
            f"image size ({columns}, by its name): got {plain_numbers(said)}, and the image is "
            f"{plain_numbers(seen.size)}; if the column is right, name it by --image-size-column {columns}, else "
            "give --image-size-column none"
        )
    return said or target.image_size or seen.size


def _said(row: Mapping[str, Any], columns: ColumnNames) -> Size | None:
    values = [value_at(row, name) for name in columns.image_size]
    if all(value is None for value in values):
        return None
    came = values[0] if len(values) == 1 else values
    said = read_size(came)
    if said is None:
        names = ",".join(columns.image_size)
        raise ConvertError(
            f"image size ({names}): got {came!r:.80}; expected [width, height]; --image-size-column names another, or "
            "none"
        )
    return said


def _name(row: Mapping[str, Any], reading: Reading, target: Target) -> str | int | None:
    """Return the row's name: of an option's column, else the target's own, else of a column of a usual name."""
    given = value_at(row, reading.columns.id)
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int) or given == ""):
        raise ConvertError(
            f"id ({reading.columns.id}): got {given!r:.80}; expected a text or a whole number; --id-column names "
            "another, or none"
        )
    if isinstance(given, int) and abs(given) > _LARGEST_ID:
        raise ConvertError(f"id ({reading.columns.id}): got {given!r:.80}, which 64 bits do not hold; write it as text")
    first, second = (given, target.id) if "id" in reading.chosen else (target.id, given)
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
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise ConvertError(
                f"got {text!r:.80}; half a surrogate pair is no character, and cannot be read; a file or folder "
                "of such a name needs another one"
            ) from None


class SampleNames:
    """Names of samples, kept as 16 bytes each, to count repeated ones."""

    def __init__(self) -> None:
        self._digests, self._rows = array("Q"), array("Q")

    def add(self, samples: Iterable[Sample]) -> None:
        """Take note of samples."""
        for sample in samples:
            digest = blake2b(sample.name.encode(), digest_size=8).digest()
            self._digests.append(int.from_bytes(digest, "little"))
            self._rows.append(sample.index)

    def repeated(self, most: int = 5) -> tuple[int, list[tuple[int, int]]]:
        """Count the samples with an earlier one's name, and list the row of each beside that of its namesake.

        >>> from grounding_rewards.targets.target import Target
        >>> names = SampleNames()
        >>> names.add([Sample(row, "", Target(id=name), "", ()) for row, name in enumerate("abcb")])
        >>> names.repeated()
        (1, [(1, 3)])
        """
        digests, rows = (np.array(column, dtype=np.uint64) for column in (self._digests, self._rows))
        order = np.argsort(digests, kind="stable")
        again = np.flatnonzero(digests[order][1:] == digests[order][:-1])
        first = again[np.argsort(rows[order][again + 1], kind="stable")][:most]
        return len(again), [(int(rows[order][place]), int(rows[order][place + 1])) for place in first]
