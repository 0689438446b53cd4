"""The TRL adapter, called as TRL calls it: by keyword, one list a column."""

from __future__ import annotations

import json
import logging
import math
import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards_adapters.trl import reward_funcs

BOX = [0.0, 0.0, 0.5, 0.5]


def test_a_recipe_that_adds_up_trajectories_is_refused() -> None:
    assert reward_funcs("ui-s1")
    with pytest.raises(gr.RecipeError, match="ui-s1 adds up a trajectory; the TRL adapter cannot"):
        reward_funcs("ui-s1", returns=True)


def test_an_unusable_target_abstains_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs("gelato")
    targets = [BOX, {"bbox": [0.5, 0.5, 0.1, 0.1], "id": "a7"}]
    with caplog.at_level(logging.ERROR):
        first = reward(completions=["(250, 250)"] * 2, target=targets)
        again = reward(completions=["(250, 250)"] * 2, target=targets)
    assert first == again == [1.0, None]
    assert [record.message for record in caplog.records] == [
        "target of sample 'a7', field 'bbox': got [0.5, 0.5, 0.1, 0.1]; expected x1 <= x2 and y1 <= y2 (not x y w h; "
        'for that --box-format xywh where files are read or converted (or cxcywh, yxyx, xxyy, yyxx), box_format="xywh" '
        "in Python); if two corners are swapped: [0.1, 0.1, 0.5, 0.5]; the sample abstains"
    ]


def test_a_first_batch_without_one_usable_target_is_wiring() -> None:
    (reward,) = reward_funcs("gelato")
    with pytest.raises(
        gr.RecipeError, match=r"not one of the first 2 targets can be used; check column 'target': .*field 'bbox'"
    ):
        reward(completions=["(1, 1)"] * 2, target=[{"bbox": [1, 2]}] * 2)


def test_one_bad_sample_that_names_itself_does_not_end_a_run_that_begins_with_it() -> None:
    (reward,) = reward_funcs("gelato")
    bad = {"bbox": [1, 2], "id": "a7"}
    assert reward(completions=["(1, 1)"] * 4, target=[bad] * 4) == [None] * 4
    with pytest.raises(gr.RecipeError, match="not one of the first 8 targets can be used"):
        reward(completions=["(1, 1)"] * 4, target=[bad, bad, {**bad, "id": "b2"}, bad])
    (other,) = reward_funcs("gelato")
    for _ in range(15):
        assert other(completions=["(1, 1)"] * 4, target=[bad] * 4) == [None] * 4
    with pytest.raises(gr.RecipeError, match="not one of the first 64 targets can be used"):
        other(completions=["(1, 1)"] * 4, target=[bad] * 4)


def test_a_batch_without_a_usable_target_has_no_rates() -> None:
    (reward,) = reward_funcs("gelato")
    reward(completions=["(250, 250)"], target=[BOX])
    logged: dict[str, float] = {}
    assert reward(completions=["(250, 250)"], target=[[9]], log_metric=logged.__setitem__) == [None]
    assert sorted(name for name in logged if "reason" not in name) == ["gelato/valid"]


def test_a_missing_column_is_named() -> None:
    (reward,) = reward_funcs("gelato")
    with pytest.raises(gr.RecipeError, match=r"no column 'target'; it has bbox, solution\..*target_column="):
        reward(completions=["(1, 1)"], bbox=[BOX], solution=["x"])
    odd = {"near": (BOX,), "size": np.array([[1, 2]]), "one": np.array(1), "name": "x", "state": {"a": 1}}
    with pytest.raises(gr.RecipeError, match=r"no column 'target'; it has bbox, near, size\. Name"):
        reward(completions=["(1, 1)"], bbox=[BOX], **odd)
    with pytest.raises(gr.RecipeError, match=r"no column 'target'; it has none at all\."):
        reward(completions=["(1, 1)"])
    (renamed,) = reward_funcs("gelato", target_column="bbox")
    assert renamed(completions=["(250, 250)"], bbox=[BOX]) == [1.0]


