"""Temperature sweep: choose the highest temperature whose accuracy has not collapsed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from grounding_rewards.arrays import plain
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.draws import check_whole
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.transitions import confounded, in_common, of_temperatures
from grounding_rewards.stats.intervals import Bootstrap, exact_mean, wilson_of_samples

BOOTSTRAP, TOLERANCE = "bootstrap", "tolerance"
RULES = (BOOTSTRAP, TOLERANCE)
HELD, LOWER, COLLAPSED, ABOVE = "held", "lower accuracy", "collapsed", "above one that collapsed"
CONFOUNDED = "confounded"
_SLACK = 1e-12  # a loss of exactly the tolerance may round to more


def sweep(
    stats_by_temperature: Mapping[float, SampleStats],
    *,
    rule: str = BOOTSTRAP,
    reference: float | None = None,
    tolerance: float = 0.02,
    margin: float = 0.01,
    draws: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    policies: Collection[str] = (),
) -> dict[str, Any]:
    """Compare temperatures over the samples that all of them have scored, and choose one, as plain values.

    The help of ``pool temperature`` has the rules. The best is chosen from the same data, a bias that makes
    ``bootstrap`` strict: among four equal temperatures (400 samples, 8 rollouts each, pass rates uniform, Beta(.5, .5)
    or Beta(1, 3)) it rejects the highest in 9 to 11 % of trials without a margin, in 0 to 3 % with 0.01.
    """
    _check(rule, margin, tolerance, draws, confidence)
    check_whole("seed", seed, 0)
    temperatures = _sorted(stats_by_temperature, reference)
    # The same samples for all: a temperature that lacks the hard ones would look better.
    common, every = _common([stats_by_temperature[value] for value in temperatures], temperatures)
    rates = np.stack([stats.pass_rate for stats in common])
    accuracies = [exact_mean(rate) for rate in rates]
    best = accuracies.index(max(accuracies)) if rule == BOOTSTRAP else 0  # of equally good ones the lowest
    against = best if reference is None else temperatures.index(reference)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rng = Bootstrap(draws, seed, confidence)  # one seed: equal values have equal intervals
    gaps = [  # of differences by sample, in which its difficulty cancels out
        (accuracies[row] - accuracies[against], *rng.interval(rates[row] - rates[against])) for row in range(len(rates))
    ]
    if rule == BOOTSTRAP:
        held = [high >= -margin - _SLACK for _, _, high in gaps]
    else:
        held = [gap >= -tolerance - _SLACK for gap, _, _ in gaps]
    top = against  # the last that is reached from there over held temperatures
    while top + 1 < len(held) and held[top + 1]:
        top += 1
    rounds = {number for stats in common for number in stats.round.tolist() if number >= 0}
    mixed = confounded(temperatures, rounds, policies)
    verdicts = [CONFOUNDED] * len(held) if mixed else [
        (ABOVE if row > top else HELD) if each else (COLLAPSED if row > against else LOWER)
        for row, each in enumerate(held)
    ]  # fmt: skip
    blocked = [temperatures[top + 1] if verdict == ABOVE else None for verdict in verdicts]
    limit = f"wholly below {0 - 100 * margin:+.1f}" if rule == BOOTSTRAP else f"more than {100 * tolerance:.1f} lost"
    beside = f"T {temperatures[against]:g}, {100 * confidence:g} %"
    reasons = [_why(*each, beside, limit) for each in zip(gaps, verdicts, blocked, strict=True)]
    reasons[against] = "the best" if rule == BOOTSTRAP and reference is None else "the reference"
    rows = [
        {
            "temperature": temperatures[row],
            "rollouts": int(stats.n.sum()),
            "accuracy": accuracies[row],
            **dict(zip(("low", "high"), wilson_of_samples(stats.num_correct, stats.n, z), strict=True)),
            **_further(stats),
            **dict(zip(("difference", "difference_low", "difference_high"), gaps[row], strict=True)),
            "collapsed": not held[row],
            "why": reasons[row],
            "verdict": verdicts[row],
        }
        for row, stats in enumerate(common)
    ]
    settings = {"margin": margin, "draws": draws, "seed": seed} if rule == BOOTSTRAP else {"tolerance": tolerance}
    found: dict[str, Any] = plain({
        "chosen": None if mixed else temperatures[top],
        "compared_with": temperatures[against],
        "rule": rule,
        "samples": rates.shape[1],
        "left_out": every - rates.shape[1],
        "rows": rows,
        "confounded": mixed,
        "settings": {**settings, "confidence": confidence},
        "warnings": [*of_temperatures(common), *([f"none is chosen: {mixed}"] if mixed else [])],
    })  # fmt: skip
    return found


def _common(several: Sequence[SampleStats], temperatures: Sequence[float]) -> tuple[list[SampleStats], int]:
    """Return the samples that all temperatures have scored, in one order, and the number of samples in any."""
    scored = [stats.taken(stats.n > 0) for stats in several]
    rows = in_common(scored, [f"the scored rollouts at temperature {value:g}" for value in temperatures])
    every = set().union(*(stats.sample_id.tolist() for stats in several))
    return [stats.taken(chosen) for stats, chosen in zip(scored, rows, strict=True)], len(every)


def _further(stats: SampleStats) -> dict[str, float]:
    """Return the parse rate, shares of mixed and never-solved samples, dispersion, and share of distinct responses."""
    rollouts = stats.n + stats.unscored
    read, known = ~np.isnan(stats.parse_rate), stats.distinct >= 0
    return {
        "parse_rate": exact_mean(stats.parse_rate * rollouts) / exact_mean(rollouts[read]),  # a share of all rollouts
        "mixed_share": float(stats.mixed.mean()),
        "zero_share": float(stats.none_correct.mean()),
        "dispersion": exact_mean(stats.dispersion),
        "distinct_share": float(stats.distinct[known].sum() / stats.n[known].sum()) if known.any() else math.nan,
    }


def _why(gap: tuple[float, float, float], verdict: str, blocked_by: float | None, beside: str, limit: str) -> str:
    """Write a difference of accuracies with its interval, in percentage points, and a verdict with the rule's limit."""
    size, low, high = f"{abs(100 * gap[0]):.1f}", 100 * gap[1], 100 * gap[2]
    compared = "equal to" if size == "0.0" else f"{size} points {'below' if gap[0] < 0 else 'above'}"
    text = f"{compared} {beside} {low:+.1f} to {high:+.1f}"
    if verdict in (COLLAPSED, LOWER):
        return f"{text}: {verdict}, {limit}"
    above = "" if blocked_by is None else f"; above T {blocked_by:g}, which has collapsed"
    return text if verdict == CONFOUNDED else f"{text}: held, not {limit}{above}"


