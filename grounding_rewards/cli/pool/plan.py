"""``grounding-rewards pool plan``: methods side by side on the same rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.pool.specs import Reading, options_named, read_spec
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.next import say_rounds
from grounding_rewards.wording import percent

if TYPE_CHECKING:
    from grounding_rewards.pool.plan import Plan


def plan(
    rollouts: options.Rollouts,
    method: Annotated[
        list[str] | None,
        options.method_option(
            'Compare this method, with its arguments: \'{"name": "band", "low_rate": 0.2}\'; may be given several '
            "times. Default: all, every built-in one."
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it, as a page that opens without a network (.html).")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write a row for each sample and method, with its weight (.parquet, .jsonl)."
        ),
    ] = None,
    *,
    reading: Reading,
    as_json: options.AsJson = False,
) -> None:
    """Show side by side what each method of selection would keep of these rollouts, or weigh.

    Methods are selectors (`pool next --selector`), allocations of further rollouts (`pool allocate`) and choices of
    rollouts (`pool rollouts`). Each gives weights to samples: a selector its own, an allocation the number of further
    rollouts, a choice that of kept ones. *kept* samples have a weight above 0; *effective* is the number of samples of
    equal weight that would be as uneven; *never* and *no signal* are shares of the weight on never-solved samples, and
    on samples whose totals are all alike; *mean p* is the weighted mean pass rate. The overlap of two methods is the
    weight that they have in common, 100 % where they agree. For comparison, *control* is every measured sample, and
    *next* what `pool next` draws without options.

    A method that needs arguments is listed with their names, one that cannot run on these rollouts with the reason.
    `--weights` is for trainers that draw by weight. ROLLOUTS can also be one file of statistics, the output of
    `pool stats --out`.

    Example: `grounding-rewards pool plan rollouts/ --round 1 --picture plan.html`
    """
    from grounding_rewards.pool.plan import plan_rollouts

    with options_named():
        compared, counted = plan_rollouts(
            rollouts, [read_spec("--method", text) for text in method or ()], picture=picture, weights=weights,
            reporting=terminal.REPORTING, **reading,
        )  # fmt: skip
    written = {name: path for name, path in (("picture", picture), ("weights", weights)) if path is not None}
    if reading["rounds"] is None and counted:
        say_rounds(len(rollouts), counted)
    if as_json:
        terminal.print_json({**compared.to_json(), **{name: str(path) for name, path in written.items()}})
        return
    _show(compared)
    for name, path in written.items():
        terminal.say(f"{name} written to {path}")


def _show(plan: Plan) -> None:
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
