"""``record_columns``: further columns of the trainer's rows in a rollout table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.pool.command import count_rollouts
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts
from grounding_rewards_adapters import _scorer, easyr1, verl
from grounding_rewards_adapters.trl import reward_funcs

BOX = [0.0, 0.0, 0.5, 0.5]
COLUMNS = {"record_columns": ["ui_type", "difficulty"], "diagnose": False}


def rows(directory: Path, *recorders: RolloutRecorder) -> list[tuple[Any, Any]]:
    for each in recorders or [scorer._recording.recorder for scorer in _scorer._SCORERS.values() if scorer._recording]:
        each.close()
    table = read_rollouts(directory, ["ui_type", "difficulty"]).to_pylist()
    return sorted([(row["ui_type"], row["difficulty"]) for row in table], key=str)


def test_columns_of_trl(tmp_path: Path) -> None:
    (reward,) = reward_funcs("gelato", record=str(tmp_path), **COLUMNS)
    reward(
        completions=["(250, 250)", "?", "(250, 250)", "(250, 250)"],
        target=[BOX] * 4, id=["a", "a", "b", "b"], ui_type=["icon", "icon", "text", "text"],
        difficulty=np.array([1, 1, 2, 2]),
    )  # fmt: skip
    reward(completions=["?"], target=[BOX], id=["c"])  # later rows may lack them
    assert rows(tmp_path, reward.scorer._recording.recorder) == [
        ("icon", "1"), ("icon", "1"), ("text", "2"), ("text", "2"), (None, None),
    ]  # fmt: skip
    counted = count_rollouts([tmp_path], by="ui_type")["by_source"]
    assert [(each["source"], each["samples"], each["accuracy"]) for each in counted] == [
        ("icon", 1, 0.5), ("text", 1, 1.0), (None, 1, 0.0),
    ]  # fmt: skip


def test_columns_of_verl(tmp_path: Path) -> None:
    options: dict[str, Any] = {"recipe": "gelato", "record": str(tmp_path), **COLUMNS}
    verl.compute_score("web", "?", BOX, {"ui_type": "icon", "difficulty": {"level": 2}}, **options)
    verl.compute_score("web", "?", {"bbox": BOX, "extra": {"ui_type": "text"}}, {"difficulty": 0.5}, **options)
    assert rows(tmp_path) == [("icon", '{"level": 2}'), ("text", "0.5")]


def test_columns_of_easyr1_are_fields_of_targets(tmp_path: Path) -> None:
    target = {"bbox": BOX, "extra": {"ui_type": "icon", "difficulty": None, "round": 3, "source": "web"}}
    inputs = [{"response": "?", "response_length": 1, "ground_truth": json.dumps(target)}]
    easyr1.compute_score(inputs, recipe="gelato", record=str(tmp_path), **COLUMNS)
    assert rows(tmp_path) == [("icon", None)]
    (row,) = read_rollouts(tmp_path, ["round", "source"]).to_pylist()
    assert row == {"round": 3, "source": "web"}


def test_a_column_that_the_first_rows_lack_is_an_error_that_lists_what_there_is(tmp_path: Path) -> None:
    (reward,) = reward_funcs("gelato", record=str(tmp_path), record_columns=["uitype"])
    message = r"record_columns: no column 'uitype'; did you mean 'ui_type'\? The first rows have: id, target, ui_type; "
    with pytest.raises(gr.RecipeError, match=message + "fields in the `extra` of targets can be recorded as well"):
        reward(completions=["?"] * 2, target=[BOX] * 2, id=["a"] * 2, ui_type=["icon"] * 2)


def test_of_rows_that_come_one_by_one_sixty_four_may_lack_it(tmp_path: Path) -> None:
    options: dict[str, Any] = {"recipe": "gelato", "record": str(tmp_path), **COLUMNS}
    for _ in range(63):
        verl.compute_score("web", "?", BOX, {"difficulty": 1}, **options)
    with pytest.raises(gr.RecipeError, match="record_columns: no column 'ui_type'"):
        verl.compute_score("web", "?", BOX, {"difficulty": 1}, **options)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Total"], "record_columns: column 'Total': a rollout table has its own column total; choose another name"),
        (["correct"], "column 'correct': a rollout table has its own column correct"),
        (["format"], "column 'format': a rollout table has its own column format"),
        (["a", "a"], "column 'a': a rollout table has its own column a"),
        ("ui_type", "record_columns: got 'ui_type'; expected a list of names"),
        ([""], r"record_columns: got \('',\); expected a list of names"),
        ([3], r"record_columns: got \(3,\); expected a list of names"),
    ],
)
def test_names_that_do_not_fit_are_refused_before_training(tmp_path: Path, names: Any, message: str) -> None:
    with pytest.raises(gr.RecipeError, match=message):
        reward_funcs("gelato", record=str(tmp_path), record_columns=names)


def test_columns_need_a_record() -> None:
    with pytest.raises(gr.RecipeError, match="record_columns: got ui_type, and no record; set it to a directory"):
        reward_funcs("gelato", record_columns=["ui_type"])
