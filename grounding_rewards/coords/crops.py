"""Crops of an image about places, and places in crops as places in the image."""

from __future__ import annotations

import numpy as np

from grounding_rewards.arrays import Floats


def crops_about(points: Floats, ratio: float, sizes: Floats) -> Floats:
    """Return crops of images about points, moved inside where an edge is near.

    Args:
        points: (n, 2) shares of the images' width and height.
        ratio: the share of both sides that a crop has, above 0 to 1.
        sizes: (n, 2) width and height of the images.

    Returns:
        (n, 4) boxes x1 y1 x2 y2 in whole pixels of the images.

    >>> crops_about(np.array([[0.5, 0.5], [1.0, 0.0]]), 0.5, np.array([[640.0, 480.0]] * 2)).tolist()
    [[160.0, 120.0, 480.0, 360.0], [320.0, 0.0, 640.0, 240.0]]
    """
    sides = np.maximum(np.round(sizes * ratio), 1.0)
    starts = np.clip(np.round(points * sizes - sides / 2), 0.0, sizes - sides)
    return np.hstack((starts, starts + sides))


def from_crops(places: Floats, crops: Floats, extents: Floats | float) -> Floats:
    """Return places in crops as places in the image that the crops were taken from.

    Args:
        places: (n, 2) points or (n, 4) boxes x1 y1 x2 y2, as answered on a crop.
        crops: (n, 4) boxes of the crops in the image, in any space.
        extents: the numbers that places run to: 1 for shares of the crop, 1000 for thousandths, or (n, 2) width and
            height of the crop as it was shown, for pixels.

    Returns:
        The places in the space of ``crops``. A crop of a crop is mapped from the innermost outward.

    A tool showed the crop (600, 250, 800, 400), and the answer is (560, 450), all in thousandths:

    >>> from_crops(np.array([[560.0, 450.0]]), np.array([[600.0, 250.0, 800.0, 400.0]]), 1000.0).tolist()
    [[712.0, 317.5]]
    """
    starts, ends = crops[:, :2], crops[:, 2:]
    pairs = places.reshape(len(places), -1, 2)
    scale = (ends - starts) / extents
    mapped: Floats = starts[:, None] + pairs * scale[:, None]
    return mapped.reshape(places.shape)
