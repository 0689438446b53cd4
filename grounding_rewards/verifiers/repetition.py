"""Repetition and novelty of the clicks of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import extents
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.blocks import LARGE, by_size, neighbours
from grounding_rewards.groups.exploration import answer_counts
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.consensus import NEEDS_GROUPS, clicks
from grounding_rewards.verifiers.hit import check_sizes, within
from grounding_rewards.verifiers.options import Length, Range
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, Term

Per = Literal["others", "group"]

Cells = Annotated[int, Range(1, 10_000, whole=True)]
"""Cells along a side: as many as a screen has pixels."""


@dataclass(frozen=True)
class _Near(Term):
    """Base of ``Repetition`` and ``Novelty``."""

    radius: Length | None = None
    share: Length | None = None
    grid: Cells | None = None

    rivals = "radius", "share", "grid"

    @property
    def needs(self) -> frozenset[str]:
        return NEEDS_GROUPS if self.radius is not None else NEEDS_GROUPS | NEEDS_SCREEN

    def __post_init__(self) -> None:
        super().__post_init__()
        if all(getattr(self, name) is None for name in self.rivals):
            raise RecipeError(f"{type(self).__name__}: got neither {' nor '.join(self.rivals)}; give one of them")

    def repeated(self, rollouts: Rollouts, xy: Floats) -> Floats:
        """Return how many other rollouts of the group click near each point: (n,), 0.0 without one."""
        if self.grid is not None:
            size = _screens(rollouts, type(self).__name__, xy)
            others = answer_counts(_cells(xy / size, self.grid), rollouts.groups) - 1.0
            return np.where(others > 0, others, 0.0)
        scale = np.ones((1, 2)) if self.share is None else _screens(rollouts, type(self).__name__, xy)
        scale, reach = np.broadcast_to(scale, xy.shape), self.radius if self.share is None else self.share
        near = np.zeros(len(xy))
        for block in by_size(rollouts.groups, np.flatnonzero(~np.isnan((xy + scale).sum(axis=1)))):
            near[block] = _near(xy[block], scale[block], reach or 0.0) - 1  # itself is none of the others
        return near


@dataclass(frozen=True)
class Repetition(_Near):
    """The share of the other rollouts of its group that click within reach of this one: 0.0 to 1.0.

    Within reach is up to ``radius`` or ``share`` away, or in the same cell of ``grid``. Where ``per`` is "group", their
    number is divided by that of all rollouts of the group instead, and 1.0 is not reached.

    0.0 in a group of one, and for rows without a place in the image; these count among the others, near to nothing.
    The target does not matter. A part of negative weight keeps a policy from collapsing to one place, but also pushes
    it away from the right one: let it count among misses only.

    Args:
        radius: the reach in units of the recipe's space, itself within.
        share: the reach as a share of the screen, ||(dx / width, dy / height)||.
        grid: cells along each side of the screen; one of the three must be given.
        per: "others" or "group". With ``grid``, "group" and a negative weight it is the batch penalty of outcome-based
            exploration (arXiv 2509.06941, from memory), cells of a grid being our own form of its answers.

    Raises:
        TargetError: ``share`` or ``grid`` is given, the recipe works in a pixel space, and the size of an image is
            unknown.

    A hit, or -0.2 of the share of rollouts that miss alike:

    >>> from grounding_rewards.combine import affine, gate, weighted
    >>> from grounding_rewards.verifiers import Hit
    >>> hit = Hit()
    >>> missed = affine("other", hit, scale=-1.0, shift=1.0)
    >>> again = gate(when=("missed", missed), then=("repetition", Repetition(radius=14)))
    >>> reward = weighted(hit=(1.0, hit), again=(-0.2, again))
    >>> reward.low, reward.high, sorted(reward.needs)
    (-0.2, 1.0, ['groups'])
    """

    per: Per = "others"

    def __call__(self, rollouts: Rollouts) -> Floats:
        return _share(rollouts, self.repeated(rollouts, clicks(rollouts)), itself=self.per == "group")


@dataclass(frozen=True)
class Novelty(_Near):
    """1 - repetition for rows that click in the image, else 0.0: the share of the others that click elsewhere.

    1.0 in a group of one. By itself, or with a weight of its own in ``weighted`` or ``composite``, it rewards a miss
    for being alone: gate it by a hit, so that among right clicks those that no other rollout found are worth more.

    Args:
        radius: the reach,
        share: and
        grid: as in ``Repetition``.

    Raises:
        TargetError: as in ``Repetition``.

    >>> from grounding_rewards.combine import gate, weighted
    >>> from grounding_rewards.verifiers import Hit
    >>> hit = Hit()
    >>> new = gate(when=("inside", hit), then=("novelty", Novelty(radius=14)))
    >>> reward = weighted(hit=(0.8, hit), new=(0.2, new))
    >>> reward.low, reward.high, sorted(reward.needs)
    (0.0, 1.0, ['groups'])
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        xy = clicks(rollouts)
        return np.where(np.isnan(xy[:, 0]), 0.0, 1.0 - _share(rollouts, self.repeated(rollouts, xy)))


