"""Comparisons of methods, and transitions, as tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.pool.transitions import describe_prior
from grounding_rewards.wording import percent

if TYPE_CHECKING:
    from grounding_rewards.pool.plan import Candidate, Plan
    from grounding_rewards.pool.transitions import Chance, Moves, Transitions


def show_plan(plan: Plan) -> None:
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
    from grounding_rewards.pool.plan import in_per_cent

    heads = [str(number) for number in range(1, len(plan.rows) + 1)]
    table = layout.table(["", *heads], [""], figures=heads)
    table.padding = 0  # a character between columns, for methods are many
    for number, (row, shares) in enumerate(zip(plan.rows, plan.overlap, strict=True), 1):
        layout.row(table, [f"{number} {row.method.name}", *map(in_per_cent, shares)])
    return table


def _why(method: Candidate) -> str:
    return f"needs {', '.join(method.needs)}" if method.needs else method.reason


_COLUMNS = 9
"""Columns that fit into 80 characters."""


def show_transitions(transitions: Transitions, by: str) -> None:
    """Print the matrix, its row shares beside chance, the life of the never-solved, and samples by source."""
    console = layout.console()
    bins = binned(transitions.counts.shape[1])
    console.print(layout.text("Samples by right rollouts before (rows) and after (columns)", "bold"))
    console.print(_matrix(transitions, bins))
    layout.section(console, "Shares of each row in per cent, and by chance alone", _shares(transitions, bins), indent=0)
    layout.section(console, "", layout.facts(_facts(transitions)), indent=0)
    if len(transitions.by_source) > 1 or transitions.by_source[0].source is not None:
        layout.section(console, f"By {by}", _by_source(transitions.by_source), indent=0)


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


def _matrix(transitions: Transitions, bins: Sequence[range]) -> Table:
    heads = [*map(_name, bins), "all"]
    table = layout.table(["", *heads], figures=heads)
    for right, row in enumerate(transitions.counts):
        if row.sum():
            layout.row(table, [str(right), *(_count(row[list(each)].sum()) for each in bins), f"{row.sum():,}"])
    layout.row(table, ["all", *(_count(transitions.after[list(each)].sum()) for each in bins), f"{transitions.both:,}"])
    return table


def _shares(transitions: Transitions, bins: Sequence[range]) -> Table:
    heads = [*map(_name, bins)]
    table = layout.table(["", "", *heads], figures=heads)
    table.columns[1].justify = "right"
    chances = transitions.chance.expected
    for right, row in enumerate(transitions.counts):
        if row.sum():
            total = row.sum()
            layout.row(table, [str(right), "observed", *(_share(row[list(each)].sum() / total) for each in bins)])
            layout.row(table, ["", "chance", *(_share(chances[right, list(each)].sum() / total) for each in bins)])
    return table


def _facts(transitions: Transitions) -> Iterable[tuple[str, str]]:
    moves, chance = transitions.moves, transitions.chance
    yield "never solved before", f"{moves.never_solved:,} of {moves.both:,} samples"
    if moves.never_solved:
        yield "solved after", f"{moves.escaped:,}, {_interval(moves.escape_share, moves.low, moves.high)}"
        if chance.samples:
            interval = _interval(chance.escape_share, chance.low, chance.high)
            yield "by chance alone", f"{interval}; p = {chance.p_value:.2g}"
            yield "", _kind(chance)
        else:
            yield "by chance alone", "unknown: the null holds none of them"
    yield "up, same, down", f"{moves.up:,}, {moves.same:,}, {moves.down:,}; right rollouts {transitions.net:+,}"
    gap = moves.difference
    ends = "" if gap.low != gap.low else f", 95 % {100 * gap.low:+.1f} to {100 * gap.high:+.1f}"
    yield "mean pass rate", f"{percent(gap.before)} to {percent(gap.after)}: {100 * gap.mean:+.1f} points{ends}"
    if transitions.discordant is not None:
        each = transitions.discordant
        text = f"{each.only_before:,} before alone, {each.only_after:,} after alone; McNemar p = {each.p_value:.2g}"
        yield "right in one round", text
    left = f"{len(transitions.dropped):,} before alone, {len(transitions.new):,} after alone"
    yield "not compared", left + (f", {transitions.unscored:,} not scored in both" if transitions.unscored else "")


def _kind(chance: Chance) -> str:
    if chance.prior is None:
        return f"measured on {chance.samples:,} samples"
    kind = "beta-binomial, fit prior" if chance.prior.rate is None else "binomial, fit:"
    return f"{kind} {describe_prior(chance.prior.a, chance.prior.b)}"


def _by_source(moves: Sequence[Moves]) -> Table:
    heads = ["both", "never", "solved", "share", "95 % interval", "up", "down", "points"]
    table = layout.table(["source", *heads], figures=heads)
    for each in moves:
        share = percent(None if not each.never_solved else each.escape_share)
        ends = layout.interval(each.low, each.high) if each.never_solved else "-"
        counts = [f"{each.both:,}", f"{each.never_solved:,}", f"{each.escaped:,}"]
        cells = [*counts, share, ends, f"{each.up:,}", f"{each.down:,}", f"{100 * each.difference.mean:+.1f}"]
        layout.row(table, ["(none)" if each.source is None else each.source, *cells])
    return table


def _interval(share: float, low: float, high: float) -> str:
    return f"{percent(share)}, 95 % {100 * low:.1f} to {100 * high:.1f}"


def _name(bin_: range) -> str:
    return str(bin_[0]) if len(bin_) == 1 else f"{bin_[0]}-{bin_[-1]}"


def _count(number: Any) -> str:
    return f"{number:,}" if number else "."


def _share(share: Any) -> str:
    """Write a share in per cent; a point for none.

    >>> _share(0.0), _share(0.004), _share(0.5), _share(float("nan"))
    ('.', '<1', '50', '-')
    """
    if share != share:
        return "-"
    return "." if share == 0 else "<1" if share < 0.01 else f"{100 * share:.0f}"
