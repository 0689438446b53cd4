"""The places of all samples as one ragged table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats, nowhere, read_only
from grounding_rewards.coords.spaces import CoordSpace, convert
from grounding_rewards.targets.target import Region, RegionKind

_BBOX = RegionKind.BBOX
_BOXES = frozenset({_BBOX})
_CORNERS = 72  # of the polygon that stands for a circle


@dataclass(frozen=True, eq=False)
class Shapes:
    """Columns of places beyond their boxes, absent where all are plain boxes. Attributes are those of ``Regions``."""

    kind: NDArray[np.int8]
    point: Floats
    radii: Floats
    vertices: Floats
    offsets: NDArray[np.int64]


class PerSample:
    """Base of tables with several rows a sample: ``row`` is each row's sample; ``one_per_row``: each has one."""

    row: NDArray[np.int64]
    one_per_row: bool

    def each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat each sample's value for each of its rows: (n, ...) to (m, ...)."""
        return values if self.one_per_row else values[self.row]

    def best(self, scores: Floats, rows: int) -> Floats:
        """Return the best row's score of each sample: (m,) to (n,), 0.0 for a sample without rows."""
        if self.one_per_row:
            return scores
        best = np.full(rows, -np.inf)  # stays where a sample has no rows
        np.maximum.at(best, self.row, scores)
        return np.where(np.isneginf(best), 0.0, best)


@dataclass(frozen=True, eq=False)
class Regions(PerSample):
    """The places of all samples, m rows in sample order."""

    row: NDArray[np.int64]  # (m,) the sample that each place belongs to, ascending
    box: Floats  # (m, 4) x1 y1 x2 y2: the box itself, that around a polygon or circle, or a point twice
    kinds: frozenset[RegionKind]  # those that occur
    one_per_row: bool  # True where every sample has exactly one place
    shapes: Shapes | None = None

    def make_read_only(self) -> None:
        """Make the columns read-only."""
        read_only(self.row, self.box)
        if self.shapes is not None:
            read_only(*vars(self.shapes).values())

    @property
    def kind(self) -> NDArray[np.int8]:
        """(m,) ``RegionKind``."""
        return np.zeros(len(self.row), dtype=np.int8) if self.shapes is None else self.shapes.kind

    @property
    def boxes_only(self) -> bool:
        """True where every place is a box."""
        return self.kinds <= _BOXES

    @property
    def point(self) -> Floats:
        """(m, 2) the marked point: a point target, a circle's centre, the point beside a bbox; else NaN."""
        return np.full((len(self.row), 2), np.nan) if self.shapes is None else self.shapes.point

    @property
    def radii(self) -> Floats:
        """(m, 2) a circle's radius along x and y, which differ after a resize that distorts; else NaN."""
        return np.full((len(self.row), 2), np.nan) if self.shapes is None else self.shapes.radii

    @property
    def vertices(self) -> Floats:
        """(k, 2) the corners of all polygons, one after the other."""
        return np.zeros((0, 2)) if self.shapes is None else self.shapes.vertices

    @property
    def offsets(self) -> NDArray[np.int64]:
        """(m + 1,) where each place's corners start and end in ``vertices``."""
        return np.zeros(len(self.row) + 1, dtype=np.int64) if self.shapes is None else self.shapes.offsets

    @cached_property
    def centre(self) -> Floats:
        """(m, 2) centre of each box or bounding box."""
        centre = geometry.centre(self.box)
        read_only(centre)
        return centre

    @cached_property
    def diagonal(self) -> Floats:
        """(m,) length of the diagonal of each box or bounding box."""
        diagonal = geometry.diagonal(self.box)
        read_only(diagonal)
        return diagonal

    @cached_property
    def some_diagonal(self) -> Floats:
        """(m,) the same, and 1.0 where there is none: what lies on a place without extent is 0 away from it."""
        some = np.where(self.diagonal > 0, self.diagonal, 1.0)
        read_only(some)
        return some

    def among(self, box: Floats, rows: NDArray[np.int64], others: NDArray[np.int64]) -> Regions:
        """Put these places, whose samples become ``rows``, among lone boxes (k, 4) of the samples ``others`` (k,)."""
        row, shapes = np.concatenate((others, rows[self.row])), self.shapes
        order = np.argsort(row, kind="stable")
        if shapes is not None:
            none, corners = nowhere(len(box), 2), np.zeros(len(box), dtype=np.int64)
            shapes = Shapes(
                kind=np.concatenate((np.full(len(box), _BBOX, dtype=np.int8), shapes.kind))[order],
                point=np.concatenate((none, shapes.point))[order],
                radii=np.concatenate((none, shapes.radii))[order],
                vertices=shapes.vertices,
                offsets=np.cumsum([0, *np.concatenate((corners, np.diff(shapes.offsets)))[order]], dtype=np.int64),
            )
        box = np.concatenate((box, self.box))[order]
        return Regions(row[order], box, self.kinds | _BOXES, self.one_per_row, shapes)

    def outline(self, place: int) -> Floats:
        """Return a place's corners (k, 2): of a circle 72, of a point the point itself."""
        kind, (x1, y1, x2, y2) = self.kind[place], self.box[place]
        if kind == RegionKind.POLYGON:
            return self.vertices[self.offsets[place] : self.offsets[place + 1]]
        if kind == RegionKind.POINT:
            return self.point[[place]]
        if kind == RegionKind.CIRCLE:
            turns = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)[:, None]
            ring: Floats = self.point[place] + self.radii[place] * np.hstack((np.cos(turns), np.sin(turns)))
            return ring
        return np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])


