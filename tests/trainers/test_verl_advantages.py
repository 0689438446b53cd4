"""Advantages beside verl's own estimators, and ours in its registry, its trainers' calls and its launch."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from tests.trainers.test_verl_training import HIT, MISS, MUTE, by_default, grouped, module
from tests.trainers.verl_launch import CLICK, MARKS, compose, launched, stand_ins

pytestmark = MARKS

MODULE = "grounding_rewards_adapters.verl_advantages"
DOCS = Path(__file__).parents[2] / "docs" / "advantages.md"
TORCH = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def registered() -> Any:
    with stand_ins():
        __import__(MODULE)
        yield module("trainer.ppo.core_algos")


def draw(seed: int) -> tuple[Any, Any, Any, Any]:
    """Return rewards, a row of tokens of random length for each, its mask, and groups of 2 to 5 rows in any order."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([f"u{group}" for group in range(6)], rng.integers(2, 6, 6))
    rng.shuffle(groups)
    rewards = rng.random(len(groups)).round(2)
    lengths = rng.integers(1, 5, len(groups))
    mask = TORCH.tensor((np.arange(4) < lengths[:, None]).astype(np.float32))
    tokens = TORCH.zeros(len(groups), 4)
    tokens[TORCH.arange(len(groups)), lengths - 1] = TORCH.tensor(rewards, dtype=TORCH.float32)
    return rewards, tokens, mask, groups.astype(object)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("name", "settings", "ours"),
    [
        ("grpo", {}, gr.advantages.grpo),
        ("grpo_vectorized", {}, gr.advantages.grpo),
        ("grpo", {"norm_adv_by_std_in_grpo": False}, gr.advantages.dr_grpo),
        ("rloo", {}, gr.advantages.leave_one_out),
        ("rloo_vectorized", {}, gr.advantages.leave_one_out),
    ],
)
def test_advantages_are_those_of_verl(registered: Any, seed: int, name: str, settings: Any, ours: Any) -> None:
    rewards, tokens, mask, groups = draw(seed)
    theirs, _ = registered.get_adv_estimator_fn(name)(tokens, mask, groups, **settings)
    expected = TORCH.tensor(ours(rewards, groups))[:, None] * mask
    assert TORCH.allclose(theirs.double(), expected.double(), atol=1e-4)


def test_a_group_of_one_and_equal_rewards_are_not_0_in_verls_grpo(registered: Any) -> None:
    alone = registered.get_adv_estimator_fn("grpo")(TORCH.tensor([[1.0]]), TORCH.ones(1, 1), np.array(["a"]))
    assert alone[0].tolist() == [[pytest.approx(1.0)]]
    equal = registered.get_adv_estimator_fn("grpo")(TORCH.full((7, 1), 0.1), TORCH.ones(7, 1), np.array(["a"] * 7))
    assert 0 < equal[0].abs().max() < 0.05
    assert gr.advantages.grpo(TORCH.full((7,), 0.1), ["a"] * 7).tolist() == [0.0] * 7


def test_verls_gdpo_moves_a_group_without_signal_and_ours_does_not(registered: Any) -> None:
    mask = TORCH.tensor([[1.0] * 4, [1.0, 0.0, 0.0, 0.0], *[[1.0] * 4] * 2])
    tokens = TORCH.zeros(4, 4)
    tokens[:, 0] = TORCH.tensor([1.0, 0.0, 1.0, 1.0])
    groups = np.array(["mixed", "mixed", "right", "right"], dtype=object)
    theirs, _ = registered.get_adv_estimator_fn("gdpo")(tokens, mask, groups)
    assert theirs[2:].max() < -0.1
    assert gr.advantages.gdpo({"hit": [1, 0, 1, 1]}, groups)[2:].tolist() == [0.0, 0.0]


def test_a_missing_reward_poisons_verls_group_and_not_ours(registered: Any) -> None:
    tokens, groups = TORCH.tensor([[1.0], [0.0], [float("nan")]]), np.array(["a"] * 3, dtype=object)
    assert registered.get_adv_estimator_fn("grpo")(tokens.clone(), TORCH.ones(3, 1), groups)[0].isnan().all()
    ours, _ = registered.get_adv_estimator_fn("difficulty")(tokens, TORCH.ones(3, 1), groups)
    assert ours[:, 0].tolist() == [0.5, -0.5, 0.0]


def advantages(data: Any, config: Any, rows: int = 1) -> list[float]:
    """Return what the older trainer computes, called as it calls it: with its config as it was composed."""
    algorithm = config.algorithm
    compute = module("trainer.ppo.ray_trainer").compute_advantage
    both = compute(data, algorithm.adv_estimator, num_repeat=rows, config=algorithm).batch["advantages"]
    assert bool((both[:, 0] == both[:, 1]).all())
    return both[:, 0].tolist()


