"""One wheel holds both packages, and installing it changes no package of a trainer."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def python(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_the_wheel_holds_both_packages_and_their_type_marker(tmp_path: Path) -> None:
    pytest.importorskip("build")
    python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "grounding_rewards/__init__.py", "grounding_rewards/coords/families.toml", "grounding_rewards/viewer/page.html",
        "grounding_rewards/viewer/page.js", "grounding_rewards/viewer/page.css", "grounding_rewards/viewer/rollouts.js",
        "grounding_rewards/py.typed", "grounding_rewards_adapters/easyr1.py", "grounding_rewards_adapters/trl.py",
        "grounding_rewards_adapters/verl.py", "grounding_rewards_adapters/py.typed",
    } <= names  # fmt: skip
    assert {name.split("/")[0] for name in names} == {
        "grounding_rewards",
        "grounding_rewards_adapters",
        "grounding_rewards-0.1.0.dist-info",
    }


def test_installing_beside_verl_and_trl_changes_no_other_package() -> None:
    pytest.importorskip("verl")
    pytest.importorskip("trl")
    said = python("-m", "pip", "install", "--dry-run", "--no-index", "--no-build-isolation", ".")
    (line,) = [line for line in said.splitlines() if line.startswith("Would install")]
    assert line == "Would install grounding-rewards-0.1.0"
    assert python("-m", "pip", "check").strip() == "No broken requirements found."
