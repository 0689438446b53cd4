"""Difficulties of samples beside the abilities of policies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit as sigmoid

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import sample_stats
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.difficulties import add_difficulty, difficulties
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import write_rows


def test_difficulties_are_at_the_ability_that_is_asked_for():
    columns = (["a", "a", "b", "b"], [1, 2, 1, 2], [1, 3, 2, 3], [4, 4, 4, 4])
    mean, last = difficulties(*columns), difficulties(*columns, at=2)
    assert (last.ability_at, mean.ability_at) == (last.ability[1], mean.ability.mean())
    assert (last.difficulty < mean.difficulty).all()
    logit = np.log(mean.difficulty / (100 - mean.difficulty)) + mean.ability_at
    assert last.difficulty == pytest.approx(100 * sigmoid(logit - last.ability[1]))


COUNTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 8), st.integers(0, 8)), max_size=30)


@given(COUNTS, st.randoms())
def test_right_rollouts_are_as_many_as_the_fit_expects_and_rows_come_in_any_order(some, random):
    rows = [(0, policy, 1, 3) for policy in range(4)] + [(s, p, min(r, n), n) for s, p, r, n in some]
    fit = difficulties(*zip(*rows, strict=True))
    assert fit.policy.tolist() == [0, 1, 2, 3]
    assert fit.ability_at == pytest.approx(fit.ability.mean())
    measured = ~np.isnan(fit.difficulty)
    assert measured.tolist() == [any(n for s, _, _, n in rows if s == sample) for sample in fit.sample.tolist()]
    assert ((fit.difficulty > 0) & (fit.difficulty < 100))[measured].all()
    share = fit.difficulty / 100
    hard = dict(zip(fit.sample.tolist(), np.log(share / (1 - share)) + fit.ability_at, strict=True))
    expected = {("policy", p): sigmoid(ability) for p, ability in enumerate(fit.ability)}
    expected |= {("sample", s): sigmoid(-each) for s, each in hard.items()}
    counted = dict.fromkeys(expected, 0.5)
    for sample, policy, right, n in rows:
        for key in (("policy", policy), ("sample", sample)) if n else ():
            expected[key] += n * sigmoid(fit.ability[policy] - hard[sample])
            counted[key] += right
    for key in expected:
        if key[0] == "policy" or not np.isnan(hard[key[1]]):
            assert counted[key] == pytest.approx(expected[key], abs=1e-6)
    random.shuffle(rows)
    again = difficulties(*zip(*rows, strict=True))
    assert again.difficulty.tolist() == pytest.approx(fit.difficulty.tolist(), nan_ok=True, abs=0)
    assert again.ability.tolist() == fit.ability.tolist()


@pytest.mark.parametrize("n", [8, 10**9])
def test_policies_that_solve_all_and_nothing_are_far_apart_but_finite(n):
    samples = np.repeat(np.arange(20), 2)
    fit = difficulties(samples, np.tile(["none", "all"], 20), np.tile([0, n], 20), np.full(40, n))
    assert np.isfinite(fit.ability).all()
    assert fit.difficulty == pytest.approx(np.full(20, 50.0), abs=1e-3)


def test_difficulties_are_found_again():
    rng = np.random.default_rng(7)
    hard, able = rng.normal(0, 1.5, 300), np.array([-1.0, 0.0, 1.0])
    sample, policy = np.repeat(np.arange(300), 3), np.tile(np.arange(3), 300)
    right = rng.binomial(64, sigmoid(able[policy] - hard[sample]))
    fit = difficulties(sample, policy, right, np.full(900, 64), at=1)
    assert np.corrcoef(fit.difficulty, 100 * sigmoid(hard))[0, 1] > 0.99
    assert np.diff(fit.ability) == pytest.approx([1.0, 1.0], abs=0.1)


def test_a_sample_that_came_since_the_others_were_counted_has_no_difficulty(tmp_path):
    rows = [{"sample_id": name, "policy": policy, "acc": acc} for name, acc in (("a", 1), ("b", 0)) for policy in "pq"]
    table = open_rollouts([write_rows(tmp_path / "r.jsonl", *rows)])
    both, _ = add_difficulty(table, stats_of(table), "policy")
    assert both.tolist() == pytest.approx([100 * 0.5 / 3, 100 * 2.5 / 3])
    alone, _ = add_difficulty(table, stats_of(table).taken([1]), "policy")
    assert alone.tolist() == both[1:].tolist()
    before = add_difficulty(table, sample_stats(["0"], [1]), "policy")[0]
    assert np.isnan(before).tolist() == [True]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ((["a"], [1], [1], [2]), {}, "policy: got 1 with scored rollouts; expected two or more"),
        (([], [], [], []), {}, "policy: got 0 with scored rollouts"),
        ((["a", "a"], [1, 2], [0, 0], [2, 0]), {}, "policy: got 1 with scored rollouts"),
        ((["a", "b"], ["p", "q"], [1, 1], [2, 2]), {}, "rollouts of 'p' and of 'q' share no sample"),
        ((["a", "a"], [1, 2], [3, 1], [2, 2]), {}, "right of row 0: got 3 of 2; expected counts from 0, n at most"),
        ((["a", "a"], [1, float("nan")], [1, 1], [2, 2]), {}, "policy: got nan; expected a name"),
        ((["a", 1], [1, 2], [1, 1], [2, 2]), {}, "sample: got .*; expected all texts, or all numbers"),
        ((["a", "a"], ["one", "two"], [1, 1], [2, 2]), {"at": "on"}, "at: got 'on'; did you mean 'one'"),
    ],
)
def test_what_cannot_be_fitted_is_an_error(columns, options, message):
    with pytest.raises(PoolError, match=message):
        difficulties(*columns, **options)
