"""Rollouts of all rounds of a page, in a database of their own with the labels that filters choose by."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain, pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from grounding_rewards.pool.report.rounds import AREAS, Round, size_bins
from grounding_rewards.pool.selection import suspects
from grounding_rewards.pool.stats import PASS_RATES, SampleStats, pass_rate_bins
from grounding_rewards.tables.interrupting import interruptible
from grounding_rewards.tables.rollout_sql import connected, quoted
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.viewer.page import shown
from grounding_rewards.wording import area

_READ = (
    "sample_id", "rollout", "acc", "total", "x_unit", "y_unit", "target", "image_size", "recipe", "response",
    "instruction", "reason", "policy", "temperature",
)  # fmt: skip
_OF_ROWS = {
    "outcome": "CASE WHEN acc IS NULL THEN 'not scored' WHEN acc = 1 THEN 'right' ELSE 'wrong' END",
    "reason": "reason",
    "round": "name",
    "temperature": "format('{:g}', coalesce(temperature, warm))",
    "policy": "policy",
}
"""SQL of the labels of rollouts; those of samples are ``_labels``."""

_KEPT = ("place", "sample", "id", *_READ[2:11])
_ROUNDS = pa.schema([("part", pa.int32()), ("name", pa.string()), ("warm", pa.float64())])
_TEXTS = ("id", "instruction", "response")


class Filter(NamedTuple):
    """Labels to choose rollouts by, each with the number of its rollouts, and their column."""

    name: str
    column: str
    counts: dict[str, int]

    def read(self, label: str) -> str:
        """Return the label that the page shows so."""
        return next((each for each in self.counts if shown(each) == label), label)


class Rows:
    """Rollouts of the rounds of a page, a row each; a context that closes its database.

    Samples are numbered in the order of their names. A ``state`` maps names of filters to labels, and ``text`` to what
    a response, an instruction or a sample's name holds, in letters of any case; both as a page shows them. ``labels``
    are further filters, each with the labels of samples by their names.
    """

    def __init__(self, parts: Sequence[Round], labels: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._lock = threading.Lock()  # one connection answers one query at a time
        self._connection = connected(ordered=True)  # in memory, and what is too large for it in temporary files
        held = [part for part in parts if part.table is not None]
        steps = pairwise([part for part in held if not part.swept])
        further = {shown(moved(old.name, new.name)): _moves(old, new) for old, new in steps} | {**(labels or {})}
        columns = {name: name for name in (*_OF_ROWS, *_fill(self._connection, held, further))}
        if len(held) > 1:  # the same sample in several rounds, as cells of transitions are
            columns |= {shown(right_in(part.name)): f"right{place}" for place, part in enumerate(held)}
        self.filters = [Filter(name, column, self._counts(column)) for name, column in columns.items()]
        found = self.find({})
        self.rollouts, self.samples = found["rollouts"], found["samples"]

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def find(self, state: Mapping[str, str]) -> dict[str, int]:
        """Count the rollouts, samples, scored and right rollouts that a state leaves."""
        counts = "count(*) AS rollouts, count(DISTINCT sample) AS samples, count(acc) AS scored, "
        return self._rows(f"{counts}count(*) FILTER (acc = 1) AS right", state)[0]

    def lines(self, state: Mapping[str, str], first: int, most: int) -> list[dict[str, Any]]:
        """Return samples that a state leaves, with their outcomes by the labels of the filter that is ``beside``."""
        beside = next((quoted(each.column) for each in self.filters if each.name == state.get("beside")), "''")
        chosen = (
            "any_value(id) AS id, any_value(source) AS source, any_value(instruction) AS instruction, "
            f"list(outcome ORDER BY place) AS outcomes, list(coalesce({beside}, '') ORDER BY place) AS labels"
        )
        rest = f"GROUP BY sample ORDER BY sample LIMIT {int(most)} OFFSET {int(first)}"
        return self._rows(chosen, state, rest)

    def sample(self, state: Mapping[str, str], name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the place of a sample in a state, its neighbours, and its rollouts, ``chosen`` in that state."""
        condition, values = self._condition(state)
        own = "(SELECT any_value(sample) FROM rows WHERE id = ?)"
        every = self._asked(
            f"SELECT *, {condition} AS chosen FROM rows WHERE sample = {own} ORDER BY place", [*values, name]
        )
        sides = "arg_max(id, sample) FILTER (sample < {0}) AS before, count(DISTINCT sample) FILTER (sample < "
        sides += "{0}) AS place, arg_min(id, sample) FILTER (sample > {0}) AS after"
        number = every[0]["sample"] if every else -1
        return self._rows(sides.format(number), state)[0], every

    def every(self) -> list[dict[str, Any]]:
        """Return all rollouts in order."""
        return self._rows("*", {}, "ORDER BY place")

    def _rows(self, columns: str, state: Mapping[str, str], rest: str = "") -> list[dict[str, Any]]:
        condition, values = self._condition(state)
        return self._asked(f"SELECT {columns} FROM rows WHERE {condition} {rest}", values)

    def _condition(self, state: Mapping[str, str]) -> tuple[str, list[str]]:
        chosen = [each for each in self.filters if state.get(each.name)]
        conditions = [f"{quoted(each.column)} = ?" for each in chosen]
        values = [each.read(state[each.name]) for each in chosen]
        if text := state.get("text"):
            sides = " OR ".join(f"contains(lower(coalesce({name}, '')), lower(?))" for name in _TEXTS)
            conditions, values = [*conditions, f"({sides})"], [*values, *([text] * len(_TEXTS))]
        return " AND ".join(conditions) or "true", values

    def _counts(self, column: str) -> dict[str, int]:
        sql = f"SELECT {quoted(column)} AS label, count(*) AS rows FROM rows WHERE label IS NOT NULL GROUP BY 1"
        counted = {row["label"]: row["rows"] for row in self._asked(sql)}
        return dict(sorted(counted.items(), key=lambda each: _order(each[0])))

    def _asked(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        def read() -> Any:
            return self._connection.sql(sql, params=list(values)).to_arrow_table().to_pylist()

        with self._lock:
            return list(interruptible(self._connection, read))


def right_in(name: str) -> str:
    """Return the name of the filter by right rollouts in one of several rounds."""
    return f"right in {name}"


def moved(before: str, after: str) -> str:
    """Return the name of the filter by how pass rates moved from one round to the next."""
    return f"from {before} to {after}"


def _moves(before: Round, after: Round) -> dict[str, str]:
    """Return how the pass rate of each sample moved that is scored in both rounds."""
    old, new = (dict(zip(each.stats.sample_id, each.stats.pass_rate.tolist(), strict=True)) for each in (before, after))
    both = [name for name in old if old[name] == old[name] and new.get(name, np.nan) == new.get(name, np.nan)]
    return {name: "up" if new[name] > old[name] else "down" if new[name] < old[name] else "same" for name in both}


def _fill(connection: Any, parts: Sequence[Round], more: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Write the table of all rollouts; return the names of the labels of samples."""
    rounds = {
        "part": range(len(parts)),
        "name": [shown(part.name) for part in parts],
        "warm": [part.warm for part in parts],
    }
    connection.register("rounds", pa.table(rounds, schema=_ROUNDS))
    groups = [{"part": [place] * len(part.stats), "sample_id": part.stats.sample_id,
               "id": list(map(shown, part.stats.sample_id)), **_labels(part.stats),
               **{name: [each.get(sample) for sample in part.stats.sample_id] for name, each in more.items()}}
              for place, part in enumerate(parts)]  # fmt: skip
    labels = [name for name in groups[0] if name not in ("part", "sample_id", "id")]
    schema = pa.schema([("part", pa.int32()), *((name, pa.string()) for name in ("sample_id", "id", *labels))])
    connection.register("groups", pa.concat_tables([pa.table(each, schema=schema) for each in groups]))
    for place, part in enumerate(parts):
        where = "" if part.rounds is None else f" WHERE round IN ({', '.join(map(str, part.rounds)) or 'NULL'})"
        table, sql = cast(RolloutTable, part.table), f"SELECT {', '.join(_READ)} FROM {{rollouts}}{where}"
        with closing(table.stream(sql, [*_READ, "round"])) as batches:
            first = next(batches)  # a round has rollouts
            connection.register("batches", pa.RecordBatchReader.from_batches(first.schema, chain([first], batches)))
            into = "INSERT INTO read" if place else "CREATE TEMP TABLE read AS"
            interruptible(connection, connection.execute, f"{into} SELECT {place} AS part, * FROM batches")
    right = ", ".join(f'any_value("right") FILTER (part = {place}) AS right{place}' for place in range(len(parts)))
    chosen = ", ".join([
        *_KEPT, *(f"{sql} AS {quoted(name)}" for name, sql in _OF_ROWS.items()), *map(quoted, labels),
        *(f"right{place}" for place in range(len(parts))),
    ])  # fmt: skip
    sql = (
        "CREATE TABLE rows AS WITH samples AS (SELECT sample_id, row_number() OVER (ORDER BY sample_id) - 1 AS sample,"
        f" {right} FROM groups GROUP BY sample_id), placed AS (SELECT *, row_number() OVER (ORDER BY sample, part, "
        "rollout, response, x_unit, y_unit) - 1 AS place FROM read JOIN rounds USING (part) JOIN groups USING (part, "
        f"sample_id) JOIN samples USING (sample_id)) SELECT {chosen} FROM placed ORDER BY place"
    )
    interruptible(connection, connection.execute, sql)
    connection.execute("DROP TABLE read")
    return labels


def _labels(stats: SampleStats) -> dict[str, list[str | None]]:
    """Return the labels of the samples of a round."""
    known = [area(*edges) for edges in pairwise(AREAS)]
    sized = zip(stats.target_area, size_bins(stats), strict=True)
    ends = [stats.n == 0, stats.none_correct, stats.all_correct]
    solved = np.select(ends, ["not scored", "never", "always"], "sometimes")
    return {
        "source": [None if each is None else str(each) for each in stats.source],
        "solved": solved.tolist(),
        "pass rate": [PASS_RATES[place] for place in pass_rate_bins(stats)],
        "right": [str(right) if n else None for right, n in zip(stats.num_correct, stats.n, strict=True)],
        "target size": [None if np.isnan(size) else known[place] for size, place in sized],
        "suspect": ["suspect" if each else "not suspect" for each in suspects(stats)],
    }


def _order(label: str) -> tuple[float, str]:
    try:
        return float(label), ""
    except ValueError:
        return float("inf"), label
