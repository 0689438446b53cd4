"""Reward functions of one's own as recipes: called as their trainers call them, whatever they do."""

from __future__ import annotations

import math
import os
import pickle
import sys
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, score_rows
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.wrapping import contract_of, wrap
from grounding_rewards_adapters.trl import reward_funcs

TARGET = {"bbox": [1, 1, 9, 9], "id": "a", "extra": {"own": 1}}
ODD = ["ok", "raise", "exit", "nan", "inf", "huge", "none", "text", "list", "ok"]
MADE: dict[str, Any] = {
    "ok": 0.5, "nan": math.nan, "inf": math.inf, "huge": 10**400, "none": None, "text": "1", "list": [1, 2],
}  # fmt: skip
FAULTS = {
    1: "raised ValueError: no", 2: "raised SystemExit: 3", 3: "returned nan, outside -1e+09 to 1e+09",
    4: "returned inf, outside -1e+09 to 1e+09", 5: "returned inf, outside -1e+09 to 1e+09", 6: "returned None",
    7: "returned '1'", 8: "returned [1, 2]",
}  # fmt: skip


def odd(response, target):
    if response == "raise":
        raise ValueError("no")
    if response == "exit":
        sys.exit(3)
    return MADE[response]


def odd_batch(completions, **columns):
    return [odd(each, None) for each in completions]


