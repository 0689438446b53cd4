"""AsyncGRPO: rewards are pickled into a spawned process, and called there at the same time, without what logs."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.verifiers import Format, Hit
from grounding_rewards_adapters.trl import reward_funcs
from tests.trainers.trl_tiny import MARKS

pytestmark = MARKS

BOX = [0.0, 0.0, 0.5, 0.5]
SAID = ["(250, 250)", "(900, 900)", "?", "(100, 100)"]

OWN = """
import numpy as np

def brief(rollouts, limit):
    return np.array([float(len(text) <= limit) for text in rollouts.text])
"""


def scored(functions: list[Any], columns: dict[str, list[Any]]) -> list[Any]:
    """One group of four rollouts, through the scoring of the trainer's own loop."""
    pytest.importorskip("trl")
    accelerate = pytest.importorskip("accelerate")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from trl.experimental.async_grpo import async_rollout_worker as worker
    accelerate.PartialState()
    loop = object.__new__(worker._AsyncRolloutLoop)
    loop.reward_funcs, loop._env_reward_types = functions, []
    loop.reward_func_names = [worker.get_callable_name(function) for function in functions]
    sequence = type("Sequence", (), {"input_ids": [1], "completion_mask": [1], "old_log_probs": [0.0]})()
    group = worker.RolloutGroup(
        prompts=[[{"role": "user", "content": "click"}]] * 4,
        reward_kwargs=columns,
        completions=[[{"role": "assistant", "content": text}] for text in SAID],
        completions_ids=[[1, 2]] * 4,
        completions_sequences=[[sequence]] * 4,
        tool_call_counts=[0] * 4,
        tool_failure_counts=[0] * 4,
        model_version=0,
        group_id=0,
        env_rewards=[None] * 4,
        rollout_rewards=[None] * 4,
    )
    return asyncio.run(loop._score_group(group))


def test_the_scoring_loop_takes_what_was_pickled() -> None:
    functions = pickle.loads(pickle.dumps(reward_funcs("gelato", format_weight=0.5)))
    samples = scored(functions, {"target": [BOX, BOX, BOX, [0.5, 0.5, 0.1, 0.1]]})
    total = gr.recipe("gelato", format_weight=0.5).score(SAID[:3], [BOX] * 3).total
    assert [sample.metrics["rewards/gelato"] for sample in samples[:3]] == total.tolist()
    assert samples[3].advantage == 0.0
    expected = (total - total.mean()) / total.std()
    np.testing.assert_allclose([sample.advantage for sample in samples[:3]], expected, atol=1e-6)


def test_split_functions_that_run_at_the_same_time_score_once() -> None:
    calls: list[int] = []

    def count(rollouts: gr.Rollouts) -> Any:
        calls.append(len(rollouts))
        return np.zeros(len(rollouts))

    parts = {"hit": (1.0, Hit()), "shape": (1.0, Format()), "none": (1.0, gr.verifier(count, low=0.0, high=1.0))}
    recipe = replace(gr.recipe("gelato"), name="own", reward=weighted(**parts))
    samples = scored(reward_funcs(recipe, split=True), {"target": [BOX] * 4})
    assert [sample.metrics["rewards/own/hit"] for sample in samples] == [1.0, 0.0, 0.0, 1.0]
    assert [sample.metrics["reward"] for sample in samples] == [2.0, 1.0, 0.0, 2.0]
    assert calls == [4]


def test_a_spawned_process_scores_alike(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    brief = {"verifier": f"{tmp_path}/own.py:brief", "weight": 0.5, "low": 0, "high": 1, "limit": 5}
    parts = {"hit": 0.5, "brief": brief}
    functions = [
        *reward_funcs("gelato", split=True, format_weight=0.25, record=str(tmp_path / "rollouts")),
        *reward_funcs("composite", parts=parts, response_space="thousandths", target_space="unit", space="unit"),
        *reward_funcs(routes={"kind": {"a": "gelato", "b": {"name": "gelato", "format_weight": 1.0}}}),
    ]
    rows = {"completions": SAID, "target": [BOX] * 4, "kind": list("abab")}
    here = [function(**rows) for function in functions]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = [pool.apply_async(function, (), rows).get(timeout=120) for function in functions]
    assert there == here
    assert here[2:] == [[0.5, 0.0, 0.5, 0.5], [1.0, 1.0, 0.0, 1.0]]
