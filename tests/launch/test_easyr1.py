"""The EasyR1 configs of examples/launch: settings that EasyR1 knows, a reward that loads, the filters they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.cli.listing import where
from grounding_rewards_adapters import _scorer
from tests.contracts import easyr1

omegaconf = pytest.importorskip("omegaconf", reason="omegaconf comes with verl, which needs a Python below 3.13")

FOLDER = Path(__file__).parents[2] / "examples" / "launch"
FILES = ["easyr1_gelato.yaml", "easyr1_gelato_acc.yaml"]
BOX = [0.1, 0.1, 0.3, 0.2]
CENTRE, HALFWAY, MISS = "(200, 150)", "(150, 125)", "(900, 900)"


@pytest.fixture(autouse=True)
def _shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Set the variables that the files ask their users to set."""
    monkeypatch.setattr(_scorer, "_SCORERS", {})
    where("easyr1")
    monkeypatch.setenv("GROUNDING_REWARDS_EASYR1", capsys.readouterr().out.strip())


def read(file: str) -> Any:
    """A config as EasyR1 reads it, with all references put in."""
    return omegaconf.OmegaConf.to_container(omegaconf.OmegaConf.load(FOLDER / file), resolve=True)


def settings(config: Any, section: str = "") -> dict[str, Any]:
    """All settings by their full names; of mappings that are free in EasyR1, the mapping."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        full = f"{section}.{name}".lstrip(".")
        free = full == "worker.reward.reward_function_kwargs"
        found |= settings(value, full) if isinstance(value, dict) and not free else {full: value}
    return found


@pytest.mark.parametrize("file", FILES)
def test_every_setting_is_one_of_easyr1s(file: str) -> None:
    known = {f"{section}.{name}" for section, names in easyr1.KEYS.items() for name in names}
    named = set(settings(read(file)))
    assert named - known == {"worker.reward.reward_function_kwargs"}
    assert len(named) > 60


@pytest.mark.parametrize("file", FILES)
def test_its_reward_loads_and_scores_gelatos_rows(file: str) -> None:
    config = read(file)
    assert config["data"]["answer_key"] == "normalized_bbox"
    manager = easyr1.Manager(config["worker"]["reward"])
    assert manager.kind == "batch"
    rewards, logged = easyr1.read_back(manager.compute_reward(easyr1.inputs([CENTRE, HALFWAY, MISS, "?"], [BOX] * 4)))
    assert rewards == pytest.approx([1.0, 0.75, 0.0, 0.0])
    assert (logged["reward/accuracy"], logged["reward/parsed"]) == (0.5, 0.75)
    assert f"reward/{config['algorithm']['filter_key']}" in logged


@pytest.mark.parametrize("file", FILES)
def test_the_reward_knows_the_model_and_its_bounds(file: str) -> None:
    config = read(file)
    options = config["worker"]["reward"]["reward_function_kwargs"]
    assert {"qwen3_vl": "Qwen3-VL"}[options["model"]] in config["worker"]["actor"]["model"]["model_path"]
    assert (options["min_pixels"], options["max_pixels"]) == (262144, 4194304)
    assert (config["data"]["min_pixels"], config["data"]["max_pixels"]) == (262144, 4194304)
    assert config["data"]["max_pixels"] // 32**2 < config["data"]["max_prompt_length"]


def test_gelatos_published_settings() -> None:
    found = settings(read(FILES[0]))
    published = {
        "data.max_response_length": 16,
        "algorithm.disable_kl": True,
        "algorithm.online_filtering": True,
        "algorithm.filter_key": "overall",
        "algorithm.filter_low": 0.01,
        "algorithm.filter_high": 0.49,
        "worker.actor.clip_ratio_low": 0.2,
        "worker.actor.clip_ratio_high": 0.28,
        "worker.rollout.n": 8,
        "worker.rollout.temperature": 1.0,
    }
    assert {name: found[name] for name in published} == published


def test_the_two_differ_in_their_filter_and_their_name() -> None:
    one, other = (settings(read(file)) for file in FILES)
    assert {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)} == {
        "algorithm.filter_key",
        "algorithm.filter_high",
        "trainer.experiment_name",
        "trainer.save_checkpoint_path",
    }


def test_groups_that_either_filter_keeps() -> None:
    groups = {
        "no hit": [MISS] * 8,
        "two hits": [CENTRE] * 2 + [MISS] * 6,
        "four centred hits": [CENTRE] * 4 + [MISS] * 4,
        "four hits off centre": [HALFWAY] * 4 + [MISS] * 4,
        "seven hits": [CENTRE] * 7 + [MISS],
        "all hits": [CENTRE] * 8,
    }
    samples = [name for name, texts in groups.items() for _ in texts]
    texts = [text for group in groups.values() for text in group]
    kept = []
    for file in FILES:
        config = read(file)
        scores = easyr1.Manager(config["worker"]["reward"]).compute_reward(easyr1.inputs(texts, [BOX] * len(texts)))
        kept.append(easyr1.kept(scores, samples, config["algorithm"]))
    assert kept == [["two hits", "four hits off centre"], list(groups)[1:-1]]
