"""Samples that train: filters of one sample, filters that compare all, and how many of them a data set gives."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, changes
from grounding_rewards.converting.prompts import IMAGE
from grounding_rewards.converting.samples import Sample
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.errors import ConvertError, GroundingRewardsError, TableError
from grounding_rewards.geometry import area, shared_area
from grounding_rewards.settings.declared import is_number, is_whole, option
from grounding_rewards.tables.columns import find_columns
from grounding_rewards.tables.image_files import read_images
from grounding_rewards.tables.opening import open_rows
from grounding_rewards.tables.rows import first_rows, value_at
from grounding_rewards.tables.sample_ids import from_json
from grounding_rewards.targets.read import read_target
from grounding_rewards.targets.suspects import reach_of, untrainable
from grounding_rewards.targets.target import RegionKind, Target
from grounding_rewards.targets.write import to_wire

Bools = NDArray[np.bool_]

_PANEL = "Samples that are left out"
_TAKES = ("first", "end", "random")


class Drop(StrEnum):
    """Samples to leave out."""

    OUTSIDE = "outside"  #: a place that is partly outside of its image
    EMPTY = "empty"  #: a box without area
    NO_IMAGE = "no-image"  #: no image
    DUPLICATE = "duplicate"  #: image, instruction and place of an earlier sample
    AMBIGUOUS = "ambiguous"  #: image and instruction of samples with other places: all of these


HARMFUL = (Drop.OUTSIDE, Drop.EMPTY, Drop.NO_IMAGE)


@dataclass(frozen=True)
class Filters:
    """Settings of the filters of samples."""

    drop: list[Drop] | None = option(
        "Leave out samples with a place outside of the image, an empty box or no image, duplicates, or those of the "
        "same image and instruction with other places (ambiguous). May be given several times. Layouts of training "
        "sets leave out the first three.", None, choices=Drop, metavar="WHICH", panel=_PANEL,
    )  # fmt: skip
    max_area: float | None = option(
        "Leave out boxes that cover more than this share of the image, such as 0.05.", None, metavar="SHARE",
        panel=_PANEL,
    )  # fmt: skip
    max_instruction: int | None = option(
        "Leave out instructions of more characters.", None, least=1, metavar="N", panel=_PANEL
    )
    overlap: Path | None = option(
        "Leave out places that overlap no box of a detector: a file of rows with an image and its boxes.", None,
        metavar="FILE", panel=_PANEL,
    )  # fmt: skip
    overlap_iou: float = option("The least overlap as IoU; points lie in a box.", 0.1, metavar="IOU", panel=_PANEL)
    overlap_space: CoordSpace | None = option(
        "The space of the detector's boxes, where its rows do not say it.", None, choices=CoordSpace, panel=_PANEL
    )

    def __post_init__(self) -> None:
        for name, share in (("max_area", self.max_area), ("overlap_iou", self.overlap_iou)):
            if share is not None and not (is_number(share) and 0 < share <= 1):
                raise ConvertError(f"{name}: got {share!r:.60}; expected a number above 0, and at most 1")
        if self.max_instruction is not None and not is_whole(self.max_instruction, 1):
            raise ConvertError(f"max_instruction: got {self.max_instruction!r:.60}; expected a whole number from 1")
        if wrong := [each for each in self.drop or () if each not in [*Drop]]:
            raise ConvertError(f"drop: got {wrong[0]!r:.60}; expected some of {', '.join(Drop)}")


@dataclass(frozen=True)
class Selection:
    """Samples of one conversion that stay."""

    filters: Filters = field(default_factory=Filters)
    where: Mapping[str, Any] = field(default_factory=dict)  # values that fields of a row have
    per_image: int | None = None  # the most samples of one image
    take: str = "all"  # how many of the others: all, first:N, end:N or random:N, where N may be a share, such as 33%
    shares: Mapping[str, float] = field(default_factory=dict)  # parts of the whole by source
    seed: int = 0
    name: str = ""  # in draws and errors
    root: str = ""  # the folder of relative paths of images

    def __post_init__(self) -> None:
        self.taken(0)

    @cached_property
    def dropped(self) -> frozenset[str]:
        """Return what is left out."""
        return frozenset(self.filters.drop or ())

    @property
    def compares(self) -> bool:
        """Return True where all samples must be seen before the first one is known to stay."""
        whole = self.per_image is not None or self.take != "all" or bool(self.shares)
        return whole or bool(self.dropped & {Drop.DUPLICATE, Drop.AMBIGUOUS})

    def imageless(self, row: Mapping[str, Any], image: str | None) -> bool:
        """Return True for a row that is left out because it has no image."""
        return Drop.NO_IMAGE in self.dropped and value_at(row, image) in (None, "", [])

    def reason(self, row: Mapping[str, Any], sample: Sample) -> str:
        """Return why one sample is left out, or ""."""
        filters, target = self.filters, sample.target
        if not all(str(value_at(row, path)) == str(value) for path, value in self.where.items()):
            return "by where"
        harm = untrainable(target, target.image_size) if self.dropped & {Drop.OUTSIDE, Drop.EMPTY} else ""
        if harm and (Drop.EMPTY if harm == "empty" else Drop.OUTSIDE) in self.dropped:
            return harm
        if filters.max_instruction is not None and len(_asked(sample)) > filters.max_instruction:
            return "with a long instruction"
        if filters.max_area is None and self._detected is None:
            return ""
        boxes = in_unit(target, target.image_size)
        if filters.max_area is not None and (area(boxes) > filters.max_area).any():
            return "with a large box"
        return "" if self._detected is None else self._beside(sample, boxes)

    def _beside(self, sample: Sample, boxes: Floats) -> str:
        path = sample.images[-1].within(self.root).path if sample.images else None
        there = (self._detected or {}).get(path or "")
        if there is None:
            return "without detected boxes"
        found = in_unit(there, sample.target.image_size)
        for box in boxes[:, None, :]:
            shared, own = shared_area(np.maximum(box, 0), found), area(box)
            inside = ((found[:, :2] <= box[:, :2]) & (box[:, 2:] <= found[:, 2:])).all(axis=1)
            if (inside if not own.any() else shared >= self.filters.overlap_iou * (own + area(found) - shared)).any():
                return ""
        return "beside detected boxes" if len(boxes) else ""

    @cached_property
    def _detected(self) -> Mapping[str, Target] | None:
        """The boxes of a detector, by the path of the image."""
        return None if self.filters.overlap is None else detected(self.filters, self.root)

    def compared(self, samples: Iterable[tuple[Mapping[str, Any], Sample]]) -> Callable[[int], str]:
        """Return a function that says why a row is left out when all samples are compared, or "", by its number."""
        rows, sources, names = array("q"), array("q"), dict[str, int]()
        images, asked, placed = array("Q"), array("Q"), array("Q")
        for row, sample in samples:
            with suppress(ConvertError):  # which the row is reported with later
                if self.reason(row, sample):
                    continue
                target = to_wire(sample.target.changed(id=None, image_size=None, extra=None))
                same = [image.data or image.path for image in sample.images]
                images.append(_hash(*same))
                asked.append(_hash(*same, _asked(sample)))
                placed.append(_hash(*same, _asked(sample), target))
                rows.append(sample.index)
                sources.append(names.setdefault(sample.source, len(names)))
        keys = [np.array(each, np.uint64) for each in (images, asked, placed)]
        out, numbers = self._out(keys, np.array(sources, np.int64), [*names]), np.array(rows, np.int64)
        codes = np.zeros(rows[-1] + 1 if rows else 0, np.int8)
        for code, which in enumerate(out.values(), 1):
            codes[numbers[which]] = code
        reasons = ["", *out]
        return lambda row: reasons[codes[row]] if row < len(codes) else ""

    def _out(self, keys: Sequence[Any], sources: Ints, names: Sequence[str]) -> dict[str, Bools]:
        """Return which of n samples are left out, by the reason; ``keys`` are equal for equal ones."""
        images, asked, placed = keys
        out, stay = dict[str, Bools](), np.ones(len(images), bool)

        def leave(why: str, which: Bools) -> None:
            out[why] = out.get(why, False) | which & stay
            stay[which] = False

        if Drop.DUPLICATE in self.dropped:
            leave("duplicate", _ranks(placed) > 0)
        if Drop.AMBIGUOUS in self.dropped:
            pairs = np.unique(np.stack((asked, placed), axis=1), axis=0)[:, 0]
            kinds, times = np.unique(pairs, return_counts=True)
            leave("ambiguous", np.isin(asked, kinds[times > 1]))
        if self.per_image is not None:
            leave("by per_image", _others(stay, np.flatnonzero(_ranks(images[stay]) < self.per_image)))
        leave("by take", _others(stay, self.taken(int(stay.sum()))))
        counts = {name: int((stay & (sources == place)).sum()) for place, name in enumerate(names)}
        for name, n in by_share(counts, self.shares).items():
            mine = stay & (sources == names.index(name))
            leave("by share", _others(mine, self.drawn(counts[name], n, name)))
        return out

    def taken(self, count: int) -> range | Ints:
        """Return the numbers of the samples to take, of ``count``."""
        kind, _, text = str(self.take).partition(":")
        number = text.removesuffix("%")
        if kind == "all" and not text:
            return range(count)
        if kind not in _TAKES or not number.isdecimal():
            raise ConvertError(
                f"{self.name}, take: got {self.take!r:.60}; expected all, first:N, end:N or random:N, N also as 33%"
            )
        n = min(count, -(-count * int(number) // 100) if text.endswith("%") else int(number))
        if kind != "random":
            return range(n) if kind == "first" else range(count - n, count)
        return self.drawn(count, n, self.name)

    def drawn(self, count: int, n: int, name: str) -> Ints:
        """Return n numbers of ``count``, which depend on seed, name and number alone."""
        drawn = (blake2b(f"{self.seed}/{name}/{each}".encode(), digest_size=8).digest() for each in range(count))
        digests = np.fromiter(map(int.from_bytes, drawn), np.uint64, count)
        return np.argsort(digests, kind="stable")[:n]


def by_share(counts: Mapping[str, int], shares: Mapping[str, float]) -> dict[str, int]:
    """Return the number of samples of each source that is to be a share of all; the others give all that they have.

    >>> by_share({"a": 100, "b": 900}, {"a": 0.05}), by_share({"a": 100, "b": 900}, {"a": 0.5, "b": 0.5})
    ({'a': 47}, {'a': 100, 'b': 100})
    """
    exact = {name: Fraction(str(share)) for name, share in shares.items()}
    rest = sum(count for name, count in counts.items() if name not in shares)
    if rest:
        whole = rest / (1 - sum(exact.values()))
    else:
        whole = min((counts[n] / exact[n] for n in counts if exact.get(n)), default=Fraction(0))
    wanted = {name: int(whole * exact[name] + Fraction(1, 2)) for name in counts if name in exact}
    for name, n in wanted.items():
        if n > counts[name]:
            raise ConvertError(
                f"{name}, share: {shares[name]:g} of the mixture are {n:,} samples, and it gives {counts[name]:,}; "
                "lower it, or limit the others by take"
            )
    return wanted


def in_unit(target: Target, size: tuple[float, float] | None) -> Floats:
    """Return the boxes around a target's places as shares of the image, (n, 4); circles have none."""
    reach = reach_of(target, size)
    if reach is None and target.regions:
        raise ConvertError("image size: is needed by max_area and overlap; name it by --image-size-column")
    flat = [
        (min(xs), min(ys), max(xs), max(ys))
        for region in target.regions
        if region.kind is not RegionKind.CIRCLE
        for xs, ys in [(region.numbers[::2], region.numbers[1::2])]
    ]
    boxes: Floats = np.array(flat, float).reshape(-1, 4) / np.array([*(reach or (1.0, 1.0))] * 2)
    return boxes


