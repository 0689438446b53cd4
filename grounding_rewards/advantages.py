"""Advantages: how much better a rollout did than the other rollouts of its sample, by six published or simple forms.

All take (n,) rewards and the group of each row (any names or numbers that can be looked up; rows in any order), and
return (n,) float64 advantages, in the order of the rows. Rewards that are a tensor give a tensor of their type, on
their device (of 32 bits where theirs are whole numbers); torch is not imported. A single reward is a batch of one.

A reward that is NaN or None was not scored: it takes no part in its group, and its advantage is 0, as in TRL. A group
whose largest and smallest reward are at most 1e-6 apart, such as a group of one, has no signal: its advantages are
exactly 0. Rewards are numbers within ±1e12; anything else is a RecipeError that names the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.spread import EPSILON, NO_SIGNAL, Codes, codes_of, means, normalised, varied

GDPO_EPSILON = 1e-4
"""Added to standard deviations by TRL, for GDPO as for GRPO."""

MC_GRPO_EPSILON = 1e-3
"""Added to the median absolute deviation by the published code of MC-GRPO."""


def grpo(rewards: Any, groups: Any, *, epsilon: float = EPSILON) -> Any:
    """Return A = (r - mean) / (std + epsilon), with the unbiased standard deviation of the group (of m - 1).

    Args:
        rewards: (n,) rewards.
        groups: (n,) the sample of each.
        epsilon: 1e-6 as in verl; TRL has 1e-4.

    >>> grpo([1, 0, 0, 0, 0.6, 0.6], ["a", "a", "a", "a", "b", "b"]).round(3)
    array([ 1.5, -0.5, -0.5, -0.5,  0. ,  0. ])

    Source: the formula is that of verl 0.9.1 and TRL 1.16, to which it is compared.
    """
    added = _number("epsilon", epsilon)
    return _advantages(rewards, groups, lambda value, group: normalised(value, group, added))


def dr_grpo(rewards: Any, groups: Any) -> Any:
    """Return A = r - mean: groups in which rewards differ little weigh little.

    Dr. GRPO also sums losses of tokens without dividing by a response's length, which is the trainer's to do.

    Args:
        rewards: (n,) rewards.
        groups: (n,) the sample of each.

    >>> dr_grpo([1, 0, 0, 0, 0.6, None], ["a", "a", "a", "a", "b", "b"])
    array([ 0.75, -0.25, -0.25, -0.25,  0.  ,  0.  ])

    Source: Dr. GRPO (arXiv 2503.20783), as verl 0.9.1 and TRL 1.16 have it.
    """
    return _advantages(rewards, groups, _centred)


def mc_grpo(rewards: Any, groups: Any, *, mad_floor: float, epsilon: float = MC_GRPO_EPSILON) -> Any:
    """Return A = (r - median) / (max(MAD, mad_floor) + epsilon), with MAD the median of |r - median|.

    Medians are those of torch: of an even number of rewards the lower one of the middle two. Advantages need not add up
    to 0. The published method samples one rollout more than it trains on, an odd number, and leaves out the median one:
    here its advantage is 0. MAD is 0 as soon as more than half of the rewards are equal; then ``mad_floor`` alone
    bounds the advantages.

    Args:
        rewards: (n,) rewards.
        groups: (n,) the sample of each.
        mad_floor: the least that MAD counts as, 0 or more; 0 is the published form, in which rewards of 1, 0 and 0 have
            advantages of 1000, 0 and 0.
        epsilon: 1e-3 as published.

    >>> mc_grpo([1, 0, 0.5, 0.2, 0.9], ["a"] * 5, mad_floor=0).round(4)
    array([ 1.2469, -1.2469,  0.    , -0.7481,  0.9975])
    >>> mc_grpo([1, 0, 0], ["a"] * 3, mad_floor=0.499)
    array([2., 0., 0.])

    Source: MC-GRPO (arXiv 2601.22582), from its published code, which has no floor.
    """
    floor, added = _number("mad_floor", mad_floor), _number("epsilon", epsilon)
    if not floor + added:
        raise RecipeError("epsilon: got 0 with mad_floor=0; expected a number above 0, for MAD can be 0")

    def formula(value: Floats, group: Codes) -> Floats:
        away = value - _lower_medians(value, group)
        mad = _lower_medians(np.abs(away), group)
        return np.where(varied(value, group), away / (np.maximum(mad, floor) + added), 0.0)

    return _advantages(rewards, groups, formula)


def gdpo(
    parts: Mapping[str, Any], groups: Any, weights: Mapping[str, float] | None = None, *, epsilon: float = GDPO_EPSILON
) -> Any:
    """Return decoupled advantages: each part is normalised in its groups, and their weighted sum in the batch.

    A_k = (r_k - mean) / (std + epsilon) in the group, S = sum of w_k · A_k, A = (S - mean of S) / (std of S + epsilon)
    over the batch, with unbiased standard deviations. A part that was not scored adds 0 to its row; a row without any
    part takes no part in the batch. A group without signal is one in which S does not differ.

    Args:
        parts: {name: (n,) rewards}, such as ``Scores.parts``.
        groups: (n,) the sample of each.
        weights: {name: w_k}, one for each part; without it all are 1.
        epsilon: 1e-4 as in TRL; verl has 1e-6.

    Two parts whose sum hides that the second group did twice as well:

    >>> parts, groups = {"hit": [0, 1, 0, 1], "format": [0, 0, 0, 1]}, ["a", "a", "b", "b"]
    >>> gdpo(parts, groups).round(4)
    array([-0.5477,  0.5477, -1.0954,  1.0954])

    Source: GDPO (arXiv 2601.05242), as TRL 1.16 has it. verl normalises over tokens instead, so that long answers weigh
    more.
    """
    if not isinstance(parts, Mapping) or not parts:
        raise RecipeError(f"parts: got {parts!r:.80}; expected {{name: (n,) rewards}}")
    factors = dict.fromkeys(parts, 1.0) if weights is None else weights
    if not isinstance(factors, Mapping) or factors.keys() != parts.keys():
        raise RecipeError(f"weights: got {weights!r:.80}; expected a number for each of {', '.join(map(str, parts))}")
    first = next(iter(parts.values()))
    columns = {name: _rewards(f"parts[{name!r}]", values) for name, values in parts.items()}
    rows = len(next(iter(columns.values())))
    group, total, scored = _groups(first, groups, rows), np.zeros(rows), np.zeros(rows, dtype=np.bool_)
    added = _number("epsilon", epsilon)
    for name, column in columns.items():
        if len(column) != rows:
            raise RecipeError(f"parts[{name!r}]: got {len(column)}; expected one for each of {rows} rows")
        factor = _number(f"weights[{name!r}]", factors[name], least=-COORDINATE_LIMIT)
        total += factor * _within(column, group, lambda value, codes: normalised(value, codes, added))
        scored |= ~np.isnan(column)
    batch = np.where(scored, total, np.nan)
    advantages = _within(batch, np.zeros(rows, dtype=np.int64), lambda value, codes: normalised(value, codes, added))
    return _like(first, np.where(varied(total, group), advantages, 0.0))


def difficulty(rewards: Any, groups: Any, d: Any = None, *, low: float = 0.0, high: float = 1.0) -> Any:
    """Return A = 4 · d · (1 - d) · (r - mean): samples of middling difficulty weigh most, and A is at most r - mean.

    A form of our own, after the weights of PuzzleCraft (arXiv 2512.14944) without their measure of diversity. The share
    of rollouts that succeed and the share that fail weigh the same.

    Args:
        rewards: (n,) rewards.
        groups: (n,) the sample of each.
        d: (n,) the difficulty of each row's sample, 0 to 1, such as its success rate in an earlier round. Without it,
            (mean - low) / (high - low) of the group's own rewards.
        low: the lowest reward, as ``Recipe.low``; it counts where ``d`` is left out.
        high: the highest reward.

    >>> difficulty([1, 0, 0, 0, 1, 0], ["a", "a", "a", "a", "b", "b"])
    array([ 0.5625, -0.1875, -0.1875, -0.1875,  0.5   , -0.5   ])
    >>> difficulty([1, 0], ["a", "a"], d=[0.9, 0.9]).round(2)
    array([ 0.18, -0.18])
    """
    values = _rewards("rewards", rewards)
    group = _groups(rewards, groups, len(values))
    d = _own_difficulty(values, group, low, high) if d is None else _difficulties(d, group)
    return _like(rewards, 4 * d * (1 - d) * _within(values, group, _centred))


def leave_one_out(rewards: Any, groups: Any) -> Any:
    """Return A = r - the mean of the group's other rewards, which is n / (n - 1) · (r - mean); 0 at n = 1.

    Args:
        rewards: (n,) rewards.
        groups: (n,) the sample of each.

    >>> leave_one_out([1, 0, 0, 0, 1], ["a", "a", "a", "a", "b"]).round(3)
    array([ 1.   , -0.333, -0.333, -0.333,  0.   ])

    Source: RLOO (arXiv 2402.14740), as verl 0.9.1 and TRL 1.16 have it.
    """

    def formula(value: Floats, group: Codes) -> Floats:
        size = np.bincount(group)[group]
        return size / np.maximum(size - 1, 1) * _centred(value, group)

    return _advantages(rewards, groups, formula)


def no_signal_share(advantages: Any, groups: Any) -> float:
    """Return the share of groups whose advantages are all 0, and which so move no policy; NaN without groups.

    Args:
        advantages: (n,) of any of the functions here; NaN counts as 0.
        groups: (n,) as there.

    >>> groups = ["a", "a", "b", "b"]
    >>> no_signal_share(grpo([1, 0, 1, 1], groups), groups)
    0.5
    """
    values = _rewards("advantages", advantages)
    group = _groups(advantages, groups, len(values))
    if not len(group):
        return float("nan")
    return float((np.bincount(group, weights=np.nan_to_num(values) != 0) == 0).mean())


def _advantages(rewards: Any, groups: Any, formula: Callable[[Floats, Codes], Floats]) -> Any:
    """Return the advantages of scored rows by a formula, 0.0 for the others, as a tensor if rewards are one."""
    values = _rewards("rewards", rewards)
    return _like(rewards, _within(values, _groups(rewards, groups, len(values)), formula))


def _within(values: Floats, group: Codes, formula: Callable[[Floats, Codes], Floats]) -> Floats:
    """Apply a formula to rows that are scored, of groups numbered without gaps; the others have 0.0."""
    scored = ~np.isnan(values)
    advantages = np.zeros(len(values))
    advantages[scored] = formula(values[scored], np.unique(group[scored], return_inverse=True)[1])
    return advantages


def _centred(value: Floats, group: Codes) -> Floats:
    return np.where(varied(value, group), value - means(value, group), 0.0)


def _lower_medians(value: Floats, group: Codes) -> Floats:
    """Return the lower median of each row's group; groups are numbered without gaps."""
    order = np.lexsort((value, group))  # the last key goes first
    size = np.bincount(group)
    medians: Floats = value[order[np.cumsum(size) - size + (size - 1) // 2]]
    return medians[group]


def _own_difficulty(values: Floats, group: Codes, low: float, high: float) -> Floats:
    """Return each row's (mean - low) / (high - low), of its group's scored rewards."""
    bounds = [_number(name, bound, least=-COORDINATE_LIMIT) for name, bound in (("low", low), ("high", high))]
    if bounds[1] - bounds[0] <= NO_SIGNAL:
        raise RecipeError(f"low, high: got {low!r} and {high!r}; expected the lowest and the highest reward")
    outside = np.flatnonzero((values < bounds[0] - NO_SIGNAL) | (values > bounds[1] + NO_SIGNAL))
    if len(outside):
        raise RecipeError(
            f"rewards: row {outside[0]} has {values[outside[0]]:g}; without d= difficulty is the mean reward of a "
            f"group, from low={low:g} to high={high:g}: set these to the lowest and highest reward, or give d="
        )
    share = (_within(values, group, means) - bounds[0]) / (bounds[1] - bounds[0])
    return np.clip(share, 0.0, 1.0)


def _difficulties(d: Any, group: Codes) -> Floats:
    """Read (n,) difficulties, 0 to 1 and one for each group."""
    values = _rewards("d", d)
    if len(values) != len(group):
        raise RecipeError(f"d: got {len(values)}; expected one for each of {len(group)} rows")
    outside = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(outside):
        raise RecipeError(f"d: row {outside[0]} has {values[outside[0]]:g}; expected a difficulty from 0 to 1")
    differs = np.flatnonzero(varied(values, group))
    if len(differs):
        raise RecipeError(f"d: row {differs[0]} has another difficulty than rows of its group; expected one a group")
    return values


def _rewards(name: str, values: Any) -> Floats:
    """Read (n,) numbers, NaN where a row was not scored, of a tensor, an array, a list or one number."""
    try:
        plain = values.detach().cpu().double().numpy() if hasattr(values, "detach") else values
        given = np.asarray(plain)
        texts = given.dtype.kind == "O" and any(isinstance(each, str | bytes) for each in given.flat)
        if texts or given.dtype.kind not in "biufO":  # float64 would read "1" as a number, and drop imaginary parts
            raise TypeError
        numbers = np.atleast_1d(given.astype(np.float64))
    except (OverflowError, TypeError, ValueError):
        numbers = np.zeros((1, 1))  # refused below, as tables are
    if numbers.ndim != 1:
        raise RecipeError(f"{name}: got {values!r:.80}; expected one number for each row")
    wrong = np.flatnonzero(np.abs(numbers) > COORDINATE_LIMIT)
    if len(wrong):
        raise RecipeError(
            f"{name}: row {wrong[0]} has {numbers[wrong[0]]:g}; expected numbers within ±1e12, NaN or None for rows "
            "that were not scored"
        )
    return numbers


def _groups(rewards: Any, groups: Any, rows: int) -> Codes:
    """Number the groups of rows, of which a single reward has one."""
    return codes_of("groups", [groups] if np.ndim(rewards) == 0 else groups, rows)


def _number(name: str, value: Any, least: float = 0.0) -> float:
    """Read a setting: a number from ``least`` to 1e12."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not least <= value <= COORDINATE_LIMIT:
        raise RecipeError(f"{name}: got {value!r:.60}; expected a number{' of 0 or more' * (least == 0)}")
    return float(value)


def _like(rewards: Any, advantages: NDArray[np.float64]) -> Any:
    """Return advantages as a tensor of the type and device of rewards, if those are one."""
    if not hasattr(rewards, "new_tensor"):
        return advantages
    return (rewards if rewards.is_floating_point() else rewards.float()).detach().new_tensor(advantages)
