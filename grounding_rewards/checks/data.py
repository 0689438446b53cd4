"""Faults of data that training hides: targets that cannot be used, that no answer hits, or that disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.checks.finding import FIRST_ROWS, Code, Finding, Severity
from grounding_rewards.coords.spaces import UNIT, CoordSpace
from grounding_rewards.errors import TargetError, short_repr
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.suspects import SuspectTargets, reported, suspect_targets
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.wording import plural

TINY, GIANT = 1e-5, 0.5
"""Shares of the screen below and above which a target is hardly an element of it: 5 x 4 pixels of 1920 x 1080."""

_ROUNDING = 1e-9
_CHANCE = 1e-9
"""Probability below which all places lie within 0..1000 of larger images by chance."""

_FLAT = "flat"
"""Boxes without width or without height: without an area, unless they are in another format."""

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

_SAID: dict[Code, tuple[Severity, str, str]] = {
    Code.BAD_TARGET: (_ERROR, "targets that cannot be used", "correct them, or leave the rows out"),
    Code.NOT_FINITE: (_ERROR, "targets with numbers that are not finite", "correct them, or leave the rows out"),
    Code.REFUSAL_WITH_PLACE: (_ERROR, "refusals with a place beside them", "drop one of the two"),
    Code.IMAGE_SIZE: (
        _ERROR, "no size of the image that can be used",
        "name its column by --image-size-column; the model's follows from --pipeline, or --model-image-size-column",
    ),
    Code.OTHER_SIZE: (_ERROR, "images of another size than the row says", "correct the size, or scale the target"),
    Code.MISSING_IMAGE: (_ERROR, "images that cannot be read", ""),  # the evidence says where they are looked for
    Code.OUTSIDE_IMAGE: (_ERROR, "targets outside of their image", "check their space and the size of the image"),
    Code.SPACE: (_ERROR, "numbers of 0 to 1, which are no pixels", "name their space: --target-space unit"),
    Code.POINT_TARGET: (
        _ERROR, "points, which a click hits by chance alone", "give them a reach: --option point_radius=PIXELS",
    ),
    Code.CROSSING_POLYGON: (_WARNING, "polygons whose sides cross", "order the corners along the border"),
    Code.ZERO_AREA: (_WARNING, "boxes without an area", "correct them, or leave the rows out"),
    Code.UNREACHABLE: (
        _WARNING, "targets that hold no place which an answer can name", "leave them out: no rollout ever solves them",
    ),
    Code.AMBIGUOUS: (
        _WARNING, "rows with the image and the instruction of another one, and another target",
        'make them one row with {"regions": [...]}, or write the instructions apart',
    ),
    Code.SEEN_IMAGE: (_WARNING, "images that the other data have, too", "leave such rows out of one of the two"),
    Code.TINY_TARGET: (_NOTE, f"targets smaller than {TINY:g} of the screen", "look at some of them"),
    Code.GIANT_TARGET: (_NOTE, f"targets of more than {GIANT:.0%} of the screen", "look at some of them"),
}  # fmt: skip
"""Weight, what rows have, and the fix, by kind; of a weight, findings come in this order."""


@dataclass
class _Rows:
    """Rows of one kind: how many, the first of them, and the evidence of the first."""

    count: int = 0
    first: list[int] = field(default_factory=list)
    last: int = -1
    evidence: str = ""


@dataclass(eq=False)
class DataCheck:
    """Findings about targets, batch by batch.

    >>> from grounding_rewards import recipe
    >>> click = recipe("click", response_space="thousandths")
    >>> check, size = DataCheck(click), {"image_size": [3840, 2160]}
    >>> check.add(click.read_targets([{"bbox": [1, 1, 3, 2], **size}, {"bbox": [96, 54, 192, 108], **size}]))
    >>> print(*check.findings())
    targets that hold no place which an answer can name: 1 of 2 (first: row 0): bbox [1.0, 1.0, 3.0, 2.0], answers are \
