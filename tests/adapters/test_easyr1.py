"""The EasyR1 adapter, called as EasyR1 calls it: a list of dicts in, a list of dicts out."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards_adapters import easyr1
from grounding_rewards_adapters.easyr1 import compute_score

BOX = {"bbox": [10, 10, 30, 20]}
BAD = {"bbox": [30, 10, 10, 20]}
CLICK = {"recipe": "click", "response_space": "pixel"}
PAIR = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.75, "format": 0.25}}
KEYS = ["overall", "accuracy", "correct", "format", "valid", "parsed", "in_image", "hit"]


def rows(*pairs: tuple[Any, Any], length: int = 5) -> list[dict[str, Any]]:
    return [{"response": text, "response_length": length, "ground_truth": truth} for text, truth in pairs]


def own(name: str, **changes: Any) -> gr.Recipe:
    """A recipe whose total is what verifiers see in one column."""
    seen = {
        "groups": lambda rollouts: rollouts.groups.astype(np.float64),
        "lengths": lambda rollouts: (
            np.full(len(rollouts), 99.0) if rollouts.token_lengths is None else rollouts.token_lengths.astype(float)
        ),
        "bonus": lambda rollouts: np.array(rollouts.extras["bonus"], dtype=float),
    }
    needs = ["groups"] if name == "groups" else []
    term = gr.verifier(seen[name], low=0.0, high=99.0, needs=needs)
    return replace(gr.recipe("click", response_space="pixel"), name="own", reward=weighted(own=(1.0, term)), **changes)


def overall(inputs: list[dict[str, Any]], **options: Any) -> list[float]:
    return [row["overall"] for row in compute_score(inputs, **options)]


def test_the_constants_that_it_is_loaded_for() -> None:
    assert (easyr1.REWARD_NAME, easyr1.REWARD_TYPE) == ("grounding_rewards", "batch")


def test_total_acc_and_parts_under_the_same_keys() -> None:
    texts = ["(20, 15)", "(50, 15)", "no idea", None]
    found = compute_score(rows(*[(text, BOX) for text in texts]), **PAIR)
    assert [list(row) for row in found] == [KEYS] * 4
    assert [list(row.values()) for row in found] == [
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.25, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    ]
    assert {type(value) for row in found for value in row.values()} == {float}


def test_format_is_parsed_where_no_part_is_called_so() -> None:
    (found,) = compute_score(rows(("(20, 15)", BOX)), recipe="composite", response_space="pixel", parts={"hit": 1.0})
    assert found == dict.fromkeys(KEYS, 1.0)
    (missed,) = compute_score(rows(("?", BOX)), recipe="composite", response_space="pixel", parts={"hit": 1.0})
    assert missed["format"] == missed["parsed"] == 0.0


def test_an_empty_batch() -> None:
    assert compute_score([], **CLICK) == []


def test_a_target_that_cannot_be_used_gets_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        found = compute_score(rows(("(20, 15)", BOX), *[("(20, 15)", {**BAD, "id": "a7"})] * 3), **PAIR)
    assert [row["overall"] for row in found] == [1.0, 0.0, 0.0, 0.0]
    assert list(found[1].values()) == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    (record,) = caplog.records
    assert record.message.startswith("target of sample 'a7', field 'bbox': got [30, 10, 10, 20]")
    assert record.message.endswith("; the sample gets 0.0, and 0.0 for valid")


def test_a_first_batch_without_one_usable_target_is_wiring() -> None:
    with pytest.raises(
        gr.RecipeError, match=r"not one of the first 2 targets can be used; check the data set's answers"
    ):
        compute_score(rows(("(20, 15)", BAD), ("(20, 15)", BAD)), **CLICK)
    assert overall(rows(("(20, 15)", BOX)), **CLICK) == [1.0]
    assert overall(rows(("(20, 15)", BAD)), **CLICK) == [0.0]


def test_bad_target_raise() -> None:
    with pytest.raises(gr.TargetError, match="target of row 1, field 'bbox'"):
        compute_score(rows(("(20, 15)", BOX), ("(20, 15)", BAD)), bad_target="raise", **CLICK)


def test_rows_of_one_id_are_one_group_wherever_they_stand() -> None:
    names = ["a", "b", "a", 3, "b", "3"]
    inputs = rows(*[("?", {**BOX, "id": name}) for name in names])
    assert overall(inputs, recipe=own("groups")) == [0.0, 1.0, 0.0, 2.0, 1.0, 2.0]
    texts = rows(*[("?", json.dumps({**BOX, "id": name})) for name in names])
    assert overall(texts, recipe=own("groups")) == [0.0, 1.0, 0.0, 2.0, 1.0, 2.0]


def test_a_label_free_recipe_needs_an_id_alone() -> None:
    recipe = own("groups", label_free=True, success=gr.verifier(lambda rows: np.zeros(len(rows)), low=0, high=1))
    assert overall(rows(("?", {"id": "a"}), ("?", '{"id": "b"}'), ("?", {"id": "a"})), recipe=recipe) == [0.0, 1.0, 0.0]
    with pytest.raises(gr.RecipeError, match="the target of row 0 has no id"):
        compute_score(rows(("?", None)), recipe=recipe)


def test_trajectories_are_refused_by_name() -> None:
    with pytest.raises(gr.RecipeError, match="ui-s1 adds up a trajectory; the EasyR1 adapter cannot"):
        compute_score(rows(("?", BOX)), recipe="ui-s1", returns=True)


def test_lengths_in_tokens_are_the_trainers() -> None:
    assert overall(rows(("?", BOX), length=7), recipe=own("lengths")) == [7.0]
    assert overall([{"response": "?", "ground_truth": BOX}], recipe=own("lengths")) == [99.0]
    assert overall(rows(("?", BOX), length=np.int64(7)), recipe=own("lengths")) == [7.0]


@pytest.mark.parametrize("length", [-1, 3.7, 3.0, "12", True, b"3", [3], float("nan"), float("inf")])
def test_odd_lengths_are_errors_where_lengths_may_be_used(length: Any) -> None:
    inputs = [*rows(("(20, 15)", BOX)), *rows(("(20, 15)", BOX), length=length)]
    assert overall(inputs, **CLICK) == [1.0, 1.0]
    with pytest.raises(gr.RecipeError, match=r"response_length of row 1: got .*; expected how many tokens"):
        compute_score(inputs, recipe=own("lengths"))


def test_groups_of_one_row_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """It stops nothing: EasyR1 may validate with one rollout a sample, before it trains."""
    recipe = {"recipe": "gui-rcpo", "response_space": "pixel"}
    lone, pair = rows(*[("(1, 1)", {"id": name}) for name in "abc"]), rows(*[("(1, 1)", {"id": "a"})] * 2)
    with caplog.at_level(logging.ERROR):
        assert overall(pair, **recipe) == [1.0, 1.0]
        assert overall(lone[:1], **recipe) == [1.0]
        assert caplog.records == []
        assert overall(lone, **recipe) == [1.0, 1.0, 1.0]
        assert overall(lone[:2], **recipe) == [1.0, 1.0]
    (record,) = caplog.records
    assert record.message.startswith(
        "gui-rcpo compares the rollouts of one sample; got 3 rows of which no two have one id"
    )


def test_a_config_that_lacks_a_value_is_an_error_of_ours() -> None:
    omegaconf = pytest.importorskip("omegaconf", reason="omegaconf comes with verl, which needs a Python below 3.13")
    parts = omegaconf.OmegaConf.create({"hit": {"verifier": "hit", "weight": "???"}})
    with pytest.raises(gr.RecipeError, match=r"expected plain values \(MissingMandatoryValue: Missing mandatory"):
        compute_score(rows(("?", BOX)), recipe="composite", response_space="pixel", parts=parts)


def test_own_verifiers_find_every_column() -> None:
    inputs = [{**row, "bonus": bonus} for row, bonus in zip(rows(("?", BOX), ("?", BOX)), (0.5, 0.25), strict=True)]
    assert overall(inputs, recipe=own("bonus")) == [0.5, 0.25]


RCPO = {"recipe": "gui-rcpo", "response_space": "pixel"}
ROUTES = {"task": {"click": "gelato", "vote": {"name": "gui-rcpo", "response_space": "pixel"}}}
PLACE = ("(250, 250)", {"bbox": [0.0, 0.0, 0.5, 0.5], "task": "click"})
HERE, THERE = "(1, 1)", "(900, 900)"
A, B = {"id": "a"}, {"id": "b"}
NO_ID = (
    "gui-rcpo compares the rollouts of one sample, and EasyR1 tells samples apart by their targets alone: the target of"
)


def scores(*pairs: tuple[str, Any], **options: Any) -> list[tuple[float, float]]:
    """Total and valid of each row."""
    return [(row["overall"], row["valid"]) for row in compute_score(rows(*pairs), **(options or RCPO))]


def vote(text: str, name: str = "a") -> tuple[str, Any]:
    return text, {"id": name, "task": "vote"}


@pytest.mark.parametrize("bad", ['{"bbox": [1', {"bbox": [1]}, 5, []], ids=["json", "bbox", "number", "empty"])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_an_unreadable_target_votes_with_no_sample_that_is_called_as_its_row(bad: Any, row: int) -> None:
    """With its vote there would be as many there as here."""
    pairs = [(HERE, {"id": str(row)}), (THERE, {"id": str(row)}), (HERE, {"id": str(row)})]
    pairs.insert(row, (THERE, bad))
    found = scores(*pairs)
    assert found.pop(row) == (0.0, 0.0)
    assert found == [(1.0, 1.0), (0.5, 1.0), (1.0, 1.0)]


def test_an_unreadable_target_with_an_id_votes_with_its_sample() -> None:
    assert scores((HERE, A), (THERE, {**A, "bbox": [1]}), (THERE, {**A, "bbox": [1]})) == [
        (0.5, 1.0),
        *[(0.0, 0.0)] * 2,
    ]


@pytest.mark.parametrize("lone", [None, {}, {"bbox": None}], ids=["none", "empty", "filled"])
def test_the_first_batch_wants_an_id_in_each_target(lone: Any) -> None:
    with pytest.raises(gr.RecipeError, match=f"{NO_ID} row 1 has no id"):
        scores((HERE, A), (HERE, lone), (HERE, A))


@pytest.mark.parametrize("lone", [None, {}, {"bbox": None}], ids=["none", "empty", "filled"])
def test_later_a_target_without_an_id_is_a_sample_of_its_own(lone: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert scores((HERE, A), (HERE, A)) == [(1.0, 1.0)] * 2
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            found = scores((HERE, A), (THERE, lone), (THERE, lone), (HERE, A), (THERE, A))
            assert found == [*[(1.0, 1.0)] * 4, (0.5, 1.0)]
    (record,) = caplog.records
    assert record.message.startswith(f"{NO_ID} row 1 has no id; give each target one")
    assert record.message.endswith("; a row without is compared with itself alone")


def test_a_later_batch_without_any_id_is_wiring_again() -> None:
    scores((HERE, A), (HERE, A))
    with pytest.raises(gr.RecipeError, match=f"{NO_ID} row 0 has no id"):
        scores((HERE, None), (HERE, {}))


def test_under_routes_the_row_without_an_id_is_that_of_the_whole_batch(caplog: pytest.LogCaptureFixture) -> None:
    lone = HERE, {"task": "vote"}
    with pytest.raises(gr.RecipeError, match=f"{NO_ID} row 3 has no id"):
        scores(PLACE, vote(HERE), PLACE, lone, routes=ROUTES)
    assert scores(PLACE, vote(HERE), vote(HERE), routes=ROUTES) == [(1.0, 1.0)] * 3
    with caplog.at_level(logging.ERROR):
        assert scores(PLACE, PLACE, vote(HERE), vote(HERE), lone, routes=ROUTES) == [(1.0, 1.0)] * 5
    (record,) = caplog.records
    assert record.message.startswith(f"{NO_ID} row 4 has no id")
