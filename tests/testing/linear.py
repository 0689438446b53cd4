"""Check that work grows linearly in the rows, by counting lines of Python run and memory taken, not by time."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from timeit import repeat
from types import FrameType
from typing import Any, NamedTuple

from grounding_rewards.coords.spaces import PIXEL
from grounding_rewards.parsing import Answers, Dialect, parse
from grounding_rewards.rollouts import PARSED, Reason
from grounding_rewards.scoring import Example, Recipe
from grounding_rewards.testing._checks import brief
from grounding_rewards.testing.hostile import ANSWER_FORMATS, MEGABYTE, hostile_shapes, shapes_of
from grounding_rewards.testing.recipes import examples_of
from grounding_rewards.testing.verifiers import Row, generated_rows, rollouts, with_extras
from grounding_rewards.verifiers.terms import Verifier

ROWS = 128
"""Enough for the vectorised functions, and few enough to count."""

STEEPEST = 5.0
"""Four times the rows take four times the work, or 16 times where it is quadratic."""

_CRUMBS = 512
_LINES, _BYTES = 1, 64
"""Growth for each row below which there is no error."""

Run = Callable[[], Any]
Grouping = Callable[[int], int]


class Work(NamedTuple):
    """The work of a call.

    Attributes:
        lines: lines of Python that ran.
        allocated: bytes taken by lines that took more than half a KiB each, such as whole columns, kept or not.
    """

    lines: int
    allocated: int


def check_linear(
    thing: Recipe | Verifier | Dialect,
    examples: Sequence[Example] | None = None,
    *,
    rows: int = ROWS,
    extras: Mapping[str, Sequence[Any]] | None = None,
    target_extras: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Check that the work of a recipe, a verifier or a dialect grows as the rows do, and no faster.

    Counted, for some rows and for four times as many, are the lines of Python that run and the memory that they take:
    no clock is read, so that other work on the machine does not matter. What needs groups is counted in groups of
    eight, and in a single group; a dialect under each policy of ``answers`` that reads on. Not counted is work
    in C that takes no memory, such as ``list.index`` for each row.

    Args:
        thing: what to check.
        examples: a recipe's responses and targets, in turn; without them its example and those of its exploits, and
            every answer format that it reads with a target of each kind that it accepts.
        rows: how many rows the smaller batch has at least.
        extras: values of the further columns that a verifier reads, by name; the rollouts have them in turn.
        target_extras: what a verifier reads of the ``extra`` of targets; the targets have them in turn.

    Raises:
        AssertionError: four times the rows take more than 5 times the work; says what grows, with both numbers.

    >>> import grounding_rewards as gr, numpy as np
    >>> def share_of_longest(rollouts):
    ...     return np.array([len(text) / max([len(each) for each in rollouts.text]) for text in rollouts.text])
    >>> check_linear(gr.verifier(share_of_longest, low=0, high=1), rows=64)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: FunctionVerifier(...) runs ... lines of Python for 256 rows and ... for 64 (each row alone): ...
    """
    for how, count, make in _batches(thing, examples, rows, extras or {}, target_extras):
        make(1)()  # work done once, such as compiling patterns, does not count
        few, many = work(make(1)), work(make(4))
        for what, least, ours, theirs in zip(_WHAT, (_LINES, _BYTES), few, many, strict=True):
            if theirs > STEEPEST * max(ours, least * count):  # at least what is allowed: small growth is no error
                came = f"{what.format(theirs)} for {4 * count:,} rows and {ours:,} for {count:,} ({how})"
                times = f"{theirs / max(ours, 1):.1f} times as much for 4 times the rows"
                raise AssertionError(
                    f"{brief(thing)} {came}: {times}; make no column again, and walk through none, for each row"
                )


_WHAT = ("runs {:,} lines of Python", "takes {:,} bytes of memory")


def work(run: Run) -> Work:
    """Count what a call does in this thread.

    >>> few, many = [work(lambda: [bytes(1000) for _ in range(count)]) for count in (50, 200)]
    >>> round(many.allocated / few.allocated)
    4
    """
    before, counting = sys.gettrace(), tracemalloc.is_tracing()  # of a debugger or of coverage, put back at the end
    lines = allocated = held = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines, allocated, held
        now, peak = tracemalloc.get_traced_memory()
        if peak - held > _CRUMBS:  # less is single values, and what this function takes itself
            allocated += peak - held
        held = now  # kept memory counts once, when it is taken
        lines += event == "line"
        tracemalloc.reset_peak()
        return trace

    if not counting:
        tracemalloc.start()
    try:
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        sys.settrace(trace)
        run()
    finally:
        sys.settrace(before)
        if not counting:
            tracemalloc.stop()
    return Work(lines, allocated)


