"""Write rollouts as a page to go through: filters, a table of samples, and each sample with all of its responses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.report.inputs import Options, round_of
from grounding_rewards.pool.report.rounds import AREAS, size_bins
from grounding_rewards.pool.report.samples import (
    UNKNOWN_SIZE,
    Screenshots,
    ShownSample,
    drawn_target,
    rollouts_of,
    shortened,
    shown_sample,
    views,
    with_screenshots,
)
from grounding_rewards.pool.selection import suspects
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.viewer import Block, check_page, write_page
from grounding_rewards.viewer.blocks import section
from grounding_rewards.wording import area, count, plural

MOST, LONGEST = 200_000, 8_000
"""Rollouts on a page, and characters of a response, at most."""

_READ = (
    "sample_id", "acc", "total", "reason", "round", "temperature", "policy", "x_unit", "y_unit", "target", "image_size",
    "recipe", "response",
)  # fmt: skip
_OUTCOMES = ("right", "wrong", "not scored")


def write_view(
    rollouts: Sequence[Path],
    out: Path,
    *,
    rounds: Collection[int] | None = None,
    by: str = "source",
    target_space: str | None = None,
    recipe: Recipe | None = None,
    data: Screenshots | None = None,
    screenshots: int = 200,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    """Write a page of rollouts, as ``grounding-rewards view`` does.

    Args:
        rollouts: files and directories of rollouts.
        out: a file that ends in .html.
        rounds: the rounds to show; None for all.
        by: the column that is the source of samples.
        target_space: the space of targets that name none.
        recipe: the recipe whose form targets have, where rollouts name none that is installed.
        data: the training data with screenshots and instructions; None shows an empty screen.
        screenshots: the number of samples to show with their screenshots: suspects first, then those never solved.
        reporting: takes warnings and progress.

    Returns:
        The page, and the numbers of its samples, rollouts and screenshots.

    Raises:
        PictureError: ``out`` has another suffix.
        PoolError: there are too many rollouts, or the data hold none of the samples.
        TableError: a file cannot be read or written.
    """
    table = open_rollouts(list(rollouts))
    check_page(out, [*rollouts, *table.files])
    table.need("sample_id")
    total = sum(table.rounds(rounds).values())
    if total > MOST:
        raise PoolError(f"a page holds {count(MOST)} rollouts; got {count(total)}: choose some by --round")
    options = Options(by, target_space, recipe, reporting.warn)
    with reporting.progress("reading rollouts") as advance:
        part = round_of("", table, None if rounds is None else tuple(rounds), options)
        by_sample = rollouts_of(part, _READ)
        rows = sum(map(len, by_sample.values()))
        shown = [shown_sample(part, place, by_sample, options) for place in range(len(part.stats))]
        advance(1.0)
    if data is not None:
        rank = np.where(suspects(part.stats), 0, np.where(part.stats.none_correct, 1, 2))
        first = np.argsort(rank, kind="stable")[:screenshots].tolist()
        found, remarks = with_screenshots([shown[place] for place in first], data)
        for place, each in zip(first, found, strict=True):
            shown[place] = each
        for text in remarks:
            reporting.warn(text)
    pictured = sum(each.image is not None for each in shown)
    title = f"{plural(rows, 'rollout')} of {plural(len(shown), 'sample')}"
    block = block_of(part.stats, shown, by_sample)
    write_page(out, {"title": title, "made_by": "grounding-rewards view", "sections": [section("", "", "", [block])]})
    return {"page": str(out), "samples": len(shown), "rollouts": rows, "screenshots": pictured}


def block_of(stats: SampleStats, shown: Sequence[ShownSample], by_sample: dict[str, list[dict[str, Any]]]) -> Block:
    """Return the block of rollouts: samples, columns of rollouts, and filters over both."""
    images = dict.fromkeys(each.image for each in shown if each.image is not None)
    numbers = {image: number for number, image in enumerate(images)}
    rows = [(place, row) for place, each in enumerate(shown) for row in by_sample.get(each.sample_id, [])]
    columns: dict[str, list[Any]] = {
        "sample": [place for place, _ in rows],
        **{name: [_finite(row[name]) for _, row in rows] for name in ("total", "x_unit", "y_unit")},
        "response": [None if row["response"] is None else shortened(row["response"], LONGEST) for _, row in rows],
        "cut": [len(row["response"] or "") > LONGEST for _, row in rows],
        "target": [row["target"] for _, row in rows],
        "recipe": [row["recipe"] for _, row in rows],
    }  # fmt: skip

    def of_rows(name: str, labels: Callable[[dict[str, Any]], str | None]) -> Block:
        return _filter(name, "row", [labels(row) for _, row in rows])

    filters = [
        of_rows("outcome", lambda row: _OUTCOMES[2 if row["acc"] is None else int(row["acc"] != 1)]),
        of_rows("reason", lambda row: row["reason"]),
        of_rows("round", lambda row: None if row["round"] is None else str(row["round"])),
        of_rows("temperature", lambda row: None if row["temperature"] is None else f"{row['temperature']:g}"),
        of_rows("policy", lambda row: row["policy"]),
        _filter("source", "sample", [each.source for each in shown]),
        _filter("solved", "sample", _solved(stats)),
        _filter("target size", "sample", _sizes(stats)),
        _filter("suspect", "sample", ["suspect" if each else "not suspect" for each in suspects(stats)]),
    ]
    return {
        "kind": "rollouts", "title": "", "images": list(images), "rows": columns, "filters": filters,
        "samples": [_sample(each, numbers) for each in shown],
    }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.7g}")


def _filter(name: str, of: str, labels: Sequence[str | None]) -> Block:
    """Return a filter: its labels in order, and the number of each row's or sample's one."""
    known = sorted({label for label in labels if label is not None}, key=_order)
    places: dict[str | None, int] = {None: -1} | {label: place for place, label in enumerate(known)}
    return {"name": name, "of": of, "labels": known, "codes": [places[label] for label in labels]}


def _order(label: str) -> tuple[float, str]:
    try:
        return float(label), ""
    except ValueError:
        return float("inf"), label


def _solved(stats: SampleStats) -> list[str]:
    kinds = [stats.n == 0, stats.none_correct, stats.all_correct]
    return [str(each) for each in np.select(kinds, ["not scored", "never", "always"], "sometimes")]


def _sizes(stats: SampleStats) -> list[str | None]:
    known = [area(*edges) for edges in pairwise(AREAS)]
    sized = zip(stats.target_area, size_bins(stats), strict=True)
    return [None if np.isnan(size) else known[place] for size, place in sized]


def _sample(shown: ShownSample, images: dict[str, int]) -> Block:
    shapes, marks = drawn_target(shown)
    return {
        "id": shown.sample_id, "instruction": shown.instruction, "source": shown.source,
        "size": list(shown.image_size or UNKNOWN_SIZE), "known": shown.image_size is not None, "views": views(shown),
        "shapes": shapes, "marks": marks, "image": None if shown.image is None else images[shown.image],
    }  # fmt: skip
