"""Difficulties of samples, and abilities of the policies that answered them, fitted to counts of right rollouts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, read_only
from grounding_rewards.errors import PoolError, near
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.tables.rollout_columns import PLACES
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.tables.rows import Note

COLUMNS = ("policy", "round", "temperature")
"""Columns of a rollout table that tell rollouts of one ability from those of another."""

_PRIOR = 0.5  # right, and wrong, rollouts more
_STEPS = 100
_CLOSE, _NEAR = 1e-9, 1e-3
"""A step so small is the last; from the second on, one that does not halve is rounding, as counts of billions make."""


@dataclass(frozen=True, eq=False)
class Difficulties:
    """Difficulties of m samples, and abilities of p policies, both sorted by name."""

    sample: NDArray[Any]
    difficulty: Floats  # 100 (1 - a), with a the accuracy at ability_at; NaN where no rollout was scored
    policy: NDArray[Any]
    ability: Floats  # in logits
    ability_at: float  # the ability to which difficulties belong


def difficulties(
    sample: Sequence[Any] | NDArray[Any],
    policy: Sequence[Any] | NDArray[Any],
    right: Sequence[int] | NDArray[Any],
    n: Sequence[int] | NDArray[Any],
    *,
    at: Any = None,
) -> Difficulties:
    """Fit a Rasch model: policy p solves sample s with the probability 1 / (1 + exp(d_s - t_p)).

    Abilities t and difficulties d maximise the likelihood of the counts and of half a right and half a wrong rollout
    more: of each sample by a policy of ability 0, and of each policy on a sample of difficulty 0. So 0 of n and n of n
    are finite. ``right`` of ``n`` are counts of a sample by a policy; difficulties are those at the ability of the
    policy ``at``, or at the mean ability of all.

    Source: the 1PL model of item response theory (Rasch, 1960), the 3PL of SEELE, arXiv 2509.06923, without guessing
    and with one discrimination; its use for pools, the prior and the scale of 0 to 100 are our own form.
    """
    from scipy.special import expit

    names, samples = _codes("sample", sample)
    policies, answered_by = _codes("policy", policy)
    solved, times = (np.asarray(each, dtype=np.float64) for each in (right, n))
    for row in np.flatnonzero(~((solved >= 0) & (solved <= times) & (times <= 1e12)))[:1]:
        raise PoolError(f"right of row {row}: got {solved[row]:g} of {times[row]:g}; expected counts from 0, n at most")
    if at is not None and at not in policies.tolist():
        raise PoolError(f"at: got {at!r:.80}{near(at, map(str, policies)) or ';'} there are: {_listed(policies)}")
    scored = times > 0
    _check_linked(samples[scored], answered_by[scored], policies)
    both, row = np.unique(samples * len(policies) + answered_by, return_inverse=True)
    solved, summed = (_sums(row, each, len(both)) for each in (solved, times))
    hard, ability = _fitted(both // len(policies), both % len(policies), solved, summed)
    level = float(ability.mean() if at is None else ability[policies.tolist().index(at)])
    measured = _sums(samples, times, len(names)) > 0
    return Difficulties(names, np.where(measured, 100.0 * expit(hard - level), np.nan), policies, ability, level)


def add_difficulty(
    table: RolloutTable,
    stats: SampleStats,
    column: str,
    *,
    rounds: Collection[int] | None = None,
    warn: Note = lambda text: None,
) -> tuple[Floats, dict[str, Any]]:
    """Return the difficulty of each of ``stats``' samples by a table's rollouts, and the fit in plain values for JSON.

    Difficulties are at the ability of the latest round, else at the mean one; NaN without a value of the column.
    """
    if column not in COLUMNS:
        raise PoolError(f"--item-response: got {column!r:.80}; expected one of {', '.join(COLUMNS)}")
    table.need(column)
    value = f"round(temperature, {PLACES})" if column == "temperature" else column
    where = "" if rounds is None else " WHERE round IN (SELECT unnest(?::BIGINT[]))"
    sql = (
        f"SELECT sample_id, {value} AS policy, sum(acc)::BIGINT AS right, count(acc) AS n FROM {{rollouts}}{where} "
        "GROUP BY 1, 2 HAVING count(acc) > 0"
    )
    needed = [name for name in ("sample_id", "acc", "round", column) if name in table.columns]
    counts = table.query(sql, list(dict.fromkeys(needed)), [] if rounds is None else [list(rounds)])
    unknown = pc.sum(counts.filter(counts["policy"].is_null())["n"]).as_py()
    if unknown:
        warn(f"{unknown} scored rollouts have no {column}, and do not count for the difficulty")
    counts = counts.filter(counts["policy"].is_valid())
    # Numbers in place of names, which are slow to sort.
    sample = pc.index_in(counts["sample_id"], pa.array(stats.sample_id, pa.string())).fill_null(-1).to_numpy()
    policy, right, n = (counts[name].to_numpy(zero_copy_only=False) for name in ("policy", "right", "n"))
    if len(known := np.unique(policy)) < 2:
        raise PoolError(
            f"--item-response {column}: got {_listed(known) or 'no value'} in all scored rollouts; expected two "
            f"different values of {column} or more, for one ability says no more than pass rates do"
        )
    at = known[-1].item() if column == "round" else None
    fit = difficulties(sample, policy, right, n, at=at)
    difficulty = np.full(len(stats) + 1, np.nan)
    difficulty[fit.sample] = fit.difficulty
    difficulty = difficulty[:-1]  # the last is that of samples which came since they were counted: -1
    read_only(difficulty)
    abilities = {str(name): float(ability) for name, ability in zip(fit.policy.tolist(), fit.ability, strict=True)}
    return difficulty, {"column": column, "at": None if at is None else str(at), "abilities": abilities}


def _fitted(sample: Ints, policy: Ints, right: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return difficulties and abilities by Newton's method from 0, with halved steps where one goes too far.

    Rows are pairs of a sample and a policy, each once and sorted. A step eliminates the difficulties, whose part of the
    matrix is diagonal, and solves for the abilities.
    """
    from scipy.sparse.linalg import LinearOperator, cg
    from scipy.special import expit, log_expit

    samples, policies = int(sample[-1]) + 1, int(policy.max()) + 1

    def likelihood(hard: Floats, able: Floats) -> float:
        z = able[policy] - hard[sample]
        pseudo = sum(float((log_expit(each) + log_expit(-each)).sum()) for each in (hard, able))
        return float((right * log_expit(z) + (n - right) * log_expit(-z)).sum()) + _PRIOR * pseudo

    def step(hard: Floats, able: Floats) -> tuple[Floats, Floats]:
        accuracy = expit(able[policy] - hard[sample])
        over, weight = right - n * accuracy, n * accuracy * (1.0 - accuracy)
        slope_hard = -_sums(sample, over, samples) - _PRIOR * np.tanh(hard / 2)
        slope_able = _sums(policy, over, policies) - _PRIOR * np.tanh(able / 2)
        bend_hard = _sums(sample, weight, samples) + 2.0 * _PRIOR * expit(hard) * expit(-hard)
        bend_able = _sums(policy, weight, policies) + 2.0 * _PRIOR * expit(able) * expit(-able)

        def across(ability: Floats) -> Floats:
            return _sums(sample, weight * ability[policy], samples)

        def back(difficulty: Floats) -> Floats:
            return _sums(policy, weight * difficulty[sample], policies)

        square = (policies, policies)
        eliminated = LinearOperator(square, lambda ability: bend_able * ability - back(across(ability) / bend_hard))
        scale = LinearOperator(square, lambda ability: ability / bend_able)
        abler, _ = cg(eliminated, slope_able + back(slope_hard / bend_hard), rtol=1e-12, M=scale)
        return (slope_hard + across(abler)) / bend_hard, abler

    hard, able = np.zeros(samples), np.zeros(policies)
    value, before = likelihood(hard, able), np.inf
    for _ in range(_STEPS):
        harder, abler = step(hard, able)
        share, furthest = 1.0, max(np.abs(harder).max(), np.abs(abler).max())
        while (after := likelihood(hard + share * harder, able + share * abler)) < value - 1e-12 * abs(value):
            share /= 2  # the function is concave, and the step ascends: this ends
        hard, able, value = hard + share * harder, able + share * abler, after
        if furthest < _CLOSE or before / 2 < furthest < _NEAR:
            return hard, able
        before = furthest
    raise PoolError(f"difficulties: no solution within {_STEPS} steps; expected counts below 1e12")


