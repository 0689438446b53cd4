"""What a trainer's call costs beside the bare call of the recipe: verl, EasyR1 and TRL, timed in turns in one run.

    python benchmarks/adapters.py [--recipe NAME] [--prompts 1024] [--rollouts 8] [--step-seconds 300] [--json]

The bare call has responses and targets, as the trainer hands them over, and gives total and parts. Each adapter adds
what its trainer needs: keys, Python floats, groups, sizes, complaints. `--record` adds a rollout table. The last column
is the share of a training step that lasts `--step-seconds` where nothing else runs meanwhile: an upper bound, because
verl scores each response as soon as it is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards_adapters import easyr1, easyr1_sequential, trl, verl

WIDTH, HEIGHT = 1920, 1080
SPREAD = 0.05


@dataclass(frozen=True)
class Rows:
    """Rollouts as a trainer holds them: JSON targets with sizes and ids, answers in thousandths, about half hit."""

    responses: list[str]
    targets: list[str]

    @classmethod
    def of(cls, prompts: int, rollouts: int) -> Rows:
        rng = np.random.default_rng(7)
        corner, extent = rng.uniform(0.1, 0.8, (prompts, 2)), rng.uniform(0.01, 0.1, (prompts, 2))
        middle = np.repeat(corner + extent / 2, rollouts, axis=0)
        points = np.where(
            rng.random((len(middle), 1)) < 0.5, middle, middle + rng.uniform(-SPREAD, SPREAD, middle.shape)
        )
        packed = [
            json.dumps({"bbox": [*low, *high], "image_size": [WIDTH, HEIGHT], "id": f"sample-{row}"})
            for row, (low, high) in enumerate(zip(corner.tolist(), (corner + extent).tolist(), strict=True))
        ]
        responses = [f"({round(1000 * x)}, {round(1000 * y)})" for x, y in points.tolist()]
        return cls(responses, [target for target in packed for _ in range(rollouts)])

    def __len__(self) -> int:
        return len(self.responses)


@dataclass(frozen=True)
class Line:
    """One row of the table: seconds for all rows, of the adapter and of the bare call of as many rows a call."""

    trainer: str
    rows_a_call: int
    adapter_s: float
    bare_s: float
    ratio: float = field(init=False)
    us_a_row: float = field(init=False)
    rows: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", self.adapter_s / self.bare_s)
        object.__setattr__(self, "us_a_row", self.adapter_s / self.rows * 1e6)


def in_turns(ours: Callable[[], object], bare: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds of each; in turns, so that whatever else the processor does falls on both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for run, kept in zip((ours, bare), times, strict=True):
            start = time.perf_counter()
            run()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def measure(rows: Rows, options: dict[str, Any], repeats: int) -> list[Line]:
    """The table."""
    own = {name: value for name, value in options.items() if name not in ("recipe", "record")}
    recipe = gr.recipe(options["recipe"], **own)
    responses, targets, count = rows.responses, rows.targets, len(rows)

    def bare_batch() -> object:
        return recipe.score(responses, targets, bad_target="abstain")

    def bare_singles() -> object:
        return [
            recipe.score([response], [target], bad_target="abstain")
            for response, target in zip(responses, targets, strict=True)
        ]

    def verl_one(response: str, target: str) -> object:
        extra = {"index": 0, "image_size": [WIDTH, HEIGHT], "num_turns": None, "rollout_reward_scores": {}}
        return verl.compute_score(
            data_source="clicks", solution_str=response, ground_truth=target, extra_info=extra, **options
        )

    def verl_singles() -> object:
        return list(map(verl_one, responses, targets))

    def verl_threads() -> object:
        """As verl's naive manager calls it: all rows at once, from the event loop's thread pool."""

        async def run() -> object:
            loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(8)
            with pool:
                jobs = [loop.run_in_executor(pool, verl_one, *row) for row in zip(responses, targets, strict=True)]
                return await asyncio.gather(*jobs)

        return asyncio.run(run())

    inputs = [
        {"response": response, "response_length": 9, "ground_truth": target}
        for response, target in zip(responses, targets, strict=True)
    ]
    (reward,) = trl.reward_funcs(**options)
    columns = {
        "prompts": [[{"role": "user", "content": "click"}]] * count,
        "completions": [[{"role": "assistant", "content": response}] for response in responses],
        "completion_ids": [[1] * 9] * count,
        "target": targets,
        "log_metric": lambda name, value: None,
        "log_extra": lambda name, values: None,
        "trainer_state": None,
    }
    cases: list[tuple[str, int, Callable[[], object], Callable[[], object]]] = [
        ("verl, one row a call", 1, verl_singles, bare_singles),
        ("verl, 8 threads", 1, verl_threads, bare_singles),
        (
            "EasyR1, sequential",
            1,
            lambda: [easyr1_sequential.compute_score(row, **options) for row in inputs],
            bare_singles,
        ),
        ("EasyR1, a batch", count, lambda: easyr1.compute_score(inputs, **options), bare_batch),
        ("TRL, a batch", count, lambda: reward(**columns), bare_batch),
    ]
    found = []
    for name, each, ours, bare in cases:
        adapter, alone = in_turns(ours, bare, repeats)
        found.append(Line(name, each, adapter, alone, rows=count))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="gelato", help="one that reads (x, y) in thousandths")
    parser.add_argument("--prompts", type=int, default=1024)
    parser.add_argument("--rollouts", type=int, default=8)
    parser.add_argument("--step-seconds", type=float, default=300.0, help="how long a training step is said to last")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="let the adapters record all rollouts, too")
    parser.add_argument("--json", action="store_true", help="JSON on stdout instead of a table")
    arguments = parser.parse_args()
    logging.getLogger("grounding_rewards").setLevel(logging.ERROR)
    rows = Rows.of(arguments.prompts, arguments.rollouts)
    with tempfile.TemporaryDirectory() as folder:
        options = {"recipe": arguments.recipe, **({"record": folder} if arguments.record else {})}
        measure(Rows.of(64, 8), options, 1)  # builds recipes, warms caches, and is past the diagnosis of the first rows
        lines = measure(rows, options, arguments.repeats)
    if arguments.json:
        json.dump(
            {"recipe": arguments.recipe, "rows": len(rows), "lines": [asdict(line) for line in lines]}, sys.stdout
        )
        sys.stdout.write("\n")
        return
    print(
        f"{arguments.recipe}, a step of {arguments.prompts} prompts x {arguments.rollouts} rollouts = {len(rows)} rows"
    )
    heads = f"{'rows a call':>11} {'adapter':>9} {'bare recipe':>12} {'ratio':>7} {'a row':>9} {'of a step':>10}"
    print(f"{'trainer':22} {heads}")
    for line in lines:
        print(
            f"{line.trainer:22} {line.rows_a_call:11,} {line.adapter_s:8.2f}s {line.bare_s:11.2f}s {line.ratio:6.2f}x "
            f"{line.us_a_row:7.0f}µs {100 * line.adapter_s / arguments.step_seconds:8.2f} %"
        )


if __name__ == "__main__":
    main()
