"""Time of hostile responses: seconds for a megabyte, and their growth with the length."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from timeit import repeat

from grounding_rewards.scoring import Example, Recipe
from grounding_rewards.testing.hostile import MEGABYTE, hostile_shapes, shapes_of

SHORTER, LONGER = 15 * 1024, 60 * 1024
"""Characters: as much as is read of a response (64 KiB), but for what stands around the repeated part."""

STEEPEST = 12.0
"""Four times the text takes four times as long, or 16 times where time is quadratic."""

_NOISE = 0.005  # seconds: below this, a ratio says more about the clock than about the parser


def check_time(recipe: Recipe, example: Example, limit: float) -> dict[str, float]:
    """Check that no megabyte takes longer than ``limit`` processor seconds; return the seconds by shape.

    Raises:
        AssertionError: a shape is too slow, or takes 12 times as long for 60 KiB as for 15 KiB; names the shape.
    """
    times = {}
    for name, text in shapes(recipe, MEGABYTE):
        times[name] = seconds(recipe, example, text, 1)
        if limit < times[name] < 10 * limit:  # measure again: it may have been chance
            times[name] = seconds(recipe, example, text, 5)
        if times[name] > limit:
            came = f"{times[name]:.3f} s for 1 MB of {name!r}"
            raise AssertionError(f"{recipe!r} takes {came}: expected at most {limit:g} s")
    for name, ratio in growth(recipe, example).items():
        if ratio >= STEEPEST:
            came = f"{ratio:.1f} times as long for 60 KiB as for 15 KiB"
            raise AssertionError(f"{recipe!r} takes {came} of {name!r}: time must grow linearly")
    return times


def growth(recipe: Recipe, example: Example) -> dict[str, float]:
    """Return the time of 60 KiB over that of 15 KiB, by shape; shapes too fast to measure are left out."""
    shorter, ratios = dict(shapes(recipe, SHORTER)), dict[str, float]()
    for name, text in shapes(recipe, LONGER):
        if seconds(recipe, example, text, 1) > _NOISE:
            for times in (1, 8):  # the second time only where it may have been chance
                if ratios.get(name, STEEPEST) >= STEEPEST:
                    ratios[name] = seconds(recipe, example, text, times) / seconds(
                        recipe, example, shorter[name], times
                    )
    return ratios


def seconds(recipe: Recipe, example: Example, text: str, repeats: int) -> float:
    """Return processor seconds for one call with one response, the best of several, free of other processes' load."""
    score = partial(
        recipe.score, [text], [example.target], image_sizes=example.image_size,
        model_image_sizes=example.model_image_size, groups=[0] if "groups" in recipe.needs else None,
    )  # fmt: skip
    return min(repeat(score, timer=time.thread_time, number=1, repeat=repeats))  # of this thread, not of what else runs


def shapes(recipe: Recipe, length: int) -> Iterator[tuple[str, str]]:
    """Yield name and text of ``hostile_shapes``, and of the recipe's own example made long."""
    yield from hostile_shapes(length)
    if recipe.example:
        for name, text in shapes_of(recipe.example.response, length).items():
            yield f"its own example, {name}", text
