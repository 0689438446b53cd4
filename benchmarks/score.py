"""Times `Recipe.score` against a bare Python loop (one regex, two floats, one comparison) on the same responses.

Run: python benchmarks/score.py [--rows 100000]. Figures are ratios within one run; each time is the best of five.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable

import numpy as np

import grounding_rewards as gr

Box = list[float]


def sample(rows: int) -> tuple[list[str], list[str], list[Box]]:
    """Answers as tuples and as tool calls, about half of them hits and a tenth malformed; boxes in thousandths."""
    rng = np.random.default_rng(1234)
    x1, y1 = rng.integers(0, 800, rows), rng.integers(0, 900, rows)
    boxes = np.stack([x1, y1, x1 + rng.integers(10, 200, rows), y1 + rng.integers(8, 80, rows)], axis=1)
    centre = (boxes[:, :2] + boxes[:, 2:]) // 2
    points = np.where(rng.random((rows, 1)) < 0.5, centre, rng.integers(0, 1001, (rows, 2)))
    broken = rng.random(rows) < 0.1
    tuples = [f"({x}, {y}" + ("" if bad else ")") for (x, y), bad in zip(points, broken, strict=True)]
    calls = [
        f'<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": [{x}, {y}'
        + ("" if bad else "]}}\n</tool_call>")
        for (x, y), bad in zip(points, broken, strict=True)
    ]
    return tuples, calls, [[float(edge) for edge in box] for box in boxes]


def bare_loop(pattern: str, responses: list[str], boxes: list[Box]) -> list[float]:
    """The least that a reward file can do."""
    search = re.compile(pattern).search
    scores = []
    for response, (x1, y1, x2, y2) in zip(responses, boxes, strict=True):
        found = search(response)
        scores.append(1.0 if found and x1 <= float(found[1]) <= x2 and y1 <= float(found[2]) <= y2 else 0.0)
    return scores


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def call_time(recipe: gr.Recipe, response: str, target: object, calls: int = 2000) -> float:
    """Median microseconds of one call with one response, target read each time."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        recipe.score(response, target)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    tuples, calls, boxes = sample(rows)
    unit = [[edge / 1000 for edge in box] for box in boxes]
    forms = {"tuple": (r"\((\d+), (\d+)\)", tuples), "tool call": (r'"coordinate": \[(\d+), (\d+)\]', calls)}
    cases = [
        ("gelato", gr.recipe("gelato"), "tuple", unit),
        ("gta1", gr.recipe("gta1"), "tuple", [[box, 1.0, 1.0] for box in boxes]),
        ("click", gr.recipe("click", response_space="pixel"), "tuple", boxes),
        ("click", gr.recipe("click", response_space="pixel"), "tool call", boxes),
    ]
    print(f"{'recipe':8} {'answers':10} {'responses/s':>12} {'bare loop/s':>12} {'ratio':>6} {'one call':>10}")
    for name, recipe, form, targets in cases:
        pattern, responses = forms[form]
        prepared = recipe.read_targets(targets)
        ours = best(lambda: recipe.score(responses, prepared))  # noqa: B023
        bare = best(lambda: bare_loop(pattern, responses, boxes))  # noqa: B023
        one = call_time(recipe, responses[0], targets[0])
        print(f"{name:8} {form:10} {rows / ours:12,.0f} {rows / bare:12,.0f} {bare / ours:6.2f} {one:7.0f} µs")


if __name__ == "__main__":
    main()
