"""The further forms of the verl adapter: awaited, a whole batch in one call, and the bare number."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from copy import deepcopy
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.plugins.loading import load
from grounding_rewards_adapters import _scorer
from grounding_rewards_adapters.verl import compute_score, compute_score_async, compute_score_batch, compute_total
from tests.adapters.own_terms import BOX, TOTALS, write_terms

PAIR: dict[str, Any] = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.9, "format": 0.1}}
KEYS = ["score", "acc", "valid", "parsed", "in_image", "hit", "format"]
ONE, MISSED, NOTHING = [1.0] * 7, [0.1, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
UNUSABLE = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def objects(values: list[Any]) -> Any:
    """A column as verl's batches hold it."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


ROWS: list[tuple[Any, Any, Any, list[float]]] = [
    ("(20, 15)", BOX, {"index": 0, "image_size": [100, 100]}, ONE),
    ("(50, 15)", '{"bbox": [10, 10, 30, 20]}', None, MISSED),
    (None, BOX, {}, NOTHING),
    ("(20, 15)", None, {"index": 3}, UNUSABLE),
    ("(20, 15)", "[1, 2", {"index": 4, "polygon": None}, UNUSABLE),
    ("(20, 15)", BOX, {"image_size": [math.nan, 5], "index": 5}, ONE),
    (f"({'9' * 400}, 15)", BOX, {"image_size": np.array([100, 100])}, [0.1, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
    ("(20, 15)", [30, 10, 10, 20], "no mapping", UNUSABLE),
    ("(20, 15)", np.array([10, 10, 30, 20]), {7: object(), "index": np.int64(8)}, ONE),
]


def test_a_batch_is_scored_row_by_row_whatever_is_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    texts, truths, infos, expected = (list(column) for column in zip(*ROWS, strict=True))
    sources, before = objects(["clicks", "notes", None] * 3), deepcopy([infos[0], infos[4]])
    with caplog.at_level(logging.ERROR):
        found = compute_score_batch(sources, texts, objects(truths), objects(infos), **PAIR)
    assert found == [dict(zip(KEYS, numbers, strict=True)) for numbers in expected]
    assert {type(value) for row in found for value in row.values()} == {float}
    assert [infos[0], infos[4]] == before
    logged = [record.message for record in caplog.records if record.message.startswith("target of ")]
    assert [message.partition(",")[0] for message in logged] == [
        "target of sample 'index 3'", "target of sample 'index 4'", "target of row 7"
    ]  # fmt: skip
    alone = [compute_score(source, *row[:3], **PAIR) for source, row in zip(sources, ROWS, strict=True)]
    assert found == alone
    assert len({id(scorer) for scorer in _scorer._SCORERS.values()}) == 1


def test_a_batch_may_have_no_extra_info_or_no_row() -> None:
    assert [row["score"] for row in compute_score_batch(["clicks"] * 2, ["(20, 15)", "?"], [BOX, BOX], **PAIR)] == [
        1,
        0,
    ]
    assert compute_score_batch(np.array([]), [], [], None, **PAIR) == []


def test_the_arguments_of_a_reward_model_are_ignored_in_every_form() -> None:
    beside = {"reward_router_address": "judge:80", "reward_model_tokenizer": object(), **PAIR}
    row = "clicks", "(20, 15)", BOX, None
    one = dict(zip(KEYS, ONE, strict=True))
    assert compute_score_batch(*[[value] for value in row], **beside) == [one]  # type: ignore[arg-type]
    assert asyncio.run(compute_score_async(*row, **beside)) == one
    assert compute_total(*row, **beside) == 1.0


def test_columns_of_several_lengths_are_an_error() -> None:
    with pytest.raises(gr.RecipeError, match="got 1 data_sources, 2 solution_strs, 1 ground_truths, 2 extra_infos; "):
        compute_score_batch(["clicks"], ["(20, 15)", "?"], [BOX], **PAIR)


@pytest.mark.parametrize("text", [b"(20, 15)", 7, ["(20, 15)"]])
def test_a_response_that_is_no_text_is_a_type_error_in_every_form(text: Any) -> None:
    with pytest.raises(TypeError, match="expected a string"):
        compute_score("clicks", text, BOX, **PAIR)
    with pytest.raises(TypeError, match="expected a string"):
        compute_score_batch(["clicks"] * 2, ["(20, 15)", text], [BOX, BOX], **PAIR)


def test_a_batch_holds_no_groups_that_a_recipe_could_compare() -> None:
    with pytest.raises(
        gr.RecipeError, match="ui-r1-dast compares the rollouts of one sample; verl gives single samples"
    ):
        compute_score_batch(["clicks"], ["(20, 15)"], [BOX], recipe="ui-r1-dast")


def test_own_verifiers_find_the_extra_info_of_all_rows(tmp_path: Path) -> None:
    parts = {"bonus": {"verifier": f"{write_terms(tmp_path)}:bonus", "weight": 1.0, "low": 0, "high": 1}}
    infos = [{"bonus": 0.25}, {"bonus": 0.75, "other": 1}]
    found = compute_score_batch(["a", "b"], ["", ""], [BOX] * 2, infos, **{**PAIR, "parts": parts})
    assert [row["score"] for row in found] == [0.25, 0.75]


def test_numpys_strings_are_plain_ones_to_verifiers_and_routes(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def is_text(rollouts): return [float(type(name) is str) for name in rollouts.extras['data_source']]"
    )
    is_text = {"verifier": f"{tmp_path}/own.py:is_text", "weight": 1.0, "low": 0, "high": 1}
    routes = {"data_source": {"clicks": {"name": "composite", "parts": {"is_text": is_text}}}}
    found = compute_score(np.array(["clicks"])[0], "", BOX, routes=routes, response_space="pixel")  # type: ignore[arg-type]
    assert found["is_text"] == 1.0


def test_the_awaited_form_gives_the_same() -> None:
    assert inspect.iscoroutinefunction(compute_score_async)

    async def run() -> list[dict[str, float]]:
        return await asyncio.gather(
            *[compute_score_async("clicks", text, BOX, {"index": 1}, **PAIR) for text in TOTALS]
        )

    found = asyncio.run(run())
    assert found == [compute_score("clicks", text, BOX, {"index": 1}, **PAIR) for text in TOTALS]
    assert [row["score"] for row in found] == [1.0, 1.0, 0.1, 0.0]


def test_the_awaited_form_holds_up_no_event_loop(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text(
        "from threading import Event\nBEGUN, GO = Event(), Event()\n"
        "def wait(rollouts):\n    BEGUN.set()\n    return [float(GO.wait(20))] * len(rollouts)\n"
    )
    parts = {"wait": {"verifier": f"{path}:wait", "weight": 1.0, "low": 0, "high": 1}}
    begun, go = load(f"{path}:BEGUN"), load(f"{path}:GO")
    assert isinstance(begun, Event)

    async def run() -> float:
        task = asyncio.create_task(compute_score_async("clicks", "", BOX, **{**PAIR, "parts": parts}))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        go.set()
        return (await task)["score"]

    assert asyncio.run(run()) == 1.0


def test_mistakes_reach_those_who_await() -> None:
    with pytest.raises(gr.RecipeError, match="no recipe is named"):
        asyncio.run(compute_score_async("clicks", "(20, 15)", BOX))


def test_the_bare_number() -> None:
    found = [compute_total("clicks", text, BOX, None, **PAIR) for text in TOTALS]
    assert found == [1.0, 1.0, 0.1, 0.0]
    assert {type(score) for score in found} == {float}
