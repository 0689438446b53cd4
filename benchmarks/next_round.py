"""Round 2 on the next pool against round 2 on as many random samples, of one policy after round 1, over some seeds.

    python benchmarks/next_round.py [--seeds 0,1,2] [--arms pool,control] [--limit N] [--jobs 2] [--quick] [--json]

For each seed the demo's policy is warmed up and trained for a round with GRPO on 480 screens. The highest temperature
that has not collapsed is found, the screens are measured at it with 8 rollouts each, and the next pool is built as
`grounding-rewards pool next --zero-share 0.2 --control` does. From the same checkpoint a second round of as many
steps, at that temperature, then runs on the pool and on the control; `everything` runs it on all 480 screens. An arm
of any other name is a selector's: the pool of `--selector NAME --limit N`, with the never-solved screens that it keeps.

Hit rate: greedy answers to held-out screens, with Wilson's 95 % interval. The last line has the difference's mean over
seeds, with Student's interval: seeds, not screens, are what it is repeated over. Whatever comes out is printed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import disable_progress_bars
from toy_rounds import FULL, QUICK, Steps, quieten

from grounding_rewards.errors import RecipeError
from grounding_rewards.pool import selector
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.stats.intervals import mcnemar, wilson
from grounding_rewards.tables.rollout_table import open_rollouts

ARMS = ("pool", "control", "everything")
ZERO_SHARE = 0.2
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}  # 95 %, by number of seeds


def one_seed(seed: int, arms: Sequence[str], limit: int | None, quick: bool) -> dict[str, Any]:
    """Both rounds of one seed, in seconds of this process and in hits."""
    start = time.monotonic()
    disable_progress_bars()
    quieten()
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        steps = Steps(Path(folder), size, seed, lambda phase, text: None)
        steps.prepare()
        steps.train(1, 0, steps.data("train"), size.temperatures[0], quiet=True)
        temperature = steps.choose_temperature(2)
        measured = steps.folder(2) / "rollouts"
        steps.roll_out("train", 1, measured, (temperature,), 2)
        stats = stats_of(open_rollouts([measured]))
        drawn = {"seed": seed, "zero_share": ZERO_SHARE, "limit": limit}
        chosen = next_pool(stats, **drawn, control=True)
        rows = {"pool": chosen.kept, "control": chosen.control, "everything": np.arange(len(stats))}
        rows |= {name: next_pool(stats, **drawn, selectors=[name]).kept for name in arms if name not in ARMS}
        read = {"warm start": steps.evaluate(0), "round 1": steps.evaluate(1)}
        for arm in sorted(arms, key="control".__ne__):  # the control first, which the others are compared with
            file, names = Path(folder, f"{arm}.parquet"), stats.sample_id[rows[arm]]
            data = pq.read_table(steps.data("train"))
            pq.write_table(data.filter(pc.is_in(data["sample_id"], pa.array(names))), file)
            steps.train(arm, 1, file, temperature, quiet=True)
            read[arm] = steps.evaluate(arm, "control" if "control" in arms and arm != "control" else None)
        accuracies = json.loads((steps.folder(2) / "temperature.json").read_text("utf-8"))["result"]["rows"]
    last = {name: each["files"][-1] for name, each in read.items()}
    last = {name: last[name] for name in ("warm start", "round 1", *arms)}
    return {
        "seed": seed,
        "temperature": temperature,
        "accuracies": {row["temperature"]: row["accuracy"] for row in accuracies},
        "pool": {name: value for name, value in chosen.to_json().items() if name != "steps"},
        "sizes": {arm: [len(rows[arm]), int(stats.none_correct[rows[arm]].sum())] for arm in arms},
        "hits": {name: each["correct"] for name, each in last.items()},
        "by_source": {
            name: {kind: [of["correct"], of["valid"]] for kind, of in sorted(each["by"]["source"].items())}
            for name, each in last.items()
        },
        "screens": size.held_out,
        "only": {
            name: [each["paired"]["only_second"], each["paired"]["only_first"]]
            for name, each in read.items()
            if "paired" in each
        },
        "seconds": round(time.monotonic() - start),
    }


def summary(results: Sequence[dict[str, Any]], arm: str) -> dict[str, Any]:
    """The difference to the control by seed, and its mean over seeds with Student's interval."""
    gaps = np.array([(each["hits"][arm] - each["hits"]["control"]) / each["screens"] for each in results])
    half = None
    if len(gaps) in STUDENT:
        half = STUDENT[len(gaps)] * float(gaps.std(ddof=1)) / len(gaps) ** 0.5
    p_values = [mcnemar(*each["only"][arm]) for each in results]
    return {"by_seed": gaps.tolist(), "mean": float(gaps.mean()), "half_width": half, "mcnemar_p": p_values}


