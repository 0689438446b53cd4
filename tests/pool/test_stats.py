"""Statistics of samples from a table with a row a rollout."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import SampleStats, sample_stats

NAN = pytest.approx(float("nan"), nan_ok=True)


def columns(stats, *names):
    return {name: getattr(stats, name).tolist() for name in names}


def test_one_row_a_sample_in_order_of_first_appearance():
    stats = sample_stats(
        ["b", "a", "b", "a", "a", "c"], [1, 0, 0, None, 1, float("nan")], [1.0, 0.25, 0.0, 9.0, 0.75, 9.0]
    )
    assert columns(stats, "sample_id", "n", "num_correct", "unscored") == {
        "sample_id": ["b", "a", "c"], "n": [2, 2, 0], "num_correct": [1, 1, 0], "unscored": [0, 1, 1],
    }  # fmt: skip
    assert columns(stats, "mean", "variance", "lowest", "highest", "spread") == {
        "mean": [0.5, 0.5, NAN], "variance": [0.25, 0.0625, NAN], "lowest": [0.0, 0.25, NAN],
        "highest": [1.0, 0.75, NAN], "spread": [1.0, 0.5, NAN],
    }  # fmt: skip
    assert [stats.all_correct.tolist(), stats.none_correct.tolist(), stats.mixed.tolist()] == [
        [False] * 3, [False] * 3, [True, True, False],
    ]  # fmt: skip
    assert stats.pass_rate.tolist() == [0.5, 0.5, NAN]
    assert [stats.n.dtype, stats.num_correct.dtype, stats.mean.dtype] == [np.int64, np.int64, np.float64]


def test_without_totals_there_is_neither_mean_nor_variance():
    stats = sample_stats([7, 7, 8], np.array([True, False, True]))
    assert stats.sample_id.tolist() == [7, 8]
    assert stats.num_correct.tolist() == [1, 1]
    assert np.isnan([stats.mean, stats.variance]).all()


def test_a_scored_rollout_without_a_total_counts_for_the_rate_alone():
    stats = sample_stats(["a", "a", "a"], [1, 1, 0], [0.5, None, 0.0])
    assert (stats.n[0], stats.num_correct[0], stats.mean[0], stats.variance[0]) == (3, 2, 0.25, 0.0625)


def test_no_rollouts_are_no_samples():
    assert len(sample_stats([], [], [])) == len(sample_stats(np.array([]), [])) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [1, 0]), "acc: got 2 rows; expected 1, one for each of sample_ids"),
        ((["a", "b"], [1, 0], [1.0]), "total: got 1 rows; expected 2"),
        ((["a", "b"], [1, 0.5]), "acc of row 1: got 0.5; expected 0 or 1, or None where it was not scored"),
        ((["a", "b"], [1, "x"]), r"acc: got \[1, 'x'\]; expected a number for each row, or None"),
        ((["a", "b"], [1, [1]]), "acc: got"),
        ((["a", "b"], [1, 0], [0.0, float("inf")]), "total of row 1: got inf; expected a finite number, or None"),
        ((["a", None], [1, 0]), "sample_id of row 1: got None; expected the name of its sample"),
        ((["a", "b", float("nan")], [1, 0, 1]), "sample_id of row 2: got nan"),
        (([["a"]], [1]), "sample_ids: unhashable type: 'list'; expected texts or whole numbers"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_column_and_row(arguments, message):
    with pytest.raises(PoolError, match=message):
        sample_stats(*arguments)


def test_columns_of_two_lengths_are_no_statistics():
    with pytest.raises(PoolError, match=r"got \{'sample_id': 1, 'n': 2, .*expected as many of each"):
        SampleStats(np.array(["a"], dtype=object), np.zeros(2, int), np.zeros(1, int), np.zeros(1), np.zeros(1))


ROLLOUTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([0, 1, None]), st.none() | st.floats(-1e3, 1e3)), max_size=40
)


@given(ROLLOUTS)
def test_it_is_what_a_loop_over_samples_counts(rows):
    ids, acc, total = ([row[field] for row in rows] for field in range(3))
    stats = sample_stats(ids, acc, total)
    found = defaultdict(list)
    for name, right, value in rows:
        found[name].append((right, value))
    assert stats.sample_id.tolist() == list(found)
    for place, group in enumerate(found.values()):
        scored = [(right, value) for right, value in group if right is not None]
        totals = [each for _, each in scored if each is not None]
        assert (stats.n[place], stats.num_correct[place]) == (len(scored), sum(right for right, _ in scored))
        expected = [np.mean(totals), np.var(totals)] if totals else [np.nan, np.nan]
        assert [stats.mean[place], stats.variance[place]] == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)
