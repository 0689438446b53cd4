"""Rows that are one sample in EasyR1, where some targets are bad, lack an id, or belong to another recipe."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards_adapters.easyr1 import compute_score

RCPO = {"recipe": "gui-rcpo", "response_space": "pixel"}
ROUTES = {"task": {"click": "gelato", "vote": {"name": "gui-rcpo", "response_space": "pixel"}}}
CLICK = ("(250, 250)", {"bbox": [0.0, 0.0, 0.5, 0.5], "task": "click"})
HERE, THERE = "(1, 1)", "(900, 900)"
A, B = {"id": "a"}, {"id": "b"}
NO_ID = (
    "gui-rcpo compares the rollouts of one sample, and EasyR1 tells samples apart by their targets alone: the target of"
)


def rows(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"response": text, "response_length": 5, "ground_truth": truth} for text, truth in pairs]


def scores(*pairs: tuple[str, Any], **options: Any) -> list[tuple[float, float]]:
    """Total and valid of each row."""
    return [(row["overall"], row["valid"]) for row in compute_score(rows(*pairs), **(options or RCPO))]


def vote(text: str, name: str = "a") -> tuple[str, Any]:
    return text, {"id": name, "task": "vote"}


def test_rows_of_one_id_vote_together() -> None:
    assert scores((HERE, A), (THERE, A), (HERE, A), (THERE, B), (THERE, B)) == [
        (1.0, 1.0), (0.5, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0),
    ]  # fmt: skip


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


def test_routes_ask_for_ids_where_rollouts_are_compared_and_nowhere_else() -> None:
    found = scores(vote(HERE), CLICK, vote(THERE), vote(HERE), CLICK, routes=ROUTES)
    assert found == [(1.0, 1.0), (1.0, 1.0), (0.5, 1.0), (1.0, 1.0), (1.0, 1.0)]


def test_under_routes_the_row_without_an_id_is_that_of_the_whole_batch(caplog: pytest.LogCaptureFixture) -> None:
    lone = HERE, {"task": "vote"}
    with pytest.raises(gr.RecipeError, match=f"{NO_ID} row 3 has no id"):
        scores(CLICK, vote(HERE), CLICK, lone, routes=ROUTES)
    assert scores(CLICK, vote(HERE), vote(HERE), routes=ROUTES) == [(1.0, 1.0)] * 3
    with caplog.at_level(logging.ERROR):
        assert scores(CLICK, CLICK, vote(HERE), vote(HERE), lone, routes=ROUTES) == [(1.0, 1.0)] * 5
    (record,) = caplog.records
    assert record.message.startswith(f"{NO_ID} row 4 has no id")
