"""The examples run, in seconds, from a checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.mark.timeout(280)
@pytest.mark.parametrize("more", [[], ["--control"]], ids=["reward", "control"])
def test_the_demo_goes_through_every_step_and_writes_its_results(more: list[str], tmp_path: Path) -> None:
    pytest.importorskip("trl")
    out = tmp_path / "demo"
    run = subprocess.run(
        [sys.executable, "examples/train_trl_cpu.py", "--quick", "--seed", "3", "--out", str(out), *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "held-out screens, greedy answers" in run.stdout
    result = json.loads((out / "result.json").read_text("utf-8"))
    assert (result["seed"], result["control"], result["quick"]) == (3, bool(more), True)
    for when in ("before", "after"):
        assert set(result[when]) == {"hit", "wrong_widget", "parsed", "reward"}
        assert all(0.0 <= value <= 1.0 for value in result[when].values())
    for picture in ("curve.png", "clicks.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")


def test_held_out_screens_share_no_place_with_training_screens() -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import toy_screens
    finally:
        sys.path.pop(0)
    training, held_out = set(toy_screens.places(held_out=False)), set(toy_screens.places(held_out=True))
    assert training
    assert held_out
    assert not training & held_out


@pytest.mark.timeout(120)
def test_the_control_is_rewarded_for_another_groups_target() -> None:
    pytest.importorskip("trl")
    code = (
        "import sys; sys.path.insert(0, 'examples'); import train_trl_cpu as demo\n"
        "groups = [group for group in range(3) for _ in range(demo.GENERATIONS)]\n"
        "seen = demo.of_another_screen(lambda target, **columns: target)(target=groups, completions=[])\n"
        "print(len(seen) == len(groups), any(a == b for a, b in zip(seen, groups)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
    )
    assert run.stdout.split() == ["True", "False"], run.stderr


def test_the_steps_of_a_phones_trajectory_are_scored_as_said() -> None:
    run = subprocess.run(
        [sys.executable, "examples/android_step.py"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in run.stdout.splitlines()[1:]]
    assert [(row[0], row[2]) for row in rows] == [
        (name, action) for name in ("careful", "hasty") for action in ("open_app", "click", "scroll", "type")
    ]
    assert [row[4] for row in rows] == ["1", "1", "1", "1", "1", "0", "0", "1"]
    assert [float(row[5]) for row in rows] == [1.0, 1.0, 1.0, 1.0, 1.0, 0.28, 0.28, 1.0]
    assert [float(row[6]) for row in rows] == [1.875, 1.75, 1.5, 1.0, 1.14, 0.28, 0.28, 1.0]
