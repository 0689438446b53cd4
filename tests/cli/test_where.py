"""``grounding-rewards where``: what a trainer's config names."""

import sys
from pathlib import Path

import pytest

import grounding_rewards_adapters

FOLDER = Path(grounding_rewards_adapters.__file__).parent


@pytest.mark.parametrize(
    ("trainer", "lines"),
    [
        ("easyr1", [f"{FOLDER}/easyr1.py:compute_score"]),
        ("easyr1_sequential", [f"{FOLDER}/easyr1_sequential.py:compute_score"]),
        ("trl", [f"{FOLDER}/trl.py:reward_funcs"]),
        ("verl", ["pkg://grounding_rewards_adapters.verl", f"{FOLDER}/verl.py"]),
    ],
)
def test_where(run, trainer, lines):
    assert run("where", trainer).out.splitlines() == lines
    assert Path(lines[-1].partition(":")[0]).is_file()


def test_adapters_that_are_not_installed_are_an_error(run, monkeypatch):
    monkeypatch.setattr(sys.modules["grounding_rewards.cli.listing"], "PACKAGE", "grounding_rewards_nowhere")
    assert "there is no package grounding_rewards_nowhere; install grounding-rewards again" in run.error("where", "trl")