def _sorted(by_temperature: Mapping[float, Any], reference: float | None) -> list[float]:
    wrong = [value for value in by_temperature if not (math.isfinite(value) and value >= 0)]
    if wrong:
        raise PoolError(f"temperature: got {wrong[0]}; expected a number from 0")
    values = sorted(by_temperature)
    if len(values) < 2:
        raise PoolError(
            f"temperatures: got {', '.join(f'{value:g}' for value in values) or 'none'}; expected rollouts of the same "
            "samples at two or more"
        )
    if reference is not None and reference not in values:
        shown = ", ".join(f"{value:g}" for value in values)
        raise PoolError(f"reference: got {reference:g}; expected one of the temperatures there are, {shown}")
    return values


def _check(rule: str, margin: float, tolerance: float, draws: int, confidence: float) -> None:
    if rule not in RULES:
        raise PoolError(f"rule: got {rule!r}; expected {' or '.join(RULES)}")
    for name, value in (("margin", margin), ("tolerance", tolerance)):
        if not 0 <= value <= 1:
            raise PoolError(f"{name}: got {value}; expected a number from 0 to 1")
    if draws < 1:
        raise PoolError(f"draws: got {draws}; expected a whole number from 1")
    if not 0 < confidence < 1:
        raise PoolError(f"confidence: got {confidence}; expected a number above 0 and below 1, such as 0.95")