def _batches(
    thing: Any, examples: Sequence[Example] | None, rows: int, extras: Mapping[str, Sequence[Any]],
    target_extras: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, int, Callable[[int], Run]]]:  # fmt: skip
    """Yield batches of each kind: a name, its rows, and a function that makes a call with so many times as many."""
    if hasattr(thing, "one"):  # a dialect; recipes and verifiers have none
        texts = _repeated([text for form in ANSWER_FORMATS for text in (form.right, form.broken)], rows)
        policies: tuple[Answers, ...] = ("only", "last", "all")  # where the first counts, less is read
        for answers in policies:
            yield f"answers={answers!r}", len(texts), _reading(thing, texts, answers)
        return
    groupings = _GROUPINGS if "groups" in thing.needs else _ALONE
    for how, group in groupings.items():
        if isinstance(thing, Recipe):
            cases = _repeated(examples or _cases(thing), rows)
            yield how, len(cases), _scoring(thing, cases, group)
        else:
            some = with_extras(tuple(islice(cycle(generated_rows()), rows)), extras, target_extras)
            yield how, rows, _judging(thing, some, tuple(extras), group)


_ALONE: dict[str, Grouping] = {"each row alone": lambda row: row}
_GROUPINGS: dict[str, Grouping] = {"groups of eight": lambda row: row // 8, "one group": lambda row: 0}


def _repeated(some: Sequence[Any], rows: int) -> list[Any]:
    """Repeat items as often as it takes: four times as many are then the same mix."""
    return list(some) * -(-rows // len(some))  # rounded up to whole turns


def _varied(texts: list[str], turn: int) -> list[str]:
    """Repeat texts, in each second turn with action names that no other row has: distinct values must cost no more."""
    return [text.replace("click", f"tap{row}") if row // turn % 2 else text for row, text in enumerate(texts)]


def _reading(dialect: Dialect, texts: list[str], answers: Answers) -> Callable[[int], Run]:
    def make(times: int) -> Run:
        varied = _varied(texts * times, 2 * len(ANSWER_FORMATS))
        return lambda: parse(varied, dialect, space=PIXEL, answers=answers)

    return make


def _scoring(recipe: Recipe, cases: list[Example], group: Grouping) -> Callable[[int], Run]:
    def make(times: int) -> Run:
        rows = cases * times
        texts = _varied([row.response for row in rows], max(len(rows) // 8, 1))
        targets = [row.target for row in rows]
        options: dict[str, Any] = {
            "image_sizes": [row.image_size for row in rows],
            "model_image_sizes": [row.model_image_size for row in rows],
            "groups": [group(row) for row in range(len(rows))],
        }
        return lambda: recipe.score(texts, targets, **options)

    return make


def _judging(verifier: Verifier, some: list[Row], extras: Sequence[str], group: Grouping) -> Callable[[int], Run]:
    def make(times: int) -> Run:
        grouped = [replace(row, group=group(place)) for place, row in enumerate(some * times)]
        table = rollouts(grouped, PIXEL, extras=extras)
        return lambda: verifier(table)

    return make


def _cases(recipe: Recipe) -> list[Example]:
    """Pair the recipe's examples, and each answer format that it reads, with each target of ``examples_of``."""
    own = [*([recipe.example] if recipe.example else []), *(each.example for each in recipe.exploits if each.example)]
    forms = [form.right for form in ANSWER_FORMATS]
    parsed = parse(forms, recipe.dialect, space=recipe.response_space, answers=recipe.answers, thinking=recipe.thinking)
    read = [
        text for text, reason in zip(forms, parsed.reason, strict=True) if reason in (*PARSED, Reason.UNKNOWN_ACTION)
    ]
    texts = dict.fromkeys([*(each.response for each in own), *read, "no idea"])
    return own + [replace(example, response=text) for example in examples_of(recipe) for text in texts]


SHORTER, LONGER = 15 * 1024, 60 * 1024
"""Characters: as much as is read of a response (64 KiB), but for what stands around the repeated part."""

CUBIC = 12.0
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
        if ratio >= CUBIC:
            came = f"{ratio:.1f} times as long for 60 KiB as for 15 KiB"
            raise AssertionError(f"{recipe!r} takes {came} of {name!r}: time must grow linearly")
    return times


def growth(recipe: Recipe, example: Example) -> dict[str, float]:
    """Return the time of 60 KiB over that of 15 KiB, by shape; shapes too fast to measure are left out."""
    shorter, ratios = dict(shapes(recipe, SHORTER)), dict[str, float]()
    for name, text in shapes(recipe, LONGER):
        if seconds(recipe, example, text, 1) > _NOISE:
            for times in (1, 8):  # the second time only where it may have been chance
                if ratios.get(name, CUBIC) >= CUBIC:
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
