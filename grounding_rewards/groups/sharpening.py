"""XRPO's sharpening: right answers that the policy finds unlikely get larger advantages."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.spread import Names, codes_of, means


def sharpened(
    advantages: ArrayLike, mean_logprobs: ArrayLike, groups: Names, *, novelty: float = 2.5, bound: float = 0.5
) -> Floats:
    """Return A + min(max(novelty · (1 - eta), 0), bound · A) where A > 0, else A.

    eta = exp(s - mean of s in the group), with s the mean log-probability of a response's tokens: it is below 1 for a
    response that is less likely than the others of its sample. Only positive advantages change: of a negative one, the
    minimum would be bound · A, and lower it.

    Args:
        advantages: (n,) numbers within ±1e12, such as ``grpo`` returns.
        mean_logprobs: (n,) s; NaN or None where none was recorded: that row's A stays, and the group's mean is that of
            the others.
        groups: (n,) the sample of each.
        novelty: the factor of 1 - eta, from 0.
        bound: the most that is added, in shares of A, from 0.

    Raises:
        RecipeError: an argument does not fit; names it, and the row.

    >>> sharpened([0.5, 0.5, 0.5], [-0.5, -1.0, -1.5], ["a"] * 3)
    array([0.5 , 0.5 , 0.75])

    Source: XRPO, arXiv 2510.06672; the form and both defaults are from a review of it. That unrecorded rows stay out is
    our own form.
    """
    for name, setting in (("novelty", novelty), ("bound", bound)):
        number = isinstance(setting, int | float) and not isinstance(setting, bool)
        if not number or not 0 <= setting <= COORDINATE_LIMIT:
            raise RecipeError(f"{name}: got {setting!r:.60}; expected a number from 0")
    advantage, logprob = _numbers("advantages", advantages), _numbers("mean_logprobs", mean_logprobs)
    for row in np.flatnonzero(np.isnan(advantage))[:1]:
        raise RecipeError(f"advantages: row {row} has nan; expected a number, 0 for a rollout that was not scored")
    if len(logprob) != len(advantage):
        raise RecipeError(f"mean_logprobs: got {len(logprob)}; expected one for each of {len(advantage)} rows")
    group = codes_of("groups", groups, len(advantage))
    known = ~np.isnan(logprob)
    less = logprob[known] - means(logprob[known], group[known])
    unlikely = np.zeros(len(advantage))
    unlikely[known] = -np.expm1(np.minimum(less, 0.0))  # 1 - eta, where that is above 0
    return advantage + np.minimum(novelty * unlikely, bound * np.maximum(advantage, 0.0))


def _numbers(name: str, values: ArrayLike) -> Floats:
    """Read (n,) numbers within ±1e12, or NaN."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        numbers = np.zeros((1, 1))  # refused below
    if numbers.ndim != 1:
        raise RecipeError(f"{name}: got {values!r:.80}; expected one number for each row")
    for row in np.flatnonzero(np.abs(numbers) > COORDINATE_LIMIT)[:1]:
        raise RecipeError(f"{name}: row {row} has {numbers[row]:g}; expected a number within ±1e12")
    return numbers
