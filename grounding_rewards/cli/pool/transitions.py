"""``grounding-rewards pool transitions``: moves of samples from one round to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.errors import TableError
from grounding_rewards.pool.transitions import SOURCES, compare_files, facts_of, sources_of
from grounding_rewards.tables.atomic import write_json

_INPUT = (
    "Rollouts, or the output of `pool stats --out`. `PATH@N` takes round N of several; `1.4=PATH` names the sampling "
    "temperature, or takes that one of several."
)


def transitions(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=_INPUT)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The same of the later round.")],
    null: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="A second set of rollouts of the policy before, to measure the null."),
    ] = None,
    by: options.By = "source",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the JSON here.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two rounds: samples by right rollouts before and after, beside the moves expected by chance.

    Prints the matrix and its row shares beside those expected by chance, the escapes of never-solved samples, and both
    by source. Samples count that both rounds have scored.

    0 of 8 right rollouts need not be 0 of 8 in a second measurement: the null says how far samples move by chance. It
    is computed (beta-binomial, from a prior of pass rates fitted to BEFORE), or measured by --null, a second set of
    rollouts of the checkpoint before. Sampled at the temperature of AFTER, that set also includes the effect of the
    temperature.

    With nothing learnt, a computed null gives p below .05 in 4 to 12 % of trials where pass rates come from a Beta
    distribution, but in 67 % of 200 samples and always of 2,000 where 40 % can never be solved and the others are
    uniform; a warning appears where the histogram of BEFORE does not fit the prior (there in 56 and 100 %). Where it
    matters, use --null.

    Example: `grounding-rewards pool transitions rollouts.parquet@1 rollouts.parquet@2`
    """
    if out is not None and (out.suffix != ".json" or out.is_dir() or not out.parent.is_dir()):
        raise TableError(f"--out: got {out}; expected a file that ends in .json, in a directory that is there")
    changes = compare_files(before, after, null=null, by=by, reporting=terminal.REPORTING)
    summary = {"before_path": before, "after_path": after, "null_path": null, "by": by, **changes}
    if out is not None:
        write_json(out.resolve(), out, summary)
    terminal.print_json(summary) if as_json else _show(summary)
    for text in changes["warnings"]:
        terminal.warn(text)


_COLUMNS = 9
"""Columns that fit into 80 characters."""


def _show(found: Mapping[str, Any]) -> None:
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
