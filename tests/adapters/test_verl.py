"""The verl adapter, called as verl calls it: by keyword, one sample, from many threads."""

from __future__ import annotations

import importlib.util
import logging
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards_adapters import _scorer, verl
from grounding_rewards_adapters.verl import compute_score
from tests.adapters.own_terms import BOX, TOTALS, named_in_a_config, write_plugin, write_terms

BAD = {"bbox": [30, 10, 10, 20]}
CLICK = {"recipe": "click", "response_space": "pixel"}
PAIR = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.9, "format": 0.1}}
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


def test_bad_target_raise() -> None:
    with pytest.raises(gr.TargetError, match="field 'bbox'"):
        call(truth=BAD, bad_target="raise", **CLICK)
    with pytest.raises(gr.RecipeError, match="bad_target: got 'rise'"):
        call(bad_target="rise", **CLICK)


def test_no_recipe_names_the_key_to_set() -> None:
    with pytest.raises(
        gr.RecipeError,
        match=r"no recipe is named; set reward\.custom_reward_function\.reward_kwargs\.recipe \(\+ before it .*gelato",
    ):
        call()
    with pytest.raises(gr.RecipeError, match="unknown option 'format_wieght'; did you mean 'format_weight'"):
        call(**CLICK, format_wieght=1)
    with pytest.raises(gr.RecipeError, match="expected plain values"):
        call(**CLICK, format_weight=object())


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
    for size in ([100, 50], (100, 50), np.array([100, 50]), [100.0, 50.0]):
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


def test_a_size_that_is_none_does_no_harm_where_none_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        for size in ("junk", "large"):
            found = call("(20, 15)", BOX, {"image_size": size}, recipe="click", response_space="pixel")
            assert (found["score"], found["valid"]) == (1.0, 1.0)
    assert [record.message[:32] for record in caplog.records] == ["extra_info.image_size: got 'junk"]


def test_a_size_may_be_json() -> None:
    assert call("(200, 300)", BOX, {"image_size": "[100, 50]"}, **THOUSANDTHS)["score"] == 1.0


def test_extra_info_is_not_changed_and_may_be_anything() -> None:
    extra = {"index": 0, "image_size": [100, 50], "num_turns": None, "rollout_reward_scores": {}, "polygon": None}
    before = deepcopy(extra)
    call("(200, 300)", BOX, extra, **THOUSANDTHS)
    assert extra == before
    assert call(extra={}, **CLICK) == call(extra=None, **CLICK) == call(extra="?", **CLICK)


def test_a_reward_models_arguments_are_ignored() -> None:
    assert call(reward_router_address="x:1", reward_model_tokenizer=object(), **CLICK) == call(**CLICK)


def test_targets_as_they_come_from_parquet() -> None:
    truths = ['{"bbox": [10, 10, 30, 20]}', [10, 10, 30, 20], np.array([10, 10, 30, 20]), {**BOX, "polygon": None}]
    assert [call(truth=truth, **CLICK)["score"] for truth in truths] == [1.0] * 4


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


def test_a_relative_path_is_another_file_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"own": {"verifier": "own.py:own", "weight": 1, "low": 0, "high": 1}}
    for score in (0.25, 0.75):
        folder = tmp_path / str(score)
        folder.mkdir()
        (folder / "own.py").write_text(f"def own(rollouts): return [{score}] * len(rollouts)")
        monkeypatch.chdir(folder)
        assert call(recipe="composite", response_space="pixel", parts=parts)["score"] == score


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