def verl(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": len(solution_str), "acc": ground_truth == TARGET, "heard": (data_source, extra_info)}


def easyr1(reward_input):
    return {"overall": reward_input["response_length"] / 2, "format": 1.0, "accuracy": 0.0}


def easyr1_batch(reward_inputs, format_weight=0.1):
    return [{"overall": len(each["response"]) + format_weight} for each in reward_inputs]


def openrlhf(queries, prompts, labels):
    return {"rewards": np.array([len(query) for query in queries]), "scores": None}


class Orm:
    def __call__(self, completions, solution, **kwargs):
        return [float(text == right) for text, right in zip(completions, solution, strict=True)]


def lists(responses, targets):
    return np.array([len(text) + len(target["bbox"]) for text, target in zip(responses, targets, strict=True)])


def short(responses, targets):
    return [1.0] * (len(responses) - 1)


def hangs(response, target):
    if response == "hang":
        sleep(60)
    if response == "die":
        os._exit(3)
    return 1.0


@pytest.mark.parametrize(
    ("fn", "contract", "totals", "acc"),
    [
        (verl, "verl", [2, 0], [1, 1]),
        (easyr1, "easyr1", [1, 0], [0, 0]),
        (easyr1_batch, "easyr1-batch", [2.1, 0.1], [1, 0]),
        (openrlhf, "openrlhf", [5, 3], [1, 1]),
        (Orm, "swift", [1, 0], [1, 0]),
        (lists, "plain-batch", [6, 4], [1, 1]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_is_called_as_its_trainer_calls_it(fn, contract, totals, acc):
    assert contract_of(fn) == contract
    columns = {"data_source": ["lab", "lab"], "solution": ["hi", "?"], "prompt": ["ask", "ask"]}
    scores = wrap(fn).score(["hi", None], [TARGET] * 2, extras=columns)
    assert (scores.total.tolist(), scores.acc.tolist()) == (totals, acc)
    assert scores.parts["failed"].tolist() == [0, 0]


def test_verl_gets_its_source_and_information_of_each_row():
    heard = []

    def mine(data_source, solution_str, ground_truth, extra_info=None):
        heard.append((data_source, solution_str, ground_truth, extra_info))
        return 1.0

    wrap(mine).score(["hi"], ['{"any": "text"}'], extras={"data_source": ["lab"], "extra_info": [{"index": 3}]})
    assert heard == [("lab", "hi", '{"any": "text"}', {"index": 3})]


def test_trl_gets_messages_where_prompts_are_messages():
    def mine(prompts, completions, **columns):
        return [float(text[0]["content"] == "hi" and prompt[0]["role"] == "user" and columns["size"][row] == row)
                for row, (prompt, text) in enumerate(zip(prompts, completions, strict=True))]  # fmt: skip

    extras = {"prompt": [[{"role": "user", "content": "?"}]] * 2, "size": [0, 1]}
    assert wrap(mine).score(["hi", "no"], [TARGET] * 2, extras=extras).total.tolist() == [1, 0]


@pytest.mark.parametrize("fn", [odd, odd_batch])
def test_whatever_a_function_does_costs_its_row_alone(fn):
    scores = wrap(fn).score(ODD, [TARGET] * len(ODD))
    assert scores.total.tolist() == [0.5, *[0] * 8, 0.5]
    assert scores.parts["failed"].tolist() == [0, *[1] * 8, 0]
    assert scores.faults == FAULTS
    assert wrap(fn, success=0.5).score(ODD, [TARGET] * len(ODD)).acc.tolist() == [1, *[0] * 8, 1]


def test_a_batch_with_too_few_numbers_fails_row_by_row():
    faults = wrap(short).score(["a", "b"], [TARGET] * 2).faults
    assert faults == dict.fromkeys((0, 1), "returned 0 numbers for 1 responses")


@pytest.mark.slow
def test_a_time_limit_ends_what_hangs_or_dies_and_goes_on():
    scores = wrap(hangs, time_limit=1.5).score(["a", "hang", "die", "b"], [TARGET] * 4)
    assert scores.total.tolist() == [1, 0, 0, 1]
    assert scores.faults == {1: "took longer than 1.5 s", 2: "ended its process"}


def test_a_finding_names_the_first_row_and_nothing_else_is_looked_at():
    recipe = wrap(odd)
    diagnosis = Diagnosis(recipe)
    diagnosis.add(score_rows(recipe, Inputs(ODD * 3, [TARGET] * 30), "raise"))
    (found,) = diagnosis.findings()
    assert (str(found.code), found.count, found.rows) == ("failed", 24, (1, 2, 3, 4, 5))
    assert str(found).removeprefix(recipe.name) == (
        " gave no usable number for 24 of 30 rows, which score 0: it raised ValueError: no"
    )


def test_a_place_of_code_is_a_recipe_with_the_options_of_wrap(tmp_path):
    (tmp_path / "mine.py").write_text("def reward(response, target):\n    return {'score': 2 * (response == target)}\n")
    recipe = gr.recipe(f"{tmp_path}/mine.py:reward", success=2)
    assert recipe.to_dict() == {"name": f"{tmp_path}/mine.py:reward", "success": 2}
    assert gr.recipe(recipe.to_dict()) == recipe == pickle.loads(pickle.dumps(recipe))
    assert recipe.score(["hi", "ho"], ["hi", "hi"]).acc.tolist() == [1, 0]


def test_a_class_as_ms_swift_has_them_is_a_recipe_by_its_place(tmp_path):
    (tmp_path / "orm.py").write_text(
        "class Mine:\n    def __call__(self, completions, size, **columns):\n        return size\n"
    )
    assert gr.recipe(f"{tmp_path}/orm.py:Mine").score(["hi"], [TARGET], extras={"size": [0.25]}).total.tolist() == [
        0.25
    ]


def test_trl_takes_a_function_of_responses_and_targets():
    (reward,) = reward_funcs(lists, diagnose=False)
    assert reward(completions=["hi", ""], target=[TARGET] * 2) == [6, 4]


@pytest.mark.parametrize(
    ("fn", "contract", "complaint"),
    [
        (3, "auto", r"wrap\(fn\): got 3; expected a reward function"),
        (odd, "grpo", "odd: contract: got 'grpo'; expected one of auto, verl, trl, "),
        (lambda: 1.0, "auto", "its parameters tell no contract; say one of verl, trl, "),
    ],
)
def test_what_cannot_be_wrapped_says_what_is_expected(fn, contract, complaint):
    with pytest.raises(gr.RecipeError, match=complaint):
        wrap(fn, contract)


def test_one_number_in_an_array_or_a_tensor_is_a_number():
    values = [np.float32(0.5), np.array([0.5]), SimpleNamespace(item=lambda: 0.5), True]
    assert wrap(lambda answer, at: values[int(answer)]).score(list("0123"), [0] * 4).total.tolist() == [0.5] * 3 + [1.0]
