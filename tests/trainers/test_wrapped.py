"""A wrapped function of one's own returns on 4,096 rows what the real trainer gets of the function itself."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.wrapping import WrappedScores
from tests.adapters.own_terms import TOTALS
from tests.contracts import easyr1
from tests.trainers import trl_tiny, verl_launch

ROWS = 4096
BODY = r"""
import json
import re


def judged(text, truth, scale):
    found = re.search(r"\((\d+), (\d+)\)", text)
    if found is None:
        return 0.0
    x1, y1, x2, y2 = json.loads(truth)["bbox"]
    return scale * (x1 <= int(found[1]) <= x2 and y1 <= int(found[2]) < y2) + 0.25


def for_verl(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": judged(solution_str, ground_truth, 0.5 + (extra_info["index"] % 2) * 0.25), "acc": 0.0}


def for_trl(completions, target, size, **columns):
    return [judged(text, truth, scale) for text, truth, scale in zip(completions, target, size, strict=True)]


def for_easyr1(reward_inputs, scale=0.5):
    return [{"overall": judged(each["response"], each["ground_truth"], scale)} for each in reward_inputs]


REWARD_TYPE = "batch"
"""
TEXTS = [*TOTALS, *verl_launch.HOSTILE]
RESPONSES = [TEXTS[row % len(TEXTS)] for row in range(ROWS)]
TRUTHS = [json.dumps({"bbox": [row % 31, 10, 30 + row % 37, 12 + row % 7]}) for row in range(ROWS)]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a lab."""
    file = tmp_path_factory.mktemp("own") / "lab_reward.py"
    file.write_text(BODY)
    return file


def wrapped(place: str, contract: str, **extras: Any) -> list[float]:
    """Return the totals of the wrapped function, none of which fails."""
    recipe = gr.recipe(place)
    assert recipe.formula.endswith(contract)
    scores = recipe.score(RESPONSES, TRUTHS, extras=extras)
    assert isinstance(scores, WrappedScores)
    assert not scores.faults
    totals: list[float] = scores.total.tolist()
    assert len({*totals}) > 2
    return totals


def test_in_easyr1_as_its_loader_calls_it(own: Path) -> None:
    manager = easyr1.Manager({"reward_function": f"{own}:for_easyr1", "reward_function_kwargs": {}})
    found = manager.compute_reward(easyr1.inputs(RESPONSES, TRUTHS))
    assert [row["overall"] for row in found] == wrapped(f"{own}:for_easyr1", "easyr1")


class TestVerl:
    pytestmark = verl_launch.MARKS

    def test_in_verl_as_its_manager_calls_it(self, own: Path, lab: Path, base: Any) -> None:
        infos = [{"index": row} for row in range(ROWS)]
        data = verl_launch.rows(RESPONSES, TRUTHS, infos)
        launch = f"{verl_launch.LAUNCH}.name=for_verl"
        itself = verl_launch.managed(lab, verl_launch.launched(base, {}, str(own), launch), data)
        mine = wrapped(f"{own}:for_verl", "verl", data_source=["clicks"] * ROWS, extra_info=infos)
        assert [row["reward_score"] for row in itself] == mine
        ours = {"recipe": f"{own}:for_verl"}
        name = f"{verl_launch.LAUNCH}.name=compute_score"
        adapted = verl_launch.managed(lab, verl_launch.launched(base, ours, verl_launch.PACKAGE, name), data)
        assert [row["reward_score"] for row in adapted] == mine


class TestTrl:
    pytestmark = trl_tiny.MARKS

    def test_in_trl_as_its_trainer_calls_it(self, own: Path, tmp_path: Path) -> None:
        from grounding_rewards.plugins.loading import load
        from grounding_rewards_adapters.trl import reward_funcs

        trl = pytest.importorskip("trl")
        scales = [0.5 + row % 3 * 0.125 for row in range(ROWS)]
        rows = [
            {"prompt": "click", "target": truth, "size": scale} for truth, scale in zip(TRUTHS, scales, strict=True)
        ]
        model, tokenizer = trl_tiny.text_policy()
        functions = [load(f"{own}:for_trl"), *reward_funcs(f"{own}:for_trl", diagnose=False)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = trl.GRPOConfig(output_dir=str(tmp_path), **trl_tiny.SETTINGS)
            trainer = trl.GRPOTrainer(
                model=model, reward_funcs=functions, args=args, processing_class=tokenizer,
                train_dataset=pytest.importorskip("datasets").Dataset.from_list(rows[:8]),
            )  # fmt: skip
        found = trainer._calculate_rewards(rows, ["click"] * ROWS, RESPONSES, [[1]] * ROWS)
        mine = wrapped(f"{own}:for_trl", "trl", prompt=["click"] * ROWS, target=TRUTHS, size=scales)
        assert found.T.tolist() == [mine, mine]
