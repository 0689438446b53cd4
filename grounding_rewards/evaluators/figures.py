"""Figures of judged steps, each with its denominator and its interval over episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from grounding_rewards.evaluators.rule import StepVerdict
from grounding_rewards.stats.intervals import Bootstrap, wilson_of_rate

_BOOTSTRAP = Bootstrap(2000, 0, 0.95)
_GROUP, _EPISODE = attrgetter("group"), attrgetter("episode")


class Judged(NamedTuple):
    """A step that was judged: what figures count."""

    kind: str  # name of the right action
    placed: bool  # True where the right action has a place
    verdict: StepVerdict
    episode: tuple[str, ...]
    number: int = 0  # its place in the episode
    group: str = ""  # the subset or category that it is of
    steps: int = 0  # number of steps of its episode, as its row says; 0 where it does not


class StepFigure(NamedTuple):
    """A share of steps that a paper prints."""

    name: str
    right: Callable[[Judged], float | None]  # what a step adds to the numerator
    among: Callable[[list[Judged]], list[Judged]] = list  # the steps of the denominator, of all
    # what a step's share is taken within, of which the figure is the plain mean, such as its group; None for none
    within: Callable[[Judged], Any] | None = None


@dataclass(frozen=True)
class Share:
    """One figure of steps or of episodes."""

    name: str
    right: float
    of: int
    share: float | None  # right / of, or a mean of such shares; None without a step
    # of 95 %, from draws of whole episodes; where these are alike Wilson's of as many trials; None of a mean of shares
    interval: tuple[float, float] | None


def _of_most(name: str) -> StepFigure:
    """Return the figure of a part of verdicts; a rule may leave out a step though its answer is read."""
    right = attrgetter(f"verdict.{name}")
    return StepFigure(name, right, lambda steps: [e for e in steps if right(e) is not None or not e.verdict.read])


TYPE, STEP = _of_most("type"), _of_most("step")
PLACE = StepFigure("place", lambda step: step.verdict.place, lambda steps: [each for each in steps if each.placed])
SCORE = StepFigure("score", lambda step: step.verdict.score)


def shares(steps: Sequence[Judged], own: Iterable[StepFigure] = ()) -> list[Share]:
    """Return the figures of steps: those of all rules, as far as this one has them, of episodes, and its ``own``."""
    read = [each for each in steps if each.verdict.read]
    every = [share(each, steps) for each in (TYPE, PLACE, STEP, SCORE) if any(each.right(s) is not None for s in read)]
    return [*every, *episodes(STEP.among([*steps])), *(share(each, steps) for each in own)]


def by_action(steps: Sequence[Judged]) -> dict[str, list[Share]]:
    """Return the figures of the steps of each right action, the most frequent first."""
    kinds = sorted(_grouped(steps, lambda step: step.kind).items(), key=lambda item: (-len(item[1]), item[0]))
    return {kind: [share(figure, own) for figure in (TYPE, PLACE, STEP)] for kind, own in kinds}


def _grouped(steps: Iterable[Judged], key: Callable[[Judged], Any]) -> dict[Any, list[Judged]]:
    groups = dict[Any, list[Judged]]()
    for each in steps:
        groups.setdefault(key(each), []).append(each)
    return groups


def share(figure: StepFigure, steps: Sequence[Judged]) -> Share:
    """Return a figure of steps."""
    among = figure.among(list(steps))
    right = [float(figure.right(each) or 0) for each in among]
    if figure.within is None:
        return _share(figure.name, right, [each.episode for each in among])
    cells = _grouped(among, figure.within).values()
    means = [sum(float(figure.right(each) or 0) for each in own) / len(own) for own in cells]
    return Share(figure.name, sum(right), len(right), sum(means) / len(means) if means else None, None)


def episodes(steps: Sequence[Judged]) -> list[Share]:
    """Return the share of episodes whose steps are all right, and of steps before an episode's first wrong one."""
    own = _by_episode(steps)
    reached = [_leading(each) / len(each) for each in own.values()]
    return [_share("episodes", [float(each == 1) for each in reached], [*own]), _share("progress", reached, [*own])]


def _by_episode(steps: Sequence[Judged]) -> dict[tuple[str, ...], list[Judged]]:
    """Return the steps of each episode in order."""
    return _grouped(sorted(steps, key=lambda step: step.number), _EPISODE)


def _leading(steps: Sequence[Judged]) -> int:
    """Return how many steps come before the first wrong one."""
    return next((place for place, each in enumerate(steps) if not each.verdict.step), len(steps))


