"""Paired comparisons: counts by hand, the exact test, clusters, and samples that are in no pair."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.checks.paired import SampleScores, compare
from grounding_rewards.errors import TableError


def scores(correct, *, names=None, n=None, images=None, targets=None, by=None, file="a.jsonl"):
    names = names or [f"s{row}" for row in range(len(correct))]
    return SampleScores(
        file, names, np.array(correct), np.array(n or [1] * len(correct)), images or [None] * len(correct),
        np.zeros((len(correct), 7)) if targets is None else targets, by or {},
    )  # fmt: skip


def test_by_hand():
    images = ["1.png", "1.png", "2.png", "2.png"]
    pairs = compare(scores([1, 0, 0, 1], images=images), scores([1, 1, 1, 0])).pairs
    assert (pairs.n, pairs.images, pairs.first, pairs.second, pairs.difference) == (4, 2, 0.5, 0.75, 0.25)
    assert (pairs.only_first, pairs.only_second, pairs.mcnemar) == (1, 2, 1.0)
    assert pairs.p_value == 1.0  # sums 1 and 0: one screenshot goes either way
    assert pairs.interval == (0.0, 0.5)  # the first image's mean is .5, the second one's 0


def test_samples_are_matched_by_name_in_any_order():
    first, second = scores([1, 0, 0], names=["x", "y", "z"]), scores([1, 1, 0, 0], names=["z", "x", "y", "new"])
    result = compare(first, second)
    assert (result.pairs.n, result.pairs.only_first, result.pairs.only_second) == (3, 0, 1)
    assert (result.only_first, result.only_second) == ((), ("new",))
    assert result.warnings(["a", "b"]) == ["samples that b alone has, which are left out: 1, such as 'new'"]


@pytest.mark.parametrize("images", [["1.png"] * 3, None])
def test_one_image_makes_no_interval(images):
    rows = 3 if images else 1
    result = compare(scores([1, 0, 0][:rows], images=images), scores([0, 0, 0][:rows]))
    assert (result.pairs.images, result.pairs.interval, result.pairs.only_first) == (1, None, 1)
    (text,) = result.notes()
    assert text == "--paired: all samples share one image, or there is one sample: no interval can be made of it"


def test_mean_of_several_rollouts_is_a_sample_s_score_and_there_is_no_test():
    result = compare(scores([4, 1], n=[8, 2]), scores([3, 0], n=[4, 1]))
    assert (result.pairs.first, result.pairs.second, result.pairs.difference) == (0.5, 0.375, -0.125)
    assert (result.pairs.only_first, result.pairs.only_second, result.pairs.mcnemar) == (None, None, None)
    assert result.pairs.p_value == 1.0  # sums .25 and -.5: all four totals are .25 from 0 or more
    assert [text.partition(",")[0] for text in result.notes()] == [
        "--paired: samples have several rollouts", "--paired: no column of images is known",
    ]  # fmt: skip


def test_several_rollouts_in_either_file_leave_no_test():
    for first, second in (((3, 4), (1, 1)), ((1, 1), (3, 4))):
        pairs = compare(scores([first[0], 0], n=[first[1], 1]), scores([second[0], 0], n=[second[1], 1])).pairs
        assert (pairs.only_first, pairs.only_second, pairs.mcnemar) == (None, None, None)


def test_samples_without_a_valid_rollout_are_in_no_pair():
    result = compare(scores([1, 0, 1], n=[1, 0, 1]), scores([0, 1, 0], n=[1, 1, 0]))
    assert (result.pairs.n, result.not_valid, result.pairs.only_first) == (1, 2, 1)
    assert result.notes()[-1] == "--paired: samples without a target that can be used, which are in no pair: 2"


def test_fields_break_down_and_a_list_counts_under_each_value():
    by = {"kind": ["icon", ["icon", "text"], None]}
    pairs = compare(scores([1, 0, 0], by=by), scores([0, 1, 1])).pairs
    counts = {value: (part.n, part.only_first, part.only_second) for value, part in pairs.by["kind"].items()}
    assert counts == {"icon": (2, 1, 1), "(none)": (1, 0, 1), "text": (1, 0, 1)}


def test_an_image_that_one_file_alone_names_is_a_cluster_too():
    first = scores([1, 0, 0], images=["1.png", None, None])
    second = scores([1, 1, 1], images=["other", "1.png", None])
    result = compare(first, second)
    assert (result.pairs.images, result.clustered) == (2, True)
    assert not compare(scores([1, 0]), scores([1, 0])).clustered


def test_targets_that_differ_are_a_warning_with_an_example():
    targets = np.array([[0, 1, 0.1, 0.1, 0.3, 0.2, 0], [0, 1, 5, 5, 9, 9, 0], [1, 0, *[np.nan] * 4, 0]])
    other = targets + np.array([[1e-12] * 7, [0, 0, 1, 0, 0, 0, 0], [0] * 7])
    result = compare(scores([1, 1, 1], targets=targets), scores([1, 1, 1], targets=other))
    assert result.differing == ("s1",)
    assert result.warnings(["a", "b"]) == [
        "1 of 3 samples have another target in b than in a, such as 's1': each answer is compared with its own file's"
    ]
    other[2, 0] = 0  # a refusal in one file alone
    assert compare(scores([1, 1, 1], targets=targets), scores([1, 1, 1], targets=other)).differing == ("s1", "s2")


@pytest.mark.parametrize(("moved", "differs"), [(1e-9, False), (1e-4, True), (np.nan, False)])
def test_targets_differ_by_more_than_rounding_where_both_are_known(moved, differs):
    targets = np.array([[0.25, 0.5]])
    first, second = scores([1], targets=targets), scores([1], targets=targets + np.array([[0, moved]]))
    for pair in ((first, second), (second, first)):
        assert compare(*pair).differing == (("s0",) if differs else ())


def test_nothing_in_common_is_an_error():
    with pytest.raises(TableError, match=r"no sample is in both files: a.jsonl has 's0', 's1'; b.jsonl has 'x', 'y'"):
        compare(scores([1, 1]), scores([1, 1], names=["x", "y"], file="b.jsonl"))
    with pytest.raises(TableError, match=r"no sample has a target that can be used in both a.jsonl and b.jsonl: 1 are"):
        compare(scores([0], n=[0]), scores([1], file="b.jsonl"))


def test_seed_of_the_bootstrap():
    rows = np.random.default_rng(0).integers(0, 2, (2, 60))
    first, second = scores(rows[0]), scores(rows[1])
    assert compare(first, second).pairs == compare(first, second, seed=0).pairs
    assert compare(first, second).pairs.p_value == compare(first, second, seed=1).pairs.p_value


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 4)), min_size=1, max_size=60))
def test_counts_and_test_are_those_of_a_table_by_hand(rows):
    first, second, images = zip(*rows, strict=True)
    images = [f"{each}.png" for each in images]
    pairs = compare(scores([*map(int, first)], images=images), scores([*map(int, second)], images=images)).pairs
    only_first = sum(one and not other for one, other, _ in rows)
    only_second = sum(other and not one for one, other, _ in rows)
    total = only_first + only_second
    tail = sum(math.comb(total, each) for each in range(min(only_first, only_second) + 1)) / 2**total
    assert (pairs.only_first, pairs.only_second) == (only_first, only_second)
    assert pairs.mcnemar == pytest.approx(min(1.0, 2 * tail), rel=1e-9)
    assert 0 < pairs.p_value <= 1
    assert pairs.difference == pytest.approx((only_second - only_first) / len(rows), abs=1e-12)
    assert (pairs.interval is None) == (len(set(images)) == 1)
    if pairs.interval:
        assert -1 <= pairs.interval[0] <= pairs.interval[1] <= 1
    back = compare(scores([*map(int, second)], images=images), scores([*map(int, first)], images=images)).pairs
    assert (back.difference, back.p_value, back.mcnemar) == (-pairs.difference, pairs.p_value, pairs.mcnemar)


def test_plain_values():
    images = ["1.png", "2.png"]
    result = compare(scores([1, 0], images=images, by={"kind": ["a", "a"]}), scores([1, 1], images=images))
    values = result.to_dict()
    part = {
        "n": 2, "images": 2, "first": 0.5, "second": 1.0, "difference": 0.5, "interval": [0.0, 1.0], "p_value": 1.0,
        "only_first": 0, "only_second": 1, "mcnemar": 1.0,
    }  # fmt: skip
    assert values == {
        **part, "by": {"kind": {"a": part}}, "left_out": [0, 0], "not_valid": 0, "differing_targets": 0,
        "clustered": True,
    }  # fmt: skip
