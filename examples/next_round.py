"""Two rounds of training on a CPU: the second one trains on a pool that the first one's rollouts chose.

The demo's policy (train_trl_cpu.py) learns to click widgets of three kinds: buttons and icons, which its warm start
showed it, and small dots, which it has never seen. Six in a hundred training screens have the wrong widget for a
target, as labels have. Then, as labs do with models of 7B:

1. GRPO on all training screens; every rollout is recorded.
2. The highest temperature whose accuracy does not collapse is looked for.
3. All training screens are measured at it, 8 rollouts each.
4. The next pool: no screen that is always solved, 20 % never solved to 80 % sometimes solved.
5. GRPO on the pool, at that temperature.
6. The same screens are measured again, and a report shows what became of them.

    python examples/next_round.py                    some five minutes
    python examples/next_round.py --quick            half a minute, through every step, too short to learn
    python examples/next_round.py --arm control      round 2 on as many random screens instead

One run says little about which pool is better; benchmarks/next_round.py compares them over several seeds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from datasets import Dataset, disable_progress_bars
from toy_rounds import FULL, QUICK, by_source, first_round, greedy_hits, grpo, measure, measured, rows_of
from train_trl_cpu import say

from grounding_rewards import cli
from grounding_rewards.pool.transitions import transitions
from grounding_rewards.stats.intervals import wilson

ZERO_SHARE = 0.2


def command(*words: Any) -> None:
    """Run ``grounding-rewards WORDS``, here rather than in a process of its own, which would import all again."""
    given = [str(word) for word in words]
    say("command", " ".join(["grounding-rewards", *given]))
    try:
        cli.main(given)
    except SystemExit as done:
        if done.code:
            raise


def main() -> int:
    options = read_options()
    seed, out, size = options.seed, options.out, options.size
    disable_progress_bars()
    for part in ("training", "measured", "tried", "cache"):
        shutil.rmtree(out / part, ignore_errors=True)  # rollouts would be appended to those that are there
    out.mkdir(parents=True, exist_ok=True)
    done = first_round(size, seed, out, say)
    model, processor, tasks, held_out, hits = done.model, done.processor, done.tasks, done.held_out, done.hits
    for row in done.sweep.rows:
        figures = f"accuracy {row.accuracy:.3f}  parsed {row.parse_rate:.3f}  mixed {row.mixed_share:.3f}"
        say("sweep", f"at {row.temperature:.1f}  {figures}{'  chosen' if row.temperature == done.sweep.chosen else ''}")
    known = done.known
    measure(model, processor, tasks, round_number=1, record=out / "measured" / "round-1-again", **known)

    rows_of(tasks).to_parquet(out / "data.parquet")
    next_pool(out, seed)
    chosen = load(out, "pool" if options.arm == "pool" else "pool.control")
    training = {"round_number": 2, "steps": size.steps, "seed": seed}
    grpo(model, processor, chosen, record=out / "training" / "round-2", **training, **known)
    hits["round 2"] = greedy_hits(model, processor, held_out)
    known["policy"] = "round-2"
    measure(model, processor, tasks, round_number=2, record=out / "measured" / "round-2", **known)

    moved = compare(out)
    report(out)
    result = {
        "seed": seed,
        "arm": options.arm,
        "quick": options.quick,
        "steps": size.steps,
        "temperature": done.sweep.chosen,
        "held_out": {name: by_source(held_out, each) for name, each in hits.items()},
        "pool": json.loads((out / "pool.parquet.manifest.json").read_text("utf-8")),
        "transitions": moved,
        "suspects": names_in(out / "pool.suspects.parquet"),
        "mislabelled": sorted(task.name for task in tasks if task.mislabelled),
    }
    (out / "result.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    show(result, out)
    return 0


def load(out: Path, name: str) -> Dataset:
    """A file of rows as a trainer loads it: images come as images."""
    return Dataset.from_parquet(str(out / f"{name}.parquet"), cache_dir=str(out / "cache"))


def next_pool(out: Path, seed: int) -> None:
    """``grounding_rewards.pool.selection.steps.next_pool`` draws it; the command also writes rows and manifest."""
    files = [out / "measured" / "round-1", "--data", out / "data.parquet", "--out", out / "pool.parquet"]
    command("pool", "next", *files, "--zero-share", ZERO_SHARE, "--seed", seed, "--control")


def compare(out: Path) -> dict[str, Any]:
    """``grounding-rewards pool transitions measured/round-1 measured/round-2 --null measured/round-1-again``.

    What rollouts of one checkpoint show when they are repeated is what chance alone does.
    """
    before, again, after = (measured(out / "measured" / name) for name in ("round-1", "round-1-again", "round-2"))
    return transitions(before, after, null=again).to_json()


def report(out: Path) -> None:
    """Rounds, transitions and the pool on one page; the temperatures, measured on other screens, on another."""
    rounds = [out / "measured" / name for name in ("round-1", "round-2")]
    given = [*rounds, out / "pool.parquet.manifest.json", "--data", out / "data.parquet", "--samples", 4]
    command("pool", "report", *given, "--title", "From round 1 to round 2", "--out", out / "report")
    words = ["--title", "Temperatures of the policy after round 1", "--out", out / "report-temperature"]
    command("pool", "report", out / "tried", "--samples", 0, *words)


def names_in(file: Path) -> list[str]:
    """The samples of a file of a pool; none where nothing was set aside, and no file written."""
    return pq.read_table(file, columns=["sample_id"])["sample_id"].to_pylist() if file.exists() else []


def show(result: dict[str, Any], out: Path) -> None:
    pool, moved = result["pool"], result["transitions"]
    print(f"\nheld-out screens, greedy answers; round 2 on the {result['arm']}, temperature {result['temperature']:g}")
    for name, kinds in result["held_out"].items():
        low, high = wilson(*kinds["all"])
        rates = "  ".join(f"{kind} {right / of:.3f}" for kind, (right, of) in kinds.items())
        print(f"  {name:<12}{rates}  (all: 95 % interval {low:.3f} to {high:.3f})")
    suspects, wrong = set(result["suspects"]), set(result["mislabelled"])
    print(
        f"pool: {pool['kept']} of {pool['samples']} screens, {pool['zero']} never solved and {pool['positive']} at "
        f"times ({pool['shortfall']} short); {pool['dropped_all_correct']} always solved are left out; "
        f"{len(suspects)} suspects set aside, {len(suspects & wrong)} of {len(wrong)} mislabelled screens among them"
    )
    null = moved["null"]
    print(
        f"round 1 to round 2: {moved['up']} screens up, {moved['down']} down; of {moved['never_solved']} never solved "
        f"{moved['escaped']} were solved once; of {null['samples']} by chance {_percent(null['escape_share'])}"
    )
    print(f"result.json, pool.parquet, report/report.html and more are in {out}/")


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Two rounds of training on a CPU; the second on a pool that the first one's rollouts chose.",
        epilog="example: python examples/next_round.py --seed 1 --out out/next_round-1",
    )
    parser.add_argument("--seed", type=int, default=0, help="weights, screens, sampling and draws (default 0)")
    parser.add_argument("--steps", type=int, help=f"GRPO steps of each round (default {FULL.steps})")
    parser.add_argument("--arm", choices=("pool", "control"), default="pool", help="what round 2 trains on")
    parser.add_argument("--quick", action="store_true", help="a run of seconds that is too short to learn")
    parser.add_argument("--out", type=Path, default=Path("out/next_round"), help="default out/next_round")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    options.size = replace(size, steps=options.steps or size.steps)
    return options


if __name__ == "__main__":
    sys.exit(main())
