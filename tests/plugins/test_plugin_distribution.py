"""The example of a plugin, built as its authors would build it, installed in a fresh environment, and used there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("distribution")]

NAMES = ["touch/edge_margin", "touch/firsts", "touch/learnable", "touch/tap", "touch/tap_tag", "touch/top_up"]
ROW = {"sample_id": "a", "response": "<tap>104, 150</tap>", "target": {"bbox": [100, 100, 300, 200]}}

Run = Callable[..., subprocess.CompletedProcess[str]]


def call(*words: object, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "GROUNDING_"))}
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env={**inherited, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def done(*words: object, folder: Path = ROOT, **environment: str) -> str:
    found = call(*words, folder=folder, **environment)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the two wheels; all else comes from this test's, but for what is installed as editable."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("distribution")
    for source in (ROOT, PLUGIN):
        code = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
        done(sys.executable, "-c", code, folder=source)
    done(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    python = folder / "env" / "bin" / "python"
    site = Path(done(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # A path that a .pth file adds is searched, but the .pth files in it, which editable installs use, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    wheels = sorted(folder.glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in wheels] == ["grounding_rewards", "grounding_rewards_touch"]
    done(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", *wheels)
    return python


@pytest.fixture
def run(fresh: Path, tmp_path: Path) -> Run:
    return lambda *words, **environment: call(fresh, *words, folder=tmp_path, **environment)


def test_all_four_things_are_used_from_python(run: Run, fresh: Path) -> None:
    code = """
import json, sys
import grounding_rewards as gr, grounding_rewards_touch
from grounding_rewards.pool import sample_stats, select, selector
from grounding_rewards.plugins.registry import registry
box = {"bbox": [100, 100, 300, 200]}
parts = {"margin": {"verifier": "touch/edge_margin", "weight": 1.0, "margin": 16}}
own = gr.recipe("composite", response_space="pixel", dialect="touch/tap_tag", parts=parts)
stats = sample_stats(["a", "a", "b"], [1, 0, 1])
kinds = ("parsers", "verifiers", "recipes", "methods")
try:
    gr.recipe("touch/tap", margin=-1)
except gr.RecipeError as error:
    said = str(error)
print(json.dumps({
    "files": [gr.__file__, grounding_rewards_touch.__file__],
    "names": sorted(name for kind in kinds for name in getattr(registry(), kind) if "/" in name),
    "recipe": gr.recipe("touch/tap").score("<tap>104, 150</tap>", box).total.tolist(),
    "parts": own.score("<tap>104, 150</tap>", box).total.tolist(),
    "weights": select(stats, selector("touch/learnable")).tolist(),
    "error": said,
}))
"""
    ran = run("-c", code)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert all(Path(file).is_relative_to(fresh.parents[1]) for file in found.pop("files"))
    assert found == {
        "names": NAMES,
        "recipe": [0.9],
        "parts": [0.25],
        "weights": [1.0, 0.0],
        "error": "touch/tap (plugin 'touch' of grounding-rewards-touch): EdgeMargin(margin=): got -1; "
        "expected a number above 0",
    }


def test_it_is_used_from_the_command_line(run: Run, fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(ROW) + "\n")
    command = fresh.parent / "grounding-rewards"
    done(command, "score", "in.jsonl", "--recipe", "touch/tap", "--out", "out.jsonl", folder=tmp_path)
    scored = json.loads((tmp_path / "out.jsonl").read_text())
    assert (scored["total"], scored["hit"], scored["margin"], scored["dialect"]) == (0.9, 1.0, 0.5, "tap_tag")
    (listed,) = json.loads(done(command, "plugins", "--json", folder=tmp_path))["result"]["plugins"]
    assert (listed["plugin"], listed["distribution"]) == ("touch", "grounding-rewards-touch")
    kinds = ("dialects", "verifiers", "recipes", "methods")
    assert sorted(each["name"] for kind in kinds for each in listed[kind]) == NAMES


def test_the_listing_in_the_docs_is_what_it_prints(run: Run) -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    (shown,) = re.findall(r"^\$ grounding-rewards plugins\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    ran = run("-m", "grounding_rewards", "plugins", COLUMNS="119", TERM="dumb")
    assert [line.rstrip() for line in ran.stdout.splitlines()] == shown.splitlines()


def test_an_empty_list_of_plugins_loads_none(run: Run) -> None:
    none = {"GROUNDING_REWARDS_PLUGINS": ""}
    ran = run("-m", "grounding_rewards", "recipes", "touch/tap", **none)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: unknown recipe 'touch/tap'")
    ran = run("-m", "grounding_rewards", "plugins", **none)
    assert ran.stderr == (
        "note: touch (grounding-rewards-touch 0.1.0) is not loaded: left out by GROUNDING_REWARDS_PLUGINS\n"
    )


def test_its_own_tests_pass_there(run: Run) -> None:
    ran = run("-m", "pytest", "-q", "-p", "no:cacheprovider", PLUGIN / "tests")
    assert ran.returncode == 0, ran.stdout
    assert "7 passed" in ran.stdout
