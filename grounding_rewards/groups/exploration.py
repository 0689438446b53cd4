"""Bonuses for answers that a sample's rollouts seldom gave, and penalties for those that a group repeats.

Answers, samples, groups and moments are whole numbers, (n,) one a rollout. Answers tell those of one sample apart, such
as the cell of a click; a negative one is no answer: it has a bonus of exactly 0, and equals no other.

Source: outcome-based exploration, arXiv 2509.06941, its formulas from a reading note and reviews of the paper; that no
answer has no bonus is our own choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grounding_rewards.arrays import Floats, Ints, changes, numbered, packed
from grounding_rewards.groups.spread import means, varied


def answer_counts(answers: ArrayLike, samples: ArrayLike, moments: ArrayLike | None = None) -> Ints:
    """Return N(x, a): how many rollouts of its sample gave the same answer as each, up to and including its moment.

    A rollout counts itself; without an answer it has 0. ``samples`` may also be groups, for repetitions within each;
    ``moments`` are rounds or steps, without which all rollouts count.

    >>> answer_counts([7, 7, 7, 7, 8, -1], [0] * 6, [1, 2, 2, 2, 2, 2])
    array([1, 4, 4, 4, 1, 0])
    """
    answer = np.asarray(answers, np.int64)
    same = packed(np.asarray(samples, np.int64), answer)
    key = same if moments is None else packed(same, np.asarray(moments, np.int64))
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
    count = np.asarray(counts, np.int64)
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
    count, group = np.asarray(counts, np.int64), np.asarray(groups, np.int64)
    answered, bonus = count > 0, np.zeros(len(count))
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
    return np.where(np.asarray(counts, np.int64) > 0, ucb_bonus(counts) - b0, 0.0)


def batch_penalty(answers: ArrayLike, groups: ArrayLike) -> Floats:
    """Return b_i = -(1 / K) · (number of other rollouts of the group with the same answer), of a group of K.

    Rollouts without an answer count in K.

    >>> batch_penalty([7, 7, 7, 8], [0, 0, 0, 0])
    array([-0.5, -0.5, -0.5,  0. ])
    """
    counts, code = answer_counts(answers, groups), numbered(np.asarray(groups, np.int64))
    return np.where(counts > 0, (1 - counts) / np.bincount(code)[code], 0.0)
