"""``grounding-rewards pool transitions``: moves of samples from one round to the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render.pool import show_transitions
from grounding_rewards.errors import TableError
from grounding_rewards.tables.atomic import atomic_file

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
    from grounding_rewards.pool.transitions import compare_files

    if out is not None and (out.suffix != ".json" or out.is_dir() or not out.parent.is_dir()):
        raise TableError(f"--out: got {out}; expected a file that ends in .json, in a directory that is there")
    changes = compare_files(before, after, null=null, by=by, reporting=terminal.REPORTING)
    summary = {"before_path": before, "after_path": after, "null_path": null, "by": by, **changes}
    if out is not None:
        with atomic_file(out) as file:
            file.write(json.dumps(summary, indent=2, allow_nan=False).encode() + b"\n")
    if as_json:
        terminal.print_json(summary)
    else:
        show_transitions(summary)
    for text in changes["warnings"]:
        terminal.warn(text)
