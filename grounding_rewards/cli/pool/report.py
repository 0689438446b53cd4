"""``grounding-rewards pool report``: rounds, transitions and pools as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal


def make_report(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUTS...",
            help="Rollouts or statistics of samples (PATH, PATH@ROUND, TEMPERATURE=PATH) and .manifest.json files.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write report.html; made if need be.")],
    title: Annotated[str, typer.Option(metavar="TEXT", help="Heading of the page.")] = "Pools by round",
    by: options.By = "source",
    target_space: options.TargetSpace = None,
    recipe: options.TargetRecipe = None,
    samples: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of hardest samples, and of suspects, to show.")
    ] = 6,
    *,
    screens: options.SampleScreens,
    as_json: options.AsJson = False,
) -> None:
    """Write a report on rounds of rollouts: one HTML page that opens without a network.

    A file whose every rollout has a `round` is split by it; any other file is a round, in the order of INPUTS. Files
    of one temperature each without rounds, or named as TEMPERATURE=PATH, are the temperatures of one round. The page
    shows a table of rounds, right rollouts by sample, transitions beside those expected by chance, correctness by
    source and by target size, samples without signal, temperatures, the samples that each step of `pool next` removed,
    and the hardest and the suspect samples with their clicks, over their screenshots with `--data`. It names the
    missing input of what it cannot show. The same command writes the same page.

    Example: `grounding-rewards pool report round1/ round2/ pool.parquet.manifest.json --out report`
    """
    from grounding_rewards.pool.report.command import write_report
    from grounding_rewards.wording import plural

    summary = write_report(
        inputs, out, title=title, by=by, target_space=target_space, recipe=options.target_recipe(recipe),
        samples=samples, data=screens, reporting=terminal.REPORTING,
    )  # fmt: skip
    if as_json:
        terminal.print_json(summary)
        return
    rounds, pools = (plural(len(summary[name]), name[:-1]) for name in ("rounds", "pools"))
    terminal.say(f"{rounds} and {pools} written to {summary['page']}")
