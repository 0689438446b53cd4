"""Rollouts to score, and what became of them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.batch import rescore as rescoring
from grounding_rewards.batch.rescore import Rescored, rescore
from grounding_rewards.tables import arrow_rows, text_rows
from grounding_rewards.tables.recorder import read_rollouts

BOX = {"bbox": [0.25, 0.25, 0.75, 0.5]}
HIT, MISS = "(500, 375)", "nothing here"


def rollouts(count: int, **more: Any) -> list[dict[str, Any]]:
    """Rollouts of samples of 3: the first of each is a hit."""
    return [
        {"sample_id": f"s{row // 3}", "rollout": row, "response": MISS if row % 3 else HIT, "target": BOX, **more}
        for row in range(count)
    ]


def gelato(out: Path, *sources: Path, **more: Any) -> Rescored:
    return rescore(sources, gr.recipe("gelato"), out, **more)


def votes(out: Path, *sources: Path, **more: Any) -> Rescored:
    """Scores of rollouts that are compared with each other."""
    return rescore(sources, gr.recipe("gui-rcpo", response_space="thousandths"), out, **more)


def table(out: Path) -> list[dict[str, Any]]:
    return read_rollouts(out).to_pylist()


def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have 4 rows in a shard."""
    monkeypatch.setattr(text_rows, "BATCH_ROWS", 4)
    monkeypatch.setattr(arrow_rows, "ARROW_ROWS", 4)
    monkeypatch.setattr(import_module("grounding_rewards.batch.rescore"), "SHARD_BATCHES", 1)
    monkeypatch.setattr(rescoring, "GROUP_ROWS", 4)


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(out).iterdir())}
