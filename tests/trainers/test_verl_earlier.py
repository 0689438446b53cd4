"""verl up to 0.7.0, whose settings have other names, and whose trainers use the legacy managers."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from grounding_rewards_adapters._launch import installed
from tests.adapters.own_terms import TOTALS
from tests.trainers.verl_launch import CLICK, FILE, MARKS, PACKAGE, batch, composed, tokenizer, written

VERSION = installed("verl")
pytestmark = [*MARKS, pytest.mark.skipif(VERSION not in ("0.6.1", "0.7.0"), reason="this is for verl 0.6.1 and 0.7.0")]

FUNCTIONS = {
    "naive": "compute_score",
    "dapo": "compute_score",
    "batch": "compute_score_batch",
    "prime": "compute_total",
}
"""The function of ours that each manager is for."""
DAPO = "+reward_model.reward_kwargs={max_resp_len: 2, overlong_buffer_cfg: {enable: false, len: 1}}"  # it fails without


def reward(lab: Path, manager: str, path: str) -> list[float]:
    """Return the rewards that verl's trainer would get with this launch line."""
    sys.modules.pop("custom_module", None)  # verl 0.6.1 loads one file a process
    options = [f"+custom_reward_function.reward_kwargs.{key}={written(value)}" for key, value in CLICK.items()]
    launch = [f"custom_reward_function.path={path}", f"custom_reward_function.name={FUNCTIONS[manager]}", *options]
    own = [DAPO] if manager == "dapo" else []
    config = composed(lab, *launch, f"reward_model.reward_manager={manager}", *own)
    load = importlib.import_module("verl.trainer.ppo.reward").load_reward_manager
    made = load(config, tokenizer(lab), num_examine=0, **config.reward_model.get("reward_kwargs", {}))
    tensor = made(batch(list(TOTALS)))
    assert tensor[:, 0].tolist() == [0.0] * 4
    rewards: list[float] = tensor[:, 1].tolist()
    return rewards


@pytest.mark.parametrize("manager", FUNCTIONS)
def test_managers_by_the_path_of_the_file(lab: Path, manager: str, caplog: pytest.LogCaptureFixture) -> None:
    silent = VERSION == "0.7.0" and manager == "prime"  # it cannot hand such a function to its processes
    assert reward(lab, manager, str(FILE)) == pytest.approx([0.0] * 4 if silent else [1.0, 1.0, 0.1, 0.0])
    assert ("its prime manager gives every response 0.0" in caplog.text) == (VERSION == "0.7.0")


@pytest.mark.parametrize("manager", FUNCTIONS)
def test_managers_by_the_packages_name(lab: Path, manager: str) -> None:
    if VERSION == "0.6.1":
        with pytest.raises(FileNotFoundError, match=r"Reward function file 'pkg://.*' not found"):
            reward(lab, manager, PACKAGE)
    else:
        assert reward(lab, manager, PACKAGE) == pytest.approx([1.0, 1.0, 0.1, 0.0])