def regions_of(owners: list[int], places: list[Region | None], boxes: list[tuple[float, ...]], rows: int) -> Regions:
    """Build the places of ``rows`` samples from each place's sample and its box or bounding box; None: a lone box."""
    kinds = frozenset([place.kind if place else _BBOX for place in places])
    boxed = kinds <= _BOXES and not any(place and place.point for place in places)
    one_per_row = len(owners) == rows and owners == list(range(rows))
    return Regions(
        row=np.arange(rows) if one_per_row else np.array(owners, dtype=np.int64),
        box=np.array(boxes, dtype=np.float64) + 0.0 if boxes else np.zeros((0, 4)),
        kinds=kinds,
        one_per_row=one_per_row,
        shapes=None if boxed else _shapes([place or _LONE for place in places]),
    )


_LONE = Region(_BBOX, ())


def _shapes(places: Sequence[Region]) -> Shapes:
    nan, centred = (np.nan, np.nan), (RegionKind.POINT, RegionKind.CIRCLE)
    marked = [region.numbers[:2] if region.kind in centred else region.point or nan for region in places]
    radii = [region.numbers[2:] * 2 if region.kind == RegionKind.CIRCLE else nan for region in places]
    corners = [region.numbers if region.kind == RegionKind.POLYGON else () for region in places]
    return Shapes(
        kind=np.array([region.kind for region in places], dtype=np.int8),
        point=np.array(marked, dtype=np.float64).reshape(-1, 2),
        radii=np.array(radii, dtype=np.float64).reshape(-1, 2),
        vertices=np.array([number for flat in corners for number in flat], dtype=np.float64).reshape(-1, 2),
        offsets=np.cumsum([0, *(len(flat) // 2 for flat in corners)], dtype=np.int64),
    )


def bounding_box(region: Region) -> tuple[float, ...]:
    """Return x1 y1 x2 y2 around a place."""
    numbers = region.numbers
    if region.kind == RegionKind.BBOX:
        return numbers
    if region.kind == RegionKind.POINT:
        return numbers + numbers
    if region.kind == RegionKind.CIRCLE:
        x, y, r = numbers
        return (x - r, y - r, x + r, y + r)
    return (min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))


def converted(
    regions: Regions,
    chosen: NDArray[np.bool_],
    source: CoordSpace,
    into: CoordSpace,
    image_sizes: Floats,
    model_image_sizes: Floats,
) -> Regions:
    """Convert the chosen (m,) places; the others are in another space and are converted in their own call."""
    sizes = regions.each(image_sizes), regions.each(model_image_sizes)
    every = bool(chosen.all())  # mostly all are in one space: no choice to make

    def moved(values: Floats, mask: NDArray[np.bool_], sizes: tuple[Floats, Floats]) -> Floats:
        new = convert(values, source, into, *sizes)
        return new if every else np.where(mask[:, None], new, values)

    box = moved(regions.box, chosen, sizes)
    if regions.shapes is None:
        return replace(regions, box=box)
    owner = np.repeat(np.arange(len(regions.row)), np.diff(regions.offsets))
    vertex_sizes = sizes[0][owner], sizes[1][owner]

    shapes = Shapes(
        kind=regions.kind,
        point=moved(regions.point, chosen, sizes),
        radii=moved(regions.radii, chosen, sizes),
        vertices=moved(regions.vertices, chosen[owner], vertex_sizes),
        offsets=regions.offsets,
    )
    return replace(regions, box=box, shapes=shapes)
