"""Transitions of samples from one round to another, beside what a second measurement would show by chance alone."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grounding_rewards.arrays import Floats, Ints, plain
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.inputs import read_input, stats_of_input
from grounding_rewards.pool.stats import SampleStats, by_source
from grounding_rewards.stats.intervals import Bootstrap, beta_binomial, exact_mean, mcnemar, wilson
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.wording import percent

NULL, BETA_BINOMIAL, MEASURED = "the null", "beta-binomial", "measured"
MOST = 1024
"""Largest number of scored rollouts of a sample: the matrix has a row and a column for each number of right ones."""
FEW = 30
"""Number of samples below which bootstrap intervals are too narrow."""
COMMON = 1e12
"""a + b where all samples have one rate: a second measurement is binomial, to the precision of 64-bit floats."""
JEFFREYS = (0.5, 0.5)
ONE_ROUND = "needs rollouts of one round at two temperatures or more"
_BOOTSTRAP = Bootstrap(2000, 0, 0.95)
_NEGLIGIBLE = 1e-13
_FEWEST = 5.0  # samples that a cell of the chi-square test expects


def moves_of(first: SampleStats, second: SampleStats) -> dict[str, Any]:
    """Count the moves of samples; row i of both rounds is the same sample, with a scored rollout in each."""
    never = first.num_correct == 0
    escaped, of = int((second.num_correct[never] > 0).sum()), int(never.sum())
    low, high = map(float, wilson(escaped, of))
    rise = second.num_correct * first.n - first.num_correct * second.n  # pass rates without division: the sign is exact
    moved = second.pass_rate - first.pass_rate
    ends = _BOOTSTRAP.interval(moved) if len(moved) > 1 else (math.nan, math.nan)  # one sample does not vary
    means = (exact_mean(each) for each in (first.pass_rate, second.pass_rate, moved))
    return {
        "both": len(first), "never_solved": of, "escaped": escaped, "escape_share": escaped / of if of else math.nan,
        "low": low, "high": high,
        "up": int((rise > 0).sum()), "same": int((rise == 0).sum()), "down": int((rise < 0).sum()),
        "difference": dict(zip(("before", "after", "mean", "low", "high"), (*means, *ends), strict=True)),
    }  # fmt: skip


def transitions(before: SampleStats, after: SampleStats, *, null: SampleStats | None = None) -> dict[str, Any]:
    """Count samples by right rollouts before and after, and compare with chance, as plain values.

    The computed null takes a Beta distribution of pass rates, fitted to the whole round before; the help of
    ``pool transitions`` has trials.
    """
    names = ["the round before", "the round after"]
    rows = in_common([before, after], names)
    scored = (before.n[rows[0]] > 0) & (after.n[rows[1]] > 0)
    if not scored.any():
        raise PoolError(f"no sample of both rounds has scored rollouts in both: {len(scored)} samples in both")
    first, second = before.taken(rows[0][scored]), after.taken(rows[1][scored])
    for name, stats in zip((*names, NULL), (first, second, null), strict=True):
        if stats is not None and stats.n.max(initial=0) > MOST:  # the matrix would not fit into memory
            row = int(stats.n.argmax())
            raise PoolError(
                f"{name}: {stats.named(row)} has {stats.n[row]:,} scored rollouts; expected {MOST:,} at most. Is "
                "sample_id the sample's name?"
            )
    # The null may have more rollouts than the round after; both matrices have one shape.
    shape = (int(first.n.max()) + 1, int(max(second.n.max(), 0 if null is None else null.n.max(initial=0))) + 1)
    moves = moves_of(first, second)
    if null is None:
        prior = fitted_prior(before.n, before.num_correct)  # of the whole round, not of ``first``
        chance = _computed(first.num_correct, first.n, second.n, shape, moves["escaped"], prior)
        warnings = [prior["said"]] if prior["said"] else []
    else:
        chance, warnings = _measured(first, second, null, shape), []
    lost, won = (int((one > other).sum()) for one, other in permutations([first.num_correct, second.num_correct]))
    single = bool((first.n == 1).all() and (second.n == 1).all())
    counts = _matrix(first.num_correct, second.num_correct, shape)
    totals, ids = counts.sum(axis=1), [set(stats.sample_id.tolist()) for stats in (before, after)]
    found: dict[str, Any] = plain({
        **moves,
        "counts": counts,
        "n_before": _sizes(first),
        "n_after": _sizes(second),
        "net": int(second.num_correct.sum() - first.num_correct.sum()),
        "by_source": _by_source(first, second),
        "discordant": {"only_before": lost, "only_after": won, "p_value": mcnemar(lost, won)} if single else None,
        "dropped": len(ids[0] - ids[1]),
        "new": len(ids[1] - ids[0]),
        "unscored": int((~scored).sum()),
        "temperatures_before": before.temperatures,
        "temperatures_after": after.temperatures,
        "warnings": [*_of_rounds(first, second, before, after, null), *warnings],
        "row_shares": np.divide(counts, totals[:, None], out=np.full(shape, np.nan), where=totals[:, None] > 0),
        "before": totals,
        "after": counts.sum(axis=0),
        "null": chance,
    })  # fmt: skip
    return found


def compare_files(
    before: str, after: str, *, null: str | None = None, by: str = "source", reporting: Reporting = SILENT
) -> dict[str, Any]:
    """Compare two rounds from files that ``read_input`` reads, as ``grounding-rewards pool transitions`` does."""
    said, one, other = list[str](), read_input(before), read_input(after)
    with reporting.progress("comparing rounds") as advance:
        first = stats_of_input(one, by, said.append)
        advance(0.4)
        second = stats_of_input(other, by, said.append)
        advance(0.8)
        # The null's sources do not matter.
        again = None if null is None else stats_of_input(read_input(null), "source", said.append)
        compared = transitions(first, second, null=again)
    if compared["both"] < FEW and os.path.realpath(one.path) == os.path.realpath(other.path) and one[1:] == other[1:]:
        said.append("BEFORE and AFTER are the same rollouts")  # with more samples, equal counts tell
    return {**compared, "warnings": [*compared["warnings"], *said]}


def _by_source(first: SampleStats, second: SampleStats) -> list[dict[str, Any]]:
    """Count the moves of each source: that of the round before, or that of the round after where there is none."""
    pairs = zip(first.source.tolist(), second.source.tolist(), strict=True)
    either = np.array([later if earlier is None else earlier for earlier, later in pairs], dtype=np.object_)
    rows = by_source(replace(first, source=either)) or [(None, np.arange(len(first)))]
    return [
        {"source": None if name is None else str(name), **moves_of(first.taken(some), second.taken(some))}
        for name, some in rows
    ]


def _matrix(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Ints:
    """Count samples by their row and column of a matrix."""
    return np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


# What chance alone would show.


def _rate(a: float, b: float) -> float | None:
    """Return the pass rate that all samples have; None where they differ."""
    return a / (a + b) if a + b >= COMMON else None


def describe_prior(a: float, b: float) -> str:
    """Describe Beta(a, b) in words."""
    rate = _rate(a, b)
    return f"Beta({a:.3g}, {b:.3g})" if rate is None else f"one rate of {100 * rate:.1f} % for all samples"


def fitted_prior(n: ArrayLike, correct: ArrayLike) -> dict[str, Any]:
    """Return the Beta distribution of pass rates that fits a round best; Jeffreys' where its counts fix none."""
    found = _likeliest(np.asarray(n, np.int64), np.asarray(correct, np.int64))
    a, b = found or JEFFREYS
    said = "the histogram of num_correct does not fix a prior: Jeffreys, Beta(0.5, 0.5), stands in"
    said = contradiction(n, correct, a, b) if found else said
    return {"name": "fit", "a": a, "b": b, "said": said, "rate": _rate(a, b)}


