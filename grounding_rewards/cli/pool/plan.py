"""``grounding-rewards pool plan``: methods side by side on the same rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.pool.specs import Reading, options_named, read_spec
from grounding_rewards.cli.render.next import say_rounds


def plan(
    rollouts: options.Rollouts,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|JSON",
            autocompletion=options.METHODS,
            help='Compare this method, with its arguments: \'{"name": "band", "low_rate": 0.2}\'; may be given several '
            "times. Default: all, every built-in one.",
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
    from grounding_rewards.cli.render.pool import show_plan
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
    show_plan(compared)
    for name, path in written.items():
        terminal.say(f"{name} written to {path}")
