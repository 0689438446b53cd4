"""Knapsack RL, VIP, GRESO, MoPPS and CurES by hand, and where the history of rounds that they read comes from."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import CuresRollouts, Greso, Knapsack, Mopps, SampleStats, Vip, Xrpo, next_chance
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.command import allocate_rollouts, next_round
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.cli.command import read_rows, write_rows


def made(*histories: tuple[tuple[int, int], ...]) -> SampleStats:
    """Return samples of these rounds, (n, right) each."""
    column = np.empty(len(histories), dtype=object)
    column[:] = histories
    n, right = (np.array([sum(each[place] for each in history) for history in histories]) for place in (0, 1))
    return SampleStats(
        np.array([f"s{row:02}" for row in range(len(histories))], dtype=object), n, right, history=column
    )


def of_eight(*right: int | None) -> SampleStats:
    return made(*[((8, each),) if each is not None else () for each in right])


@pytest.mark.parametrize(
    ("knapsack", "right", "numbers"),
    [
        (Knapsack(most=16), [2, 4, 6, 0], [11, 7, 7, 7]),
        (Knapsack(), [2, 4, 6, 0, None, 8], [11, 7, 7, 8, 13, 2]),  # 11 are too many: six here, five there
        (Knapsack(), [0, 8, 0], [11, 2, 11]),
        (Knapsack(), [8, 8], [8, 8]),
        (Knapsack(rollouts=3), [4, 4, 0], [4, 3, 2]),  # of equal values the earlier one
        (Knapsack(), [4, 4], [8, 8]),  # where the source divides by zero
        (Knapsack(most=4), [4, 4], [8, 8]),  # all at most, and the rest goes evenly
        (Knapsack(budget=9), [4, None], None),
    ],
)
def test_knapsack_spends_its_budget_where_a_rollout_is_worth_most(knapsack, right, numbers):
    stats = of_eight(*right)
    if numbers is None:
        with pytest.raises(PoolError, match="budget: got 9; expected 10 or more, the least numbers of all samples"):
            knapsack(stats)
    else:
        assert knapsack(stats).tolist() == numbers


def test_knapsack_counts_the_newest_window():
    stats = made(((8, 8), (8, 0), (8, 4)), ((16, 16), (32, 0)), ((4, 4), (4, 0)))
    exact = made(((16, 4),), ((16, 0),), ((8, 4),))
    assert Knapsack()(stats).tolist() == Knapsack()(exact).tolist()


@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(0, 6))
def test_knapsack_is_the_best_of_all_ways(right, more):
    stats, least = of_eight(*right, 0), 2
    budget = least * (len(right) + 1) + more
    numbers = Knapsack(most=8, alpha=0.99, budget=budget)(stats)[:-1] - least
    p = np.array(right) / 8

    def value(further):
        n = np.array(further) + least
        return float(np.where(np.array(further) > 0, (1 - p**n - (1 - p) ** n) * p * (1 - p) ** 2, 0).sum())

    ways = product(range(7), repeat=len(right))
    assert value(numbers) == pytest.approx(max(value(way) for way in ways if sum(way) == numbers.sum()), rel=1e-12)


def test_vip_has_the_least_variance_of_all_ways():
    stats = SampleStats(np.array(list("abc"), dtype=object), np.full(3, 20), np.array([10, 4, 1]))
    a = np.array([0.25, 0.16, 0.0475])
    ways = [np.array(way) for way in product(range(4, 17), repeat=3) if sum(way) == 24]
    for form, variance in (("rloo", lambda n: a / (n - 1)), ("dr_grpo", lambda n: a * (n - 1) / n**2)):
        best = min(ways, key=lambda n: variance(n).sum())
        assert Vip(form=form)(stats).tolist() == best.tolist()
    with pytest.raises(PoolError, match="budget: got 11; expected 12 to 96, for 3 samples"):
        Vip(budget=11)(stats)


@pytest.mark.parametrize("right", range(10))
def test_of_as_many_right_as_wrong_elsewhere_the_earlier_name_comes_first(right):
    # 1 - 0.7 is not 0.3 in floats: the two would not be equal.
    for pair in ((right, 20 - right), (20 - right, right)):
        stats = made(*(((20, each),) for each in pair))
        assert Mopps(batch=1, drawn=False)(stats).tolist() == [1.0, 0.0]
        assert Vip(budget=17)(stats).tolist() == [9, 8]
        assert Xrpo(budget=1, alpha=0.05, exploration=0.1, total=40)(stats).tolist() == [1, 0]


def test_greso_skips_the_more_the_longer_nothing_was_learnt():
    stats = made(*[((8, 3),) + ((8, 8),) * z for z in range(9)], ((8, 0), (8, 8)), ())
    stays = Greso(drawn=False)(stats)
    assert (1 - stays).tolist() == [0, 0.5, 0.75, 0.875, 0.9375, 0.96875, 0.984375, 0.99, 0.99, 0.5, 0]
    many = made(*[((8, 0),)] * 2000)
    drawn = Greso(hard=0.25, seed=3)(many)
    assert 430 < drawn.sum() < 570
    assert (drawn != Greso(hard=0.25, seed=4)(many)).any()
    assert (Greso(hard=0.25, seed=3)(many.taken(np.arange(2000)[::-1])) == drawn[::-1]).all()
    assert (next_chance(0.05, 1.0, 0.1), next_chance(0.95, 0.0, 0.1)) == (0.05, 0.95)


def test_mopps_believes_what_the_rounds_say():
    stats = made(((8, 2), (8, 4), (8, 8)))
    assert Mopps(batch=1).belief(stats).T.tolist() == [[15.0, 11.0]]
    assert Mopps(batch=1, decay=0.5).belief(stats).T.tolist() == [[11.5, 4.5]]
    many = made(*[((8, right),) for right in range(9)] * 50)
    drawn = Mopps(batch=100)(many)
    assert drawn.sum() == 100
    assert drawn.reshape(50, 9).sum(axis=0)[[0, 4, 8]] @ [1, -1, 1] < 0  # a half, more often than all or none
    assert (Mopps(batch=100)(many.taken(np.arange(450)[::-1])) == drawn[::-1]).all()


def test_cures_needs_a_sample_that_is_sometimes_solved():
    with pytest.raises(PoolError, match="every sample is always or never right"):
        CuresRollouts(budget=8)(of_eight(0, 8))


def test_histories_are_counted_by_round_where_they_are_asked_for(tmp_path):
    rows = [
        {"sample_id": sample, "round": number, "rollout": place, "acc": acc, "total": 0.0}
        for sample, number, given in (("a", 2, [1, 1]), ("a", 1, [0, 1, None]), ("b", 2, [None]), ("c", 10, [0]))
        for place, acc in enumerate(given)
    ]
    table = open_rollouts([write_rows(tmp_path / "rollouts.jsonl", *rows)])
    stats = stats_of(table, columns=("sample_id", "history"))
    assert [stats.rounds(row) for row in range(3)] == [((2, 1), (2, 2)), (), ((1, 0),)]
    plain = stats_of(table)
    assert [plain.rounds(row) for row in range(3)] == [((4, 3),), (), ((1, 0),)]  # all rounds as one


def test_commands_count_the_rounds_that_a_method_reads(tmp_path):
    rows = [
        {"sample_id": sample, "round": number, "rollout": place, "acc": int(place < right), "total": 0.0}
        for sample, rounds in {"a": (0, 8), "b": (4, 5)}.items()
        for number, right in enumerate(rounds)
        for place in range(8)
    ]
    rollouts, out = [write_rows(tmp_path / "rollouts.jsonl", *rows)], tmp_path / "pool.jsonl"
    mopps = {"name": "mopps", "batch": 1, "decay": 0.5, "drawn": False}  # means of 9 / 14 and 8 / 14; as one a's is 0.5
    for spec in (mopps, {"name": "every", "selectors": [mopps]}):
        next_round(rollouts, out, selectors=[spec])
        assert [row["sample_id"] for row in read_rows(out)] == ["b"]
    solved = {"name": "knapsack", "window": 8, "solved": 0, "budget": 2}  # a was always right in its last round
    counted = allocate_rollouts(rollouts, tmp_path / "n.jsonl", solved)
    assert [row["sample_id"] for row in read_rows(tmp_path / "n.jsonl")] == ["b"]
    assert counted["method"]["name"] == "knapsack"
