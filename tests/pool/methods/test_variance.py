"""PODS and D3S: worked examples, what is left out, and what holds for any rollouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.pool.methods import CHOICE, choose, method
from grounding_rewards.pool.rollouts import RolloutColumns

D3S = {"A": [1, 0, 0, 0], "B": [1, 1, 0, 0], "C": [1, 1, 1, 1]}


def rollouts(groups, **columns):
    """Rollouts with these totals by sample; right above 0, not scored where the total is None."""
    totals = np.array([total for group in groups.values() for total in group], dtype=float)
    sample = np.repeat(np.arange(len(groups)), [len(group) for group in groups.values()])
    names = np.array(list(groups), dtype=object)
    acc = np.where(np.isnan(totals), np.nan, totals > 0)
    columns = {name: np.array(column) for name, column in columns.items()}
    return RolloutColumns(names, sample, acc, totals, rollout=np.arange(len(totals)), **columns)


def chosen(spec, table):
    return choose(table, method(spec, CHOICE))


def kept(spec, table):
    return chosen(spec, table).kept.tolist()


def test_pods_keeps_as_many_of_each_sample_and_round():
    table = rollouts({"a": [0, 1, 0, 1, 0], "b": [0.5, None, None, 0.25]}, round=[1, 1, 2, 2, 2, 1, 1, 2, 2])
    choice = chosen({"name": "pods", "keep": 2}, table)
    assert choice.kept.tolist() == [0, 1, 2, 3, 5, 8]
    assert dict(choice.columns) == {}


def test_pods_advantages_are_those_of_the_subset_or_of_the_group():
    table = rollouts({"a": [1, 0, 0, 0], "b": [0.5] * 4})
    of_kept = chosen({"name": "pods", "keep": 2, "advantages": "kept"}, table)
    of_all = chosen({"name": "pods", "keep": 2, "advantages": "all"}, table)
    assert of_kept.kept.tolist() == of_all.kept.tolist() == [0, 1, 4, 5]
    assert of_kept.columns["advantage"].round(4).tolist() == [0.7071, -0.7071, 0, 0]
    assert of_all.columns["advantage"].round(4).tolist() == [1.5, -0.5, 0, 0]


def test_verdicts_may_be_the_reward():
    table = rollouts({"a": [0.2, 0.4, 0, 0.9, None]})
    assert kept({"name": "pods", "keep": 2}, table) == [2, 3]
    assert kept({"name": "pods", "keep": 2, "of": "acc"}, table) == [0, 2]
    assert kept({"name": "d3s", "keep": 2, "of": "acc"}, table) == [0, 2]
    assert method({"name": "pods", "keep": 2, "of": "acc"}, CHOICE).needs == ("acc",)


@pytest.mark.parametrize("name", ["pods", "d3s"])
def test_a_rollout_that_was_not_scored_is_left_out_whatever_its_total(name):
    table = replace(rollouts({"a": [1.0, 0.0, 9.0]}), acc=np.array([1.0, 0.0, np.nan]))
    assert kept({"name": name, "keep": 2}, table) == [0, 1]


@pytest.mark.parametrize(
    ("keep", "variance", "advantages"),
    [
        (4, 1.0999, [1.5, 0.866, -0.866, -0.866]),
        (6, 0.8889, [1.5, -0.5, 0.866, 0.866, -0.866, -0.866]),
        (12, 0.5, [1.5, -0.5, -0.5, -0.5, 0.866, 0.866, -0.866, -0.866, 0, 0, 0, 0]),
    ],
)
def test_d3s_worked_example(keep, variance, advantages):
    choice = chosen({"name": "d3s", "keep": keep}, rollouts(D3S))
    assert choice.columns["advantage"].round(4).tolist() == advantages
    assert round(float(choice.columns["advantage"].var()), 4) == variance
    assert kept({"name": "d3s", "share": keep / 12}, rollouts(D3S)) == choice.kept.tolist()


def test_a_share_is_rounded_half_up_of_scored_rollouts_and_is_one_at_least():
    for share, number in ((0.49, 1), (0.5, 2), (0.83, 2), (0.84, 3), (0.01, 1)):
        assert len(kept({"name": "d3s", "share": share}, rollouts({"a": [1, 0, 0.5, None, None]}))) == number


def test_d3s_by_train_step_makes_each_step_a_batch():
    table = rollouts({"a": [1, 0, 1, 0], "b": [1, 0, 1, 1]}, train_step=[1, 1, 2, 2] * 2)
    assert kept({"name": "d3s", "keep": 2, "by": "train_step"}, table) == [0, 1, 2, 3]
    choice = chosen({"name": "d3s", "share": 0.75, "by": "train_step", "advantages": "kept"}, table)
    assert choice.kept.tolist() == [0, 1, 2, 3, 4, 6]
    assert choice.columns["advantage"].round(4).tolist() == [0.7071, -0.7071] * 2 + [0, 0]
    assert chosen({"name": "d3s", "keep": 2, "advantages": "none"}, table).columns == {}


def test_d3s_rollouts_without_a_step_are_a_batch_and_steps_are_any_numbers():
    table = rollouts({"a": [1, 0, 1, 0, 1, 0]}, train_step=[-1, -1, 7, 7, 10**12, 10**12])
    for spec in ({"keep": 1}, {"share": 0.5}):
        assert kept({"name": "d3s", "by": "train_step", **spec}, table) == [0, 2, 4]


def test_d3s_advantages_are_over_the_scored_rollouts():
    choice = chosen({"name": "d3s", "keep": 4}, rollouts({"a": [1, None, 0, 0, 0]}))
    assert choice.kept.tolist() == [0, 2, 3, 4]
    assert choice.columns["advantage"].round(4).tolist() == [1.5, -0.5, -0.5, -0.5]


def test_needs_follow_the_batch():
    assert method({"name": "d3s", "keep": 2}, CHOICE).needs == ("total",)
    by_step = method({"name": "d3s", "keep": 2, "by": "train_step"}, CHOICE)
    assert by_step.needs == ("total", "train_step")


@pytest.mark.parametrize("totals", [{"a": [1]}, {"a": [0.6] * 8}, {"a": [None, None]}, {"a": [None, 0, 1]}])
def test_edges(totals):
    table = rollouts(totals)
    scored = np.flatnonzero(~np.isnan(table.total)).tolist()
    assert kept({"name": "pods", "keep": 9}, table) == kept({"name": "d3s", "keep": 9}, table) == scored
    assert kept({"name": "d3s", "share": 0.01}, table) == (scored[-1:] if totals["a"][0] is None else scored[:1])


tables = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.sampled_from([0.0, 0.25, 1.0, None]), min_size=1, max_size=9), min_size=1
)


@given(tables, st.integers(1, 9))
def test_any_rollouts_are_kept_to_the_number_and_with_finite_advantages(groups, keep):
    table = rollouts(groups)
    scored = [sum(total is not None for total in group) for group in groups.values()]
    pods = chosen({"name": "pods", "keep": keep, "advantages": "kept"}, table)
    assert np.bincount(table.sample[pods.kept], minlength=len(groups)).tolist() == [min(keep, n) for n in scored]
    d3s = chosen({"name": "d3s", "keep": keep}, table)
    assert len(d3s.kept) == min(keep, sum(scored))
    for choice in (pods, d3s):
        assert not np.isnan(table.total[choice.kept]).any()
        assert len(choice.columns["advantage"]) == len(choice.kept)
