"""Places where rollouts land beside their targets: a test of which of two readings is nearer, and scales that fit.

What is written over the centre of the target is, in the rows that hit, one number on each axis: its commonest value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.register import families
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import PIXEL, UNIT, CoordSpace, extents
from grounding_rewards.errors import SpaceError
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.target import RegionKind

# Half of the answers of published models lie within 0.05 to 0.15 of a target's side from its centre, on each axis.
_WIDTHS = (0.05, 0.2)  # of two Gaussians, in sides of the target; their sum has the heavy tails of real answers
_AIMED = 0.5  # share of answers that land around the target at all
_LEAST = 0.002  # of the screen: flat boxes have no side, and nobody aims at single pixels
_POINT = 0.02  # of the screen: a point has no side
_PAIRINGS = 16  # other rows whose point each target is compared with
_SAME, _MOSTLY = 0.05, 0.8  # sides of the target, and share of the points
_BORDER = 0.02  # sides of the target
_EDGE = 0.01  # of the screen: annotators draw a little over its edge


@dataclass(frozen=True, eq=False)
class Landing:
    """Points of n rows and the m places of their targets, in shares of the screen."""

    # (n, 2) width and height of the screen in the recipe's space; where unknown, the largest coordinate.
    screens: Floats
    points: Floats  # (n, 2) the points; NaN where there is none, or no usable target
    row: NDArray[np.int64]  # (m,) the row of each place
    centres: Floats  # (m, 2) centres of places, of polygons and circles those of the box around them
    # (n, 2) of each row's places the least width and height, at least 0.002; of a point 0.02. Infinite without a usable
    # target.
    sides: Floats
    # (n,) True where the target is unusable, or one of its places reaches outside the screen.
    outside: NDArray[np.bool_]

    @classmethod
    def of(cls, targets: Targets, space: CoordSpace) -> Landing:
        """Measure targets in a space, without any points."""
        regions, usable = targets.regions, targets.valid
        screens = extents(space, targets.image_sizes, targets.model_image_sizes)
        largest = np.abs(regions.box[usable[regions.row]]).max(initial=1.0)
        known = ~np.isnan(screens.sum(axis=1))
        screens = np.where(known[:, None], screens, largest)
        box = regions.box / np.tile(screens[regions.row], 2)
        outside = ~usable
        outside[regions.row[((box < -_EDGE) | (box > 1 + _EDGE)).any(axis=1) & known[regions.row]]] = True
        least = np.where(regions.kind == RegionKind.POINT, _POINT, _LEAST)[:, None]
        sides = np.full((len(targets), 2), np.inf)
        np.minimum.at(sides, regions.row, np.maximum(box[:, 2:] - box[:, :2], least))
        sides[~usable] = np.inf
        centres = (box[:, :2] + box[:, 2:]) / 2
        return cls(screens, np.full(screens.shape, np.nan), regions.row, centres, sides, outside)

    def moved(self, source: NDArray[np.int64] | slice) -> Landing:
        """Return the same targets with the points of other rows, ``source`` (n,)."""
        return replace(self, points=self.points[source])

    def hit_by(self, xy: Floats, usable: NDArray[np.bool_]) -> Landing:
        """Return the same targets with other points, (n, 2) in the recipe's space."""
        return replace(self, points=np.where(usable[:, None], xy / self.screens, np.nan))

    def mirrored(self) -> Landing:
        """Return the same targets with each point on the other side of the centre of its first place."""
        return replace(self, points=2 * self._first() - self.points)

    def distances(self) -> Floats:
        """Return each point's distance from the centre of the nearest place, in shares of the screen.

        (n,), infinite without a point or a place.
        """
        distances = np.full(len(self.points), np.inf)
        away = self.points[self.row] - self.centres
        np.fmin.at(distances, self.row, np.hypot(*away.T))  # NaN, of rows without a point, never wins
        return distances

    def alike(self, other: Landing) -> bool:
        """Return True where most points lie at the same place of their targets, as where both sides share a space."""
        if self.row.shape != other.row.shape:
            return False
        apart = np.abs(self._away() - other._away()).max(axis=1)
        return bool(np.mean(apart < _SAME) > _MOSTLY)

    def by_chance(self) -> float | None:
        """Return the share of points that would lie in the box around another row's place; None without such pairs."""
        rows, first = np.arange(len(self.points)), self._first()
        inside, pairs = 0, 0
        for away in range(1, min(_PAIRINGS, len(rows) - 1) + 1):
            source = np.roll(rows, away)
            differ = (first != first[source]).any(axis=1) & ~np.isnan(first + self.points[source]).any(axis=1)
            inside, pairs = inside + int(self.moved(source).inside()[differ].sum()), pairs + int(differ.sum())
        return inside / pairs if pairs else None

    def inside(self) -> NDArray[np.bool_]:
        """Return True where a point lies in the box around its place: (n,)."""
        return np.asarray(self._depths() >= 0)

    def on_border(self) -> NDArray[np.bool_]:
        """Return True where a point lies on the border of the box around its place, or hardly inside it: (n,)."""
        return np.asarray(np.abs(self._depths()) < _BORDER)

    def log_likelihoods(self) -> Floats:
        """Return the logarithm of each point's density, relative to that of a miss: (n,).

        With d the distance from the centre of the best place in sides of the target, on each axis, and s the side as a
        share of the screen::

            log(1 + p / (1 - p) · product over the axes of mean(N(d; 0, 0.05), N(d; 0, 0.2)) / s)

        with p = 1/2: a Gaussian mixture around the centre, on misses that are spread over the screen. A row without a
        point or a place has 0.
        """
        away = self._away()
        bells = [np.exp(-0.5 * (away / width) ** 2) / (width * math.sqrt(2 * math.pi)) for width in _WIDTHS]
        density = _AIMED / (1 - _AIMED) * (np.mean(bells, axis=0) / self.sides[self.row]).prod(axis=1)
        likelihoods = np.zeros(len(self.points))
        np.fmax.at(likelihoods, self.row, np.log1p(density))
        return likelihoods

    def _first(self) -> Floats:
        """Return (n, 2) the centre of each row's first place; NaN without one."""
        first = np.full((len(self.points), 2), np.nan)
        first[self.row[::-1]] = self.centres[::-1]
        return first

    def _depths(self) -> Floats:
        depths = np.full(len(self.points), -np.inf)
        np.fmax.at(depths, self.row, 0.5 - np.abs(self._away()).max(axis=1))
        return depths

    def _away(self) -> Floats:
        return np.asarray((self.points[self.row] - self.centres) / self.sides[self.row])


