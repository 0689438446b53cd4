"""Numbers of a round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.pool.report.rounds import Round, histogram, mean_rate, signal, summary
from grounding_rewards.stats.intervals import wilson
from tests.pool.report.made import rounds, stats

COUNTS = st.lists(st.integers(0, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=30)


def test_a_line_of_the_table():
    first, _ = rounds()
    found = summary(first)
    assert found | {"parse_rate": None, "dispersion": None, "mean_total": None} == {
        "round": "round 1", "samples": 5, "rollouts": 20, "unscored": 0, "unscored_samples": 0, "all_correct": 1,
        "none_correct": 2, "mixed": 2, "zero_signal": 2, "accuracy": 0.35, "mean_total": None, "parse_rate": None,
        "dispersion": None, "rollouts_per_sample": [4], "correct": 7, "accuracy_low": pytest.approx(0.1237, abs=1e-4),
        "accuracy_high": pytest.approx(0.6727, abs=1e-4), "temperatures": [1.1],
    }  # fmt: skip


def test_bars_tell_none_some_and_all_apart_though_n_differs():
    found = histogram(Round("1", stats([2, 4, 4, 2, 0], [2, 2, 0, 0, 0])))
    assert found == {
        "round": "1",
        "none_correct": [2, 0, 0, 0, 0],
        "mixed": [0, 0, 1, 0, 0],
        "all_correct": [0, 0, 1, 0, 0],
    }


def test_no_signal_is_counted_by_totals_and_by_outcomes():
    first, second = rounds()
    # never solved, but scored 0 and 0.2: a difference to learn from
    assert signal(first) == {
        "round": "round 1", "none_correct": 0.4, "mixed": 0.4, "all_correct": 0.2, "no_spread": 0.4,
    }  # fmt: skip
    assert signal(second)["no_spread"] is None
    nearly = stats([2, 2], [1, 1], lowest=[0.0, 0.0], highest=[1e-6, 1.1e-6])
    assert signal(Round("1", nearly))["no_spread"] == 0.5


def test_nothing_scored_has_no_shares():
    empty = Round("1", stats([0, 0], [0, 0], unscored=[3, 1]))
    assert (summary(empty)["accuracy"], summary(empty)["accuracy_low"], summary(empty)["unscored"]) == (None, None, 4)
    assert signal(empty) == {"round": "1", "none_correct": None, "mixed": None, "all_correct": None, "no_spread": None}
    assert histogram(empty) == {"round": "1", "none_correct": [0], "mixed": [0], "all_correct": [0]}


@pytest.mark.parametrize("samples", [3, 4, 20])
def test_an_interval_ends_at_0_and_1_whatever_the_last_bits_say(samples):
    assert mean_rate(stats([1] * samples, [1] * samples))[::2] == (1.0, 1.0)
    assert mean_rate(stats([1] * samples, [0] * samples))[:2] == (0.0, 0.0)


@given(st.integers(1, 40).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m))))
def test_with_one_rollout_a_sample_the_interval_is_wilsons(counts):
    samples, right = counts
    found = mean_rate(stats([1] * samples, [1] * right + [0] * (samples - right)))
    assert found == pytest.approx((right / samples, *map(float, wilson(right, samples))), abs=1e-12)


@settings(max_examples=50)
@given(COUNTS, st.randoms())
def test_every_scored_sample_counts_once_whatever_the_order(counts, shuffled):
    n, right = [each[0] for each in counts], [each[1] for each in counts]
    found = Round("1", stats(n, right))
    bars = histogram(found)
    names = ("none_correct", "mixed", "all_correct")
    scored = sum(each > 0 for each in n)
    assert sum(sum(bars[name]) for name in names) == scored == sum(summary(found)[name] for name in names)
    assert sum(place * count for name in names for place, count in enumerate(bars[name])) == sum(right)
    order = list(range(len(counts)))
    shuffled.shuffle(order)
    other = Round("1", found.stats.taken(np.array(order, dtype=np.int64)))
    assert histogram(other) == bars
    low, mean, high = (summary(other)[name] for name in ("accuracy_low", "accuracy", "accuracy_high"))
    assert mean is None or 0.0 <= low <= mean <= high <= 1.0