def _share(rollouts: Rollouts, near: Floats, *, itself: bool = False) -> Floats:
    """Return numbers of other rollouts as shares of all others of the group, or of all of it."""
    sizes = np.bincount(rollouts.groups)[rollouts.groups]
    share: Floats = near / np.maximum(sizes - (not itself), 1)
    return share


def _cells(unit: Floats, grid: int) -> NDArray[np.int64]:
    """Return the number of each point's cell, of places in shares of the screen: (n, 2) to (n,), -1 without one."""
    clicked = ~np.isnan(unit[:, 0] + unit[:, 1])
    column, row = np.clip(np.floor(np.where(clicked[:, None], unit, 0.0) * grid), 0, grid - 1).astype(np.int64).T
    return np.where(clicked, row * grid + column, -1)


def _near(xy: Floats, scale: Floats, reach: float) -> NDArray[np.int64]:
    """Count the points of a group within reach of each, itself included: (g, k, 2) to (g, k)."""
    if xy.shape[1] < LARGE:
        return np.asarray(np.count_nonzero(_is_near(xy, scale, xy, reach), axis=2), dtype=np.int64)
    rows, where, counts = np.unique(
        np.concatenate((xy, scale), axis=2)[0], axis=0, return_inverse=True, return_counts=True
    )
    span = reach * rows[:, 2]  # how far along x others can lie
    order = np.argsort(rows[:, 0] - span, kind="stable")  # neighbours asks for ascending beginnings
    points, scale, span, counts = rows[None, order, :2], rows[None, order, 2:], span[order], counts[order]
    counts_near = np.empty(len(rows), dtype=np.int64)
    for part, others in neighbours(points[0, :, 0] - span, points[0, :, 0] + span):
        near = _is_near(points[:, part], scale[:, part], points[:, others], reach)[0]
        counts_near[order[part]] = (near * counts[others]).sum(axis=1)  # each place as often as it was clicked
    return counts_near[where].reshape(1, -1)


def _is_near(xy: Floats, scale: Floats, others: Floats, reach: float) -> NDArray[np.bool_]:
    """Test which others lie within reach of each point: (g, c, 2) and (g, k, 2) to (g, c, k)."""
    away = (xy[:, :, None] - others[:, None]) / scale[:, :, None]
    return within(away.reshape(-1, 2), np.zeros((1, 2)), reach).reshape(away.shape[:3])


def _screens(rollouts: Rollouts, verifier: str, xy: Floats) -> Floats:
    """Return width and height of each row's image, in the space of the points; rows that click need them."""
    sizes = extents(rollouts.predictions.space, rollouts.image_sizes, rollouts.model_image_sizes)
    check_sizes(rollouts, verifier, sizes, np.arange(len(rollouts)), ~np.isnan(xy[:, 0]))
    return sizes