def _likeliest(n: Ints, right: Ints) -> tuple[float, float] | None:
    """Return a and b, from 0.001 to 10,000, of the likeliest beta-binomial counts; None without a single maximum."""
    from scipy import optimize, special

    share = right.sum() / max(n.sum(), 1)
    if n.max(initial=0) < 2 or not 0 < share < 1 or not ((right > 0) & (right < n)).any():
        return None
    key, times = np.unique(n * (n.max() + 1) + right, return_counts=True)
    of, k = key // (n.max() + 1), key % (n.max() + 1)

    def loss(place: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood and its slopes, by the logit of the mean and the logarithm of a + b."""
        mean, size = special.expit(place[0]), math.exp(place[1])
        a, b = mean * size, (1 - mean) * size
        value = special.betaln(a + k, b + of - k) - special.betaln(a, b)
        both = special.psi(size) - special.psi(size + of)
        by_a = times @ (special.psi(a + k) - special.psi(a) + both)
        by_b = times @ (special.psi(b + of - k) - special.psi(b) + both)
        return -float(times @ value), -np.array([(by_a - by_b) * a * (1 - mean), by_a * a + by_b * b])

    start, bounds = (special.logit(share), 0.0), [(None, None), (math.log(2e-3), math.log(2e4))]
    found = optimize.minimize(loss, start, jac=True, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-7})
    mean, size = special.expit(found.x[0]), math.exp(found.x[1])
    if size > 1.9e4:  # to the precision of these counts all samples have one rate
        return float(share * COMMON), float((1 - share) * COMMON)
    return float(mean * size), float((1 - mean) * size)


def contradiction(n: ArrayLike, correct: ArrayLike, a: float, b: float) -> str:
    """Return a warning where Pearson's chi-square test rejects a fitted Beta(a, b) at 5 %, else ""."""
    from scipy.special import chdtrc

    of, right = np.asarray(n, np.int64), np.asarray(correct, np.int64)
    of, right = of[of > 0], right[of > 0]  # without rollouts any prior fits
    expected, never, always = np.zeros(int(of.max(initial=0)) + 1), 0.0, 0.0
    for rollouts, samples in zip(*np.unique(of, return_counts=True), strict=True):
        shares = samples * beta_binomial(int(rollouts), 0, 0, a, b)
        expected[: rollouts + 1] += shares
        never, always = never + float(shares[0]), always + float(shares[-1])
    cells = [[0.0, 0.0]]
    for pair in zip(np.bincount(right, minlength=len(expected)).tolist(), expected.tolist(), strict=True):
        if cells[-1][1] >= _FEWEST:
            cells.append([0.0, 0.0])
        cells[-1] = list(map(sum, zip(cells[-1], pair, strict=True)))
    if len(cells) > 1 and cells[-1][1] < _FEWEST:  # the last cell has no neighbour above
        cells[-2:] = [list(map(sum, zip(*cells[-2:], strict=True)))]
    statistic = math.fsum((seen - mean) ** 2 / mean for seen, mean in cells if mean)
    freedom = len(cells) - 3  # one for the sum, and one for each parameter
    if freedom < 1 or chdtrc(freedom, statistic) >= 0.05:
        return ""
    return (
        f"num_correct before does not look like {describe_prior(a, b)}: {int((right == 0).sum()):,} never solved for "
        f"{never:,.1f} expected, {int((right == of).sum()):,} all-correct for {always:,.1f}; what it calls chance may "
        "be far off. Measure it: a second set of rollouts of the policy before (--null)"
    )


_UNKNOWN = {"escape_share": math.nan, "low": math.nan, "high": math.nan, "p_value": math.nan}
"""Values without never-solved samples: their expected share that is solved after, the central 95 % of such shares (of
the measured null its Wilson interval), and the two-sided p-value of the observed ones (of the measured null McNemar's
over the samples in all three)."""


def _computed(
    correct: Ints, n: Ints, n_after: Ints, shape: tuple[int, int], escaped: int, prior: dict[str, Any]
) -> dict[str, Any]:
    """Compute the null from a prior, taken as known: each sample's second count is beta-binomial, given its first."""
    expected, chances, start, samples, share = np.zeros(shape), np.ones(1), 0, 0, 0.0
    # Equal counts have equal chances, so each kind of sample is computed once.
    sides = shape[0], shape[0], shape[1]
    kinds, counts = np.unique(np.ravel_multi_index((correct, n, n_after), sides), return_counts=True)
    for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        right, of, later = map(int, np.unravel_index(kind, sides))
        each = beta_binomial(later, right, of, prior["a"], prior["b"])
        expected[right, : later + 1] += count * each
        if right == 0:
            leaves = float(1 - each[0])
            samples, share = samples + count, share + leaves * count
            first, others = _binomial(count, leaves)
            start, chances = start + first, np.convolve(chances, others)  # no leading zeros: short
    null = {"kind": BETA_BINOMIAL, "prior": prior, "samples": samples, "expected": expected, **_UNKNOWN}
    if not samples:
        return null
    chances = chances / chances.sum()  # a sum of 1 in spite of the cut tails
    low, high = (start + int(np.searchsorted(np.cumsum(chances), edge)) for edge in (0.025, 0.975))
    places = start + np.arange(len(chances))
    tails = chances[places <= escaped].sum(), chances[places >= escaped].sum()
    p_value = min(1.0, 2 * float(min(tails)))  # both tails include the middle, so twice may exceed 1
    ends = {"low": low / samples, "high": min(1.0, high / samples)}
    return {**null, "escape_share": share / samples, **ends, "p_value": p_value}


def _binomial(n: int, chance: float) -> tuple[int, Floats]:
    """Return the first number of a binomial distribution without its negligible tails, and its chances."""
    if not 0 < chance < 1:
        return (n if chance >= 1 else 0), np.ones(1)
    shares = beta_binomial(n, 0, 0, chance * 1e200, (1 - chance) * 1e200)  # so large that no draw changes the rate
    kept = np.flatnonzero(shares > _NEGLIGIBLE)
    return int(kept[0]), shares[kept[0] : kept[-1] + 1]


def _measured(first: SampleStats, second: SampleStats, null: SampleStats, shape: tuple[int, int]) -> dict[str, Any]:
    """Estimate the null from a second set of rollouts of the policy before, over the samples that it has scored."""
    scored = null.taken(null.n > 0)  # a sample that the null never scored says nothing of chance
    rows = in_common([first, scored], ["both rounds", NULL])
    right, again = first.num_correct[rows[0]], scored.num_correct[rows[1]]
    counts = _matrix(right, again, shape)
    totals, before = counts.sum(axis=1, keepdims=True), np.bincount(first.num_correct, minlength=shape[0])[:, None]
    shares = np.divide(counts, totals, out=np.full(shape, np.nan), where=totals > 0)
    expected = np.where(before > 0, before * shares, 0.0)
    never = right == 0
    solved, after = again[never] > 0, second.num_correct[rows[0]][never] > 0
    found = {"kind": MEASURED, "prior": None, "samples": len(solved), "expected": expected, **_UNKNOWN}
    if not len(solved):
        return found
    low, high = map(float, wilson(int(solved.sum()), len(solved)))
    # The same samples twice, so a paired test: the two shares are not independent.
    p_value = mcnemar(int((solved & ~after).sum()), int((after & ~solved).sum()))
    return {**found, "escape_share": int(solved.sum()) / len(solved), "low": low, "high": high, "p_value": p_value}


# Samples of several rounds, paired by name.


def in_common(several: Sequence[SampleStats], called: Sequence[str]) -> list[Ints]:
    """Return the rows, in each of several statistics, of the samples that all have, ordered by name."""
    places = []
    for stats, name in zip(several, called, strict=True):
        rows = {sample: row for row, sample in enumerate(stats.sample_id.tolist())}
        if len(rows) < len(stats):
            twice = next(row for row, sample in enumerate(stats.sample_id.tolist()) if rows[sample] != row)
            raise PoolError(f"{name}: {stats.named(twice)} has two rows; expected one a sample")
        places.append(rows)
    common = _in_order(name for name in places[0] if all(name in rows for rows in places[1:]))
    if not common:
        names = "; ".join(f"{name} has {_some(stats)}" for stats, name in zip(several, called, strict=True))
        raise PoolError(f"no sample is in {' and '.join(called)}: {names}; expected the same names of samples")
    return [np.fromiter(map(rows.__getitem__, common), np.int64, len(common)) for rows in places]


def _in_order(names: Iterable[Hashable]) -> list[Any]:
    """Sort names of any type: texts as they are, others by their texts and types."""
    listed: list[Any] = list(names)
    if all(type(name) is str for name in listed):
        return sorted(listed)
    return sorted(listed, key=lambda name: (str(name), type(name).__name__))


def _some(stats: SampleStats) -> str:
    names = ", ".join(map(repr, stats.sample_id[:3].tolist()))
    return f"{names}{f' and {len(stats) - 3} more' if len(stats) > 3 else ''}" if len(stats) else "no sample"


# Sentences for the reader.


def facts_of(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what became of samples, by name."""
    null, gap = found["null"], found["difference"]
    yield "never solved before", f"{found['never_solved']:,} of {found['both']:,} samples"
    if found["never_solved"]:
        yield "solved after", f"{found['escaped']:,}, {_interval(found)}"
        if null["samples"]:
            yield "by chance alone", f"{_interval(null)}; p = {null['p_value']:.2g}"
            yield "", _kind(null)
        else:
            yield "by chance alone", "unknown: the null holds none of them"
    moves = ", ".join(f"{found[name]:,}" for name in ("up", "same", "down"))
    yield "up, same, down", f"{moves}; right rollouts {found['net']:+,}"
    ends = "" if gap["low"] is None else f", 95 % {100 * gap['low']:+.1f} to {100 * gap['high']:+.1f}"
    rates = f"{percent(gap['before'])} to {percent(gap['after'])}"
    yield "mean pass rate", f"{rates}: {100 * gap['mean']:+.1f} points{ends}"
    if each := found["discordant"]:
        text = f"{each['only_before']:,} before alone, {each['only_after']:,} after alone"
        yield "right in one round", f"{text}; McNemar p = {each['p_value']:.2g}"
    left = f"{found['dropped']:,} before alone, {found['new']:,} after alone"
    yield "not compared", left + (f", {found['unscored']:,} not scored in both" if found["unscored"] else "")


def _kind(null: Mapping[str, Any]) -> str:
    prior = null["prior"]
    if prior is None:
        return f"measured on {null['samples']:,} samples"
    kind = "beta-binomial, fit prior" if prior["rate"] is None else "binomial, fit:"
    return f"{kind} {describe_prior(prior['a'], prior['b'])}"


def _interval(of: Mapping[str, Any]) -> str:
    return f"{percent(of['escape_share'])}, 95 % {100 * of['low']:.1f} to {100 * of['high']:.1f}"


SOURCES = ["source", "both", "never", "solved", "share", "95 % interval", "up", "down", "points"]
"""Heads of ``sources_of``."""


def sources_of(found: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each source of samples; none where no source is known."""
    if all(each["source"] is None for each in found["by_source"]):
        return []
    return [
        [
            "(none)" if each["source"] is None else each["source"],
            *(f"{each[name]:,}" for name in ("both", "never_solved", "escaped")), percent(each["escape_share"]),
            f"{100 * each['low']:.1f} - {100 * each['high']:.1f}" if each["never_solved"] else "-",
            *(f"{each[name]:,}" for name in ("up", "down")), f"{100 * each['difference']['mean']:+.1f}",
        ]
        for each in found["by_source"]
    ]  # fmt: skip


def _of_rounds(
    first: SampleStats, second: SampleStats, before: SampleStats, after: SampleStats, null: SampleStats | None
) -> list[str]:
    warm, sizes = (before.temperatures, after.temperatures), (_sizes(first), _sizes(second))
    rounds = [set(np.unique(stats.round[stats.round >= 0]).tolist()) for stats in (before, after)]
    uneven = len(sizes[0]) > 1 or sizes[0] != sizes[1]
    same = len(first) >= FEW and (first.n == second.n).all() and (first.num_correct == second.num_correct).all()
    warnings = {
        f"temperatures differ, {_list(warm[0])} before and {_list(warm[1])} after: the matrix mixes what the "
        "policy learnt with what the temperature does": warm[0] != warm[1] and all(warm),
        f"samples have {_list(sizes[0])} scored rollouts before and {_list(sizes[1])} after: equal numbers of "
        "right ones are not equal pass rates; up and down compare pass rates": uneven,
        f"both are of round {_list(rounds[0])}": rounds[0] and rounds[0] == rounds[1],
        f"round {_list(rounds[0])} stands before round {_list(rounds[1])}: swapped?":
            rounds[0] and rounds[1] and max(rounds[1]) < min(rounds[0]),
        "both rounds show the same in all samples: are these the same rollouts twice?": same,
    }  # fmt: skip
    if null is not None:
        again = null.taken(null.n > 0)
        rows, others = in_common([first, again], ["both rounds", NULL])
        equal = (first.n[rows] == again.n[others]) & (first.num_correct[rows] == again.num_correct[others])
        warnings |= {
            f"{NULL} has {_list(_sizes(again))} scored rollouts a sample, the round after {_list(_sizes(second))}"
            ": more rollouts find more right ones by chance": _sizes(again) != _sizes(second),
            f"{NULL} lacks {len(first) - len(rows):,} of the {len(first):,} samples of both rounds":
                len(rows) < len(first),
            f"{NULL} shows the same in all samples as the round before: are these its rollouts once more?":
                len(rows) >= FEW and equal.all(),
        }  # fmt: skip
    return [text for text, applies in warnings.items() if applies]


def of_temperatures(common: Sequence[SampleStats]) -> list[str]:
    """Return the warnings on the same samples at several temperatures."""
    few, sizes = len(common[0]), [set(stats.n.tolist()) for stats in common]
    return [
        *([f"{few} samples are few: bootstrap intervals of differences are too narrow"] if few < FEW else []),
        *(["numbers of scored rollouts a sample differ between temperatures: more rollouts make more groups mixed"]
          if any(size != sizes[0] for size in sizes) else []),
    ]  # fmt: skip


def confounded(temperatures: Collection[float], rounds: Collection[int], policies: Collection[str]) -> str:
    """Name another difference between temperatures, whose effect would pass for theirs; "" without one."""
    for kind, values in (("rounds", sorted(rounds)), ("policies", sorted(policies))):
        if len(values) > 1:
            shown = ", ".join(map(str, values[:3])) + (", ..." if len(values) > 3 else "")
            warm = ", ".join(f"{value:g}" for value in sorted(temperatures))
            return f"temperatures {warm} are of {kind} {shown}; {ONE_ROUND}"
    return ""


def _sizes(stats: SampleStats) -> list[int]:
    return list(np.unique(stats.n).tolist())


def _list(values: Any) -> str:
    """List some numbers; of many the ends."""
    shown = [f"{value:g}" for value in sorted(values)]
    return f"{shown[0]} to {shown[-1]}" if len(shown) > 3 else " and ".join(shown)