whole thousandths; leave them out: no rollout ever solves them
    """

    recipe: Recipe
    answered: bool = True  # False where nobody says in which space answers will be
    rows: int = 0
    found: dict[Code | str, _Rows] = field(default_factory=dict)  # by kind
    _suspects: list[SuspectTargets] = field(default_factory=list)
    _beyond: int = 0  # places beyond 0..1000
    _within: int = 0  # places within it, of larger images
    _chance: float = 0.0  # logarithm of the probability that all of these are by chance
    _largest: tuple[float, float] = (0.0, 0.0)
    _contents: list[NDArray[np.uint64]] = field(default_factory=list)  # sample and target of each row

    def add(
        self, read: Targets, image_sizes: Floats | None = None, *, model_image_sizes: Floats | None = None,
        place: Callable[[int], str] = "row {}".format, contents: Sequence[int] | None = None,
        unread: Mapping[int, Any] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        """Check some targets.

        ``place`` names a row, ``contents`` are 64 bits of each row's image and instruction, ``unread`` the image sizes
        of rows that are none.
        """
        needs = self.recipe.requirements
        sizes = {"image_sizes": image_sizes, "model_image_sizes": model_image_sizes}
        usable = read.prepare(needs, **sizes, bad_target="abstain")
        self._suspects += [
            replace(each, row=self.rows + each.row, first=place(each.row))
            for each in suspect_targets(usable, needs, partly=True)
            if each.code != "outside-image"
        ]
        for row, error in usable.errors.items():
            if not error.inverted:  # among the suspects
                size = error.field == "image_size" and row in unread
                why = f"got {short_repr(unread[row])}; expected [width, height]" if size else error.problem
                self.note(_code(error, read, row), row, why, place)
        self._look(usable, read, place, self._reach(usable, read, sizes, place))
        self._compare(read, usable)
        if contents is not None:
            own = [0 if row is None else hash((row.bbox, row.places, row.refusal, row.actions)) for row in read.rows]
            samples = [0 if row is None else each for row, each in zip(read.rows, contents, strict=True)]
            self._contents.append(np.array([samples, np.array(own, np.int64).view(np.uint64)], np.uint64))
        self.rows += len(read)

    def note(self, code: Code | str, row: int, evidence: str, place: Callable[[int], str]) -> None:
        """Count a row of the batch that comes next, or that is being added."""
        rows, number = self.found.setdefault(code, _Rows()), self.rows + row
        if rows.last == number:  # for another of its places
            return
        rows.count, rows.last = rows.count + 1, number
        rows.evidence = rows.evidence or f"(first: {place(row)}): {evidence}"
        if len(rows.first) < FIRST_ROWS:
            rows.first.append(number)

    def _look(self, usable: Targets, read: Targets, place: Callable[[int], str], unreached: NDArray[np.bool_]) -> None:
        """Look at sizes and shapes of places; those that are ``unreached`` are not tiny, too."""
        shares = read.prepare(
            replace(self.recipe.requirements, into=UNIT, response_space=None),
            image_sizes=usable.image_sizes, model_image_sizes=usable.model_image_sizes, bad_target="abstain",
        )  # fmt: skip
        regions = usable.regions
        box, share = regions.box, shares.regions.box
        extent = box[:, 2:] - box[:, :2]
        known = usable.valid[regions.row]
        boxes = known & (regions.kind == RegionKind.BBOX)
        sides = boxes * (extent == 0).sum(axis=1)  # without extent
        area = np.where(
            shares.valid[regions.row] & known & (sides == 0), np.prod(share[:, 2:] - share[:, :2], axis=1), np.nan
        )
        area[unreached | (regions.kind == RegionKind.POINT)] = np.nan
        centre = (share[:, :2] + share[:, 2:]) / 2
        outside = shares.valid[regions.row] & known & ((centre < -_ROUNDING) | (centre > 1 + _ROUNDING)).any(axis=1)
        polygons = np.flatnonzero(known & (regions.kind == RegionKind.POLYGON)).tolist()
        crossing = [index for index in polygons if not _simple(regions.outline(index))]
        for code, wrong, said in (
            (Code.ZERO_AREA, np.flatnonzero(sides == 2), "{}"),
            (_FLAT, np.flatnonzero(sides == 1), "{}"),
            (Code.TINY_TARGET, np.flatnonzero(area < TINY), "{}, {:.2g} of it"),
            (Code.GIANT_TARGET, np.flatnonzero(area > GIANT), "{}, {:.2g} of it"),
            (Code.OUTSIDE_IMAGE, np.flatnonzero(outside), "the centre of {}"),
            (Code.CROSSING_POLYGON, crossing, "{}"),
        ):
            for index in map(int, wrong):
                self.note(code, int(regions.row[index]), said.format(_written(read, index), area[index]), place)

    def _compare(self, read: Targets, usable: Targets) -> None:
        """Count places within 0..1000 of larger images, where numbers are read as pixels."""
        if self.recipe.requirements.default is not CoordSpace.PIXEL or usable.known_image_sizes is None:
            return
        sizes, ends = usable.image_sizes[read.regions.row], read.regions.box[:, 2:]
        large = (sizes > 1000) & ~np.isnan(sizes)
        self._beyond += int((ends > 1000).any(axis=1).sum())
        counted = large.any(axis=1)
        self._within += int(counted.sum())
        self._chance += float(np.log(1000 / sizes[large]).sum())
        if counted.any():
            width, height = sizes[counted].max(axis=0).tolist()
            self._largest = max(self._largest[0], width), max(self._largest[1], height)

    def _reach(self, usable: Targets, read: Targets, sizes: Any, place: Callable[[int], str]) -> NDArray[np.bool_]:
        """Find places without any whole number of the space of answers, and count the targets that have no other."""
        regions, space = usable.regions, self.recipe.response_space
        if space not in _NAMES or not self.answered:
            return np.zeros(len(regions.row), np.bool_)
        needs = replace(self.recipe.requirements, into=space, response_space=None)
        answered = read.prepare(needs, **sizes, bad_target="abstain")
        low, high = answered.regions.box[:, :2], answered.regions.box[:, 2:]
        slack = _ROUNDING * np.maximum(1.0, np.abs(high))
        lacks = (np.ceil(low - slack) > np.floor(high + slack)).any(axis=1)
        empty = (regions.box[:, 2:] == regions.box[:, :2]).any(axis=1)
        judged = (usable.valid & answered.valid)[regions.row] & ~empty
        reached = np.bincount(regions.row[judged & ~lacks], minlength=len(usable)) > 0
        unreached: NDArray[np.bool_] = judged & lacks & ~reached[regions.row]
        for index in np.flatnonzero(unreached).tolist():
            evidence = f"{_written(read, index)}, answers are whole {_NAMES[space]}"
            self.note(Code.UNREACHABLE, int(regions.row[index]), evidence, place)
        return unreached

    def findings(self) -> list[Finding]:
        """Return what looks wrong so far, errors first."""
        found, suspects = dict(self.found), sorted(reported(self._suspects), key=lambda each: each.code)
        flat, empty = found.pop(_FLAT, None), found.get(Code.ZERO_AREA, _Rows())
        if flat and not any(each.code == Code.BOX_FORMAT for each in suspects):
            first = sorted(empty.first + flat.first)[:FIRST_ROWS]
            both = _Rows(empty.count + flat.count, first, evidence=empty.evidence or flat.evidence)
            found[Code.ZERO_AREA] = both
        several = [self._finding(code, found[code]) for code in _SAID if code in found]
        several += [*map(self._suspect, suspects), *self._space(), *self._ambiguous()]
        order = [*Severity]
        return sorted(several, key=lambda each: order.index(each.severity))

    def _finding(self, code: Code, rows: _Rows) -> Finding:
        severity, what, fix = _SAID[code]
        message = f"{what}: {rows.count:,} of {self.rows:,} {rows.evidence}"
        return Finding(code, severity, rows.count, tuple(rows.first), message, fix)

    def _suspect(self, suspect: SuspectTargets) -> Finding:
        """Return the finding; of boxes that cannot be x1 y1 x2 y2 it is a mistake in some, or another format of all."""
        code, severity = Code(suspect.code), _ERROR if suspect.certain else _WARNING
        message, fix = suspect.message, suspect.fix
        if suspect.certain and suspect.against:
            code, fix = Code.INVERTED_BOX, "swap their corners, or leave them out"
            message = f"{message}, and {suspect.against:,} other boxes cannot be x y w h"
        return Finding(code, severity, suspect.count, (suspect.row,), message, fix)

    def _space(self) -> list[Finding]:
        if self._beyond or not self._within or self._chance > np.log(_CHANCE):
            return []
        width, height = self._largest
        message = (
            f"all {plural(self._within, 'target')} of images larger than 1000 pixels, up to {width:g} x {height:g}, "
            "lie within 0..1000, though they are read as pixels"
        )
        fix = "if they are thousandths: --target-space thousandths"
        return [Finding(Code.SPACE, _WARNING, self._within, (), message, fix)]

    def _ambiguous(self) -> list[Finding]:
        if not self._contents:
            return []
        samples, targets = np.concatenate(self._contents, axis=1)
        order = np.lexsort((targets, samples))
        samples, targets = samples[order], targets[order]
        alike = (samples[1:] == samples[:-1]) & (samples[1:] != 0)
        differ = np.isin(samples, samples[1:][alike & (targets[1:] != targets[:-1])])
        rows = np.sort(order[differ]).tolist()
        if not rows:
            return []
        own = _Rows(len(rows), rows[:FIRST_ROWS], evidence=f"(first: row {rows[0]})")
        return [self._finding(Code.AMBIGUOUS, own)]


_NAMES = {
    CoordSpace.THOUSANDTHS: "thousandths",
    CoordSpace.PIXEL: "pixels",
    CoordSpace.MODEL_PIXEL: "pixels of the image that the model sees",
}
"""Spaces in which answers are whole numbers."""


def _code(error: TargetError, read: Targets, row: int) -> Code:
    """Return the kind of a target that cannot be used."""
    if error.field in ("image_size", "model_image_size"):
        return Code.IMAGE_SIZE
    if error.field == "refusal" and error.came is True and row in read.errors:
        return Code.REFUSAL_WITH_PLACE
    numbers = error.came if isinstance(error.came, list | tuple) else ()
    if any(isinstance(each, int | float) and not -np.inf < each < np.inf for each in numbers):
        return Code.NOT_FINITE
    own = read.regions.row == row
    if row in read.errors or not own.any():
        return Code.BAD_TARGET
    if (read.regions.kind[own] == RegionKind.POINT).all() and error.field == "point":
        return Code.POINT_TARGET
    return Code.SPACE if (np.abs(read.regions.box[own]) <= 1).all() else Code.OUTSIDE_IMAGE


def _written(read: Targets, index: int) -> str:
    """Return a place as it was written."""
    row = int(read.regions.row[index])
    target = read.rows[row]
    assert target is not None  # it has places
    region = target.regions[index - int(np.searchsorted(read.regions.row, row))]
    return f"{region.kind.name.lower()} {short_repr(list(region.numbers))}"


def _simple(corners: Floats) -> bool:
    from shapely import LinearRing  # slow to import, and few have polygons

    return bool(LinearRing(corners).is_simple)