def chance(gains: Floats) -> float:
    """Return the chance of k gains that are this large in sum, were they above 0 as often as below: 0 to 1.

    Their sum over the root of the sum of their squares is about normal where each sign is a toss of a coin. It is at
    most sqrt(k), so that fewer than ten are never clear.
    """
    spread = math.sqrt(float((gains**2).sum()))
    return 0.5 * math.erfc(float(gains.sum()) / spread / math.sqrt(2)) if spread else 0.5


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

_LAUNCHED = (
    401408, 501760, 602112, 1000000, 1048576, 1204224, 1258291, 1605632, 1806336, 2007040, 4000000, 4194304, 5720064,
)  # fmt: skip
"""Bounds of pixels that launches are published with, beside those of the families."""


@cache
def _bounds() -> tuple[int, ...]:
    own = (each.options.get(name) for each in families().values() for name in ("min_pixels", "max_pixels"))
    return tuple(sorted({*_LAUNCHED, *filter(None, own)}))


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
    if (pixels != pixels[:1]).any():
        bases.append((UNIT, whole, _LENGTHS))
    for space, extent, usual in bases:
        scale = _ratio(written, places, extent)
        if scale is not None:
            away = np.abs(np.log(usual / scale[:, None]))  # near to a usual one it is that
            nearest = zip(scale.tolist(), away.min(axis=1), usual[away.argmin(axis=1)].tolist(), strict=True)
            x, y = (nice if far < _SNAP else float(f"{own:.4g}") for own, far, nice in nearest)
            yield space, (x, y), x in usual and y in usual


def bounded(own: Resizing | None, written: Floats, places: Landing, image_sizes: Floats) -> Iterator[Resizing]:
    """Yield the pipeline and the bound that make images of the area over which answers run, if there is one.

    Of those that fit about as well it is a published bound.
    """
    area = image_sizes.prod(axis=1)
    scale = _ratio(written, places, image_sizes / np.sqrt(area)[:, None])
    if scale is None or abs(math.log(scale[0] / scale[1])) > _OBLONG or scale.prod() > np.nanmax(area):
        return
    found, sizes = float(scale.prod()), sorted({(wide, high) for wide, high in image_sizes[~np.isnan(area)].tolist()})
    fits = list[tuple[float, Resizing]]()
    for model in (own.model,) if own else ("qwen2_5_vl", "qwen3_vl"):
        near = [bound for bound in _bounds() if 0.94 * found < bound < 1.12 * found]
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


def _steps(sizes: Sequence[tuple[float, float]], factor: int, found: float) -> list[int]:
    """Return the bounds near an area at which a side of an image grows by another multiple of the factor."""
    steps = set[int]()
    for width, height in sizes[:8]:
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
