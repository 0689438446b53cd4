"""Reports on rounds and pages of rollouts: written as files that open without a network, or served."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.errors import PictureError, PoolError
from grounding_rewards.pool.report.rounds import Inputs, Numbers, Options, Round, read_inputs, report
from grounding_rewards.pool.report.rows import Rows
from grounding_rewards.pool.report.samples import (
    UNKNOWN_SIZE,
    Screenshots,
    ShownSample,
    drawn_target,
    sample_of,
    shortened,
    shown_samples,
    views,
)
from grounding_rewards.pool.report.sections import sections
from grounding_rewards.tables.data_paths import made_directory
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rows import Note
from grounding_rewards.viewer.blocks import Block, section
from grounding_rewards.viewer.page import check_page, write_page
from grounding_rewards.viewer.server import serve
from grounding_rewards.wording import count, plural

PAGE = "report.html"


def write_report(
    inputs: Sequence[str],
    out: Path,
    *,
    title: str = "Pools by round",
    samples: int = 6,
    data: Screenshots | None = None,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> dict[str, Any]:
    """Write a report from files, as ``grounding-rewards pool report`` does; ``reading`` is by fields of ``Options``."""
    if out.exists() and not out.is_dir():
        raise PictureError(f"{out}: is not a directory")
    warnings = dict[str, None]()  # a set in order: every round warns of the same recipes
    options = Options(**reading, warn=lambda text: warnings.update({text: None}))
    with reporting.progress("counting rollouts") as advance:
        read = read_inputs(inputs, options)
        advance(1.0)
    found = shown_samples(read.parts[-1], samples, options) if read.parts and samples else {}
    each = [sample for _, some in found.values() for sample in some]
    if data is not None:
        each, remarks = data.shown(each)  # all at once: the data are read once
        warnings |= dict.fromkeys(remarks)
    hardest = len(found["hardest"][1]) if found else 0
    numbers = report(
        title, read.parts, by_temperature=read.by_temperature, unswept=read.unswept, pools=read.pools,
        hardest=each[:hardest], suspects=each[hardest:], counted={name: many for name, (many, _) in found.items()},
        remarks=list(warnings),
    )  # fmt: skip
    with made_directory(out):
        write_page(out / PAGE, page_of(numbers, listing(read.parts, options, each)))
    unread = [sample for sample in each if not sample.outlines]
    table = read.parts[-1].table if read.parts else None
    if unread and table and "target" in table.columns and not (options.recipe or options.target_space):
        reporting.note(
            f"the page shows no target of {len(unread)} of {len(each)} samples, which name no space, and rollouts no "
            "installed recipe; give --recipe NAME or --target-space SPACE"
        )
    for text in warnings:
        reporting.warn(text)
    shown = {key: [sample.to_json() for sample in numbers[key]] for key in ("hardest", "suspects")}
    return {"page": str(out / PAGE), "warnings": list(warnings), **numbers, **shown}


def page_of(numbers: Numbers, rollouts: Sequence[Block] = ()) -> Block:
    """Return the data of a page, with the section of its rollouts."""
    return {
        "title": numbers["title"], "remarks": numbers["remarks"], "sections": [*sections(numbers), *rollouts],
        "made_by": "grounding-rewards pool report",
    }  # fmt: skip


MOST, LISTED, LONGEST, LINES = 200_000, 20_000, 8_000, 200
"""Rollouts of a page and of a report, characters of a response, and samples of an answer of the server, at most."""

_Group = list[dict[str, Any]]


def write_view(
    inputs: Sequence[str],
    out: Path,
    *,
    data: Screenshots | None = None,
    screenshots: int = 200,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> dict[str, Any]:
    """Write a page of rollouts, as ``grounding-rewards view --out`` does."""
    options = Options(**reading, warn=reporting.warn)
    with reporting.progress("reading rollouts") as advance:
        read = _read(inputs, options)
        check_page(out, [file for part in read.parts if part.table for file in (*part.table.paths, *part.table.files)])
        with Rows(read.parts) as rows:
            if rows.rollouts > MOST:
                raise PoolError(
                    f"a page holds {count(MOST)} rollouts; got {count(rows.rollouts)}: choose a round as PATH@ROUND, "
                    "or look at all of them by --serve"
                )
            every = rows.every()
            groups, shown = _samples(every, options)
            if data is not None:
                shown = _screenshots(data, screenshots, reporting.warn, groups, shown)
            block, pictured = _whole(rows, every, shown)
            advance(1.0)
            write_page(out, _page(rows, read, block))
            return {"page": str(out), "samples": rows.samples, "rollouts": rows.rollouts, "screenshots": pictured}


def serve_view(
    inputs: Sequence[str],
    ready: Callable[[str, int, int], None],
    *,
    data: Screenshots | None = None,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> None:
    """Serve a page of rollouts to this machine until Ctrl-C, as ``grounding-rewards view --serve`` does."""
    options = Options(**reading, warn=reporting.warn)
    with reporting.progress("reading rollouts") as advance:
        read = _read(inputs, options)
        if data is not None:
            data.shown([])  # its errors come now
        rows = Rows(read.parts)
        advance(1.0)
    with rows:
        block = {"kind": "rollouts", "title": "", "rollouts": rows.rollouts, "filters": _filters(rows)}
        answers = {
            "find": rows.find,
            "lines": lambda state: rows.lines(state, int(state["first"]), min(int(state["most"]), LINES)),
            "sample": lambda state: _answer(rows, state, options, data),
        }
        serve(_page(rows, read, block), answers, lambda address: ready(address, rows.samples, rows.rollouts))


def _read(inputs: Sequence[str], options: Options) -> Inputs:
    read = read_inputs(inputs, options)
    for part in read.parts:
        if part.table is None:
            raise PoolError(f"{part.name}: holds statistics of samples; expected rollouts, which a page can show")
    if not read.parts:
        raise PoolError("no rollouts are given; expected files of them, or directories that adapters record")
    return read


def _page(rows: Rows, read: Inputs, block: Block) -> Block:
    """Return the data of a page: the list of samples, and the numbers of its rounds."""
    title = f"{plural(rows.rollouts, 'rollout')} of {plural(rows.samples, 'sample')}"
    numbers = report(title, read.parts, by_temperature=read.by_temperature, unswept=read.unswept)
    shown = [each for each in sections(numbers) if not each["missing"]]
    return {
        "title": title, "made_by": "grounding-rewards view", "remarks": numbers["remarks"],
        "sections": [section("list", "", "", [block]), *shown],
    }  # fmt: skip


def listing(
    parts: Sequence[Round],
    options: Options,
    pictured: Sequence[ShownSample] = (),
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Block]:
    """Return the section of all rollouts, to which numbers and bars of a page lead; none for too many."""
    held = [part for part in parts if part.table is not None]
    rollouts = sum(int((part.stats.n + part.stats.unscored).sum()) for part in held)
    if not held or rollouts > LISTED:
        return []
    known = {each.sample_id: each for each in pictured if each.image is not None}
    with Rows(held, labels) as rows:
        every = rows.every()
        block, _ = _whole(rows, every, [known.get(each.sample_id, each) for each in _samples(every, options)[1]])
    return [section("list", "Rollouts", "Numbers and bars above lead to the rollouts that they count.", [block])]


def _samples(every: _Group, options: Options) -> tuple[list[_Group], list[ShownSample]]:
    """Return the rollouts of each sample, and the samples."""
    groups = [list(group) for _, group in groupby(every, lambda row: row["sample"])]
    return groups, [_shown(group, options) for group in groups]


def _whole(rows: Rows, every: _Group, shown: Sequence[ShownSample]) -> tuple[Block, int]:
    """Return all rollouts as a block, samples, columns and filters over them, and the number of its screenshots."""
    images = {image: number for number, image in enumerate(dict.fromkeys(each.image for each in shown if each.image))}
    columns = {name: [value(row) for row in every] for name, value in _ROW.items()}
    filters = list[Block]()
    for each, (_, column, _) in zip(_filters(rows), rows.filters, strict=True):
        places = {None: -1} | {label: place for place, label in enumerate(each["labels"])}
        filters.append({**each, "codes": [places[row[column]] for row in every]})
    block = {
        "kind": "rollouts", "title": "", "images": list(images), "filters": filters,
        "rows": {"sample": [row["sample"] for row in every], **columns},
        "samples": [{**_sample(each), "image": None if each.image is None else images[each.image]} for each in shown],
    }  # fmt: skip
    return block, sum(each.image is not None for each in shown)


def _screenshots(
    data: Screenshots, most: int, warn: Note, groups: Sequence[_Group], shown: list[ShownSample]
) -> list[ShownSample]:
    """Add screenshots to some samples: suspects first, then those that are never solved."""
    rank = [
        0 if any(row["suspect"] == "suspect" for row in group) else int(any(row["acc"] == 1 for row in group)) + 1
        for group in groups
    ]
    first = np.argsort(rank, kind="stable")[:most].tolist()
    found, remarks = data.shown([shown[place] for place in first])
    for text in remarks:
        warn(text)
    by_place = dict(zip(first, found, strict=True))
    return [by_place.get(place, each) for place, each in enumerate(shown)]


def _filters(rows: Rows) -> list[Block]:
    return [{"name": name, "labels": list(counts), "counts": list(counts.values())} for name, _, counts in rows.filters]


def _shown(group: _Group, options: Options) -> ShownSample:
    return sample_of(group[0]["id"], group, group[0]["source"], options)


def _sample(shown: ShownSample) -> Block:
    shapes, marks = drawn_target(shown)
    return {
        "id": shown.sample_id, "instruction": shown.instruction, "source": shown.source,
        "size": list(shown.image_size or UNKNOWN_SIZE), "known": shown.image_size is not None, "views": views(shown),
        "shapes": shapes, "marks": marks,
    }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.7g}")


_ROW: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "total": lambda row: _finite(row["total"]),
    "x_unit": lambda row: _finite(row["x_unit"]),
    "y_unit": lambda row: _finite(row["y_unit"]),
    "response": lambda row: None if row["response"] is None else shortened(row["response"], LONGEST),
    "cut": lambda row: len(row["response"] or "") > LONGEST,
    "target": lambda row: row["target"],
    "recipe": lambda row: row["recipe"],
}
"""Values of a rollout on a page."""


def _answer(rows: Rows, state: Mapping[str, str], options: Options, data: Screenshots | None) -> Block | None:
    """Return a sample with the rollouts that a state leaves, or None."""
    place, every = rows.sample(state, state["sample"])
    chosen = [row for row in every if row["chosen"]]
    if not chosen:
        return None
    shown, said = _shown(every, options), list[str]()
    if data is not None:
        try:
            (shown,), said = data.shown([shown])
        except PoolError as error:  # of this sample
            said = [str(error)]
    labels = [{name: row[column] for name, column, _ in rows.filters} for row in chosen]
    values = [{name: value(row) for name, value in _ROW.items()} for row in chosen]
    both = [{"labels": own, **each} for own, each in zip(labels, values, strict=True)]
    return {**_sample(shown), **place, "image": shown.image, "notes": said, "rows": both}
