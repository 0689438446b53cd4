"""The highest temperature whose accuracy has not collapsed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import temperature
from tests.pool.made import counted as at
from tests.pool.made import plainly

SEED_CURVE = {1.1: 631, 1.4: 634, 1.7: 628, 2.0: 550}
"""Right rollouts of 1,000 by temperature."""


def sweep(*given, **options):
    return plainly(temperature.sweep(*given, **options))


def highest(curve, **settings):
    rows = {warm: at([right], n=1000) for warm, right in curve.items()}
    return sweep(rows, rule="tolerance", **settings).chosen


def test_the_tolerance_rule_on_the_worked_example():
    assert highest(SEED_CURVE, reference=1.1, tolerance=0.02) == 1.7
    assert highest(SEED_CURVE) == 1.7
    assert highest(SEED_CURVE, tolerance=0.0) == 1.4
    assert highest(SEED_CURVE, tolerance=0.5) == 2.0
    assert highest(SEED_CURVE, reference=1.4, tolerance=0.005) == 1.4
    assert highest({1.0: 631, 2.0: 611}) == 2.0  # exactly the tolerance


def test_nothing_above_a_collapsed_temperature_is_chosen():
    assert highest({1.1: 630, 1.4: 550, 1.7: 630}) == 1.1


HALF = [8, 0] * 50
WORSE = [4, 0] * 50
NOISY = [8, 0] * 48 + [7, 0] * 2


def test_bootstrap_against_the_best():
    found = sweep({1.7: at(WORSE), 1.1: at(NOISY), 1.4: at(HALF)})
    assert (found.chosen, found.compared_with, found.rule, found.samples, found.left_out) == (
        1.4, 1.4, "bootstrap", 100, 0,
    )  # fmt: skip
    assert [row.temperature for row in found.rows] == [1.1, 1.4, 1.7]
    assert [row.collapsed for row in found.rows] == [False, False, True]
    assert [row.accuracy for row in found.rows] == [0.4975, 0.5, 0.25]
    low, best, hot = found.rows
    # 25 points below, with a standard error of 2.5
    assert (hot.difference, hot.difference_low, hot.difference_high) == pytest.approx((-0.25, -0.299, -0.201), abs=5e-3)
    assert re.fullmatch(
        r"25\.0 points below T 1\.4, 95 % -(29|30)\.\d to -(19|20)\.\d: collapsed, wholly below -1\.0", hot.why
    )
    assert low.why == "0.3 points below T 1.4, 95 % -0.6 to +0.0: held, not wholly below -1.0"
    assert best.why == "the best"
    assert (low.difference, low.difference_high) == (pytest.approx(-0.0025), 0.0)  # 2 of 100 samples may all be missed
    assert (best.low, best.high) == pytest.approx((0.403832, 0.596168), abs=1e-6)  # as wilson(50, 100)


def test_a_margin_and_a_reference():
    stats = {1.1: at(HALF), 1.4: at(WORSE)}
    assert sweep(stats, margin=0.25).chosen == 1.4
    assert sweep(stats, margin=0.1).chosen == 1.1
    found = sweep(stats, reference=1.4)
    assert (found.chosen, found.compared_with, found.rows[1].why) == (1.4, 1.4, "the reference")


def test_a_hundredth_may_be_lost_beyond_chance_by_default():
    stats = {1.1: at([8] * 100), 1.4: at([7] * 8 + [8] * 92)}  # .01 below, by -.0162 to -.0038
    assert (sweep(stats).chosen, sweep(stats, margin=0.0).chosen) == (1.4, 1.1)
    assert sweep({1.1: at([8] * 100), 1.4: at([7] * 20 + [8] * 80)}).chosen == 1.1


def test_the_tolerance_rule_on_samples():
    found = sweep({1.1: at(HALF), 1.4: at(NOISY), 1.7: at(WORSE), 2.0: at(HALF)}, rule="tolerance")
    assert (found.chosen, found.compared_with) == (1.4, 1.1)
    assert [row.why for row in found.rows] == [
        "the reference",
        "0.3 points below T 1.1, 95 % -0.6 to +0.0: held, not more than 2.0 lost",
        "25.0 points below T 1.1, 95 % -30.0 to -20.0: collapsed, more than 2.0 lost",
        "equal to T 1.1, 95 % +0.0 to +0.0: held, not more than 2.0 lost; above T 1.7, which has collapsed",
    ]
    assert vars(found.settings) == {"tolerance": 0.02, "confidence": 0.95}


def test_what_stands_beside_accuracy():
    hot = at(
        [0, 4, 8, 8], unscored=[0, 0, 0, 8], parse_rate=[0.5, 1.0, 1.0, 0.25], dispersion=[0.2, 0.4, np.nan, 0.6],
        distinct=[4, 2, -1, 6],
    )  # fmt: skip
    row = sweep({0.5: at([8, 8, 8, 8]), 1.0: hot}).rows[1]
    assert (row.rollouts, row.mixed_share, row.zero_share) == (32, 0.25, 0.25)
    assert row.parse_rate == (4 + 8 + 8 + 4) / 40
    assert row.dispersion == pytest.approx(0.4)
    assert row.distinct_share == 12 / 24  # of scored rollouts, as the count is
    plain = sweep({0.5: at([8, 8, 8, 8]), 1.0: hot}).rows[0]
    assert (plain.parse_rate, plain.dispersion, plain.distinct_share) == (None, None, None)


def test_only_samples_that_all_have_scored_count():
    two = replace(at([8, 0, 4]), n=np.array([8, 0, 8]))
    found = sweep({1.0: at([8, 4, 4, 0]), 2.0: two})
    assert (found.samples, found.left_out, found.rows[0].accuracy) == (2, 2, 0.75)
    assert found.warnings == ["2 samples are few: bootstrap intervals of differences are too narrow"]


def test_what_to_keep_in_mind():
    found = sweep({1.0: at(HALF, round=[1] * 100), 2.0: at([4, 0] * 50, n=4, round=[2] * 100)})
    assert found.warnings == [
        "numbers of scored rollouts a sample differ between temperatures: more rollouts make more groups mixed",
        "none is chosen: temperatures 1, 2 are of rounds 1, 2; needs rollouts of one round at two temperatures or more",
    ]


def test_what_differs_beside_the_temperature_is_named_and_nothing_is_chosen():
    rounds = sweep({1.0: at(HALF, round=[1] * 100), 2.0: at(WORSE, round=[2] * 100)})
    assert (rounds.chosen, [row.verdict for row in rounds.rows]) == (None, ["confounded", "confounded"])
    assert [row.accuracy for row in rounds.rows] == [0.5, 0.25]
    policies = sweep({1.0: at(HALF), 2.0: at(WORSE)}, policies=["b", "a"])
    assert policies.confounded.startswith("temperatures 1, 2 are of policies a, b; needs")
    assert policies.chosen is None
    same = sweep({1.0: at(HALF, round=[3] * 100), 2.0: at(WORSE, round=[3] * 100)}, policies=["a"])
    assert (same.chosen, same.confounded, same.warnings) == (1.0, "", [])


def test_only_a_hotter_temperature_collapses():
    swept = sweep({0.5: at(WORSE), 1.0: at(HALF), 1.5: at(WORSE), 2.0: at(HALF)})
    assert [row.verdict for row in swept.rows] == ["lower accuracy", "held", "collapsed", "above one that collapsed"]
    assert [row.collapsed for row in swept.rows] == [True, False, True, False]


@pytest.mark.parametrize(
    ("stats", "options", "message"),
    [
        ({1.1: at(HALF)}, {}, "temperatures: got 1.1; expected rollouts of the same samples at two or more"),
        ({}, {}, "temperatures: got none"),
        ({1.1: at(HALF), float("nan"): at(HALF)}, {}, "temperature: got nan; expected a number from 0"),
        ({1.1: at(HALF), 2.0: at([])}, {}, "the scored rollouts at temperature 2 has no sample"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"reference": 1.0}, "reference: got 1; expected one of the temperatures"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"rule": "best"}, "rule: got 'best'; expected bootstrap or tolerance"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"tolerance": 2}, "tolerance: got 2; expected a number from 0 to 1"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"margin": -0.1}, "margin: got -0.1"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"draws": 0}, "draws: got 0; expected a whole number from 1"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"seed": -1}, "seed: got -1; expected a whole number from 0"),
        ({1.1: at(HALF), 2.0: at(HALF)}, {"confidence": 1}, "confidence: got 1; expected a number above 0"),
    ],
)
def test_what_cannot_be_compared_is_an_error(stats, options, message):
    with pytest.raises(PoolError, match=message):
        sweep(stats, **options)


RATES = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=30)


@given(RATES, st.integers(0, 99), st.sampled_from(["bootstrap", "tolerance"]))
@settings(max_examples=40)
def test_order_of_samples_plays_no_part_and_the_choice_has_not_collapsed(rates, seed, rule):
    stats = {warm: at(list(right), n=4) for warm, right in zip((1.0, 1.5, 2.0), zip(*rates, strict=True), strict=True)}
    rng = np.random.default_rng(seed)
    other = {warm: each.taken(rng.permutation(len(each))) for warm, each in reversed(stats.items())}
    found = sweep(stats, rule=rule, draws=100)
    assert found == sweep(other, rule=rule, draws=100)
    chosen = [row.temperature for row in found.rows].index(found.chosen)
    start = [row.temperature for row in found.rows].index(found.compared_with)
    assert start <= chosen
    assert not any(row.collapsed for row in found.rows[start : chosen + 1])
    assert all(row.collapsed for row in found.rows[chosen + 1 : chosen + 2])
    assert all(0 <= row.low <= row.accuracy + 1e-9 and row.accuracy <= row.high + 1e-9 for row in found.rows)
