"""Comparison of methods on files of rollouts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool.command import Source, source
from grounding_rewards.pool.inputs import mixed
from grounding_rewards.pool.methods import CHOICE
from grounding_rewards.pool.plan.comparison import REFERENCE, Candidate, Plan, candidates, compare
from grounding_rewards.pool.plan.page import labels_of, page_of
from grounding_rewards.pool.report.inputs import Options, round_of
from grounding_rewards.pool.report.view import listing
from grounding_rewards.pool.rollouts import RolloutColumns, read_columns
from grounding_rewards.tables.files import check_output
from grounding_rewards.tables.parted import write_file
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.viewer import Block, check_page, write_page


def plan_rollouts(
    rollouts: Sequence[Path],
    methods: Sequence[str | Mapping[str, Any]] = (),
    *,
    picture: Path | None = None,
    weights: Path | None = None,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> tuple[Plan, list[int | None]]:
    r"""Compare methods on rollouts, as ``grounding-rewards pool plan`` does.

    Rollouts are read one by one only where a choice of rollouts can run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rollouts.jsonl")
    ...     _ = file.write_text('{"sample_id": "a", "acc": 1}\n{"sample_id": "a", "acc": 0, "rollout": 1}\n')
    ...     plan, _ = plan_rollouts([file], ["learnability", "unsolved"])
    >>> [row.method.name for row in plan.rows]
    ['control', 'next', 'learnability', 'unsolved']
    """
    chosen = candidates(methods)  # this and the next lines before the long work
    given = source(rollouts, **reading)
    table, rounds = given.table, given.rounds
    if picture is not None:
        check_page(picture, given.files)
    if weights is not None:
        check_output(weights, given.files)
    columns, counted = None, list[int | None]()
    with reporting.progress("comparing methods") as advance:
        stats = given.stats(reporting.warn)
        advance(0.4)
        if table is not None:
            chosen = [_checked(method, table) for method in chosen]
            choices = [each for each in chosen if each.kind == CHOICE and each.built is not None and not each.reason]
            columns, failed = _read(table, choices, rounds)
            chosen = [replace(each, reason=failed.get(each.label, each.reason)) for each in chosen]
            counted = list(table.rounds(rounds))
            if text := mixed(table.temperatures(rounds)):
                reporting.warn(text)
        advance(0.6)
        plan = compare(stats, chosen, columns, advance=lambda done: advance(0.6 + 0.4 * done))
        if picture is not None:
            write_page(picture, page_of(plan, _listing(given, plan)))
        if weights is not None:
            write_file(weights, _weights(plan))
    return plan, counted


def _listing(given: Source, plan: Plan) -> list[Block]:
    """Return the section of the rollouts, with filters by the methods that keep their sample."""
    if given.table is None:
        return []
    options = Options(given.by, given.target_space, given.recipe)
    rounds = None if given.rounds is None else tuple(given.rounds)
    return listing([round_of("rollouts", given.table, rounds, options)], options, labels=labels_of(plan))


def _weights(plan: Plan) -> Iterator[pa.Table]:
    """Yield a table of weights for each method, but for the rows that are only compared with."""
    names = pa.array([str(name) for name in plan.sample_id.tolist()], pa.string())
    methods = [(row.method, weights) for row, weights in zip(plan.rows, plan.weights, strict=True)]
    chosen = [(method.label, weights) for method, weights in methods if method.kind != REFERENCE]
    for label, weights in chosen or [("", np.zeros(0))]:
        labels = pa.repeat(pa.scalar(label, pa.string()), len(weights))
        yield pa.table({"sample_id": names[: len(weights)], "method": labels, "weight": weights})


def _checked(method: Candidate, table: RolloutTable) -> Candidate:
    """Give a choice of rollouts a reason where the table lacks a column that it needs."""
    lacking = [name for name in getattr(method.built, "needs", ()) if method.kind == CHOICE and not _has(table, name)]
    if not lacking:
        return method
    listed = ", ".join("clicks" if name == "answer" else f"column {name}" for name in lacking)
    return replace(method, reason=f"the rollouts have no {listed}")


def _has(table: RolloutTable, name: str) -> bool:
    for columns in (["answer_key"], ["x_unit", "y_unit"]) if name == "answer" else ([name],):
        try:
            table.need(*columns)
        except TableError:
            continue
        return True
    return False


def _read(
    table: RolloutTable, choices: Sequence[Candidate], rounds: Collection[int] | None
) -> tuple[RolloutColumns | None, dict[str, str]]:
    """Read the columns that choices need, and return the reasons why some cannot run, by their labels."""
    if not choices:
        return None, {}
    totals = ["total"] if _has(table, "total") else []  # by which groups have a signal or not
    try:
        return read_columns(
            table, {*totals, *(name for each in choices for name in each.built.needs)}, rounds=rounds
        ), {}
    except (PoolError, TableError) as error:
        failed = {each.label: str(error) for each in choices}
    if len(choices) == 1:
        return None, failed
    # A wrong value in a column leaves out those alone that need it.
    single = {label: why for each in choices for label, why in _read(table, [each], rounds)[1].items()}
    able = [each for each in choices if each.label not in single]
    return (_read(table, able, rounds)[0], single) if single else (None, failed)