def _sums(code: Ints, values: Floats, groups: int) -> Floats:
    return np.bincount(code, weights=values, minlength=groups).astype(np.float64, copy=False)


def _check_linked(sample: Ints, policy: Ints, policies: NDArray[Any]) -> None:
    """Check that there are two policies or more, linked by common samples: only so abilities can be compared."""
    from scipy import sparse

    there = np.unique(policy)
    if len(there) < 2:
        raise PoolError(
            f"policy: got {len(there)} with scored rollouts; expected two or more, for their abilities differ"
        )
    size = len(policies) + int(sample.max()) + 1
    links = sparse.csr_matrix((np.ones(len(policy)), (policy, len(policies) + sample)), (size, size))
    _, cluster = sparse.csgraph.connected_components(links, directed=False)
    for other in there[cluster[there] != cluster[there[0]]][:1]:
        one = policies[there[0]]
        raise PoolError(
            f"policy: rollouts of {one!r} and of {policies[other]!r} share no sample, not even through others; "
            "expected common samples, by which abilities are compared"
        )


def _codes(name: str, values: Any) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values, sorted, and each row's place among them."""
    # Objects, for numpy makes texts of numbers that stand among texts.
    column = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    try:
        names, codes = np.unique(column, return_inverse=True)
    except TypeError:
        raise PoolError(f"{name}: got {values!r:.80}; expected all texts, or all numbers") from None
    if any(name != name for name in names.tolist()):  # NaN equals nothing
        raise PoolError(f"{name}: got nan; expected a name or a number in every row")
    return names, codes.astype(np.int64)


def _listed(names: NDArray[Any]) -> str:
    return ", ".join(map(str, names[:20].tolist()))
