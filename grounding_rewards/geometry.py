"""Geometry: pure, broadcasting functions on points, boxes and polygons that share one space.

Points are (n, 2), boxes (n, 4) as x1 y1 x2 y2. A NaN on either side is inside nothing.
"""

from __future__ import annotations

from math import sqrt
from operator import le, lt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


def in_box(xy: Floats, box: Floats, *, strict: bool = False) -> Bools:
    """Test x1 <= x <= x2 and y1 <= y <= y2: the border counts, or not where ``strict``."""
    before = lt if strict else le
    if len(xy) == len(box) == 1:  # comparing is exact with or without numpy, which takes ten times as long for one row
        (x, y), (x1, y1, x2, y2) = xy[0].tolist(), box[0].tolist()
        return np.array([before(x1, x) and before(x, x2) and before(y1, y) and before(y, y2)])
    x, y = xy[:, 0], xy[:, 1]
    inside: Bools = before(box[:, 0], x) & before(x, box[:, 2]) & before(box[:, 1], y) & before(y, box[:, 3])
    return inside


def enlarged(box: Floats, factor: float) -> Floats:
    """Scale boxes to ``factor`` times their width and height about their centres."""
    centre, half = (box[:, :2] + box[:, 2:]) / 2, (box[:, 2:] - box[:, :2]) / 2 * factor
    return np.concatenate((centre - half, centre + half), axis=1)


def in_ellipse(xy: Floats, centre: Floats, radii: Floats, *, strict: bool = False) -> Bools:
    """Test ||(x - cx, (y - cy) · rx / ry)|| <= rx, or < where ``strict``: a circle, also one that was distorted."""
    # Of a circle rx / ry is 1, so that whole numbers are exact: (5, 12) is on the border of radius 13. Far points
    # overflow to infinity, which is outside; a NaN compares False.
    with np.errstate(over="ignore", invalid="ignore"):
        away = xy - centre
        away[:, 1] *= radii[:, 0] / radii[:, 1]
        inside: Bools = (lt if strict else le)(lengths(away), radii[:, 0])
    return inside


def in_polygon_half_open(xy: Floats, vertices: Floats, offsets: Ints) -> Bools:
    """Apply the even-odd rule by a ray to the right; left and top edges are in, right and bottom edges out.

    ``offsets`` (m + 1,) say where each polygon's corners begin and end. An edge from b to the next corner a counts if
    (ay > y) != (by > y) and x < (bx - ax)(y - ay) / (by - ay) + ax; inside is an odd count. On slanted edges the
    rounding of this formula decides.
    """
    owner, following = _edges(offsets)
    a, b, point = vertices[following], vertices, xy[owner]
    spans = (a[:, 1] > point[:, 1]) != (b[:, 1] > point[:, 1])
    rise = np.where(spans, b[:, 1] - a[:, 1], 1.0)  # a level edge never spans: 1.0 avoids a division by 0
    crosses = spans & (point[:, 0] < (b[:, 0] - a[:, 0]) * (point[:, 1] - a[:, 1]) / rise + a[:, 0])
    inside: Bools = np.bincount(owner, weights=crosses, minlength=len(offsets) - 1) % 2 == 1
    return inside


def in_polygon(xy: Floats, vertices: Floats, offsets: Ints, *, strict: bool = False) -> Bools:
    """Test points inside a polygon or on its border, by shapely; arguments as for ``in_polygon_half_open``."""
    import shapely  # slow to import, and only polygons need it

    inside = np.zeros(len(xy), dtype=np.bool_)
    counts = np.diff(offsets)
    # reduceat needs an index below the length: the 0.0 appended stands for polygons without corners at the end.
    unknown = np.add.reduceat(np.isnan(np.append(vertices.sum(axis=1), 0.0)), offsets[:-1])
    rows = np.flatnonzero((counts > 0) & (unknown == 0) & np.isfinite(xy[:, 0] + xy[:, 1]))
    if len(rows):
        chosen = np.zeros(len(xy), dtype=np.bool_)
        chosen[rows] = True
        owner = np.repeat(np.arange(len(rows)), counts[rows])
        polygons = shapely.polygons(shapely.linearrings(vertices[np.repeat(chosen, counts)], indices=owner))
        rule = shapely.contains_xy if strict else shapely.intersects_xy  # intersects counts the border
        inside[rows] = rule(polygons, xy[rows, 0], xy[rows, 1])
    return inside


