"""Comparison of methods as tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.pool.plan.measures import in_per_cent
from grounding_rewards.pool.report.wording import percent

if TYPE_CHECKING:
    from grounding_rewards.pool.plan import Candidate, Plan


def show(plan: Plan) -> None:
    """Print a row for each method, their overlaps, and the methods that did not run."""
    console = layout.console()
    console.print(_methods(plan))
    layout.section(console, "Overlap in per cent", _overlaps(plan), indent=0)
    lines = [(each.label, each.kind, _why(each)) for each in plan.left_out]
    layout.section(console, "Not compared", layout.facts(lines, columns=3), indent=0)


def _methods(plan: Plan) -> Table:
    rollouts = ["rollouts"] if any(row.rollouts is not None for row in plan.rows) else []
    figures = ["", "kept", *rollouts, "effective", "never", "mean p", "no signal"]
    table = layout.table(["", "method", "kind", *figures[1:]], figures=figures)
    for number, row in enumerate(plan.rows, 1):
        measures = row.measures
        kept = [f"{measures.kept:,}", *(["-" if row.rollouts is None else f"{row.rollouts:,}"] if rollouts else [])]
        mean = "-" if measures.mean_p is None else f"{measures.mean_p:.3f}"
        shares = [percent(measures.zero_share), mean, percent(measures.zero_signal_share)]
        layout.row(
            table, [str(number), row.method.label, row.method.kind, *kept, f"{measures.effective:,.1f}", *shares]
        )
    return table


def _overlaps(plan: Plan) -> Table:
    heads = [str(number) for number in range(1, len(plan.rows) + 1)]
    table = layout.table(["", *heads], [""], figures=heads)
    table.padding = 0  # a character between columns, for methods are many
    for number, (row, shares) in enumerate(zip(plan.rows, plan.overlap, strict=True), 1):
        layout.row(table, [f"{number} {row.method.name}", *map(in_per_cent, shares)])
    return table


def _why(method: Candidate) -> str:
    return f"needs {', '.join(method.needs)}" if method.needs else method.reason
