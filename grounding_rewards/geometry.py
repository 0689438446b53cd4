"""Pure, broadcasting functions on points, boxes and polygons. They know no space: both sides share one.

Points are (n, 2), boxes (n, 4) as x1 y1 x2 y2. A NaN on either side is inside nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


def in_box(xy: Floats, box: Floats) -> Bools:
    """x1 <= x <= x2 and y1 <= y <= y2: the border counts.

    Args:
        xy: (n, 2) points.
        box: (n, 4) boxes, x1 y1 x2 y2.

    Returns:
        (n,) booleans.

    >>> box = np.array([[0., 0., 10., 5.]])
    >>> in_box(np.array([[10., 5.], [10.1, 5.], [np.nan, 1.]]), box)
    array([ True, False, False])
    """
    x, y = xy[:, 0], xy[:, 1]
    return (x >= box[:, 0]) & (x <= box[:, 2]) & (y >= box[:, 1]) & (y <= box[:, 3])


def in_ellipse(xy: Floats, centre: Floats, radii: Floats) -> Bools:
    """((x - cx) / rx)² + ((y - cy) / ry)² <= 1: a circle, also after a resize that distorts it.

    >>> in_ellipse(np.array([[3., 4.], [3.1, 4.]]), np.array([[0., 0.]]), np.array([[5., 5.]]))
    array([ True, False])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (xy - centre) / radii
        return scaled[:, 0] * scaled[:, 0] + scaled[:, 1] * scaled[:, 1] <= 1.0


def in_polygon_half_open(xy: Floats, vertices: Floats, offsets: Ints) -> Bools:
    """Even-odd rule by a ray to the right; left and top edges are in, right and bottom edges out.

    An edge a-b counts if (ay > y) != (by > y) and x < (bx - ax)(y - ay) / (by - ay) + ax; inside is an odd count.

    Args:
        xy: (m, 2) one point a polygon.
        vertices: (k, 2) the corners of all polygons, one after the other.
        offsets: (m + 1,) where each polygon's corners start and end.

    Returns:
        (m,) booleans; False for a polygon without corners.

    >>> square = np.array([[0., 0.], [2., 0.], [2., 2.], [0., 2.]])
    >>> in_polygon_half_open(np.array([[0., 1.]]), square, np.array([0, 4]))
    array([ True])
    >>> in_polygon_half_open(np.array([[2., 1.]]), square, np.array([0, 4]))
    array([False])
    """
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    following = np.arange(1, len(vertices) + 1)
    ends = offsets[1:][counts > 0]
    following[ends - 1] = offsets[:-1][counts > 0]
    a, b, point = vertices, vertices[following], xy[owner]
    spans = (a[:, 1] > point[:, 1]) != (b[:, 1] > point[:, 1])
    rise = np.where(spans, b[:, 1] - a[:, 1], 1.0)
    crosses = spans & (point[:, 0] < (b[:, 0] - a[:, 0]) * (point[:, 1] - a[:, 1]) / rise + a[:, 0])
    odd: Bools = np.bincount(owner, weights=crosses, minlength=len(counts)) % 2 == 1
    return odd


def in_polygon(xy: Floats, vertices: Floats, offsets: Ints) -> Bools:
    """Inside or on the border, by shapely. Arguments and result as for ``in_polygon_half_open``.

    >>> square = np.array([[0., 0.], [2., 0.], [2., 2.], [0., 2.]])
    >>> in_polygon(np.array([[2., 1.]]), square, np.array([0, 4]))
    array([ True])
    """
    import shapely

    inside = np.zeros(len(xy), dtype=np.bool_)
    unknown = np.add.reduceat(np.isnan(np.append(vertices.sum(axis=1), 0.0)), offsets[:-1])
    rows = np.flatnonzero((np.diff(offsets) > 0) & (unknown == 0) & np.isfinite(xy[:, 0] + xy[:, 1]))
    rings: list[Any] = [vertices[offsets[row] : offsets[row + 1]] for row in rows]
    if rings:
        inside[rows] = shapely.intersects_xy([shapely.Polygon(ring) for ring in rings], xy[rows, 0], xy[rows, 1])
    return inside


def polygon_means(vertices: Floats, offsets: Ints) -> Floats:
    """Mean of each polygon's corners: (m, 2), NaN for a polygon without corners.

    >>> polygon_means(np.array([[0., 0.], [3., 0.], [0., 3.]]), np.array([0, 3]))
    array([[1., 1.]])
    """
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    sums = [np.bincount(owner, weights=vertices[:, axis], minlength=len(counts)) for axis in (0, 1)]
    full = np.where(counts > 0, counts, np.nan)
    return np.stack(sums, axis=1) / full[:, None]


def distance(a: Floats, b: Floats) -> Floats:
    """Euclidean distance between points, row by row: (n,).

    >>> distance(np.array([[0., 0.]]), np.array([[3., 4.]]))
    array([5.])
    """
    x, y = a[:, 0] - b[:, 0], a[:, 1] - b[:, 1]
    return np.sqrt(x * x + y * y)


def diagonal(box: Floats) -> Floats:
    """Length of each box's diagonal: (n,).

    >>> diagonal(np.array([[0., 0., 3., 4.]]))
    array([5.])
    """
    return distance(box[:, 2:], box[:, :2])
