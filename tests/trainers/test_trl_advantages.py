"""Our advantages beside those that TRL's own trainers compute of the same rewards."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from tests.trainers.trl_tiny import MARKS, text_policy, train

pytestmark = MARKS


@pytest.fixture(scope="module")
def policy() -> tuple[Any, Any]:
    return text_policy()


class Random:
    """A reward function of random numbers, some of which repeat, and of which a share is missing."""

    def __init__(self, name: str, seed: int, missing: float = 0.0) -> None:
        self.__name__, self.missing, self.rng = name, missing, np.random.default_rng(seed)

    def __call__(self, completions: list[Any], **_: Any) -> list[float | None]:
        numbers = self.rng.integers(0, 4, len(completions)) / 3
        return [None if self.rng.random() < self.missing else float(number) for number in numbers]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, list[float]], list[float]]]:
    """Rewards by function and advantages of each step, as the trainers hand them to what prints them."""
    steps: list[Any] = []

    def keep(prompts: Any, completions: Any, rewards: Any, advantages: Any, *_: Any, **__: Any) -> None:
        steps.append(({name: list(values) for name, values in rewards.items()}, list(advantages)))

    for name in ("grpo_trainer", "rloo_trainer"):
        monkeypatch.setattr(importlib.import_module(f"trl.trainer.{name}"), "print_prompt_completions_sample", keep)
    return steps


def run(policy: Any, out: Path, functions: list[Any], **settings: Any) -> None:
    train(policy, [{"prompt": "click"} for _ in range(8)], functions, out, log_completions=True, **settings)


GROUPS = np.repeat([0, 1], 4)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize(
    ("settings", "ours"),
    [
        ({"scale_rewards": "group"}, lambda rewards: gr.advantages.grpo(rewards, GROUPS, epsilon=1e-4)),
        ({"scale_rewards": "none"}, lambda rewards: gr.advantages.dr_grpo(rewards, GROUPS)),
        ({"method": "RLOO", "beta": 0.0}, lambda rewards: gr.advantages.leave_one_out(rewards, GROUPS)),
    ],
    ids=["grpo", "dr_grpo", "leave_one_out"],
)
def test_advantages_are_those_of_trl(
    policy: Any, tmp_path: Path, logged: Any, settings: Any, ours: Any, missing: float
) -> None:
    run(policy, tmp_path, [Random("draw", 3, missing)], **settings)
    assert len(logged) >= 2
    for rewards, advantages in logged:
        expected = ours(rewards["draw"])
        assert np.abs(expected).max() > 0.1
        assert advantages == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_gdpo_is_that_of_trl(policy: Any, tmp_path: Path, logged: Any, missing: float) -> None:
    weights = {"one": 1.0, "two": 0.5, "three": 0.0}
    functions = [Random(name, seed, missing) for seed, name in enumerate(weights)]
    settings = {"multi_objective_aggregation": "normalize_then_sum", "reward_weights": [*weights.values()]}
    run(policy, tmp_path, functions, **settings)
    assert len(logged) >= 2
    for parts, advantages in logged:
        expected = gr.advantages.gdpo(parts, GROUPS, weights)
        assert np.abs(expected).max() > 0.1
        assert advantages == pytest.approx(expected.tolist(), abs=1e-4)


def test_trl_knows_the_settings_of_the_page(tmp_path: Path) -> None:
    trl, page = pytest.importorskip("trl"), Path(__file__).parents[2] / "docs" / "advantages.md"
    configs = re.findall(r"`((?:GRPO|RLOO)Config\()([^`]+)\)`", page.read_text("utf-8"))
    assert len(configs) == 4
    for maker, settings in configs:
        wanted = eval(f"dict({settings})")
        config = eval(f"trl.{maker}output_dir={str(tmp_path)!r}, use_cpu=True, bf16=False, {settings})", {"trl": trl})
        assert {name: getattr(config, name) for name in wanted} == wanted