GROUPS = [[HIT, MISS, MUTE], [HIT, HIT, HIT], [MUTE, MUTE, MUTE], [HIT, MUTE]]
"""Rewards 1, 0.1, 0; all 1; all 0; 1 and 0."""
EXPECTED = {
    "mc_grpo": [0.9 / 0.501, 0.0, -0.1 / 0.501, *[0.0] * 6, 1 / 0.501, 0.0],
    "difficulty": [*[4 * (11 / 30) * (19 / 30) * each for each in (19 / 30, -8 / 30, -11 / 30)], *[0.0] * 6, 0.5, -0.5],
}
SETTINGS = {"mc_grpo": ["+algorithm.mad_floor=0.5"], "difficulty": []}


@pytest.mark.parametrize("name", SETTINGS)
def test_both_trainers_reach_our_estimators(lab: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = launched(compose(lab, f"algorithm.adv_estimator={name}", *SETTINGS[name]), CLICK)
    data = grouped(lab, config, GROUPS)
    assert advantages(data, config) == pytest.approx(EXPECTED[name], abs=1e-6)
    data = grouped(lab, config, GROUPS)
    assert by_default(data, config, monkeypatch) == pytest.approx(EXPECTED[name], abs=1e-6)
    assert module("trainer.ppo.utils").need_critic(config) is False


@pytest.mark.parametrize("settings", [[], ["+algorithm.mad_floor=null"]])
def test_mc_grpo_without_a_floor_says_what_to_add(lab: Path, settings: list[str]) -> None:
    config = launched(compose(lab, "algorithm.adv_estimator=mc_grpo", *settings), CLICK)
    with pytest.raises(gr.RecipeError, match=r"algorithm\.mad_floor is missing; add \+algorithm\.mad_floor=NUMBER"):
        advantages(grouped(lab, config, GROUPS), config)


def test_a_floor_that_is_no_number_is_named(lab: Path) -> None:
    config = launched(compose(lab, "algorithm.adv_estimator=mc_grpo", "+algorithm.mad_floor=low"), CLICK)
    with pytest.raises(gr.RecipeError, match=r"^mad_floor: got 'low'; expected a number of 0 or more$"):
        advantages(grouped(lab, config, GROUPS), config)


def test_rewards_beyond_the_bounds_name_their_settings(registered: Any) -> None:
    estimator, tokens = registered.get_adv_estimator_fn("difficulty"), TORCH.tensor([[-1.0, 5.0], [0.0, -1.0]])
    with pytest.raises(gr.RecipeError, match=r"row 0 has 4; .* \+algorithm\.reward_low=NUMBER"):
        estimator(tokens, TORCH.ones(2, 2), np.array(["a", "a"]), config=None)
    bounds = {"reward_low": -1, "reward_high": 4}
    both, returns = estimator(tokens, TORCH.tensor([[1.0, 1.0], [1.0, 0.0]]), np.array(["a", "a"]), config=bounds)
    assert both.tolist() == [[2.5, 2.5], [-2.5, 0.0]]
    assert returns is both


def test_samples_without_a_name_are_an_error(registered: Any) -> None:
    for name in SETTINGS:
        with pytest.raises(gr.RecipeError, match="no uid"):
            registered.get_adv_estimator_fn(name)(TORCH.ones(1, 1), TORCH.ones(1, 1), config={"mad_floor": 1})


def launches() -> list[list[str]]:
    """Settings of each launch on the page, in blocks and in the table."""
    page = DOCS.read_text("utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    lines = [*blocks, *re.findall(r"`(algorithm\.adv_estimator=[^`]+)`", page)]
    return [[word for word in shlex.split(line) if re.match(r"\+?[a-z_0-9]+\.[\w.]+=", word)] for line in lines]


def test_verl_knows_the_settings_of_the_page(lab: Path, registered: Any) -> None:
    names = []
    for lines in launches():
        config = compose(lab, *lines)
        names.append(config.algorithm.adv_estimator)
        assert registered.get_adv_estimator_fn(names[-1])
        env = config.ray_kwargs.ray_init.runtime_env.get("env_vars", {})
        assert env.get("VERL_USE_EXTERNAL_MODULES", MODULE) == MODULE
    assert names == ["mc_grpo", "difficulty", "grpo", "grpo", "gdpo", "rloo"]


def test_the_environment_variable_registers_them_in_a_new_process() -> None:
    code = (
        "import verl.trainer.ppo.core_algos as algos\n"
        "names = ('mc_grpo', 'difficulty')\n"
        "print([algos.get_adv_estimator_fn(name).__module__ for name in names])"
    )
    env = {**os.environ, "VERL_USE_EXTERNAL_MODULES": MODULE}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=200)
    assert done.stdout.strip().endswith(str([MODULE, MODULE])), done.stderr


def test_a_name_that_is_taken_is_verls_own_error(registered: Any) -> None:
    with pytest.raises(ValueError, match="mc_grpo has already been registered"):
        registered.register_adv_est("mc_grpo")(SimpleNamespace())