def test_metrics_name_hit_rate_parse_rate_parts_and_reasons() -> None:
    (reward,) = reward_funcs("gelato", format_weight=0.5)
    logged: dict[str, float] = {}
    completions = ["(250, 250)", "(900, 900)", "no idea", "(250, 250)"]
    reward(completions=completions, target=[BOX, BOX, BOX, [2]], log_metric=logged.__setitem__)
    assert {name: value for name, value in logged.items() if value} == {
        "gelato/acc": pytest.approx(1 / 3), "gelato/parsed": pytest.approx(2 / 3),
        "gelato/distance": pytest.approx(1 / 3), "gelato/format": pytest.approx(2 / 3), "gelato/valid": 0.75,
        "gelato/reason/ok": 0.5, "gelato/reason/no_answer": 0.25, "gelato/reason/bad_target": 0.25,
    }  # fmt: skip
    assert len(logged) == 5 + len(gr.Reason)


def test_points_and_reasons_go_into_the_table_of_completions() -> None:
    routes = {"kind": {"a": "gelato", "b": {"name": "click", "response_space": "pixel"}}}
    (reward,) = reward_funcs(routes=routes, name="mine")
    table: dict[str, list[object]] = {}
    targets = [BOX, {"bbox": [0, 0, 9, 9]}, BOX, [2]]
    rows = {"target": targets, "kind": list("abaa"), "log_extra": table.__setitem__}
    reward(completions=["(250, 500)", "(3, 4)", "?", "(250, 250)"], **rows)
    names = ["mine/xy_pixel", "mine/xy_unit", "mine/reason"]
    assert [table[name] for name in names] == [
        [None, [3.0, 4.0], None, None],
        [[0.25, 0.5], None, None, [0.25, 0.25]],
        ["ok", "ok", "no_answer", "bad_target"],
    ]
    reward(completions=["(250, 500)"], target=[BOX], kind=["a"], log_extra=table.__setitem__)
    assert table["mine/xy_pixel"] == [None]  # a column of the table must not lack values of any batch


def test_what_makes_rollouts_goes_into_the_table_of_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    (reward,) = reward_funcs("gelato")
    table: dict[str, list[object]] = {}
    named = {"bbox": [0.0, 0.0, 0.5, 0.5], "space": "unit", "id": "a7"}
    call = [{"role": "assistant", "content": "", "tool_calls": [{"name": "tap", "arguments": {"at": [1, 2]}}]}]
    completions = ["(250, 250)", [{"role": "assistant", "content": "(900, 900)"}], call, "?"]
    state = SimpleNamespace(global_step=4)
    columns = {"sample_id": ["b", "b", "c", "d"], "trainer_state": state, "log_extra": table.__setitem__}
    reward(completions=completions, target=[named, BOX, BOX, [2]], **columns)
    kept = ["acc", "total", "sample_id", "target", "response", "rollout"]
    assert {name: table[f"gelato/{name}"] for name in kept} == {
        "acc": [1.0, 0.0, 0.0, None],
        "total": [1.0, 0.0, 0.0, None],
        "sample_id": ["a7", "b", "c", "d"],
        "target": [json.dumps(named), *[json.dumps(BOX)] * 2, "[2]"],
        "response": [None, None, '<tool_call>\n{"name": "tap", "arguments": {"at": [1, 2]}}\n</tool_call>', None],
        "rollout": ["4.3.0", "4.3.1", "4.3.2", "4.3.3"],
    }
    reward(completions=["?"], target=[BOX], sample_id=[object()], log_extra=table.__setitem__)
    assert table["gelato/rollout"] == [".3.4"]
    assert [len(values) for values in table.values()] == [1] * len(table)


def test_names_are_the_recipes_or_given() -> None:
    assert reward_funcs("gelato", name="strict")[0].__name__ == "strict"
    assert reward_funcs(routes={"task": {"a": "gelato", "b": "gta1"}})[0].__name__ == "gelato_gta1"
    for name in ("", 5):
        with pytest.raises(gr.RecipeError, match=r"name: got .*; expected what the reward is called in the logs"):
            reward_funcs("gelato", name=name)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", [5, "", None])
def test_the_column_of_targets_has_a_name(column: object) -> None:
    with pytest.raises(gr.RecipeError, match=r"target_column: got .*; expected the name of the column of targets"):
        reward_funcs("gelato", target_column=column)  # type: ignore[arg-type]


def test_columns_may_have_any_name() -> None:
    (reward,) = reward_funcs("gelato")
    columns = {"self": [1], "part": ["x"], "columns": [1], "asking": [2]}
    assert reward(completions=["(250, 250)"], target=[BOX], **columns) == [1.0]