def outline_distance(xy: Floats, vertices: Floats, offsets: Ints) -> Floats:
    """Return the distance to the nearest edge of each polygon, from inside and from outside: (m,).

    Arguments as for ``in_polygon_half_open``; NaN for a polygon without corners and for a point that is NaN.
    """
    counts = np.diff(offsets)
    distances = np.full(len(counts), np.nan)
    owner, following = _edges(offsets)
    if not len(owner):
        return distances
    a, point = vertices, xy[owner]
    edge, away = vertices[following] - a, point - a
    length = edge[:, 0] * edge[:, 0] + edge[:, 1] * edge[:, 1]
    # Two corners in one place make an edge of length 0, whose nearest point is that place.
    along = (away[:, 0] * edge[:, 0] + away[:, 1] * edge[:, 1]) / np.where(length > 0, length, 1.0)
    nearest = distance(point, a + np.clip(along, 0.0, 1.0)[:, None] * edge)
    distances[counts > 0] = np.minimum.reduceat(nearest, offsets[:-1][counts > 0])
    return distances


def _edges(offsets: Ints) -> tuple[Ints, Ints]:
    """Return, for each corner of all polygons, the polygon that it belongs to, and the corner that follows."""
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    following = np.arange(1, len(owner) + 1)
    following[offsets[1:][counts > 0] - 1] = offsets[:-1][counts > 0]  # the last corner is followed by the first
    return owner, following


def polygon_means(vertices: Floats, offsets: Ints) -> Floats:
    """Return the mean of each polygon's corners: (m, 2), NaN for a polygon without corners."""
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    sums = [np.bincount(owner, weights=vertices[:, axis], minlength=len(counts)) for axis in (0, 1)]
    full = np.where(counts > 0, counts, np.nan)
    return np.stack(sums, axis=1) / full[:, None]


def distance(a: Floats, b: Floats) -> Floats:
    """Return the Euclidean distance between points, row by row: (n,)."""
    return lengths(a - b)


def lengths(vectors: Floats) -> Floats:
    """Return the Euclidean length of each vector: (n, 2) to (n,)."""
    if len(vectors) == 1:  # plain floats give the same last bit in products, sums and roots, and much sooner
        x, y = vectors[0].tolist()
        return np.array([sqrt(x * x + y * y)])
    squares = vectors * vectors
    length: Floats = np.sqrt(squares[:, 0] + squares[:, 1])
    return length


def box_gap(xy: Floats, box: Floats) -> Floats:
    """Return the distance from each point to its box, 0.0 inside: (n,)."""
    return lengths(np.maximum(np.maximum(box[:, :2] - xy, xy - box[:, 2:]), 0.0))


def diagonal(box: Floats) -> Floats:
    """Return the length of each box's diagonal: (n,)."""
    return distance(box[:, 2:], box[:, :2])


def centre(box: Floats) -> Floats:
    """Return the centre of each box: (n, 2)."""
    return (box[:, :2] + box[:, 2:]) / 2


def area(box: Floats) -> Floats:
    """Return width times height of each box: (n,)."""
    return (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])


def shared_area(a: Floats, b: Floats, least: float = 0.0) -> Floats:
    """Return the area that two boxes have in common, 0.0 where it is at most ``least`` wide or high: (n,)."""
    sides = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    shared = np.where(sides > least, sides, 0.0)
    return shared[:, 0] * shared[:, 1]


def hull(a: Floats, b: Floats) -> Floats:
    """Return the smallest box around both: (n, 4)."""
    return np.concatenate((np.minimum(a[:, :2], b[:, :2]), np.maximum(a[:, 2:], b[:, 2:])), axis=1)
