"""Comparisons of methods, and transitions, as tables on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.pool.transitions import SOURCES, facts_of, sources_of
from grounding_rewards.wording import percent

if TYPE_CHECKING:
    from grounding_rewards.pool.plan import Plan


def show_plan(plan: Plan) -> None:
    """Print a row for each method, their overlaps, and the methods that did not run."""
    console = layout.console()
    console.print(_methods(plan))
    layout.section(console, "Overlap in per cent", _overlaps(plan), indent=0)
    lines = [
        (each.label, each.kind, f"needs {', '.join(each.needs)}" if each.needs else each.reason)
        for each in plan.left_out
    ]
    layout.section(console, "Not compared", layout.facts(lines, columns=3), indent=0)


def _methods(plan: Plan) -> Table:
    rollouts = ["rollouts"] if any(found["rollouts"] is not None for _, found in plan.rows) else []
    figures = ["", "kept", *rollouts, "effective", "never", "mean p", "no signal"]
    table = layout.table(["", "method", "kind", *figures[1:]], figures=figures)
    for number, (method, found) in enumerate(plan.rows, 1):
        kept = ["-" if found[name] is None else f"{found[name]:,}" for name in ("kept", *rollouts)]
        mean = "-" if found["mean_p"] is None else f"{found['mean_p']:.3f}"
        shares = [percent(found["zero_share"]), mean, percent(found["zero_signal_share"])]
        layout.row(table, [str(number), method.label, method.kind, *kept, f"{found['effective']:,.1f}", *shares])
    return table


def _overlaps(plan: Plan) -> Table:
    from grounding_rewards.pool.plan import in_per_cent

    heads = [str(number) for number in range(1, len(plan.rows) + 1)]
    table = layout.table(["", *heads], [""], figures=heads)
    table.padding = 0  # a character between columns, for methods are many
    for number, ((method, _), shares) in enumerate(zip(plan.rows, plan.overlap, strict=True), 1):
        layout.row(table, [f"{number} {method.name}", *map(in_per_cent, shares)])
    return table


_COLUMNS = 9
"""Columns that fit into 80 characters."""


def show_transitions(found: Mapping[str, Any]) -> None:
    """Print the matrix, its row shares beside chance, the life of the never-solved, and samples by source."""
    console = layout.console()
    bins = binned(len(found["after"]))
    console.print(layout.text("Samples by right rollouts before (rows) and after (columns)", "bold"))
    console.print(_matrix(found, bins))
    layout.section(console, "Shares of each row in per cent, and by chance alone", _shares(found, bins), indent=0)
    layout.section(console, "", layout.facts(facts_of(found)), indent=0)
    if rows := sources_of(found):
        layout.section(console, f"By {found['by']}", layout.table(SOURCES, rows=rows, figures=SOURCES[1:]), indent=0)


def binned(columns: int) -> list[range]:
    """Return the numbers of right rollouts that share a column: 0 and the largest alone, the others in equal parts.

    >>> [len(each) for each in binned(9)], [(each[0], each[-1]) for each in binned(17)]
    ([1, 1, 1, 1, 1, 1, 1, 1, 1], [(0, 0), (1, 3), (4, 6), (7, 9), (10, 12), (13, 15), (16, 16)])
    """
    if columns <= _COLUMNS:
        return [range(each, each + 1) for each in range(columns)]
    between, size = columns - 2, -(-(columns - 2) // (_COLUMNS - 2))  # rounded up
    return [
        range(0, 1),
        *(range(start, min(start + size, between + 1)) for start in range(1, between + 1, size)),
        range(columns - 1, columns),
    ]


def _matrix(found: Mapping[str, Any], bins: Sequence[range]) -> Table:
    heads = [*map(_name, bins), "all"]
    table = layout.table(["", *heads], figures=heads)
    for name, row in [*enumerate(found["counts"]), ("all", found["after"])]:
        if sum(row):
            cells = (sum(row[right] for right in each) for each in bins)
            layout.row(table, [str(name), *(f"{cell:,}" if cell else "." for cell in cells), f"{sum(row):,}"])
    return table


def _shares(found: Mapping[str, Any], bins: Sequence[range]) -> Table:
    heads = [*map(_name, bins)]
    table = layout.table(["", "", *heads], figures=heads)
    table.columns[1].justify = "right"
    for right, rows in enumerate(zip(found["counts"], found["null"]["expected"], strict=True)):
        total = sum(rows[0])
        for name, row in zip(("observed", "chance"), rows if total else (), strict=False):
            # Not known of a row that the null lacks.
            shares = [None if None in row else math.fsum(row[each] for each in inside) / total for inside in bins]
            layout.row(table, ["" if name == "chance" else str(right), name, *map(_share, shares)])
    return table


def _name(bin_: range) -> str:
    return str(bin_[0]) if len(bin_) == 1 else f"{bin_[0]}-{bin_[-1]}"


def _share(share: float | None) -> str:
    """Write a share in per cent; a point for none."""
    if share is None:
        return "-"
    return "." if share == 0 else "<1" if share < 0.01 else f"{100 * share:.0f}"