def _share(name: str, right: Sequence[float], names: Sequence[tuple[str, ...]]) -> Share:
    if not right:
        return Share(name, 0, 0, None, None)
    numbers = dict[tuple[str, ...], int]()
    clusters = np.array([numbers.setdefault(each, len(numbers)) for each in names])
    mean = sum(right) / len(right)
    low, high = _BOOTSTRAP.interval(np.array(right), clusters)
    if high - low < 1e-9:  # draws of one episode, and of episodes that are alike, have no width
        low, high = map(float, wilson_of_rate(mean, len(numbers)))
    return Share(name, sum(right), len(right), mean, (low, high))


def _read(steps: list[Judged], without: str = "") -> list[Judged]:
    """Return the steps whose answer was read, but for those of one action."""
    return [each for each in steps if each.verdict.read and each.kind != without]


def _of_right_type(*kinds: str) -> Callable[[list[Judged]], list[Judged]]:
    return lambda steps: [each for each in steps if each.kind in kinds and each.verdict.type]


def _hit(steps: list[Judged], right: Callable[[Judged], Any]) -> list[Judged]:
    """Return the steps that have a verdict, of actions of which one at least is right."""
    kinds = {each.kind for each in steps if right(each)}
    return [each for each in steps if each.kind in kinds and right(each) is not None]


def _whole(steps: Sequence[Judged]) -> bool:
    """Return True where an episode lacks none of its steps."""
    return [each.number for each in steps] == list(range(len(steps)))


def _succeeded(steps: list[Judged]) -> list[Judged]:
    """Return a step for each whole episode, right where all of its steps are."""
    own = [each for each in _by_episode(steps).values() if _whole(each) and len(each) >= each[0].steps]
    return [each[0]._replace(verdict=StepVerdict(step=_leading(each) == len(each))) for each in own]


def _reached(steps: list[Judged], without: str) -> list[Judged]:
    """Return the steps that were read, right as far as all before are; none is where one of the episode is missing."""
    return [
        each._replace(verdict=StepVerdict(step=place < upto))
        for own in _by_episode(_read(steps, without)).values()
        for upto in [_leading(own) if _whole(own) else 0]
        for place, each in enumerate(own)
    ]


_KIT = tuple(
    StepFigure(f"{name}, read{' and not open_app' if without else ''}", right, partial(among, without=without))
    for without in ("open_app", "")
    for name, right, among in (
        ("type", TYPE.right, _read), ("step", STEP.right, _read), ("progress", STEP.right, _reached),
    )
)  # fmt: skip
_HITS = tuple(
    StepFigure(f"{each.name}, actions with a hit", each.right, partial(_hit, right=each.right))
    for each in (TYPE, PLACE, STEP)
)
_SEVERAL = (
    StepFigure("place, mean over tasks", PLACE.right, within=_EPISODE),
    StepFigure("operation F1", lambda step: step.verdict.parts.get("op_f1")),
    StepFigure("operation F1, mean over tasks", lambda step: step.verdict.parts.get("op_f1"), within=_EPISODE),
    StepFigure("step, mean over tasks", STEP.right, within=_EPISODE),
)

OWN: Mapping[tuple[str, str], tuple[StepFigure, ...]] = {
    ("androidcontrol", "os-atlas"): (
        StepFigure("place, clicks of the right type", PLACE.right, _of_right_type("click")),
    ),
    ("gui-odyssey", "os-atlas"): (
        StepFigure("place, presses of the right type", PLACE.right, _of_right_type("click", "long_press")),
    ),
    ("gui-odyssey", "odyssey"): (
        StepFigure("step, mean of categories", STEP.right, within=_GROUP),
        StepFigure("episodes, mean of categories", STEP.right, _succeeded, _GROUP),
    ),
    **{(each, "guievalkit"): _KIT for each in ("androidcontrol", "gui-odyssey", "aitz", "cagui")},
    ("androidcontrol", "clawgui"): (
        StepFigure("place, read", PLACE.right, lambda steps: [each for each in _read(steps) if each.placed]),
    ),
    **{(each, "gui-r1"): _HITS for each in ("androidcontrol", "gui-odyssey")},
    ("androidcontrol", "uground"): (
        StepFigure(
            "place, answers with one", PLACE.right, lambda steps: [e for e in steps if PLACE.right(e) is not None]
        ),
    ),
    ("aitw", "seeclick"): (StepFigure("step, mean of subsets", STEP.right, within=_GROUP),),
    ("mind2web", "seeclick"): _SEVERAL,
    ("mind2web", "uground"): _SEVERAL,
}
"""Figures with a numerator or denominator of the evaluator's own, by benchmark and rule."""
