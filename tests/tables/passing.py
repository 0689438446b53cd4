"""Passes a file through with two new columns."""

from __future__ import annotations

from pathlib import Path

from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.writing import write_table

NEW = {"total": float, "reason": str}


def scored(source: Path, out: Path, size: int | None = None) -> list[str]:
    """Pass a file through with two new columns; returns the notes."""
    notes: list[str] = []
    table = open_table(source)
    with write_table(out, like=table, new=NEW, note=notes.append) as writer:
        for batch in table.batches(size=size):
            totals = [None if (batch.start + row) % 2 else 0.5 for row in range(len(batch))]
            writer.write(batch, {"total": totals, "reason": ["OK"] * len(batch)})
    return notes
