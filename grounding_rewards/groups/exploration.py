"""Bonuses for answers that a sample's rollouts seldom gave, and penalties for those that a group repeats.

Answers, samples, groups and moments are whole numbers, (n,) one a rollout. Answers tell those of one sample apart, such
as the cell of a click; a negative one is no answer: it has a bonus of exactly 0, and equals no other. Numbers of
another kind, or columns of different lengths, raise a RecipeError.

Source: outcome-based exploration, arXiv 2509.06941, its formulas from a reading note and reviews of the paper; that no
answer has no bonus is our own choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grounding_rewards.arrays import Floats, Ints, changes, numbered, packed
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError, short_repr
from grounding_rewards.groups.spread import means, varied


def answer_counts(answers: ArrayLike, samples: ArrayLike, moments: ArrayLike | None = None) -> Ints:
    """Return N(x, a): how many rollouts of its sample gave the same answer as each, up to and including its moment.

    A rollout counts itself; without an answer it has 0. ``samples`` may also be groups, for repetitions within each;
    ``moments`` are rounds or steps, without which all rollouts count.

    >>> answer_counts([7, 7, 7, 7, 8, -1], [0] * 6, [1, 2, 2, 2, 2, 2])
    array([1, 4, 4, 4, 1, 0])
    """
    answer = _whole("answers", answers)
    same = packed(_whole("samples", samples, len(answer)), answer)
    key = same if moments is None else packed(same, _whole("moments", moments, len(answer)))
    order = np.argsort(key)  # equal ones have equal counts, in any order
    first, begins = changes(same.take(order)), np.flatnonzero(changes(key.take(order)))
    ends = np.append(begins, len(answer))[1:]
    until = ends - np.flatnonzero(first)[np.cumsum(first[begins]) - 1]
    counts = np.empty(len(answer), dtype=np.int64)
    counts[order] = np.repeat(until, ends - begins)
    return np.where(answer < 0, 0, counts)


def ucb_bonus(counts: ArrayLike) -> Floats:
    """Return b = min(1, sqrt(1 / N)), 0 where N is 0; ``counts`` are N(x, a) as ``answer_counts`` returns them.

    >>> ucb_bonus([4, 4, 4, 1])
    array([0.5, 0.5, 0.5, 1. ])
    """
    count = _counts(counts)
    return np.where(count > 0, np.sqrt(1 / np.maximum(count, 1)), 0.0)  # the least N is 1, so that b is 1 at most


def mean_bonus(counts: ArrayLike, groups: ArrayLike, *, others: bool = False) -> Floats:
    """Return b - the mean of b over the rollouts of the group that have an answer; b is that of ``ucb_bonus``.

    With ``others`` the mean is over the others of the group alone, which is G / (G - 1) times as much for G answers; 0
    where there is no other.

    >>> mean_bonus([4, 4, 4, 1], [0, 0, 0, 0])
    array([-0.125, -0.125, -0.125,  0.375])
    >>> mean_bonus([16, 4, 1, 16], [0, 0, 0, 0], others=True).round(4)
    array([-0.3333,  0.    ,  0.6667, -0.3333])
    """
    count = _counts(counts)
    group, answered, bonus = _whole("groups", groups, len(count)), count > 0, np.zeros(len(count))
    ucb = ucb_bonus(count)[answered]
    code = numbered(group[answered])
    bonus[answered] = np.where(varied(ucb, code, 0.0), ucb - means(ucb, code), 0.0)  # exactly 0 where all are alike
    if others:
        size = np.bincount(code)[code] if len(code) else code
        bonus[answered] *= np.where(size > 1, size / np.maximum(size - 1, 1), 0.0)
    return bonus


def constant_bonus(counts: ArrayLike, b0: float) -> Floats:
    """Return b - b0; b is that of ``ucb_bonus``. A review names a b0 of 1 for easy data, and 0.5 for medium difficulty.

    >>> constant_bonus([4, 4, 4, 1], 0.5)
    array([0. , 0. , 0. , 0.5])
    """
    if isinstance(b0, bool) or not isinstance(b0, int | float) or not abs(b0) <= COORDINATE_LIMIT:
        raise RecipeError(f"b0: got {short_repr(b0)}; expected a finite number")
    count = _counts(counts)
    return np.where(count > 0, ucb_bonus(count) - b0, 0.0)


def batch_penalty(answers: ArrayLike, groups: ArrayLike) -> Floats:
    """Return b_i = -(1 / K) · (number of other rollouts of the group with the same answer), of a group of K.

    Rollouts without an answer count in K.

    >>> batch_penalty([7, 7, 7, 8], [0, 0, 0, 0])
    array([-0.5, -0.5, -0.5,  0. ])
    """
    group = _whole("groups", groups)
    counts = answer_counts(answers, group)
    code = numbered(group)
    return np.where(counts > 0, (1 - counts) / np.bincount(code)[code], 0.0)


def _counts(counts: ArrayLike) -> Ints:
    count = _whole("counts", counts)
    for row in np.flatnonzero(count < 0)[:1]:
        raise RecipeError(f"counts: row {row} has {count[row]}; expected a whole number from 0")
    return count


def _whole(name: str, values: ArrayLike, rows: int | None = None) -> Ints:
    column = np.asarray(values)
    if column.ndim != 1 or (column.dtype.kind not in "iu" and column.size):
        raise RecipeError(f"{name}: got {values!r:.80}; expected whole numbers, one a row")
    if rows not in (None, len(column)):
        raise RecipeError(f"{name}: got {len(column)}; expected one for each of {rows} rows")
    return column.astype(np.int64, copy=False)
