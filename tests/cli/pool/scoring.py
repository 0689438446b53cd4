"""Rollouts to score, and what became of them."""

from __future__ import annotations

from pathlib import Path

from grounding_rewards.tables.rollouts import read_rollouts

SCORE = ("pool", "score")
GELATO = ("--recipe", "gelato")
BOX = {"bbox": [0.25, 0.25, 0.75, 0.5]}
HIT, MISS = "(500, 375)", "nothing here"


def rollouts(count, **more):
    """Rollouts of samples of 3: the first of each is a hit."""
    return [
        {"sample_id": f"s{row // 3}", "rollout": row, "response": MISS if row % 3 else HIT, "target": BOX, **more}
        for row in range(count)
    ]


def table(out):
    return read_rollouts(out).to_pylist()


def contents(out):
    return {path.name: path.read_bytes() for path in sorted(Path(out).iterdir())}
