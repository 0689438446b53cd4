"""Numbers by source and by size of the target."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.pool.report.rounds import by_size, by_source, merged_sources
from tests.pool.report.made import HOSTILE, rounds, stats


def test_the_source_with_the_largest_never_solved_share_comes_first():
    found = by_source(rounds()[0].stats)
    assert [(each["source"], each["samples"], each["correct"], each["zero_share"]) for each in found] == [
        (HOSTILE, 1, 0, 1.0), ("pdf", 1, 0, 1.0), ("unknown", 1, 1, 0.0), ("web", 2, 6, 0.0),
    ]  # fmt: skip
    assert found[3] == {
        "source": "web", "samples": 2, "rollouts": 8, "unscored": 0, "correct": 6, "none_correct": 0, "mixed": 1,
        "all_correct": 1, "zero_share": 0.0, "accuracy": 0.75,
    }  # fmt: skip


def test_without_a_source_there_is_nothing_to_tell():
    assert by_source(stats([1], [1])) == by_size(stats([1], [1])) == []


def test_several_sources_as_one():
    found = by_source(rounds()[0].stats)
    whole = merged_sources("all", found)
    assert (whole["samples"], whole["rollouts"], whole["correct"], whole["none_correct"]) == (5, 20, 7, 2)
    assert (whole["zero_share"], whole["accuracy"]) == (0.4, 0.35)


def test_rollouts_are_all_and_those_without_a_verdict_stand_apart():
    whole = stats([2, 1, 0], [1, 0, 0], unscored=[3, 0, 4], source=["web"] * 3, target_area=[0.2] * 3)
    for (line,) in (by_source(whole), by_size(whole)):
        assert (line["samples"], line["rollouts"], line["unscored"], line["correct"]) == (2, 6, 3, 1)


def test_bins_of_area_hold_their_lower_edge_and_empty_ends_are_left_out():
    found = by_size(stats([2, 2, 2, 2, 0], [1, 2, 0, 1, 0], target_area=[0.0003, 0.001, 0.0029, float("nan"), 0.5]))
    assert [(each["area_from"], each["area_to"], each["samples"], each["correct"]) for each in found] == [
        (0.0003, 0.001, 1, 1), (0.001, 0.003, 2, 2),
    ]  # fmt: skip
    assert [each["accuracy"] for each in found] == [0.5, 0.5]


def test_a_target_as_large_as_the_screen_or_as_small_as_a_point_has_a_bin():
    found = by_size(stats([1, 1], [1, 0], target_area=[1.0, 0.0]))
    assert [each["samples"] for each in found] == [1, 0, 0, 0, 0, 0, 1]
    assert found[1]["accuracy"] is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 1.0), st.integers(0, 3)), min_size=1, max_size=30))
def test_tables_add_up_to_the_round(samples):
    whole = stats(
        [3] * len(samples), [each[2] for each in samples], source=[each[0] for each in samples],
        target_area=[each[1] for each in samples],
    )  # fmt: skip
    for lines in (by_source(whole), by_size(whole)):
        assert sum(line["samples"] for line in lines) == len(samples)
        assert sum(line["correct"] for line in lines) == sum(each[2] for each in samples)
        assert sum(line["rollouts"] for line in lines) == 3 * len(samples)
