"""``grounding-rewards pool stats``: statistics of rollouts by sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.pool.specs import Reading
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.next import say_rounds, warn_of_column
from grounding_rewards.errors import TableError
from grounding_rewards.wording import percent


def stats(
    rollouts: options.Rollouts,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a row a sample (.parquet, .jsonl).")] = None,
    pass_at: Annotated[
        list[int] | None,
        typer.Option("--pass-at", metavar="K", help="Add pass@K; may be given several times."),
    ] = None,
    item_response: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Fit the difficulty of samples, 0 to 100, beside the abilities of the policies, rounds or "
            "temperatures that answered them, and write it to --out; COLUMN is policy, round or temperature.",
        ),
    ] = None,
    *,
    reading: Reading,
    as_json: options.AsJson = False,
) -> None:
    """Compute statistics of rollouts by sample: counts, pass rates, totals and agreement of clicks.

    Rollouts need `sample_id` and `acc` (or `correct`), 0 or 1; null is unscored and left out of n. Further
    columns are used: `total`, `reason`, the point, `target`, `image_size`, `source`, `round`, `temperature`.

    `--out` holds for each sample: n, num_correct, pass_rate with its 95 % interval (wilson_low, wilson_high), mean,
    variance, lowest, highest and spread of the totals, parse_rate, clicks with their mean point and dispersion (of the
    screen's diagonal, and as dispersion_target of the target's), target_area and target_diagonal, distinct responses,
    cells, cell_entropy and cell_rarity of the answers, source, round and temperature; with --item-response
    item_difficulty.

    Example: `grounding-rewards pool stats rollouts/ --out stats.parquet --pass-at 4`
    """
    from grounding_rewards.pool.command import count_rollouts
    from grounding_rewards.pool.inputs import mixed

    ks = sorted(set(pass_at or ()))
    if ks and ks[0] < 1:
        raise TableError(f"--pass-at: got {ks[0]}; expected a whole number above 0")
    summary = count_rollouts(rollouts, out, ks=ks, item_response=item_response, reporting=terminal.REPORTING, **reading)
    if reading["rounds"] is None:
        say_rounds(len(rollouts), [None if name == "unknown" else int(name) for name in summary["rounds"]])
    if text := mixed(None if name == "unknown" else float(name) for name in summary["temperatures"]):
        terminal.warn(text)
    warn_of_column(reading["by"], summary["by_source"])
    terminal.print_json(summary) if as_json else _show(summary)
    if out is not None and not as_json:
        terminal.say(f"{summary['samples']} samples written to {out}")


def _show(summary: dict[str, Any]) -> None:
    heads = ["", "samples", "rollouts", "solved", "never", "mixed", "no signal", "accuracy", "parsed"]
    named = [(str(each["source"]), each) for each in summary["by_source"]] + [("all", summary)]
    console = layout.console()
    console.print(layout.table(heads, rows=([name, *_cells(each)] for name, each in named), figures=heads[1:]))
    if summary["unscored"]:
        many = "rollouts are" if summary["unscored"] > 1 else "rollout is"
        console.print(layout.text(f"{summary['unscored']:,} {many} not scored, and not counted in n."))
    for k, each in summary.get("pass_at_k", {}).items():
        line = f"pass@{k}: {percent(each['mean'])} of {each['samples']} samples with {k} rollouts or more"
        console.print(layout.text(line))
    if fit := summary.get("item_response"):
        abilities = ", ".join(f"{name} {ability + 0.0:+.2f}" for name, ability in fit["abilities"].items())
        where = "their mean" if fit["at"] is None else f"{fit['column']} {fit['at']}"
        console.print(layout.text(f"abilities by {fit['column']}: {abilities}; difficulty at {where}"))


def _cells(counts: dict[str, Any]) -> list[str]:
    names = ("samples", "rollouts", "all_correct", "none_correct", "mixed", "zero_signal")
    numbers = ["-" if counts[name] is None else f"{counts[name]:,}" for name in names]
    return [*numbers, percent(counts["accuracy"]), percent(counts["parse_rate"])]