def test_it_is_called_by_keyword() -> None:
    (reward,) = reward_funcs("gelato")
    with pytest.raises(TypeError, match="positional"):
        reward(["(250, 250)"], target=[BOX])  # type: ignore[misc]
    assert repr(reward) == "RecipeReward('gelato': recipe('gelato'), 'target')"


def test_an_empty_batch_is_no_error() -> None:
    (reward,) = reward_funcs("gelato")
    logged: dict[str, float] = {}
    assert reward(completions=[], target=[], log_metric=logged.__setitem__) == []
    assert all(math.isfinite(value) for value in logged.values())


def test_options_are_checked_when_it_is_built() -> None:
    with pytest.raises(gr.RecipeError, match="unknown option 'format_wieght'; did you mean 'format_weight'"):
        reward_funcs("gelato", format_wieght=0.1)
    with pytest.raises(gr.RecipeError, match="no recipe is named"):
        reward_funcs("")
    with pytest.raises(gr.RecipeError, match="built already"):
        reward_funcs(gr.recipe("gelato"), format_weight=0.1)
    assert reward_funcs(gr.recipe("gelato"))[0].scorer.recipes == (gr.recipe("gelato"),)
    (named,) = reward_funcs({"name": "gelato", "format_weight": 0.1})
    assert named.scorer.recipes == (gr.recipe("gelato", format_weight=0.1),)


def test_a_target_without_an_id_is_logged_once_for_all_its_rollouts(caplog: pytest.LogCaptureFixture) -> None:
    (reward,) = reward_funcs("gelato")
    with caplog.at_level(logging.ERROR):
        reward(completions=["(250, 250)"] * 5, target=[BOX, *[[0.5, 0.5, 0.1, 0.1]] * 4])
        reward(completions=["(250, 250)"] * 5, target=[*[[0.5, 0.5, 0.1, 0.1]] * 4, BOX])
    assert len(caplog.records) == 1


def test_odd_sizes_in_columns_do_no_harm_where_none_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    target, sizes = {"bbox": [990, 490, 1010, 510]}, ["junk", "[2000, 1000]", None]
    (reward,) = reward_funcs("click", response_space="pixel", format_weight=0.0)
    rows = {"target": [target] * 3, "image_size": sizes}
    with caplog.at_level(logging.ERROR):
        assert reward(completions=["(1000, 500)"] * 3, **rows) == [1.0, 1.0, 1.0]
    assert [record.message[:21] for record in caplog.records] == ["image_size: got 'junk"]
    (needing,) = reward_funcs("click", response_space="thousandths", format_weight=0.0)
    assert needing(completions=["(500, 500)"] * 3, **rows) == [None, 1.0, None]


def test_a_verifier_of_ones_own_sees_the_columns() -> None:
    bonus = gr.verifier(lambda rollouts: np.array(rollouts.extras["bonus"]), low=0.0, high=1.0)
    (reward,) = reward_funcs(replace(gr.recipe("gelato"), reward=weighted(bonus=(1.0, bonus))))
    assert reward(completions=["?"] * 2, target=[BOX] * 2, bonus=[0.25, 0.75]) == [0.25, 0.75]


@pytest.mark.parametrize("split", [False, True])
def test_each_batch_is_reported_once_with_success_and_not_the_reward(split: bool) -> None:
    functions, reports = reward_funcs("gelato", split=split, format_weight=0.5), list[Any]()
    for function in functions:
        function.watch = lambda acc, valid, columns, metric: reports.append(
            (acc.tolist(), valid.tolist(), columns, metric)
        )
    columns = {"target": [BOX, BOX, [0.5, 0.0, 0.1, 0.5]], "stage": ["a", "a", "b"]}
    completions, logged = ["(400, 400)", "?", "(1, 1)"], dict[str, float]()
    for function in functions:
        function(completions=completions, log_metric=logged.__setitem__, **columns)
    ((acc, valid, seen, metric),) = reports
    assert (acc, valid) == ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    assert seen["stage"] == ["a", "a", "b"]
    assert metric == logged.__setitem__


def test_a_function_that_is_watched_can_be_pickled_and_its_copy_is_not() -> None:
    (function,) = reward_funcs("gelato")
    function.watch = lambda *_: None
    assert pickle.loads(pickle.dumps(function)).watch is None
    assert function.watch is not None
