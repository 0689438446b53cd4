"""Comparison of methods on files: what is read, and what is left out of it."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool import plan as files
from grounding_rewards.pool.command import count_rollouts
from tests.cli.command import write_rows
from tests.pool.plan.made import ROWS, Short

METHODS = ["learnability", "further", "first", "short"]


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path / "r.jsonl", *ROWS)


def test_a_choice_says_which_column_the_rollouts_lack(made_up, file):
    plan, rounds = files.plan_rollouts([file], METHODS)
    assert [row.method.name for row in plan.rows] == ["control", "next", "learnability", "further", "first"]
    assert [each.reason for each in plan.left_out] == ["the rollouts have no column token_length"]
    assert rounds == [None]


def test_a_wrong_value_leaves_out_those_that_need_its_column(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(Short, "needs", ("entropy",))
    pq.write_table(pa.Table.from_pylist([{**row, "entropy": float("inf")} for row in ROWS]), tmp_path / "r.parquet")
    plan, _ = files.plan_rollouts([tmp_path / "r.parquet"], METHODS)
    assert plan.rows[-1].method.name == "first"
    assert [(each.label, each.reason) for each in plan.left_out] == [
        ("short", "entropy of row 0: got inf; expected a finite number, or null")
    ]


def test_the_order_of_rollouts_changes_nothing(made_up, file, tmp_path):
    shuffled = random.Random(0).sample(ROWS, len(ROWS))
    one, other = (files.plan_rollouts([each])[0] for each in (file, write_rows(tmp_path / "s.jsonl", *shuffled)))
    assert one.to_json() == other.to_json()
    assert np.array_equal(one.overlap, other.overlap)


def test_statistics_say_as_much_but_for_choices(made_up, file, tmp_path):
    count_rollouts([file], tmp_path / "stats.parquet")
    plan, rounds = files.plan_rollouts([file], METHODS[:2])
    again, none = files.plan_rollouts([tmp_path / "stats.parquet"], METHODS)
    assert again.to_json()["methods"] == plan.to_json()["methods"]
    assert {each.reason for each in again.left_out} == {"needs rollouts; these are statistics of samples"}
    assert (rounds, none) == ([None], [])
    with pytest.raises(TableError, match="holds statistics of samples, which do not go with --round; give rollouts"):
        files.plan_rollouts([tmp_path / "stats.parquet"], METHODS, rounds=[1])


def test_rollouts_are_read_only_for_choices(made_up, file, monkeypatch):
    monkeypatch.setattr(files, "read_columns", lambda *_, **__: pytest.fail("read"))
    files.plan_rollouts([file], ["learnability", "further", "short"])


def test_rounds_choose_rollouts(made_up, tmp_path):
    rows = [{**row, "round": number} for row in ROWS for number in (1, 2)]
    plan, rounds = files.plan_rollouts([write_rows(tmp_path / "r.jsonl", *rows)], ["first"], rounds=[2])
    assert (plan.rollouts, plan.rows[-1].rollouts, rounds) == (18, 8, [2])


def test_clicks_may_be_named_by_their_element_or_their_place(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(Short, "needs", ("answer",))
    for more, reasons in (
        ({}, ["the rollouts have no clicks"]), ({"x_unit": 0.5}, ["the rollouts have no clicks"]),
        ({"x_unit": 0.5, "y_unit": 0.5}, []), ({"answer_key": "menu"}, []),
    ):  # fmt: skip
        file = write_rows(tmp_path / "r.jsonl", *({**row, **more} for row in ROWS))
        assert [each.reason for each in files.plan_rollouts([file], ["short"])[0].left_out] == reasons


def test_unreadable_rollouts_are_an_error(tmp_path):
    with pytest.raises(PoolError, match="acc of a rollout of sample 'a': got 2; expected 0 or 1"):
        files.plan_rollouts([write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 2})])
