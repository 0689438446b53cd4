"""The verl adapter, called as verl calls it: by keyword, one sample, from many threads."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import logging
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.plugins.loading import load
from grounding_rewards_adapters import _scorer, verl
from grounding_rewards_adapters.verl import compute_score, compute_score_async, compute_score_batch, compute_total
from tests.adapters.own_terms import BOX, TOTALS, named_in_a_config, write_plugin, write_terms

BAD = {"bbox": [30, 10, 10, 20]}
CLICK = {"recipe": "click", "response_space": "pixel"}
PAIR: dict[str, Any] = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.9, "format": 0.1}}
KEYS = ["score", "acc", "valid", "parsed", "in_image", "hit", "format"]


def call(solution: Any = "(20, 15)", truth: Any = BOX, extra: Any = None, **options: Any) -> dict[str, float]:
    return compute_score(data_source="clicks", solution_str=solution, ground_truth=truth, extra_info=extra, **options)


@pytest.mark.parametrize(
    ("solution", "numbers"),
    [
        ("(20, 15)", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("(50, 15)", [0.1, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]),
        ("(-5, 15)", [0.1, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
        ("no idea", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        ("", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        (None, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_total_acc_and_parts_under_the_same_keys(solution: str | None, numbers: list[float]) -> None:
    extra = {"image_size": [100, 100]}
    found = call(solution, extra=extra, **PAIR)
    assert found == dict(zip(KEYS, numbers, strict=True))
    assert list(found) == KEYS
    assert {type(value) for value in found.values()} == {float}


def test_a_target_that_cannot_be_used_gets_nothing_under_the_same_keys(caplog: pytest.LogCaptureFixture) -> None:
    call(**PAIR)
    with caplog.at_level(logging.ERROR):
        found = [call(truth={**BAD, "id": "a7"}, **PAIR) for _ in range(3)]
        for index in (17, 18, 18):
            call(truth=BAD, extra={"index": index}, **PAIR)
    assert found == [dict(zip(KEYS, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], strict=True))] * 3
    came = (
        "got [30, 10, 10, 20]; expected x1 <= x2 and y1 <= y2 (not x y w h; for that --box-format xywh where files are "
        'read or converted (or cxcywh, yxyx, xxyy, yyxx), box_format="xywh" in Python); if two corners are swapped: '
    )
    ends = "[10.0, 10.0, 30.0, 20.0]; the sample gets 0.0, and 0.0 for valid"
    assert [record.message for record in caplog.records] == [
        f"target of sample {name!r}, field 'bbox': {came}{ends}" for name in ("a7", "index 17", "index 18")
    ]


def test_nothing_is_0_even_where_a_recipe_scores_no_less_than_more() -> None:
    constant = gr.verifier(lambda rollouts: np.full(len(rollouts), 2.0), low=1.0, high=3.0)
    recipe = replace(gr.recipe(CLICK["recipe"], response_space="pixel"), reward=weighted(constant=(1.0, constant)))
    assert call(recipe=recipe)["score"] == 2.0
    assert call(truth=BAD, recipe=recipe)["score"] == 0.0


def test_no_usable_target_among_the_first_64_is_wiring() -> None:
    for _ in range(63):
        assert call(truth=BAD, **CLICK)["valid"] == 0.0
    with pytest.raises(
        gr.RecipeError,
        match=r"not one of the first 64 targets can be used; check the data set's reward_model\.ground_truth: .*'bbox'",
    ):
        call(truth=BAD, **CLICK)
    assert call(**CLICK)["score"] == 1.0
    assert call(truth=BAD, **CLICK)["valid"] == 0.0


def test_recipes_that_need_other_rows_are_refused_by_name() -> None:
    needy = gr.verifier(lambda rollouts: np.zeros(len(rollouts)), low=0.0, high=1.0, needs=["groups"])
    recipe = replace(gr.recipe("gelato"), name="needy", reward=weighted(needy=(1.0, needy)))
    with pytest.raises(
        gr.RecipeError, match="needy compares the rollouts of one sample; verl gives single samples; TRL and EasyR1"
    ):
        call(recipe=recipe)
    with pytest.raises(gr.RecipeError, match="ui-s1 adds up a trajectory; verl gives single samples"):
        call(recipe="ui-s1", returns=True)


THOUSANDTHS = {"recipe": "click", "response_space": "thousandths", "format_weight": 0.0}


def test_sizes_come_from_extra_info_where_the_target_has_none() -> None:
    sized = {**BOX, "image_size": [100, 50]}
    assert call("(200, 300)", sized, {"image_size": [1000, 1000]}, **THOUSANDTHS)["score"] == 1.0
    for size in ([100, 50], (100, 50), np.array([100, 50]), [100.0, 50.0], "[100, 50]"):
        assert call("(200, 300)", BOX, {"image_size": size, "model_image_size": None}, **THOUSANDTHS)["score"] == 1.0
    assert call("(200, 300)", BOX, {"image_size": [1000, 1000]}, **THOUSANDTHS)["score"] == 0.0
    model = {"recipe": "click", "response_space": "model_pixel"}
    both = {"image_size": [100, 50], "model_image_size": [200, 100]}
    assert call("(40, 30)", BOX, both, **model)["score"] == 1.0


@pytest.mark.parametrize("size", [[100], "large", [0, 50], {}, [float("nan"), 5], [None, None], 7, object()])
def test_a_size_that_is_none_is_a_bad_target_where_it_is_needed(size: Any, caplog: pytest.LogCaptureFixture) -> None:
    call("(200, 300)", {**BOX, "image_size": [100, 50]}, **THOUSANDTHS)
    with caplog.at_level(logging.ERROR):
        found = call("(200, 300)", {**BOX, "id": "a7"}, {"image_size": size}, **THOUSANDTHS)
    assert (found["score"], found["valid"]) == (0.0, 0.0)
    size_said, target_said = [record.message for record in caplog.records]
    assert size_said.startswith("extra_info.image_size: got ")
    assert size_said.endswith("; expected [width, height]; anything else counts as unknown")
    assert "target of sample 'a7', field 'image_size'" in target_said


def test_extra_info_is_not_changed_and_may_be_anything() -> None:
    extra = {"index": 0, "image_size": [100, 50], "num_turns": None, "rollout_reward_scores": {}, "polygon": None}
    before = deepcopy(extra)
    call("(200, 300)", BOX, extra, **THOUSANDTHS)
    assert extra == before
    assert call(extra={}, **CLICK) == call(extra=None, **CLICK) == call(extra="?", **CLICK)


def by_path() -> Any:
    """The module as verl loads a file: under a name that is in no table, and left out of it."""
    spec = importlib.util.spec_from_file_location("custom_module_5", verl.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "custom_module_5" not in sys.modules
    return module


def test_loaded_by_path_it_does_the_same_and_shares_the_recipe() -> None:
    module = by_path()
    assert module.compute_score("clicks", "(20, 15)", BOX, None, **CLICK) == call(**CLICK)
    assert len({id(scorer) for scorer in _scorer._SCORERS.values()}) == 1


def test_it_holds_functions_and_no_classes() -> None:
    own = [thing for thing in vars(by_path()).values() if getattr(thing, "__module__", "") == "custom_module_5"]
    assert own
    assert not any(isinstance(thing, type) for thing in own)


def test_32_threads_build_the_recipe_once(tmp_path: Path) -> None:
    path = tmp_path / "counted.py"
    path.write_text(
        "import grounding_rewards as gr\nCALLS = []\n"
        "def build():\n    CALLS.append(1)\n    return gr.recipe('click', response_space='pixel')\n"
    )
    texts = ["(20, 15)", "?"] * 100
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda text: call(text, recipe=f"{path}:build")["score"], texts))
    assert found == [1.0, 0.0] * 100
    from grounding_rewards.plugins.loading import load

    assert load(f"{path}:CALLS") == [1]


def test_32_threads_log_a_bad_target_once(caplog: pytest.LogCaptureFixture) -> None:
    call(**CLICK)
    with caplog.at_level(logging.ERROR), ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda row: call(truth={**BAD, "id": f"a{row % 3}"}, **CLICK), range(200)))
    assert sorted(record.message[:20] for record in caplog.records) == [f"target of sample 'a{row}" for row in range(3)]


def test_a_spawned_process_scores_own_terms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = named_in_a_config(write_terms(tmp_path))
    write_plugin(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # which multiprocessing hands on
    jobs = [
        partial(compute_score, "clicks", solution_str=text, ground_truth=BOX, **each)
        for each in options.values()
        for text in TOTALS
    ]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = [job.result()["score"] for job in [pool.submit(job) for job in jobs]]
    assert found == [*TOTALS.values()] * len(options)


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


def awaited(*tasks: tuple[Any, ...], **options: Any) -> list[Any]:
    """Return what each call of the awaited form gives or raises, all of them at once."""

    async def run() -> list[Any]:
        return await asyncio.gather(*[compute_score_async(*task, **options) for task in tasks], return_exceptions=True)

    return asyncio.run(run())


def test_rows_that_wait_are_one_batch_and_get_their_own_scores_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    score = verl._scored
    monkeypatch.setattr(verl, "_scored", lambda *rows: counts.append(len(rows[1])) or score(*rows))
    boxes = [{"bbox": [10 * row, 10, 10 * row + 9, 20]} for row in range(50)]
    rows = [("clicks", f"({10 * row + 5}, 15)", boxes[row], None) for row in range(50)]
    assert [each["score"] for each in awaited(*rows, *[(*row[:2], boxes[0], None) for row in rows], **PAIR)] == [
        *[1.0] * 50, 1.0, *[0.1] * 49,
    ]  # fmt: skip
    assert counts == [100]
    counts.clear()
    bad = [*rows[:3], ("clicks", "(5, 15)", {"bbox": [1, 2], "id": "odd"}, None), ("clicks", 7, BOX, None), *rows[:2]]
    found = awaited(*bad, **PAIR, bad_target="raise")
    assert [each["score"] for each in (*found[:3], *found[5:])] == [1.0] * 5
    with pytest.raises(gr.TargetError, match=r"target of sample 'odd', field 'bbox': got .*4 numbers"):
        raise found[3]
    with pytest.raises(TypeError, match="expected a string"):
        raise found[4]
    assert counts == [7, *[1] * 7]  # the batch that failed, and then each row alone


def test_other_options_are_another_batch() -> None:
    async def run() -> list[dict[str, float]]:
        other = {**PAIR, "target_space": "unit"}
        rows = [("clicks", "(20, 15)", {**BOX, "image_size": [100, 100]})] * 2
        return await asyncio.gather(compute_score_async(*rows[0], **PAIR), compute_score_async(*rows[1], **other))

    assert [(row["score"], row["valid"]) for row in asyncio.run(run())] == [(1.0, 1.0), (0.0, 0.0)]


@pytest.mark.parametrize("late", [False, True])
def test_a_row_that_is_given_up_leaves_the_others(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, score, counts = Event(), Event(), verl._scored, list[int]()

    def slow(*rows: Any) -> Any:
        counts.append(len(rows[1]))
        begun.set()
        assert go.wait(20)
        return score(*rows)

    async def run() -> list[Any]:
        tasks = [asyncio.create_task(compute_score_async("clicks", "(20, 15)", BOX, **PAIR)) for _ in range(3)]
        await asyncio.sleep(0)
        while late and not begun.is_set():
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        await asyncio.sleep(0)
        go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    monkeypatch.setattr(verl, "_scored", slow)

    found = asyncio.run(run())
    assert isinstance(found[1], asyncio.CancelledError)
    assert [found[row]["score"] for row in (0, 2)] == [1.0, 1.0]
    assert counts == [3 if late else 2]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # what trainers do, and Python 3.12 warns of
def test_loops_of_several_threads_and_of_a_forked_process_wait_apart() -> None:
    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(awaited, *[("clicks", "(20, 15)", BOX)] * 20, **PAIR) for _ in range(8)]
        assert [[row["score"] for row in run.result(20)] for run in runs] == [[1.0] * 20] * 8

    async def forked() -> int:
        waits = asyncio.create_task(compute_score_async("clicks", "(20, 15)", BOX, **PAIR))
        await asyncio.sleep(0)  # a row waits here while the process is forked
        if (child := os.fork()) == 0:
            found = awaited(("clicks", "(20, 15)", BOX), ("clicks", "(50, 15)", BOX), **PAIR)
            os._exit(0 if [row["score"] for row in found] == [1.0, 0.1] else 1)
        assert (await waits)["score"] == 1.0
        return os.waitpid(child, 0)[1]

    assert asyncio.run(forked()) == 0
