"""Times the longest and oddest responses: milliseconds for a megabyte, by recipe and by shape.

Run: python benchmarks/hostile.py [--recipe NAME] [--shapes 5]. Processor time of one call with one response, the
best of three; only the last 64 KiB of a response are read. ``growth`` is how many times as long 60 KiB take as 15 KiB,
for the shape that grows fastest: 4 is linear, 16 would be quadratic; shapes that take under 5 ms are left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.testing.hostile import MEGABYTE
from grounding_rewards.testing.recipes import examples_of
from tests.testing.linear import growth, seconds, shapes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", choices=gr.list_recipes(), help="only this one, with all its shapes")
    parser.add_argument("--shapes", type=int, default=5, help="how many of the slowest shapes to name")
    options = parser.parse_args()
    slowest: tuple[float, str, str] = (0.0, "", "")
    print(f"{'recipe':14} {'median':>8} {'slowest':>9} {'growth':>7}  of shapes, ms for 1 MB")
    for name in [options.recipe] if options.recipe else gr.list_recipes():
        recipe = gr.recipe(name, **shown_with(name))
        example = examples_of(recipe)[0]
        times = {shape: 1000 * seconds(recipe, example, text, 3) for shape, text in shapes(recipe, MEGABYTE)}
        ratios = growth(recipe, example)
        ranked = sorted(times, key=lambda shape: -times[shape])
        grows = f"{max(ratios.values()):7.1f}" if ratios else f"{'-':>7}"
        print(f"{name:14} {statistics.median(times.values()):8.2f} {times[ranked[0]]:9.2f} {grows}")
        for shape in ranked if options.recipe else ranked[: options.shapes]:
            print(f"{'':14} {times[shape]:8.2f} {shape!r:.80}")
        slowest = max(slowest, (times[ranked[0]], name, ranked[0]))
    print(f"the slowest of all: {slowest[0]:.1f} ms, {slowest[1]} on {slowest[2]!r}")


if __name__ == "__main__":
    main()
