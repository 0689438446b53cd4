"""Scales by which responses may differ from their space: constant ones, and those of images that pipelines resize.

What is written over the centre of the target is, in the rows that hit, one number on each axis: its commonest value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.checks.landing import Landing
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import PIXEL, UNIT, CoordSpace
from grounding_rewards.errors import SpaceError

_LEAST_ROWS, _LEAST_SHARE = 8, 0.2  # that agree on a scale
_LOOSE = 0.3  # of the distance from the corner: targets that are larger tell little
_FAR = math.log(1.15)  # nearer to 1 the model misses; no screen is scaled by less
_OBLONG = math.log(1.06)  # the sides of images keep their ratio so far
_SNAP = math.log(1.01)
_PUBLISHED = 3.0  # log-likelihood that a published bound may be short of
_CANDIDATES = 128
_SCREENS = [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0]
_FACTORS = np.array([1.0, *_SCREENS, *(1 / each for each in _SCREENS)])
"""Factors by which systems scale screens."""

_LENGTHS = np.array(
    [1, 100, 512, 600, 640, 672, 720, 768, 800, 900, 1000, 1008, 1024, 1050, 1080, 1120, 1200, 1229, 1280, 1344, 1366,
     1440, 1600, 1920, 2048, 2160, 2560, 3840.0]
)  # fmt: skip
"""Lengths over which answers run: percent, bins, sides of screens."""

_BOUNDS = (
    1003520, 2007040, 2116800, 2109744, 2097152, 1806336, 1258291, 2352000, 3211264, 3686400, 4390400, 4800000, 5720064,
    6000000, 6553600, 8847360, 10035200, 401408, 501760, 602112, 200704, 1053696, 1204224, 1605632, 1048576, 4194304,
    1000000, 2000000, 4000000, 10000000,
)  # fmt: skip
"""Bounds of pixels that models and launches are published with."""


def scales(
    written: Floats, places: Landing, image_sizes: Floats
) -> Iterator[tuple[CoordSpace, tuple[float, float], bool]]:
    """Yield scales of x and y with the space in which they divide what is written, (n, 2); True for usual ones.

    In pixels they are factors; in shares of the image the lengths of its sides, where images differ in size.
    """
    whole = np.ones_like(image_sizes)
    for numbers, extent in ((places.points, whole), (written, whole), (written, 1000 * whole), (written, image_sizes)):
        ratio = _ratio(numbers, places, extent)
        if ratio is not None and np.abs(np.log(ratio)).max() < _FAR:  # that space, and the model misses a little
            return
    pixels = np.where(np.isnan(image_sizes), places.screens, image_sizes)
    bases = [(PIXEL, pixels, _FACTORS)]
    if len(np.unique(pixels, axis=0)) > 1:
        bases.append((UNIT, whole, _LENGTHS))
    for space, extent, usual in bases:
        scale = _ratio(written, places, extent)
        if scale is not None:
            x, y = (_snapped(each, usual) for each in scale.tolist())
            yield space, (x, y), x in usual and y in usual


def bounded(own: Resizing | None, written: Floats, places: Landing, image_sizes: Floats) -> Iterator[Resizing]:
    """Yield the pipeline and the bound that make images of the area over which answers run, if there is one.

    Of those that fit about as well it is a published bound.
    """
    area = image_sizes.prod(axis=1)
    scale = _ratio(written, places, image_sizes / np.sqrt(area)[:, None])
    if scale is None or abs(math.log(scale[0] / scale[1])) > _OBLONG or scale.prod() > np.nanmax(area):
        return
    found, sizes = float(scale.prod()), np.unique(image_sizes[~np.isnan(area)], axis=0)
    fits = list[tuple[float, Resizing]]()
    for model in (own.model,) if own else ("qwen2_5_vl", "qwen3_vl"):
        near = [bound for bound in _BOUNDS if 0.94 * found < bound < 1.12 * found]
        for number, bound in enumerate((*near, *_steps(sizes, Resizing(model).factor, found))):
            try:
                resizing = Resizing(**{**(vars(own) if own else {"model": model}), "max_pixels": bound})
            except SpaceError:  # another bound contradicts it
                continue
            shares = written / resizing.sizes(image_sizes)[0]
            likely = float(replace(places, points=shares).log_likelihoods().sum())
            fits.append((likely + (_PUBLISHED if number < len(near) else 0.0), resizing))
    if fits:
        yield max(fits, key=lambda fit: fit[0])[1]


def _steps(sizes: Floats, factor: int, found: float) -> list[int]:
    """Return the bounds near an area at which a side of an image grows by another multiple of the factor."""
    steps = set[int]()
    for width, height in sizes[:8].tolist():
        for side, other in ((width, height), (height, width)):
            ends = (math.sqrt(share * found * side / other) / factor for share in (0.94, 1.12))
            first, last = map(math.ceil, ends)
            steps |= {math.ceil((factor * count) ** 2 * other / side) + 1 for count in range(first, last)}
    return sorted(steps)[:64]


def _ratio(written: Floats, places: Landing, extent: Floats) -> Floats | None:
    """Return the commonest ratio of what is written to the target's centre times an extent, (2,), if there is one."""
    only = np.flatnonzero(np.bincount(places.row, minlength=len(written))[places.row] == 1)
    rows, centres = places.row[only], places.centres[only]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(written[rows] / (centres * extent[rows]))
        loose = places.sides[rows] / (2 * centres)
    axes = [_commonest(logs[:, axis], loose[:, axis], len(written)) for axis in (0, 1)]
    return None if axes[0] is None or axes[1] is None else np.exp([axes[0], axes[1]])


def _commonest(logs: Floats, loose: Floats, rows: int) -> float | None:
    """Return the value with most others around it, each as near as half of its target's side allows."""
    good = np.isfinite(logs) & (loose > 0) & (loose < _LOOSE)
    logs, loose = logs[good], loose[good]
    if len(logs) < _LEAST_ROWS:
        return None
    tried = logs[:: -(-len(logs) // _CANDIDATES)]
    around: NDArray[np.bool_] = np.abs(logs - tried[:, None]) < loose
    agree = around[int(np.argmax(around.sum(axis=1)))]
    if agree.sum() < max(_LEAST_ROWS, _LEAST_SHARE * rows):
        return None
    order = np.argsort(logs[agree])
    weights = np.cumsum((1 / loose[agree])[order])
    return float(logs[agree][order][np.searchsorted(weights, weights[-1] / 2)])


def _snapped(value: float, nice: Floats) -> float:
    away = np.abs(np.log(nice / value))
    return float(nice[int(np.argmin(away))]) if away.min() < _SNAP else float(f"{value:.4g}")