def detected(filters: Filters, root: str) -> dict[str, Target]:
    """Read a detector's boxes, by the paths of images; relative ones start in ``root``."""
    table = open_rows(str(filters.overlap))
    named = None if filters.overlap_space is None else as_space(filters.overlap_space)
    found = find_columns(first_rows(table), {"image": None, "target": None}, needed=("image", "target")).columns
    boxes = dict[str, Target]()
    for batch in table.batches(whole=False):
        for index, row in enumerate(batch.rows):
            value = value_at(row, found.get("target"))
            value = from_json(value) if isinstance(value, str) else value
            space = {} if row.get("space") is None else {"space": row["space"]}
            fields = value if isinstance(value, Mapping) else {"bbox": value}
            try:
                (image,) = read_images(value_at(row, found.get("image")))
                target = Target() if value == [] else read_target({**fields, **space}, space=named)
                if value and target.space is None:
                    raise ConvertError("nothing names the space of its boxes; give --overlap-space")
            except GroundingRewardsError as error:
                raise TableError(f"{table.path}, {batch.place(index)}: {error}") from None
            path = image.within(root).path or ""
            before = boxes.get(path, Target()).regions
            boxes[path] = target.changed((*before, *target.regions))
    return boxes


def _asked(sample: Sample) -> str:
    return "\n".join(message.text.replace(IMAGE, "") for message in sample.messages)


def _hash(*parts: Any) -> int:
    """Return 64 bits that differ for other parts."""
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode("utf-8", "backslashreplace"))
    return int.from_bytes(digest.digest())


def _ranks(values: Any) -> Ints:
    """Return the number of earlier ones of the same value, of each value."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(changes(values[order]))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    return ranks


def _others(stay: Bools, numbers: Any) -> Bools:
    """Return those that stay but for some, whose numbers count the ones that stay."""
    others = stay.copy()
    others[np.flatnonzero(stay)[numbers if len(numbers) else []]] = False
    return others
