"""Cost of a trainer's call beside the bare call of the recipe: verl, EasyR1 and TRL, timed in turns in one run.

    python benchmarks/adapters.py [--recipe NAME] [--prompts 1024] [--rollouts 8] [--step-seconds 300] [--json]

The bare call has responses and targets, as the trainer hands them over, and gives total and parts. Each adapter adds
what its trainer needs: keys, Python floats, groups, sizes, complaints. `parts` and `routes` are nested options, held by
OmegaConf as verl hands them over, beside the bare call of the very recipe. `--record` adds a rollout table, whose
batches are written before a call returns. The last column is the share of a training step that lasts `--step-seconds`
where nothing else runs meanwhile: an upper bound, because verl scores each response as soon as it is there.
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
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.tables.recorder import close_all
from grounding_rewards_adapters import easyr1, easyr1_sequential, trl, verl

WIDTH, HEIGHT = 1920, 1080
SPREAD = 0.05
Options = dict[str, Any]


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


def alone(rows: Rows, options: Options, each: int) -> Callable[[], object]:
    """The bare call, of one row or of all."""
    recipe = gr.recipe(options["recipe"], **without(options, "recipe", "record", "routes"))

    def batch() -> object:
        return recipe.score(rows.responses, rows.targets, bad_target="abstain")

    def singles() -> object:
        return [
            recipe.score([response], [target], bad_target="abstain")
            for response, target in zip(rows.responses, rows.targets, strict=True)
        ]

    return singles if each == 1 else batch


def without(options: Options, *names: str) -> Options:
    """The other options."""
    return {name: value for name, value in options.items() if name not in names}


def verl_one(response: str, target: str, options: Options, extra: dict[str, Any]) -> object:
    """One row as verl's naive manager gives it."""
    extra = {"index": 0, "num_turns": None, "rollout_reward_scores": {}, **extra}
    return verl.compute_score(
        data_source="clicks", solution_str=response, ground_truth=target, extra_info=extra, **options
    )


def verl_singles(rows: Rows, options: Options, extra: dict[str, Any] | None = None) -> Callable[[], object]:
    """One row after the other."""
    given = held_by_omegaconf(options)
    pairs = list(zip(rows.responses, rows.targets, strict=True))
    return lambda: [verl_one(*pair, given, extra or {}) for pair in pairs]


def verl_threads(rows: Rows, options: Options) -> Callable[[], object]:
    """As verl's naive manager calls it: all rows at once, from the event loop's thread pool."""

    async def run() -> object:
        loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(8)
        with pool:
            pairs = zip(rows.responses, rows.targets, strict=True)
            jobs = [loop.run_in_executor(pool, verl_one, *pair, options, {}) for pair in pairs]
            return await asyncio.gather(*jobs)

    return lambda: asyncio.run(run())


def held_by_omegaconf(options: Options) -> Options:
    """Nested options as a config of verl holds them; where OmegaConf is not installed, as they are."""
    if find_spec("omegaconf") is None:
        return options
    return dict(import_module("omegaconf").OmegaConf.create(options))


def trl_batch(rows: Rows, options: Options) -> Callable[[], object]:
    """A batch as TRL's trainer gives it; past the diagnosis of the first rows."""
    (reward,) = trl.reward_funcs(**options)
    columns: Options = {
        "prompts": [[{"role": "user", "content": "click"}]] * len(rows),
        "completions": [[{"role": "assistant", "content": response}] for response in rows.responses],
        "completion_ids": [[1] * 9] * len(rows),
        "target": rows.targets,
        "log_metric": lambda name, value: None,
        "log_extra": lambda name, values: None,
        "trainer_state": None,
    }
    reward(**columns)
    return lambda: reward(**columns)


def measure(rows: Rows, options: Options, repeats: int) -> list[Line]:
    """The table."""
    inputs = [
        {"response": response, "response_length": 9, "ground_truth": target}
        for response, target in zip(rows.responses, rows.targets, strict=True)
    ]
    size = {"image_size": [WIDTH, HEIGHT]}
    parts = {
        **options,
        "recipe": "composite",
        "response_space": "thousandths",
        "target_space": "unit",
        "parts": {"hit": 0.9, "format": 0.1},
    }
    routes = {**options, "routes": {"data_source": {"clicks": {"name": options["recipe"]}}}}
    bare = alone(rows, options, 1), alone(rows, options, len(rows))
    cases = [
        ("verl", 1, verl_singles(rows, options), bare[0]),
        ("verl, extra_info.image_size", 1, verl_singles(rows, options, size), bare[0]),
        ("verl, nested parts", 1, verl_singles(rows, parts), alone(rows, parts, 1)),
        ("verl, nested routes", 1, verl_singles(rows, routes), bare[0]),
        ("verl, 8 threads", 1, verl_threads(rows, options), bare[0]),
        ("EasyR1, sequential", 1, lambda: [easyr1_sequential.compute_score(row, **options) for row in inputs], bare[0]),
        ("EasyR1, a batch", len(rows), lambda: easyr1.compute_score(inputs, **options), bare[1]),
        ("TRL, a batch", len(rows), trl_batch(rows, options), bare[1]),
    ]
    return [Line(name, each, *in_turns(ours, theirs, repeats), rows=len(rows)) for name, each, ours, theirs in cases]


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
        close_all()  # which would else make the folder again
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
    print(f"{'trainer':28} {heads}")
    for line in lines:
        print(
            f"{line.trainer:28} {line.rows_a_call:11,} {line.adapter_s:8.2f}s {line.bare_s:11.2f}s {line.ratio:6.2f}x "
            f"{line.us_a_row:7.0f}µs {100 * line.adapter_s / arguments.step_seconds:8.2f} %"
        )


if __name__ == "__main__":
    main()
