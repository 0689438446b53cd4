"""``grounding-rewards pool rollouts``: some rollouts of a table, by a method of choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.pool.specs import options_named, read_spec
from grounding_rewards.cli.render.next import print_manifest, say_rounds
from grounding_rewards.wording import percent


def choose(
    rollouts: options.Rollouts,
    method: Annotated[
        str,
        options.method_option(
            'The method, by name or as JSON with its arguments, such as \'{"name": "pods", "keep": 4}\'; see above.'
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write: .parquet or .jsonl.")],
    rounds: options.Rounds = None,
    as_json: options.AsJson = False,
) -> None:
    """Choose among the rollouts of a table: those whose rewards differ most, or those of another method.

    FILE has the rows of ROLLOUTS that the method keeps, in their order and with every column as it was, and the columns
    that the method adds; a column of that name must not be there. It is a rollout table again. `FILE.manifest.json` has
    the method with all arguments, counts before and after, and the hashes of inputs and output, and no clock. Both
    are written atomically, the manifest last.

    Methods: `pods` keeps the rollouts of each group that differ most (it needs keep), `d3s` those of a batch (keep or
    share); `dart_proportional` right and wrong ones in proportion, `dart_stored` a stored success where all failed,
    `dart_steps` steps of high entropy (over); `rorecomp` parts batches by length (alpha, buffer, compensation),
    `step_returns` adds returns in trajectories, `outcome_exploration` bonuses of rare answers (form, weight).
    docs/methods has a page for each.

    A group is the rollouts of a sample in a round and train step. Rollouts that were not scored are never chosen by
    their rewards.

    Example: `grounding-rewards pool rollouts DIR --method '{"name": "pods", "keep": 4}' --out kept.parquet`
    """
    from grounding_rewards.pool.command import choose_rollouts

    spec = read_spec("--method", method)
    with options_named():
        manifest = choose_rollouts(
            rollouts, spec, out, rounds=None if rounds is None else sorted(set(rounds)), reporting=terminal.REPORTING
        )  # fmt: skip
    if manifest["rounds"] == [None]:  # others are groups of their own
        say_rounds(len(rollouts), [None])
    print_manifest(manifest, out) if as_json else terminal.say(*_lines(manifest, out))


def _lines(manifest: Mapping[str, Any], out: Path) -> list[str]:
    def change(name: str) -> str:
        return " to ".join(percent(manifest[name][when]) for when in ("before", "after"))

    rollouts, samples = manifest["rollouts"], manifest["samples"]
    lines = [
        f"{rollouts['after']} of {rollouts['before']} rollouts, of {samples['after']} of {samples['before']} samples, "
        f"written to {out}",
        f"  mean pass rate       {change('mean_p')}",
        f"  groups, no signal    {change('no_signal')}",
    ]
    return [*lines, f"  new columns          {', '.join(manifest['columns'])}"] if manifest["columns"] else lines
