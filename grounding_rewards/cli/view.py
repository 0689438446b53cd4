"""``grounding-rewards view``: rollouts as one page to go through."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal


def view(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="ROLLOUTS...", help="Rollouts as PATH, PATH@ROUND or TEMPERATURE=PATH; as in `pool report`."
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write the page (.html).")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page to this machine until Ctrl-C, however many rollouts.")
    ] = False,
    by: options.By = "source",
    target_space: options.TargetSpace = None,
    recipe: options.TargetRecipe = None,
    screenshots: Annotated[
        int, typer.Option(metavar="N", min=0, help="Samples with a screenshot in the file, suspects first.")
    ] = 200,
    *,
    screens: options.SampleScreens,
    as_json: options.AsJson = False,
) -> None:
    """Show rollouts as one page to go through: a file that opens without a network, or served with --serve.

    Filters by outcome, reason, round, temperature, policy, source, solved or not, right rollouts, target size, suspects
    and text; the address keeps them, so that a reload or a bookmark shows the same. A sample shows its screen with the
    target and all clicks, and every response with its reason, total and the command that explains it; the arrow keys
    move on. Two rounds or models stand beside each other on a sample. Rounds are those of `pool report`.

    Example: `grounding-rewards view rollouts/ --data train.parquet --out rollouts.html`
    """
    from dataclasses import replace

    from grounding_rewards.errors import PoolError
    from grounding_rewards.pool.report.command import serve_view, write_view
    from grounding_rewards.wording import plural

    if serve == (out is not None):
        raise PoolError("name the file by --out FILE.html, or serve the page by --serve; expected one of the two")
    read = options.target_recipe(recipe)
    if out is None:

        def ready(address: str, samples: int, rollouts: int) -> None:
            said = f"{plural(rollouts, 'rollout')}, {plural(samples, 'sample')}"
            terminal.say(f"{said} at {address}, for this machine alone; Ctrl-C ends it")
            if as_json:
                terminal.print_json({"page": address, "samples": samples, "rollouts": rollouts}, now=True)
                terminal.results().flush()

        serve_view(
            inputs, ready, by=by, target_space=target_space, recipe=read,
            data=screens and replace(screens, confined=True), reporting=terminal.REPORTING,
        )  # fmt: skip
        return
    made = write_view(
        inputs, out, by=by, target_space=target_space, recipe=read, data=screens, screenshots=screenshots,
        reporting=terminal.REPORTING,
    )  # fmt: skip
    if as_json:
        terminal.print_json(made)
        return
    said = ", ".join(plural(made[name], name[:-1]) for name in ("rollouts", "samples", "screenshots"))
    terminal.say(f"{said} written to {out}")
