"""Numbers of targets by which two files, or two rows of a sample, are checked to ask for the same."""

from __future__ import annotations

import zlib

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.coords.spaces import CoordSpace, convert
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import RegionKind

WIDTH = 13
"""Numbers of a target."""


def target_numbers(targets: Targets, space: CoordSpace) -> Floats:
    """Return numbers that are equal, but for rounding, where targets are: (n, 13).

    Refusal, number of places, their bounds, the actions, the sum of the places' areas, and the sums of x, y, x², y² and
    xy over their corners, in whatever order these are written. Pixels of the model's image become shares of it.

    >>> from grounding_rewards.coords.spaces import PIXEL
    >>> square, dented = [0, 0, 4, 0, 4, 4, 0, 4], [0, 0, 4, 0, 2, 2, 4, 4, 0, 4]
    >>> targets = Targets.from_list([{"bbox": [0, 0, 4, 4]}, {"polygon": square}, {"polygon": dented}])
    >>> target_numbers(targets, PIXEL)[:, 7].tolist()
    [16.0, 16.0, 12.0]
    """
    count, sizes = len(targets), (targets.image_sizes, targets.model_image_sizes)
    xy, owner, area = _corners(targets.regions)
    if space is CoordSpace.MODEL_PIXEL:  # two models see images of different sizes
        xy = convert(xy, space, CoordSpace.UNIT, *(each[owner] for each in sizes))
        area = area / np.prod(targets.model_image_sizes[targets.regions.row], axis=1)
    low, high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    np.minimum.at(low, owner, xy)
    np.maximum.at(high, owner, xy)
    bounds = np.hstack((low, high))
    bounds[~np.isfinite(bounds)] = np.nan
    actions = np.zeros(count)
    for row in np.flatnonzero(targets.acts).tolist():
        target = targets.rows[row]
        actions[row] = zlib.crc32(repr(target and target.every_action()).encode("utf-8", "surrogatepass"))
    x, y = xy.T
    of_place = targets.regions.row
    sums = [
        np.bincount(of_place, area, count),
        *(np.bincount(owner, each, count) for each in (x, y, x * x, y * y, x * y)),
    ]
    return np.column_stack((targets.refusal, np.bincount(of_place, minlength=count), bounds, actions, *sums))


def _corners(regions: Regions) -> tuple[Floats, Ints, Floats]:
    """Return the corners of all places, (k, 2), of a circle those of the box around it; their samples; areas, (m,)."""
    polygons, starts, ends = regions.kind == RegionKind.POLYGON, regions.offsets[:-1], regions.offsets[1:]
    place = np.repeat(np.arange(len(regions.row)), ends - starts)
    following = np.arange(1, len(regions.vertices) + 1)
    following[ends[polygons] - 1] = starts[polygons]
    (x, y), (next_x, next_y) = regions.vertices.T, regions.vertices[following].T
    doubled = np.abs(np.bincount(place, x * next_y - next_x * y, len(regions.row)))
    x1, y1, x2, y2 = regions.box.T
    boxes = (x2 - x1) * (y2 - y1) * np.where(regions.kind == RegionKind.CIRCLE, np.pi / 4, 1.0)
    others = np.flatnonzero(~polygons)
    of_boxes = np.stack((x1, y1, x2, y1, x2, y2, x1, y2), axis=1)[others].reshape(-1, 2)
    owner = np.concatenate((regions.row[place], np.repeat(regions.row[others], 4)))
    return np.concatenate((regions.vertices, of_boxes)), owner, np.where(polygons, doubled / 2, boxes)
