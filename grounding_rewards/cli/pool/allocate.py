"""``grounding-rewards pool allocate``: the further rollouts that each sample gets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.pool.specs import Counting, options_named, read_spec
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.next import print_manifest, say_measured, warn_of_column

_MOST_ROWS = 20


def allocate(
    rollouts: options.Rollouts,
    method: Annotated[
        str,
        options.method_option(
            "A method: cures_rollouts, dars, dart, knapsack, vip or xrpo, with arguments such as "
            '\'{"name": "dars", "form": "hardness"}\'.'
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write: .parquet or .jsonl.")],
    budget: Annotated[
        int | None,
        typer.Option(metavar="N", help="Scale the numbers so that they sum to N, by largest remainders."),
    ] = None,
    *,
    reading: Counting,
    as_json: options.AsJson = False,
) -> None:
    """Allocate further rollouts to samples, by what the last round measured.

    FILE has a row a sample: `sample_id` and `n`, the further rollouts that it gets, in the order of names. Samples that
    get none have no row. `FILE.manifest.json` has the method with all its arguments, the hashes of all inputs, and
    counts: samples, those with rollouts, rollouts, and both by the number of right rollouts and by source.

    Methods: `dars` gives more to samples below half right; `xrpo` spends a budget where the mean is least certain (it
    needs budget, alpha, exploration and total); `dart` gives all rollouts of the next round, fewer where most were
    right (it needs cut); `cures_rollouts` (it needs budget), `knapsack` and `vip` spend a budget where right and wrong
    are mixed. ROLLOUTS can also be one file of statistics, the output of `pool stats --out`.

    Example: `grounding-rewards pool allocate rollouts/ --round 1 --method dars --out further.parquet`
    """
    from grounding_rewards.pool.command import allocate_rollouts

    with options_named():
        manifest = allocate_rollouts(
            rollouts, out, read_spec("--method", method), budget=budget, reporting=terminal.REPORTING, **reading
        )
    say_measured(manifest)
    if manifest["suspects"]["n"]:
        terminal.note(
            f"{manifest['suspects']['n']:,} of {manifest['n']:,} rollouts go to never-solved samples whose clicks "
            f"agree on another place than the target ({manifest['suspects']['samples']}); look at their labels, which "
            "`pool next` sets aside in a file"
        )
    warn_of_column(reading["by"], manifest["by_source"])
    print_manifest(manifest, out) if as_json else _show(manifest, out)


def _show(manifest: dict[str, Any], out: Path) -> None:
    cells = manifest["by_num_correct"]
    rows = [(_right(cell), cell) for cell in cells[:_MOST_ROWS]] + [("all", manifest)]
    _print("right", rows)
    if len(cells) > _MOST_ROWS:
        layout.console().print(layout.text(f"{len(cells) - _MOST_ROWS} further numbers are in the manifest."))
    if manifest["by_source"]:
        layout.console().print()
        _print(manifest["by"] or "source", [(str(each["source"]), each) for each in manifest["by_source"]])
    all_of = f"{manifest['allocated']:,} of {manifest['samples']:,} samples"
    terminal.say(f"{manifest['n']:,} rollouts of {all_of} written to {out}")


def _print(head: str, rows: list[tuple[str, dict[str, Any]]]) -> None:
    heads = [head, "samples", "rollouts"]
    cells = [[name, f"{counts['samples']:,}", f"{counts['n']:,}"] for name, counts in rows]
    layout.console().print(layout.table(heads, rows=cells, figures=heads[1:]))


def _right(cell: dict[str, int]) -> str:
    return f"{cell['num_correct']} of {cell['scored']}" if cell["scored"] else "not scored"
