"""``grounding-rewards pool temperature``: the highest temperature whose accuracy has not collapsed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.settings.declared import option


class Rule(StrEnum):
    """Rules for a collapsed temperature."""

    BOOTSTRAP = "bootstrap"
    TOLERANCE = "tolerance"


@dataclass(frozen=True)
class Choosing:
    """Options of the choice."""

    rule: Rule = option("Rule for a collapsed temperature.", Rule.BOOTSTRAP)
    tolerance: float = option("For `tolerance`: largest loss of accuracy against the reference.", 0.02, metavar="X")
    margin: float = option("For `bootstrap`: largest loss of accuracy beyond the interval.", 0.01, metavar="X")
    reference: float | None = option(
        "Temperature to compare with. Default: the best; for tolerance the lowest.", None, metavar="T"
    )
    seed: int = option("Seed of the bootstrap.", 0, metavar="N")
    draws: int = option("Number of bootstrap draws.", 2000, metavar="N")


def temperature(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Rollouts of the same samples at two or more temperatures: in the column `temperature`, or named as "
            "`1.4=FILE`, which chooses one where the column has several. `FILE@N` takes round N.",
        ),
    ],
    choosing: Annotated[Choosing, options.group(Choosing)],
    as_json: options.AsJson = False,
) -> None:
    """Choose the highest temperature whose accuracy has not collapsed.

    bootstrap: take the difference of a temperature's accuracy to that of the best one. The temperature has collapsed
    where the 95 % bootstrap interval of this difference, over samples, lies wholly below -0.01 (--margin; it is not 0
    because the best is best in part by luck). tolerance: a temperature has collapsed where its accuracy is more than
    0.02 (--tolerance) below that of the lowest temperature. A temperature above a collapsed one is never chosen; a
    cooler one can be lower, and has not collapsed. Only samples that have scores at all temperatures count. Nothing is
    chosen where rollouts are of several rounds or policies: these may differ by more than their temperature.

    Example: `grounding-rewards pool temperature 1.1=cool.parquet 1.4=warm.parquet 1.7=hot.parquet`
    """
    from grounding_rewards.pool.inputs import policies_of, read_input, stats_by_temperature
    from grounding_rewards.pool.temperature import sweep

    together = dict[str, None]()  # a set in order: every temperature of a file warns of the same
    with terminal.progress("comparing temperatures") as advance:
        inputs = [read_input(text) for text in files]
        comparison = sweep(
            stats_by_temperature(inputs, lambda text: together.update({text: None})),
            policies=policies_of(inputs),
            **{**vars(choosing), "rule": choosing.rule.value},
        )
        comparison["warnings"] += together
        advance(1.0)
    terminal.print_json(comparison) if as_json else _show(comparison)
    for text in comparison["warnings"]:
        terminal.warn(text)


_MARKS = {"collapsed": " x", "lower accuracy": " -"}
"""Marks of verdicts."""


def _show(sweep: dict[str, Any]) -> None:
    """Print the table, the reason for each temperature, the legend and the choice."""
    heads = ["T", "right", "95 %", "difference", "parsed", "mixed", "never", "spread", "texts"]
    table = layout.table(heads, heads[:1], figures=heads[1:])
    for row in sweep["rows"]:
        mark = " *" if row["temperature"] == sweep["chosen"] else _MARKS.get(row["verdict"], "")
        difference = f"{100 * row['difference_low']:+.1f} to {100 * row['difference_high']:+.1f}"
        is_reference = row["temperature"] == sweep["compared_with"]
        shares = [row[name] for name in ("parse_rate", "mixed_share", "zero_share", "dispersion", "distinct_share")]
        cells = [
            f"{row['temperature']:g}{mark}",
            f"{100 * row['accuracy']:.1f}",
            f"{100 * row['low']:.1f}-{100 * row['high']:.1f}",
            "-" if is_reference else difference,
            *("-" if share is None else f"{100 * share:.1f}" for share in shares),
        ]
        layout.row(table, cells)
    console = layout.console()
    console.print(table)
    console.print(layout.facts((f"{row['temperature']:g}", row["why"]) for row in sweep["rows"]))
    left_out = f" ({sweep['left_out']:,} others are not in all)" if sweep["left_out"] else ""
    console.print()
    for line in (
        f"In per cent, over {sweep['samples']:,} samples{left_out}.",
        "* chosen, x collapsed, - lower accuracy, though not hotter.",
        "right: mean pass rate, with its 95 % interval; never: samples never solved;",
        f"difference: its 95 % interval against {sweep['compared_with']:g}; mixed: samples sometimes solved;",
        "spread: of clicks, over the diagonal; texts: different responses a rollout.",
    ):
        console.print(layout.text(line))
    if sweep["chosen"] is None:
        console.print(layout.text("No temperature is chosen: the rollouts differ in more than temperature."))
    else:
        console.print(layout.text(f"{sweep['chosen']:g} is the highest before accuracy collapses ({sweep['rule']})."))
