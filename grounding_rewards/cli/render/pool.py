"""Comparisons of methods, and transitions, as tables on the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.pool.transitions import describe_prior
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
    layout.section(console, "", layout.facts(_facts(found)), indent=0)
    if len(found["by_source"]) > 1 or found["by_source"][0]["source"] is not None:
        layout.section(console, f"By {found['by']}", _by_source(found["by_source"]), indent=0)


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


def _facts(found: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    null, gap = found["null"], found["difference"]
    yield "never solved before", f"{found['never_solved']:,} of {found['both']:,} samples"
    if found["never_solved"]:
        yield "solved after", f"{found['escaped']:,}, {_interval(found)}"
        if null["samples"]:
            yield "by chance alone", f"{_interval(null)}; p = {null['p_value']:.2g}"
            yield "", _kind(null)
        else:
            yield "by chance alone", "unknown: the null holds none of them"
    moves = ", ".join(f"{found[name]:,}" for name in ("up", "same", "down"))
    yield "up, same, down", f"{moves}; right rollouts {found['net']:+,}"
    ends = "" if gap["low"] is None else f", 95 % {100 * gap['low']:+.1f} to {100 * gap['high']:+.1f}"
    rates = f"{percent(gap['before'])} to {percent(gap['after'])}"
    yield "mean pass rate", f"{rates}: {100 * gap['mean']:+.1f} points{ends}"
    if each := found["discordant"]:
        text = f"{each['only_before']:,} before alone, {each['only_after']:,} after alone"
        yield "right in one round", f"{text}; McNemar p = {each['p_value']:.2g}"
    left = f"{found['dropped']:,} before alone, {found['new']:,} after alone"
    yield "not compared", left + (f", {found['unscored']:,} not scored in both" if found["unscored"] else "")


def _kind(null: Mapping[str, Any]) -> str:
    prior = null["prior"]
    if prior is None:
        return f"measured on {null['samples']:,} samples"
    kind = "beta-binomial, fit prior" if prior["rate"] is None else "binomial, fit:"
    return f"{kind} {describe_prior(prior['a'], prior['b'])}"


def _by_source(moves: Sequence[Mapping[str, Any]]) -> Table:
    heads = ["both", "never", "solved", "share", "95 % interval", "up", "down", "points"]
    table = layout.table(["source", *heads], figures=heads)
    for each in moves:
        ends = layout.interval(each["low"], each["high"]) if each["never_solved"] else "-"
        both, never, solved, up, down = (
            f"{each[name]:,}" for name in ("both", "never_solved", "escaped", "up", "down")
        )
        points = f"{100 * each['difference']['mean']:+.1f}"
        cells = [both, never, solved, percent(each["escape_share"]), ends, up, down, points]
        layout.row(table, ["(none)" if each["source"] is None else each["source"], *cells])
    return table


def _interval(of: Mapping[str, Any]) -> str:
    return f"{percent(of['escape_share'])}, 95 % {100 * of['low']:.1f} to {100 * of['high']:.1f}"


def _name(bin_: range) -> str:
    return str(bin_[0]) if len(bin_) == 1 else f"{bin_[0]}-{bin_[-1]}"


def _share(share: float | None) -> str:
    """Write a share in per cent; a point for none.

    >>> _share(0.0), _share(0.004), _share(0.5), _share(None)
    ('.', '<1', '50', '-')
    """
    if share is None:
        return "-"
    return "." if share == 0 else "<1" if share < 0.01 else f"{100 * share:.0f}"
