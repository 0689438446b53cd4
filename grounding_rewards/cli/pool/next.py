"""``grounding-rewards pool next``: the next round's training data from the last round's rollouts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.pool.specs import Reading, options_named, read_spec
from grounding_rewards.cli.render.next import print_manifest, say, summary
from grounding_rewards.errors import PoolError
from grounding_rewards.settings.declared import option

if TYPE_CHECKING:
    from grounding_rewards.pool import Band

_FILTERS = "Filters"


@dataclass(frozen=True)
class Drawing:
    """Options of the draws and their filters."""

    zero_share: float = option("Share of never-solved samples, below 1.", 0.2, metavar="F")
    seed: int = option("Seed of all draws.", 0, metavar="N")
    exclude_sources: list[str] | None = option(
        "Leave out this source, or value of --by; may be given several times.", None, metavar="S", panel=_FILTERS,
        flags=["--exclude-source"],
    )  # fmt: skip
    band: str | None = option(
        "Keep pass rates strictly between the two. LO is 0 or more, so never-solved samples are left out, unless "
        "--confident keeps them.", None, metavar="LO,HI", panel=_FILTERS,
    )  # fmt: skip
    confident: bool = option(
        "Let --band leave out only samples whose 95 % interval of the pass rate is outside.", False, panel=_FILTERS
    )
    two_model: str | None = option(
        "Rollouts or statistics of two models on these samples: keep those that the weak one never solves and the "
        "strong one does at least once.", None, metavar="WEAK,STRONG", panel=_FILTERS,
    )  # fmt: skip
    min_rollouts: int | None = option(
        "Leave out samples with fewer scored rollouts.", None, metavar="N", panel=_FILTERS
    )
    selectors: list[str] | None = option(
        'A selector, such as learnability or \'{"name": "spread", "threshold": 0.3}\'; 0 leaves a sample out, other '
        "weights steer the draws. May be given several times.", None, metavar="NAME|JSON", panel=_FILTERS,
        flags=["--selector"],
    )  # fmt: skip
    keep_suspects: bool = option(
        "Do not set aside never-solved samples whose clicks agree on another place.", False, panel=_FILTERS
    )
    limit: int | None = option("Largest number of samples in the pool.", None, metavar="N")
    control: bool = option("Also draw as many samples at random, from all measured ones.", False)


def next_round(
    rollouts: options.Rollouts,
    out: Annotated[Path, typer.Option("--out", metavar="POOL", help="Where to write: .parquet or .jsonl.")],
    drawing: Annotated[Drawing, options.group(Drawing)],
    *,
    reading: Reading,
    data: options.TrainingRows = None,
    id_column: options.SampleColumn = None,
    split: options.Split = None,
    as_json: options.AsJson = False,
) -> None:
    """Draw the next round's pool from the last round's rollouts.

    Samples that are always solved are set aside in a file of their own; samples that are sometimes solved are kept;
    never-solved ones are drawn until they make `--zero-share` of the pool. Where there are fewer, the shortfall is
    reported, and no sample is taken twice. Never-solved samples whose clicks agree on another place are set aside:
    look at them. A warning names sources of which none is left then: a policy that is sure and wrong looks the same as
    wrong labels. ROLLOUTS can also be one file of statistics, the output of `pool stats --out`.

    With `--data` POOL has the rows of DATA, with every column and the metadata; without, the samples' names and
    statistics. Beside it are files with `.easy`, `.suspects` and `.control` in their names, if they have rows, and
    `POOL.manifest.json`, with the counts of each step, by source, and the hashes of all inputs and outputs.
    Files that an earlier run set aside are replaced or removed; a file of such a name that no manifest lists is an
    error. All files are complete before one takes its name, the manifest last: after a run that was killed between two
    names, hashes in the manifest differ, and the same command fixes it.

    Example: `grounding-rewards pool next rollouts/ --data train.parquet --out pool.parquet --zero-share 0.2 --seed 7`
    """
    from grounding_rewards.pool.command import next_round as draw_pool

    options.check_data(data, id_column, split)
    if drawing.confident and drawing.band is None:
        raise PoolError("--confident says how --band is read; name it by --band")
    said = vars(drawing) | {
        "band": drawing.band and _band(drawing.band, drawing.confident),
        "exclude_sources": drawing.exclude_sources or (),
        "selectors": [read_spec("--selector", text) for text in drawing.selectors or ()],
        "two_model": drawing.two_model and map(Path, _two(drawing.two_model, "--two-model", "WEAK,STRONG, two paths")),
        "suspects": not drawing.keep_suspects,
    }  # fmt: skip
    said = {name: value for name, value in said.items() if name not in ("confident", "keep_suspects")}
    with options_named():
        manifest = draw_pool(
            rollouts, out, **said, data=data, id_column=id_column, split=split, reporting=terminal.REPORTING, **reading
        )
    say(manifest)
    print_manifest(manifest, out) if as_json else terminal.say(*summary(manifest, out))


def _two(text: str, option: str, expected: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not (first and comma and second) or "," in second:
        raise PoolError(f"{option}: got {text!r:.80}; expected {expected}")
    return first, second


def _band(text: str, confident: bool) -> Band:
    from grounding_rewards.pool import Band

    expected = "LO,HI, two pass rates from 0 to 1, such as 0.1,0.9"
    low, high = _two(text, "--band", expected)
    try:
        return Band(float(low), float(high), confident=confident)
    except ValueError:  # RecipeError among them
        raise PoolError(f"--band: got {text!r:.80}; expected {expected}") from None
