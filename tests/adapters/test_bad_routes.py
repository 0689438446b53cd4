"""Several recipes in one run, where some rows name none, or one of the recipes is wired wrong."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs
from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards_adapters import _scorer, easyr1
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters.trl import reward_funcs

PIXEL = {"name": "click", "response_space": "pixel"}
TASKS = {"task": {"ground": "gelato", "point": PIXEL}}
GROUND = ("(250, 250)", {"bbox": [0.0, 0.0, 0.5, 0.5], "task": "ground"})
POINT = ("(20, 15)", {"bbox": [10, 10, 30, 20], "task": "point"})
NO_TASK = [None, '{"bbox": [1', {"bbox": None}, [], 7, '{"task": ' * 5000]


def valid(*pairs: tuple[Any, Any], **options: Any) -> list[float]:
    rows = [{"response": text, "response_length": 5, "ground_truth": truth} for text, truth in pairs]
    found = easyr1.compute_score(rows, **{"routes": TASKS, **options})
    assert [row["overall"] for row in found] == [row["accuracy"] for row in found] == [row["valid"] for row in found]
    return [row["valid"] for row in found]


def call(source: str, text: str, truth: Any, extra: Any = None, **options: Any) -> dict[str, float]:
    return verl_adapter.compute_score(source, text, truth, extra, **options)


@pytest.mark.parametrize("bad", NO_TASK, ids=["none", "json", "filled", "list", "number", "deep"])
def test_a_target_without_a_task_is_one_bad_row(bad: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert valid(GROUND, POINT) == [1.0, 1.0]
    with caplog.at_level(logging.ERROR):
        assert valid(GROUND, ("(1, 1)", bad), POINT, GROUND, ("?", bad)) == [1.0, 0.0, 1.0, 1.0, 0.0]
        assert valid(("?", bad), ("?", bad)) == [0.0, 0.0]
    (record,) = caplog.records
    assert record.message.startswith(
        "target of row 1, field 'task': got nothing; expected one of ground, point: routes choose the recipe by it"
    )


@pytest.mark.parametrize("bad", NO_TASK, ids=["none", "json", "filled", "list", "number", "deep"])
def test_bad_target_raise_names_it_by_its_row_in_the_whole_batch(bad: Any) -> None:
    with pytest.raises(gr.TargetError, match="target of sample 'n', field 'task': got nothing"):
        valid(GROUND, ("?", {"id": "n"}), ("?", bad), bad_target="raise")
    with pytest.raises(gr.TargetError, match="target of row 2, field 'task': got nothing") as caught:
        valid(GROUND, POINT, ("?", bad), GROUND, ("?", bad), bad_target="raise")
    assert caught.value.sample == 2


@pytest.mark.parametrize("bad", NO_TASK, ids=["none", "json", "filled", "list", "number", "deep"])
def test_nothing_routed_in_the_first_batch_is_wiring(bad: Any) -> None:
    with pytest.raises(
        gr.RecipeError, match=r"routes: task: row 0 has none; expected one of ground, point; targets alone"
    ):
        valid(("?", bad), ("?", bad))
    assert valid(GROUND, ("?", bad)) == [1.0, 0.0]


def test_a_value_that_no_route_has_is_an_error_at_any_time() -> None:
    valid(GROUND, POINT)
    with pytest.raises(gr.RecipeError, match="routes: task: got 'draw'; expected one of ground, point"):
        valid(GROUND, ("?", {**POINT[1], "task": "draw"}))
    sources = {"data_source": {"a": "gelato"}}
    assert call("a", *GROUND, routes=sources)["acc"] == 1.0
    with pytest.raises(gr.RecipeError, match="routes: data_source: got 'b'; expected one of a: add it to"):
        call("b", *GROUND, routes=sources)


def test_rows_without_a_value_end_no_run_however_many(caplog: pytest.LogCaptureFixture) -> None:
    """Also where the recipe that comes first has had no row of its own yet."""
    (reward,) = reward_funcs(routes={"source": {"point": PIXEL, "ground": "gelato"}})
    sources = ["ground"] + [None] * 99
    for _ in range(2):
        assert reward(completions=["(250, 250)"] * 100, target=[GROUND[1]] * 100, source=sources) == [1.0] + [None] * 99
    assert reward(completions=[POINT[0]] * 256, target=[POINT[1]] * 256, source=["point"] * 256) == [1.0] * 256
    lines = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert lines == ["click: of the first 256 responses 100 % were read and 100 % right"]


def test_a_targets_own_task_goes_before_a_column() -> None:
    (reward,) = reward_funcs(routes=TASKS)
    bare, wire = GROUND[1]["bbox"], json.dumps(POINT[1])
    texts = ["(250, 250)", "(20, 15)", "(20, 15)"]
    assert reward(completions=texts, target=[bare, wire, POINT[1]], task=["ground"] * 3) == [1.0, 1.0, 1.0]
    inputs = Inputs(texts, [bare, wire, POINT[1]], {"task": ["ground"] * 3})
    assert [each.recipe.name for each in reward.scorer.score(inputs).slices] == ["gelato", "click"]


THOUSANDTHS = {"name": "click", "response_space": "thousandths"}
SIZED = ("(500, 500)", {"bbox": [990, 490, 1010, 510], "image_size": [2000, 1000]})
UNSIZED = ("(500, 500)", {"bbox": [990, 490, 1010, 510]})
S_AND_T = {"data_source": {"s": PIXEL, "t": THOUSANDTHS}}


def test_one_route_that_lacks_a_setting_as_a_whole_raises_at_once() -> None:
    assert call("s", *POINT, routes=S_AND_T)["acc"] == 1.0
    for _ in range(2):
        with pytest.raises(
            gr.RecipeError, match=r"target of row 0, field 'image_size': got nothing.*give image_size: in the data set"
        ):
            call("t", *UNSIZED, routes=S_AND_T)
        assert call("s", *POINT, routes=S_AND_T)["acc"] == 1.0
    assert call("t", *SIZED, routes=S_AND_T)["acc"] == 1.0
    assert call("t", *UNSIZED, routes=S_AND_T)["valid"] == 0.0


def test_one_route_may_begin_with_63_bad_targets_while_others_are_fine() -> None:
    bad = {"bbox": [30, 10, 10, 20]}
    for _ in range(63):
        assert call("s", *POINT, routes=S_AND_T)["valid"] == 1.0
        assert call("t", "(1, 1)", bad, routes=S_AND_T)["valid"] == 0.0
    assert call("s", *POINT, routes=S_AND_T)["valid"] == 1.0
    with pytest.raises(gr.RecipeError, match=r"not one of the first 64 targets can be used; .*'bbox'"):
        call("t", "(1, 1)", bad, routes=S_AND_T)
    assert call("s", *POINT, routes=S_AND_T)["valid"] == 1.0


BAD = {"bbox": [30, 10, 10, 20], "task": "point"}


def test_errors_of_a_route_name_the_row_in_the_whole_batch(caplog: pytest.LogCaptureFixture) -> None:
    batch = [GROUND, GROUND, POINT, GROUND, ("(1, 1)", BAD)]
    with caplog.at_level(logging.ERROR):
        assert valid(*batch) == [1.0, 1.0, 1.0, 1.0, 0.0]
    (record,) = caplog.records
    assert record.message.startswith("target of row 4, field 'bbox'")
    with pytest.raises(gr.TargetError, match="target of row 4, field 'bbox'") as caught:
        valid(*batch, bad_target="raise")
    assert caught.value.sample == 4
    named = [*batch[:4], ("(1, 1)", {**BAD, "id": "a7"})]
    with pytest.raises(gr.TargetError, match="target of sample 'a7', field 'bbox'"):
        valid(*named, bad_target="raise")
    with pytest.raises(TypeError, match="response of row 3: got int 5; expected a string"):
        valid(GROUND, GROUND, POINT, (5, POINT[1]))


def test_names_from_outside_go_with_their_rows(caplog: pytest.LogCaptureFixture) -> None:
    extras = [{"index": 10 + row} for row in range(4)]
    texts, truths = zip(*[GROUND, POINT, ("(1, 1)", BAD), ("?", None)], strict=True)
    with caplog.at_level(logging.ERROR):
        found = verl_adapter.compute_score_batch(["x"] * 4, texts, truths, extras, routes=TASKS)
    assert [row["valid"] for row in found] == [1.0, 1.0, 0.0, 0.0]
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        "target of sample 'index 12'", "target of sample 'index 13'",
    ]  # fmt: skip


def test_records_keep_each_rows_own_scores_and_reason(tmp_path: Path) -> None:
    batch = [POINT, GROUND, ("(1, 1)", BAD), ("?", {"bbox": [1, 2, 3, 4], "id": "n"}), ("?", GROUND[1])]
    rows = [{"response": text, "response_length": 5, "ground_truth": truth} for text, truth in batch]
    easyr1.compute_score(rows, routes=TASKS, record=str(tmp_path))
    (scorer,) = {id(each): each for each in _scorer._SCORERS.values()}.values()
    scorer._recording.recorder.close()
    found = read_rollouts(tmp_path).to_pylist()
    assert [row["response"] for row in found] == [text for text, _ in batch]
    assert [row["reason"] for row in found] == ["OK", "OK", "BAD_TARGET", "BAD_TARGET", "NO_ANSWER"]
    assert [row["acc"] for row in found] == [1.0, 1.0, None, None, 0.0]
    assert found[3]["sample_id"] == "n"
