"""Cost of each method of selection beside `pool stats` of the same rollouts.

    python benchmarks/methods.py [--rollouts 1000000,10000000] [--method NAME|JSON] [--repeat 3] [--quick] [--json]

For each number of rollouts a Parquet file is written, 16 a sample, with points, token lengths, entropies and
trajectories of 8 samples; points are anywhere, so that nearly every answer is of its own. Each step then reads it in a
process of its own, in turns, and the quickest run counts. `stats` is `pool stats`, and all others are given in
multiples of it: `stats --out` computes all columns and writes them, and every selector and allocation needs most of
these; a method reads what it needs, and weighs or chooses. `alone` are its seconds without the reading. `plan` is `pool
plan` over all methods that need no argument. Methods that need targets or two rounds have a second file, of a tenth of
the rollouts, and are given in multiples of `pool stats` of that file, `stats of the second`. Methods come from the
tables of the package; those with required arguments run with the ones below, or are listed with what they need. Memory
is the most that the process held.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pool import Making, peak, write

from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.pool.methods import CHOICE, SELECTOR
from grounding_rewards.pool.plan import Candidate, candidates

PER_SAMPLE = 16
SIZES = "1000000,10000000"
STEPS = 8  # samples in a trajectory
BASE = ("stats", "stats --out", "plan")
OF_FURTHER = "stats of the second"
ON_FURTHER = {"target_size", "dart_stored"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "d3s": {"share": 0.5},
    "dart": {"cut": 2},
    "dart_steps": {"over": "sample"},
    "difficulty_buffer": {"easy_threshold": 0.8, "hard_threshold": 0.2},
    "min_rollouts": {"n": 8},
    "moving_target": {"batch": 1024},
    "outcome_exploration": {"form": "mean", "weight": 0.2},
    "pods": {"keep": 8},
    "rorecomp": {"alpha": 0.5, "buffer": 4096, "compensation": 0.5},
    "source": {"exclude": ["source-0"]},
    "xrpo": {"budget": 100_000, "alpha": 0.05, "exploration": 0.1, "total": 1000},
}
"""Arguments to time with, which mean nothing else."""


def texts(number: NDArray[np.int64], text: Callable[[int], str]) -> pa.Array:
    """One text for each of the numbers, which ascend."""
    names = pa.array([text(each) for each in range(number[0], number[-1] + 1)])
    return pa.DictionaryArray.from_arrays((number - number[0]).astype(np.int32), names).cast(pa.string())


def target(sample: int) -> str:
    return json.dumps({"bbox": [100, 100, 110 + sample % 400, 110 + sample % 300], "space": "pixel"})


def uniform(rng: np.random.Generator, sample: NDArray[np.int64]) -> NDArray[np.float64]:
    return rng.random(len(sample))


COLUMNS: dict[str, tuple[pa.DataType, Making]] = {
    "x_unit": (pa.float64(), uniform),
    "y_unit": (pa.float64(), uniform),
    "token_length": (pa.int64(), lambda rng, sample: rng.integers(20, 500, len(sample))),
    "entropy": (pa.float64(), uniform),
    "trajectory": (pa.string(), lambda rng, sample: texts(sample // STEPS, "trajectory-{}".format)),
    "step": (pa.int64(), lambda rng, sample: sample % STEPS),
}
TARGETS: dict[str, tuple[pa.DataType, Making]] = {
    "target": (pa.string(), lambda rng, sample: texts(sample, target)),
    "image_size": (pa.list_(pa.float64()), lambda rng, sample: [[1280.0, 720.0]] * len(sample)),
}


def chosen(words: list[str]) -> list[Candidate]:
    """The methods that are named, or all, with arguments for those that need some."""
    specs: list[Any] = [json.loads(word) if word.startswith("{") else word for word in words]
    chosen = []
    for each in candidates(specs):
        more = ARGUMENTS.get(each.name) if each.needs else None
        try:
            chosen += candidates([{"name": each.name, **each.arguments, **more}]) if more else [each]
        except GroundingRewardsError:  # arguments have changed: it is listed with those that it needs
            chosen.append(each)
    return chosen


def run(step: str, path: Path) -> dict[str, Any]:
    """One step, in this process."""
    from grounding_rewards.pool.aggregate import stats_of
    from grounding_rewards.pool.command import count_rollouts
    from grounding_rewards.pool.methods import allocate, choose, select
    from grounding_rewards.pool.plan import plan_rollouts
    from grounding_rewards.pool.rollouts import read_columns
    from grounding_rewards.tables.rollout_table import open_rollouts

    start = ready = time.perf_counter()
    try:
        if step in ("stats", "stats --out", OF_FURTHER):
            count_rollouts([path], path.with_name("stats.parquet") if step == "stats --out" else None)
        elif step == "plan":
            plan_rollouts([path])
        else:
            method = chosen([step])[0]
            start = time.perf_counter()
            if method.kind == CHOICE:
                rollouts = read_columns(open_rollouts([path]), method.built.needs)
                ready = time.perf_counter()
                choose(rollouts, method.built)
            else:
                stats = stats_of(open_rollouts([path]))
                ready = time.perf_counter()
                select(stats, method.built) if method.kind == SELECTOR else allocate(stats, method.built)
    except Exception as error:
        return {"reason": " ".join(f"{error}".split())}
    end = time.perf_counter()
    return {"seconds": end - start, "alone": None if step in (*BASE, OF_FURTHER) else end - ready, "bytes": peak()}


def measured(step: str, path: Path) -> dict[str, Any]:
    """The same in a process of its own."""
    words = [sys.executable, __file__, "--step", step, "--path", str(path)]
    return dict(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def sized(rollouts: int, methods: list[Candidate], repeat: int) -> dict[str, Any]:
    """Every step on a file of so many rollouts."""
    steps = {name: name for name in BASE}
    built = {
        each.label: json.dumps({"name": each.name, **each.arguments}) for each in methods if each.built is not None
    }
    on_further = {each.label for each in methods if each.name in ON_FURTHER and each.built is not None}
    steps |= ({OF_FURTHER: OF_FURTHER} if on_further else {}) | built
    on_further |= {OF_FURTHER}
    with tempfile.TemporaryDirectory() as folder:
        path, tenth = Path(folder, "rollouts.parquet"), Path(folder, "targets.parquet")
        samples = rollouts // PER_SAMPLE
        write(path, samples, PER_SAMPLE, more=COLUMNS)
        if len(on_further) > 1:
            write(tenth, samples // 10, PER_SAMPLE, more=TARGETS, rounds=2)
        runs = [
            {name: measured(step, tenth if name in on_further else path) for name, step in steps.items()}
            for _ in range(repeat)
        ]
    best = {name: min((each[name] for each in runs), key=lambda one: one.get("seconds", 0.0)) for name in steps}
    for name, each in best.items():
        if "seconds" in each:
            each["stats"] = each["seconds"] / best[OF_FURTHER if name in on_further else "stats"]["seconds"]
    kinds = {each.label: each.kind for each in methods}
    left = [{"step": each.label, "kind": each.kind, "needs": each.needs, "reason": each.reason} for each in methods
            if each.built is None]  # fmt: skip
    rows = [{"step": name, "kind": kinds.get(name, "command"), **each} for name, each in best.items()]
    return {"rollouts": rollouts, "steps": rows, "left_out": left}


def show(results: dict[str, Any]) -> None:
    """The table of one size."""
    print(f"{results['rollouts']:,} rollouts, {PER_SAMPLE} a sample\n")
    print(f"{'step':44} {'kind':14} {'seconds':>8} {'alone':>7} {'x stats':>8} {'GiB':>6}")
    for each in results["steps"]:
        name = each["step"] if len(each["step"]) <= 44 else f"{each['step'][:41]}..."
        if "reason" in each:
            print(f"{name:44} {each['kind']:14} {each['reason']}")
            continue
        alone = "-" if each["alone"] is None else f"{each['alone']:.2f}"
        memory = "-" if each["bytes"] is None else f"{each['bytes'] / 2**30:.2f}"
        print(f"{name:44} {each['kind']:14} {each['seconds']:8.2f} {alone:>7} {each['stats']:8.2f} {memory:>6}")
    for each in results["left_out"]:
        print(f"{each['step']:44} {each['kind']:14} {each['reason'] or 'needs ' + ', '.join(each['needs'])}")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", default=SIZES, help=f"default {SIZES}")
    parser.add_argument("--method", action="append", default=[], help="this method alone; may be given several times")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a few thousand rollouts, once")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(run(options.step, options.path)))
        return
    sizes = [32_000] if options.quick else [int(each) for each in options.rollouts.split(",")]
    results = []
    for rollouts in sizes:
        results.append(sized(rollouts, chosen(options.method), 1 if options.quick else options.repeat))
        if not options.json:
            show(results[-1])
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
