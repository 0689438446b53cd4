"""EasyR1's contract: a file loaded under a name of its own, options from YAML, one call a batch."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.cli.listing import where
from grounding_rewards.plugins import registry as plugins
from tests.adapters.own_terms import BOX, TOTALS, named_in_a_config, write_plugin, write_terms
from tests.contracts import easyr1

README = Path(__file__).parents[2] / "adapters" / "README.md"
WAYS = ("module", "file", "recipe in a module", "recipe in a file", "plugin", "recipe of a plugin")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_terms(tmp_path)
    write_plugin(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    plugins._registry.cache_clear()
    yield tmp_path
    plugins._registry.cache_clear()
    for name in ("lab_terms", "lab_plugin", easyr1.MODULE):
        sys.modules.pop(name, None)


@pytest.fixture
def file(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the path that ``grounding-rewards where easyr1`` prints."""
    where("easyr1")
    return capsys.readouterr().out.strip()


def from_yaml(folder: Path, file: str, options: dict[str, Any], plain: bool) -> Any:
    """EasyR1's config file, as OmegaConf reads it."""
    omegaconf = pytest.importorskip("omegaconf", reason="omegaconf comes with verl, which needs a Python below 3.13")
    reward = {"reward_function": file, "reward_function_kwargs": options}
    path = folder / "config.yaml"
    path.write_text(json.dumps({"worker": {"reward": reward}}))  # JSON is YAML
    read = omegaconf.OmegaConf.load(path)
    return omegaconf.OmegaConf.to_container(read) if plain else read


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "OmegaConf"])
def test_own_code_named_in_yaml(lab: Path, file: str, way: str, plain: bool) -> None:
    options = named_in_a_config(lab / "lab_terms.py")
    assert tuple(options) == WAYS
    config = from_yaml(lab, file, options[way], plain)
    score, name, kind = easyr1.load(config["worker"]["reward"])
    assert (name, kind) == ("grounding_rewards", "batch")
    rewards, logged = easyr1.read_back(score(easyr1.inputs(list(TOTALS), [json.dumps(BOX)] * 4)))
    assert rewards == list(TOTALS.values())
    assert logged == {
        "reward/overall": 0.5,
        "reward/accuracy": 0.5,
        "reward/correct": 0.5,
        "reward/format": 0.75,
        "reward/valid": 1.0,
        "reward/parsed": 0.75,
        "reward/in_image": 0.75,
        "reward/hit": 0.5,
        "reward/short": 0.5,
    }


def test_the_yaml_of_the_readme(lab: Path, file: str) -> None:
    omegaconf = pytest.importorskip("omegaconf", reason="omegaconf comes with verl, which needs a Python below 3.13")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", README.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    (terms,) = re.findall(r"^```py\n(# lab_terms.*?)^```$", README.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    (lab / "readme_terms.py").write_text(terms)
    text = block.replace("/data/lab/lab_terms.py", f"{lab}/readme_terms.py")
    read = omegaconf.OmegaConf.create(re.sub(r"reward_function: .*", f"reward_function: {file}", text))
    score, _, _ = easyr1.load(read.worker.reward)
    rewards, _ = easyr1.read_back(score(easyr1.inputs(["(20, 15)", "(50, 15)", "no place at all, I say"], [BOX] * 3)))
    assert rewards == [1.0, 0.2, 0.0]


def loaded(file: str, **options: Any) -> Any:
    return easyr1.load({"reward_function": file, "reward_function_kwargs": options})[0]


def test_the_loaded_function_goes_to_a_worker_by_reference(lab: Path, file: str) -> None:
    score = loaded(file, recipe="click", response_space="pixel")
    assert pickle.loads(pickle.dumps(score)).func is score.func
