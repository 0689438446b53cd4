"""EasyR1's other manager, which calls a reward function for each row: the file whose REWARD_TYPE says so."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
import grounding_rewards_adapters
from tests.contracts import easyr1

FOLDER = Path(grounding_rewards_adapters.__file__).parent
BOX = {"bbox": [10, 10, 30, 20], "id": "a7"}
CLICK = {"recipe": "click", "response_space": "pixel"}
TEXTS = ["(20, 15)", "(50, 15)", "no idea", "", "\ud800", "(" * 5000, "(1e999, 1)", "<think>", "(20, 15)" * 300]


def manager(kind: str = "easyr1_sequential", **options: Any) -> easyr1.Manager:
    file = f"{FOLDER / kind}.py:compute_score"
    return easyr1.Manager({"reward_function": file, "reward_function_kwargs": options})


def test_it_says_that_it_wants_one_row_a_call() -> None:
    found = manager(**CLICK)
    assert (found.name, found.kind) == ("grounding_rewards", "sequential")
    assert manager("easyr1", **CLICK).kind == "batch"


@pytest.mark.parametrize(
    "options", [CLICK, {**CLICK, "format_weight": 0.25}, {**CLICK, "recipe": "composite", "parts": {"hit": 0.5}}]
)
def test_it_gives_what_the_batch_gives(options: dict[str, Any]) -> None:
    rows = easyr1.inputs(TEXTS, [BOX, json.dumps(BOX), *[{**BOX, "image_size": [100, 50]}] * 7])
    one, all_at_once = manager(**options).compute_reward(rows), manager("easyr1", **options).compute_reward(rows)
    assert one == all_at_once
    assert [list(row) for row in one] == [list(row) for row in all_at_once]
    assert all(type(value) is float and math.isfinite(value) for row in one for value in row.values())
    assert one[0]["accuracy"] == 1.0


@pytest.mark.parametrize(
    "options", [{"recipe": "gui-rcpo", "response_space": "pixel"}, {"recipe": "ui-r1-dast"}], ids=["rcpo", "dast"]
)
def test_recipes_that_compare_rollouts_are_refused_by_name(options: dict[str, Any]) -> None:
    said = f"{options['recipe']} compares the rollouts of one sample; EasyR1's sequential entry gives single samples"
    with pytest.raises(gr.RecipeError, match=said):
        manager(**options).compute_reward(easyr1.inputs(["(1, 1)"], [{"id": "a"}]))
    assert manager("easyr1", **options).compute_reward([]) == []


def test_it_goes_to_a_worker_by_reference() -> None:
    score = manager(**CLICK).score
    assert pickle.loads(pickle.dumps(score)).func is score.func
