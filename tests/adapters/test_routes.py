"""Several recipes in one run: routes by data source, column or the target's task."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards_adapters import easyr1
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters.trl import reward_funcs

UNIT = [0.0, 0.0, 0.5, 0.5]
PIXEL = {"bbox": [10, 10, 30, 20]}
TWO = {"clicks": {"name": "composite", "response_space": "pixel", "parts": {"hit": 1.0}}, "gelato set": "gelato"}
KEYS = ["score", "acc", "valid", "parsed", "in_image", "hit", "distance", "format"]


def call(source: str, text: str, truth: Any, extra: Any = None, **options: Any) -> dict[str, float]:
    given = {"routes": {"data_source": TWO}, **options}
    return verl_adapter.compute_score(
        data_source=source, solution_str=text, ground_truth=truth, extra_info=extra, **given
    )


def test_rows_are_judged_by_their_own_recipe_under_the_keys_of_all() -> None:
    click, gelato = call("clicks", "(20, 15)", PIXEL), call("gelato set", "(250, 250)", UNIT)
    assert list(click) == list(gelato) == KEYS
    assert click == dict(zip(KEYS, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0], strict=True))
    assert gelato == dict(zip(KEYS, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0], strict=True))
    assert {type(value) for value in [*click.values(), *gelato.values()]} == {float}


def test_a_batch_of_several_sources_scores_as_its_rows_do() -> None:
    rows = [
        ("clicks", "(20, 15)", PIXEL), ("gelato set", "(250, 250)", UNIT), ("gelato set", "?", UNIT),
        ("clicks", "(50, 15)", PIXEL), ("gelato set", "(250, 250)", {"bbox": [0.5, 0.5, 0.1, 0.1]}),
    ]  # fmt: skip
    alone = [call(*row) for row in rows]
    sources, texts, truths = zip(*rows, strict=True)
    (reward,) = reward_funcs(routes={"source": TWO})
    logged: dict[str, float] = {}
    together = reward(completions=list(texts), target=list(truths), source=list(sources), log_metric=logged.__setitem__)
    assert together == [1.0, 1.0, 0.0, 0.0, None]
    assert [row["score"] for row in alone] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert [row["valid"] for row in alone] == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert logged["composite_gelato/acc"] == 0.5
    assert logged["composite_gelato/distance"] == 0.25


def test_the_targets_own_task_chooses() -> None:
    routes = {"task": {"point": TWO["clicks"], "ground": "gelato"}}
    truths = [{**PIXEL, "task": "point"}, json.dumps({"bbox": UNIT, "task": "ground"})]
    rows = [
        {"response": text, "response_length": 5, "ground_truth": truth}
        for text, truth in zip(["(20, 15)", "(250, 250)"], truths, strict=True)
    ]
    found = easyr1.compute_score(rows, routes=routes)
    assert [row["overall"] for row in found] == [1.0, 1.0]
    assert [row["distance"] for row in found] == [0.0, 1.0]
    assert [list(row) for row in found] == [list(found[0])] * 2
    assert call("x", "(250, 250)", UNIT, {"task": "ground"}, routes=routes)["distance"] == 1.0


def test_recipe_judges_what_no_route_names() -> None:
    found = call("elsewhere", "(250, 250)", UNIT, recipe="gelato", routes={"data_source": {"clicks": TWO["clicks"]}})
    assert (found["score"], found["distance"]) == (1.0, 1.0)


def test_a_column_that_is_not_there_is_an_error_where_columns_are_whole_and_said_where_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    routes = {"kind": {"clicks": TWO["clicks"]}}
    (reward,) = reward_funcs("gelato", routes=routes)
    with pytest.raises(gr.RecipeError, match=r"routes: TRL gives no 'kind'.* It gives: target"):
        reward(completions=["(250, 250)"], target=[UNIT])
    for _ in range(2):
        assert call("x", "(250, 250)", UNIT, recipe="gelato", routes=routes)["acc"] == 1.0
    assert [record.message for record in caplog.records] == ["routes: rows have no 'kind'; gelato judges them"]


def test_options_beside_routes_are_beneath_those_in_them() -> None:
    two = {"a": "gelato", "b": {"name": "gelato", "format_weight": 0.0}}
    scores = [
        call(source, "(900, 900)", UNIT, routes={"data_source": two}, format_weight=0.25)["score"] for source in "ab"
    ]
    assert scores == [0.25, 0.0]


@pytest.mark.parametrize(
    ("source", "options", "complaint"),
    [
        ("other", {}, r"routes: data_source: got 'other'; expected one of clicks, gelato set: add it to reward\.custom_"
                      r"reward_function\.reward_kwargs\.routes .* or name a recipe for all other rows: set .*\.recipe"),
        ("x", {"routes": {"source": TWO}}, r"routes: verl gives no 'source'; did you mean 'data_source'\?"),
        ("x", {"routes": {"task": TWO}}, "routes: task: row 0 has none; expected one of clicks, gelato set"),
        ("x", {"routes": {"a": TWO, "b": TWO}}, "routes: got .*; expected one field and a recipe for each of its val"),
        ("x", {"routes": {"data_source": "gelato"}}, "expected one field and a recipe for each"),
        ("x", {"routes": ["gelato"]}, "expected one field and a recipe for each"),
        ("x", {"routes": {"data_source": {"x": "gelatto"}}}, "unknown recipe 'gelatto'; did you mean 'gelato'"),
        ("x", {"routes": {"data_source": {"x": 5}}}, r"routes\.data_source\.x: got 5; expected its name, a"),
        ("x", {"routes": {"data_source": {"x": None}}}, "no recipe is named"),
        ("x", {"routes": {"data_source": {"x": "gui-rcpo"}}, "response_space": "pixel"}, "gui-rcpo compares the roll"),
    ],
)  # fmt: skip
def test_wrong_routes_are_named(source: str, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(gr.RecipeError, match=complaint):
        call(source, "(1, 1)", UNIT, **options)


def test_columns_of_numpy_choose_too() -> None:
    (reward,) = reward_funcs(routes={"source": TWO})
    sources = np.array(["clicks", "gelato set"], dtype=object)
    assert reward(completions=["(20, 15)", "(250, 250)"], target=[PIXEL, UNIT], source=sources) == [1.0, 1.0]
