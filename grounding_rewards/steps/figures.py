"""Figures of judged steps, each with its denominator and its interval over episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from grounding_rewards.stats.intervals import Bootstrap, wilson
from grounding_rewards.steps.rule import Judged, StepFigure

_BOOTSTRAP = Bootstrap(2000, 0, 0.95)


class Share(NamedTuple):
    """One figure of steps or of episodes."""

    name: str
    right: float
    of: int
    share: float | None  # right / of, or a mean of such shares; None without a step
    interval: tuple[float, float] | None  # of 95 %, from draws of whole episodes; None of a mean of shares


TYPE = StepFigure("type", lambda step: step.verdict.type)
PLACE = StepFigure("place", lambda step: step.verdict.place, lambda steps: [each for each in steps if each.placed])
STEP = StepFigure("step", lambda step: step.verdict.step)
SCORE = StepFigure("score", lambda step: step.verdict.score)


def shares(steps: Sequence[Judged], own: Iterable[StepFigure] = ()) -> list[Share]:
    """Return the figures of steps: those that all rules have as far as these do, episodes, and the rule's ``own``."""
    read = [each for each in steps if each.verdict.read]
    every = [share(each, steps) for each in (TYPE, PLACE, STEP, SCORE) if any(each.right(s) is not None for s in read)]
    return [*every, *episodes(steps), *(share(each, steps) for each in own)]


def by_action(steps: Sequence[Judged]) -> dict[str, list[Share]]:
    """Return the figures of the steps of each right action, the most frequent first."""
    kinds = dict[str, list[Judged]]()
    for each in steps:
        kinds.setdefault(each.kind, []).append(each)
    return {
        kind: [share(figure, own) for figure in (TYPE, PLACE, STEP)]
        for kind, own in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    }


def share(figure: StepFigure, steps: Sequence[Judged]) -> Share:
    """Return a figure of steps."""
    among = figure.among(list(steps))
    right = [float(figure.right(each) or 0) for each in among]
    if figure.within is None:
        return _share(figure.name, right, [each.episode for each in among])
    cells = dict[Any, list[float]]()
    for each, value in zip(among, right, strict=True):
        cells.setdefault(figure.within(each), []).append(value)
    means = [sum(values) / len(values) for values in cells.values()]
    return Share(figure.name, sum(right), len(right), sum(means) / len(means) if means else None, None)


def episodes(steps: Sequence[Judged]) -> list[Share]:
    """Return the share of episodes whose steps are all right, and of steps before an episode's first wrong one."""
    by = dict[tuple[str, ...], list[Judged]]()
    for each in steps:
        by.setdefault(each.episode, []).append(each)
    reached = []
    for own in by.values():
        right = [step.verdict.step is True for step in sorted(own, key=lambda step: step.number)]
        reached.append([*right, False].index(False) / len(right))
    names = list(by)
    return [
        _share("episodes", [float(each == 1) for each in reached], names),
        _share("progress", reached, names),
    ]


def _share(name: str, right: Sequence[float], names: Sequence[tuple[str, ...]]) -> Share:
    if not right:
        return Share(name, 0, 0, None, None)
    numbers = dict[tuple[str, ...], int]()
    clusters = np.array([numbers.setdefault(each, len(numbers)) for each in names])
    mean = sum(right) / len(right)
    if {*right} in ({0.0}, {1.0}):  # draws of episodes that are alike have no width
        low, high = map(float, wilson(mean * len(numbers), len(numbers)))
    else:
        low, high = _BOOTSTRAP.interval(np.array(right), clusters)
    return Share(name, sum(right), len(right), mean, (low, high))