def show(results: Sequence[dict[str, Any]], arms: Sequence[str]) -> None:
    """The table, a line a seed and stage."""
    print("seed   T  stage                samples (never solved)  hit rate, 95 % interval  by kind of widget")
    for each in results:
        line = f"{each['seed']:4} {each['temperature']:3.1f}"
        for stage, right in each["hits"].items():
            low, high = wilson(right, each["screens"])
            rates = {name: hit / of for name, (hit, of) in each["by_source"][stage].items()}
            kinds = "  ".join(f"{name} {rate:.3f}" for name, rate in rates.items())
            samples, never = each["sizes"].get(stage, (None, None))
            size = "" if samples is None else f"{samples} ({never})"
            line += " " * (8 - len(line)) + f"  {stage:<20} {size:<22}"
            print(f"{line}  {right / each['screens']:.3f} [{low:.3f}, {high:.3f}]     {kinds}")
            line = ""
    for arm in arms:
        if arm != "control" and "control" in arms:
            found = summary(results, arm)
            gaps = "  ".join(
                f"{gap:+.3f} (p {p:.2f})" for gap, p in zip(found["by_seed"], found["mcnemar_p"], strict=True)
            )
            width = "" if found["half_width"] is None else f" +- {found['half_width']:.3f}"
            print(f"{arm} less control: {gaps}; mean {found['mean']:+.3f}{width}")
    print(f"{max(each['seconds'] for each in results)} s for the slowest seed")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Round 2 on the next pool against as many random samples.")
    parser.add_argument("--seeds", default="0,1,2", help="default 0,1,2")
    parser.add_argument(
        "--arms", default="pool,control", help=f"some of {','.join(ARMS)} and names of selectors (default pool,control)"
    )
    parser.add_argument("--limit", type=int, help="most screens of a pool, and number of the control's")
    parser.add_argument("--jobs", type=int, default=min(3, os.cpu_count() or 1), help="seeds at a time, a CPU each")
    parser.add_argument("--quick", action="store_true", help="one seed, through every step in seconds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    options.seeds = [int(each) for each in options.seeds.split(",")][: 1 if options.quick else None]
    options.arms = options.arms.split(",")
    try:
        for arm in set(options.arms) - set(ARMS):
            selector(arm)
    except RecipeError as error:
        parser.error(f"--arms: {error}; or some of {', '.join(ARMS)}")
    return options


def main() -> int:
    options = read_options()
    arguments = [(seed, options.arms, options.limit, options.quick) for seed in options.seeds]
    if len(arguments) == 1:
        results = [one_seed(*arguments[0])]
    else:
        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as workers:
            running = [workers.submit(one_seed, *each) for each in arguments]
            for done in as_completed(running):
                each = done.result()
                print(f"seed {each['seed']}: hits {each['hits']} of {each['screens']}", file=sys.stderr, flush=True)
            results = [each.result() for each in running]
    if options.json:
        others = [arm for arm in options.arms if arm != "control"] if "control" in options.arms else []
        compared = {arm: summary(results, arm) for arm in others}
        print(json.dumps({"seeds": results, "less_control": compared}, indent=2))
    else:
        show(results, options.arms)
    return 0


if __name__ == "__main__":
    sys.exit(main())
