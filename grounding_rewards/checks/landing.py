"""Places where rollouts land beside their targets, and the test of which of two readings brings them clearly nearer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace, extents
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
        return cls(
            screens,
            np.full(screens.shape, np.nan),
            regions.row,
            (box[:, :2] + box[:, 2:]) / 2,
            np.where(usable[:, None], sides, np.inf),
            outside,
        )

    def moved(self, source: NDArray[np.int64] | slice) -> Landing:
        """Return the same targets with the points of other rows, ``source`` (n,)."""
        return replace(self, points=self.points[source])

    def hit_by(self, xy: Floats, usable: NDArray[np.bool_]) -> Landing:
        """Return the same targets with other points, (n, 2) in the recipe's space."""
        return replace(self, points=np.where(usable[:, None], xy / self.screens, np.nan))

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
        rows = np.arange(len(self.points))
        first = np.full((len(rows), 2), np.nan)
        first[self.row[::-1]] = self.centres[::-1]
        inside, pairs = 0, 0
        for away in range(1, min(_PAIRINGS, len(rows) - 1) + 1):
            source = np.roll(rows, away)
            near = np.full(len(rows), np.inf)
            np.fmin.at(near, self.row, np.abs(self.moved(source)._away()).max(axis=1))
            differ = (first != first[source]).any(axis=1) & ~np.isnan(first + self.points[source]).any(axis=1)
            inside, pairs = inside + int((near[differ] <= 0.5).sum()), pairs + int(differ.sum())
        return inside / pairs if pairs else None

    def on_border(self) -> NDArray[np.bool_]:
        """Return True where a point lies on the border of the box around its place, or hardly inside it: (n,)."""
        depth = np.full(len(self.points), -np.inf)
        np.fmax.at(depth, self.row, 0.5 - np.abs(self._away()).max(axis=1))
        border: NDArray[np.bool_] = np.abs(depth) < _BORDER
        return border

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

    def _away(self) -> Floats:
        away: Floats = (self.points[self.row] - self.centres) / self.sides[self.row]
        return away


def chance(gains: Floats) -> float:
    """Return the chance of k gains that are this large in sum, were they above 0 as often as below: 0 to 1.

    Their sum over the root of the sum of their squares is about normal where each sign is a toss of a coin. It is at
    most sqrt(k), so that fewer than ten are never clear.

    >>> round(chance(np.ones(16)), 6), round(chance(np.array([5.0, 0.1, -0.1])), 2), chance(np.zeros(16))
    (3.2e-05, 0.16, 0.5)
    """
    spread = math.sqrt(float((gains**2).sum()))
    return 0.5 * math.erfc(float(gains.sum()) / spread / math.sqrt(2)) if spread else 0.5
