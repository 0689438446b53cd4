"""``grounding-rewards pool temperature``: the highest temperature whose accuracy has not collapsed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from grounding_rewards.cli import terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.inputs import (
    Side,
    counted_side,
    holds_statistics,
    one_round,
    one_temperature,
    read_warm_side,
    stats_at,
    warmths,
)

if TYPE_CHECKING:
    from grounding_rewards.pool.stats import SampleStats
    from grounding_rewards.pool.temperature import Sweep


class Rule(StrEnum):
    """When a temperature has collapsed."""

    BOOTSTRAP = "bootstrap"
    TOLERANCE = "tolerance"


def temperature(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Rollouts of the same samples at two or more temperatures: in the column `temperature`, or said as "
            "`1.4=FILE`, which chooses one where the column has several. `FILE@N` takes round N.",
        ),
    ],
    rule: Annotated[Rule, typer.Option(help="When a temperature has collapsed.")] = Rule.BOOTSTRAP,
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="Accuracy that may be lost against the reference, for `tolerance`.")
    ] = 0.02,
    margin: Annotated[
        float, typer.Option(metavar="X", help="Accuracy that may be lost beyond chance, for `bootstrap`.")
    ] = 0.01,
    reference: Annotated[
        float | None,
        typer.Option(metavar="T", help="Compare with this temperature. Default: the best; for tolerance the lowest."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the draws of the bootstrap.")] = 0,
    draws: Annotated[int, typer.Option(metavar="N", help="How often samples are drawn.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
) -> None:
    """Choose the highest temperature whose accuracy has not collapsed.

    bootstrap: a temperature has collapsed where the interval of its accuracy less the best one's, over samples drawn
    again, ends below -0.01 (--margin: part of what makes the best the best is luck). tolerance: where its accuracy is
    more than 0.02 below that of the lowest temperature. A temperature above a collapsed one is never chosen. Only
    samples that all temperatures have scored count.

    Example: `grounding-rewards pool temperature 1.1=cool.parquet 1.4=warm.parquet 1.7=hot.parquet`
    """
    from grounding_rewards.pool.temperature import sweep

    with terminal.progress("comparing temperatures") as advance:
        found = sweep(
            _stats([read_warm_side(word) for word in files]),
            rule=rule.value,
            reference=reference,
            tolerance=tolerance,
            margin=margin,
            draws=draws,
            seed=seed,
        )
        advance(1.0)
    if as_json:
        terminal.print_json(found.to_json())
    else:
        _show(found)
    for text in found.warnings:
        terminal.warn(text)


def _stats(sides: list[Side]) -> dict[float, SampleStats]:
    """Statistics by temperature; files of one round whose temperatures are in their column are read as one table.

    Raises:
        TableError: a file cannot be read.
        PoolError: no temperature is known, or one comes twice.
    """
    groups: dict[tuple[object, ...], list[Side]] = {}
    for place, side in enumerate(sides):
        apart = holds_statistics(side.path)
        groups.setdefault((side.temperature, side.round, place if apart else None), []).append(side)
    found: dict[float, SampleStats] = {}
    came: dict[float, str] = {}
    for group in groups.values():
        paths = ", ".join(str(side.path) for side in group)
        for warm, stats in _of_group(group):
            if warm in found:
                raise PoolError(
                    f"temperature {warm:g} is in {came[warm]} and in {paths}; give each temperature once, or "
                    "all of its files in the same way"
                )
            found[warm], came[warm] = stats, paths
    return found


def _of_group(group: list[Side]) -> list[tuple[float, SampleStats]]:
    from grounding_rewards.pool.aggregate import stats_of
    from grounding_rewards.pool.transitions.paired import temperatures
    from grounding_rewards.tables.rollout_table import open_rollouts

    side, paths = group[0], [each.path for each in group]
    if holds_statistics(side.path):
        stats = counted_side(side)
        return [(one_temperature(side, temperatures(stats)), stats)]
    table = open_rollouts(paths)
    rounds = one_round(table, paths, side.round)
    if side.temperature is not None:
        return [(side.temperature, stats_at(side, table, rounds))]
    there = warmths(table, rounds)
    if None in there:
        shown = ", ".join(map(str, paths))
        raise PoolError(
            f"{shown}: {there[None]} rollouts name no temperature; expected it in a column temperature, or before the "
            f"path, as 1.4={side.path}"
        )
    return [(each, stats_of(table, rounds=rounds, temperature=each)) for each in there if each is not None]


def _show(found: Sweep) -> None:
    heads = ["T", "right", "95 %", "difference", "parsed", "mixed", "never", "spread", "texts"]
    table = layout.table(heads, heads[:1], figures=heads[1:])
    for row in found.rows:
        mark = " *" if row.temperature == found.chosen else " x" if row.collapsed else ""
        gap = f"{100 * row.difference_low:+.1f} to {100 * row.difference_high:+.1f}"
        compared = row.temperature == found.compared_with
        cells = [
            f"{row.temperature:g}{mark}",
            f"{100 * row.accuracy:.1f}",
            f"{100 * row.low:.1f}-{100 * row.high:.1f}",
            "-" if compared else gap,
            *map(_share, (row.parse_rate, row.mixed_share, row.zero_share, row.dispersion, row.distinct_share)),
        ]
        layout.row(table, cells)
    console = layout.console()
    console.print(table)
    console.print(layout.facts((f"{row.temperature:g}", row.why) for row in found.rows))
    left = f" ({found.left_out:,} others are not in all)" if found.left_out else ""
    console.print()
    for line in (
        f"In per cent, over {found.samples:,} samples{left}. * chosen, x collapsed.",
        f"difference: its 95 % interval against {found.compared_with:g}; mixed: samples solved at times;",
        "spread: of clicks, over the diagonal; texts: different responses a rollout.",
    ):
        console.print(layout.text(line))
    console.print(layout.text(f"{found.chosen:g} is the highest temperature that has not collapsed ({found.rule})."))


def _share(share: float) -> str:
    return "-" if share != share else f"{100 * share:.1f}"
