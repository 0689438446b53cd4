"""DART: the number of rollouts, rollouts in proportion, stored successes and open steps."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.methods import ALLOCATION, allocate, choose, method
from grounding_rewards.pool.methods.dart import Dart, DartProportional, DartSteps, DartStored
from grounding_rewards.pool.rollouts import random_keys
from tests.pool.methods.made import chosen, columns
from tests.pool.methods.test_dars import stats_of


def of(right: int, n: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


@pytest.mark.parametrize(
    ("right", "n", "kept"),
    [
        (5, 20, (2, 6)), (15, 16, (0, 0)), (1, 10, (0, 0)), (0, 20, (0, 8)),  # those of the published script
        (1, 8, (1, 7)), (7, 8, (7, 1)), (8, 8, (0, 0)), (2, 15, (2, 6)),  # bounds are inclusive; ceil(1.07) is 2
        (2, 4, (2, 2)), (0, 3, (0, 3)), (1, 1, (0, 0)),  # fewer than 8: all are kept, and nothing fills up
    ],
)  # fmt: skip
def test_right_and_wrong_in_proportion(right, n, kept):
    by_acc, by_total = DartProportional(), DartProportional(by="total")
    acc = columns(of(right, n))
    total = columns([np.nan] * n, total=of(right, n))
    for rollouts, choice in ((acc, by_acc), (total, by_total)):
        places = choose(rollouts, choice).kept
        assert (int((places < right).sum()), int((places >= right).sum())) == kept


def test_the_scripts_total_counts_trajectories_in_between():
    rollouts = columns([np.nan] * 25, total=[1.0] * 8 + [0.5] * 13 + [0.0] * 4)
    kept = choose(rollouts, DartProportional(by="total")).kept
    assert (int((kept < 8).sum()), int((kept >= 21).sum()), len(kept)) == (3, 4, 7)


def test_what_is_neither_right_nor_wrong_takes_no_part():
    # Of 0.81, 0.8, 0.1, 0, 0 and unknown the script counts one right one and two wrong ones.
    rollouts = columns([1.0] * 6, total=[0.81, 0.8, 0.1, 0.0, 0.0, np.nan])
    assert choose(rollouts, DartProportional(by="total")).kept.tolist() == [0, 3, 4]
    assert choose(columns([1, np.nan, 0, np.nan]), DartProportional()).kept.tolist() == [0, 2]
    assert choose(columns([np.nan, np.nan]), DartProportional()).kept.tolist() == []
    last_unscored = columns([1, 0, 1, 0, np.nan], sample=[0, 0, 1, 1, 2])
    assert choose(last_unscored, DartProportional()).kept.tolist() == [0, 1, 2, 3]
    assert (DartProportional().needs, DartProportional(by="total").needs) == ((), ("total",))


def test_draws_differ_by_sample_and_seed_and_without_numbers():
    rollouts = columns(of(0, 40) * 2, sample=[0] * 40 + [1] * 40)
    first, second = (choose(rollouts, DartProportional(seed=seed)).kept.tolist() for seed in (0, 1))
    assert first != second
    assert {place - 40 for place in first if place >= 40} != {place for place in first if place < 40}
    assert len(first) == len(second) == 16


def test_rollouts_without_a_number_have_keys_of_their_own_beside_numbered_ones():
    some = columns([0.0] * 5, sample=[0, 0, 0, 1, 1], rollout=[0, -1, -1, -1, 1])
    assert len(set(random_keys(some, 0, "draw").tolist())) == 5
    rounds = columns([0.0] * 2, round=[1, 2], rollout=[0, 0])
    assert len(set(random_keys(rounds, 0, "draw").tolist())) == 2


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0, 1, None])), min_size=1, max_size=60),
    st.integers(1, 9),
)
def test_numbers_are_exact_and_the_order_of_rows_changes_nothing(tmp_path_factory, rolled, keep):
    rows = [
        {"sample_id": sample, "round": 1, "rollout": place, "acc": acc} for place, (sample, acc) in enumerate(rolled)
    ]
    rows.append({"sample_id": "z", "round": 1, "rollout": 0, "acc": 0})
    choice, folder = DartProportional(keep=keep, low=0.0, high=1.0), tmp_path_factory.mktemp("dart")
    kept = chosen(folder, rows, choice)
    assert kept == chosen(folder, random.Random(keep).sample(rows, len(rows)), choice)
    for name in "abc":
        scored = [acc for sample, acc in rolled if sample == name and acc is not None]
        accs = [rolled[rollout][1] for sample, _, rollout in kept if sample == name]
        assert len(accs) == min(keep, len(scored))
        if len(scored) >= keep:
            assert sum(accs) == -(-keep * sum(scored) // len(scored))


STORE = [
    ("a", 1, 0, 1), ("a", 2, 1, 1), ("a", 2, 0, 0), ("a", 2, 2, 1), ("a", 3, 0, 0), ("a", 3, 1, None),  # stored: 2, 1
    ("b", 1, 0, 1), ("b", 3, 0, 1), ("b", 3, 1, 0),  # solved in the latest round
    ("c", 1, 0, 0), ("c", 3, 0, 0),  # never solved
    ("d", 1, 0, 1), ("d", 3, 0, None),  # not scored in the latest round
    ("e", 2, 0, 1),  # without rollouts in it
]  # fmt: skip


def test_a_stored_success_where_all_failed(tmp_path):
    rows = [dict(zip(("sample_id", "round", "rollout", "acc"), row, strict=True)) for row in STORE]
    kept = [
        ("a", 2, 1, 1), ("a", 3, 0, 0), ("a", 3, 1, 0), ("b", 3, 0, 0), ("b", 3, 1, 0), ("c", 3, 0, 0), ("d", 3, 0, 0),
    ]  # fmt: skip
    assert chosen(tmp_path, rows, DartStored()) == kept
    assert chosen(tmp_path, rows[::-1], DartStored()) == kept


def test_one_round_holds_no_stored_success(tmp_path):
    latest = [dict(zip(("sample_id", "round", "rollout", "acc"), row, strict=True)) for row in STORE if row[1] == 3]
    with pytest.raises(PoolError, match="round: got 3 alone; expected earlier rounds, which hold stored successes"):
        chosen(tmp_path, latest, DartStored())


def test_stored_successes_need_rounds(tmp_path):
    with pytest.raises(PoolError, match="round of sample 'a': got none; expected one for each rollout"):
        choose(columns([0.0, 1.0], round=[1, -1]), DartStored())


STEPS = {"sample": [0, 0, 0, 1, 1, 1], "entropy": [0.1, 0.2, 0.9, 0.3, 0.3, 0.3], "trajectory": [0, 1, 1, 0, 1, 1]}


@pytest.mark.parametrize(
    ("over", "percentile", "kept"),
    [
        ("all", 20, [1, 2, 3, 4, 5]),  # 0.2
        ("all", 50, [2, 3, 4, 5]),  # 0.3, and equal ones are kept
        ("sample", 20, [1, 2, 3, 4, 5]),  # 0.14 and 0.3
        ("trajectory", 20, [2, 3, 4, 5]),  # 0.14 and 0.26
        ("all", 0, [0, 1, 2, 3, 4, 5]),
        ("all", 100, [2]),
        ("sample", 100, [2, 3, 4, 5]),
    ],
)
def test_steps_of_high_entropy(over, percentile, kept):
    assert choose(columns([1.0] * 6, **STEPS), DartSteps(over=over, percentile=percentile)).kept.tolist() == kept


def test_a_fifth_of_the_steps_goes_by_default():
    steps = columns([1.0] * 11, entropy=np.arange(11.0))
    assert choose(steps, DartSteps(over="all")).kept.tolist() == list(range(2, 11))


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 5)), min_size=1, max_size=40), st.integers(0, 100))
def test_percentiles_are_those_of_numpy(some, percentile):
    sample, entropy = (np.array(column) for column in zip(*sorted(some, key=lambda row: row[0]), strict=True))
    kept = choose(columns([1.0] * len(some), sample=sample, entropy=entropy), DartSteps("sample", percentile)).kept
    for group in np.unique(sample):
        limit, in_group = np.percentile(entropy[sample == group], percentile), entropy[kept[sample[kept] == group]]
        assert len(in_group)
        assert in_group.min() >= limit - 1e-9
        assert len(in_group) >= (entropy[sample == group] > limit + 1e-9).sum()


def test_every_step_needs_its_entropy_and_its_trajectory():
    with pytest.raises(PoolError, match="entropy of sample 'a', rollout 5: got none"):
        choose(columns([1.0, 1.0], entropy=[0.5, np.nan], rollout=[4, 5]), DartSteps(over="all"))
    with pytest.raises(PoolError, match="trajectory of sample 'a': got none"):
        choose(columns([1.0], entropy=[0.5]), DartSteps(over="trajectory"))
    assert DartSteps(over="trajectory").needs == ("entropy", "trajectory")


def test_five_of_eight_is_cut_and_three_of_five_is_not():
    stats = stats_of([0, 4, 5, 8, 3, 0], [8, 8, 8, 8, 5, 0])
    assert allocate(stats, method({"name": "dart", "cut": 3}, ALLOCATION)).tolist() == [8, 8, 5, 5, 8, 8]
    assert Dart(cut=3)(stats_of([600, 604], 1000)).tolist() == [8, 5]
    assert Dart(cut=1, rollouts=4, above=0.5)(stats).tolist() == [4, 4, 3, 3, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=20), st.integers(1, 7))
def test_invariants(pairs, cut):
    stats = stats_of([right for right, _ in pairs], [n for _, n in pairs])
    numbers = allocate(stats, Dart(cut=cut)).tolist()
    assert numbers == [8 - cut if n and right / n > 0.6 else 8 for right, n in pairs]
