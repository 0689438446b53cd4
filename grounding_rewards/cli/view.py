"""``grounding-rewards view``: rollouts as one page to go through."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal


def view(
    rollouts: options.Rollouts,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the page (.html).")],
    rounds: options.Rounds = None,
    by: options.By = "source",
    target_space: options.TargetSpace = None,
    recipe: options.TargetRecipe = None,
    screenshots: Annotated[
        int, typer.Option(metavar="N", min=0, help="Samples with a screenshot, suspects first.")
    ] = 200,
    *,
    screens: options.SampleScreens,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers of the page as JSON on stdout.")] = False,
) -> None:
    """Write rollouts as one page to go through: it opens without a network.

    Filters by outcome, reason, round, temperature, policy, source, solved or not, target size, suspects and text; the
    address keeps them, so that a reload or a bookmark shows the same. A sample shows its screen with the target and all
    clicks, and every response with its reason, total and the command that explains it; the arrow keys go on.

    Example: `grounding-rewards view rollouts/ --data train.parquet --out rollouts.html`
    """
    from grounding_rewards.pool.report.view import write_view
    from grounding_rewards.wording import plural

    made = write_view(
        rollouts, out, rounds=rounds, by=by, target_space=target_space, recipe=options.target_recipe(recipe),
        data=screens, screenshots=screenshots, reporting=terminal.REPORTING,
    )  # fmt: skip
    if as_json:
        terminal.print_json({**made, "warnings": terminal.warnings()})
        return
    said = ", ".join(plural(made[name], name[:-1]) for name in ("rollouts", "samples", "screenshots"))
    terminal.say(f"{said} written to {out}")
