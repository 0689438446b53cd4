"""Findings about data as a page: what is wrong, with the first rows of each kind drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from grounding_rewards.batch.checked_rows import ShownRow
from grounding_rewards.checks.finding import Finding
from grounding_rewards.explain.plot.picture import window_around
from grounding_rewards.viewer import picture
from grounding_rewards.viewer.blocks import Block, facts, mark, screen, section, shape, table, text, view

_UNKNOWN = 16.0, 9.0  # sides of a screen of unknown size


def page_of(file: str, rows: int, findings: Sequence[Finding], shown: Mapping[int, ShownRow]) -> Block:
    """Return the data of a page."""
    cells = [(str(each.code), str(each.severity), f"{each.count:,}", each.message) for each in findings]
    heads = ["found", "severity", "rows", "evidence"]
    said = table(f"{rows:,} rows", heads, cells) if cells else text([f"{rows:,} rows, no findings"])
    drawn = [
        section(
            f"{each.code}-{place}", f"{each.code}: {each.count:,} of {rows:,} rows", each.fix,
            [_row(row, shown[row]) for row in each.rows if row in shown],
        )
        for place, each in enumerate(findings)
        if any(row in shown for row in each.rows)
    ]  # fmt: skip
    return {
        "title": f"What looks wrong with {file}", "made_by": "grounding-rewards check data",
        "sections": [section("findings", "Findings", "", [said]), *drawn],
    }  # fmt: skip


def _row(number: int, row: ShownRow) -> Block:
    """Draw a row, the whole screen and a closer view of a small target."""
    title = f"row {number}: {row.words}" if row.words else f"row {number}"
    if not row.outlines and row.image is None:
        return {**facts([("row", str(number)), ("instruction", row.words)]), "title": ""}
    size = row.size or (row.image.size if row.image is not None else _UNKNOWN)
    views = [view("", np.array([0.0, 0.0, 1.0, 1.0]))]
    if row.outlines:
        corners = np.concatenate(row.outlines) * size
        window = window_around(np.concatenate([corners.min(axis=0), corners.max(axis=0)]), np.array(size))
        views += [view("1: a closer view", np.array(window) / np.tile(size, 2))] if window else []
    return screen(
        title, f"Row {number} with its target", size, views,
        [shape("target", each) for each in row.outlines if len(each) > 1],
        [mark("point", point, "target") for each in row.outlines if len(each) == 1 for point in each],
        {"target": "the target", "point": "the target"},
        image=None if row.image is None else picture(np.asarray(row.image.convert("RGB"))), beside=True,
    )  # fmt: skip
