"""The contents of one recipe's picture: the whole screen, a closer view of a small target, the answer's score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.plot.reward_map import CELLS, RewardMap, reward_map
from grounding_rewards.explain.plot.scene import Scene, Window, centre, scene
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.reporting import Advance

SMALL, AROUND, AROUND_ANSWERS, CLOSER = 1 / 5, 5.0, 3.0, 0.5
"""A closer view is as wide and high as so many times the longer side of the target, or of what a group answers (of a
point: this share of the screen's shorter side), if that is no more than this share of the screen."""


@dataclass(frozen=True, eq=False)
class Picture:
    """One recipe on one case."""

    name: str  # the recipe's name
    scene: Scene  # the screen, with target and answers
    views: tuple[RewardMap, ...]  # the whole screen and, where the target is small, its surroundings
    total: float  # the answer's total
    acc: float  # 1.0 for full success, else 0.0
    reason: str  # name of the `Reason`

    @property
    def verdict(self) -> str:
        """The answer's scores, in words."""
        return f"total {self.total:.6g}, acc {self.acc:.0f}, {self.reason}"


def picture(recipe: Recipe, case: Case, *, cells: int = CELLS, advance: Advance = lambda done: None) -> Picture:
    """Score a case, and the same response with its place anywhere on the screen, in about ``cells`` cells a view.

    >>> from grounding_rewards import recipe
    >>> drawn = picture(recipe("gelato"), Case(("(200, 150)",), ([0.1, 0.1, 0.2, 0.2],)), cells=100)
    >>> drawn.verdict, [view.window for view in drawn.views]
    ('total 0.646447, acc 1, OK', [(0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 0.5)])
    """
    shown, scores = scene(recipe, case), case.score(recipe)
    windows = [shown.window, *closer(shown)]
    views = tuple(
        reward_map(
            recipe, case, window=window, cells=cells, shown=shown, advance=part_of(advance, before, len(windows))
        )
        for before, window in enumerate(windows)
    )
    row = case.row
    reason = Reason(scores.reason[row]).name
    return Picture(recipe.name, shown, views, float(scores.total[row]), float(scores.acc[row]), reason)


def part_of(advance: Advance, place: int, of: int) -> Advance:
    """Return the progress of one of several equal parts."""
    return lambda done: advance((place + done) / of)


def closer(shown: Scene) -> tuple[Window, ...]:
    """Return the window around a small target; none where the target is large, or where there is none.

    Of several places it is around all if they are close together, else around the one that is nearest to the answer.
    Without a target it is around the group's answers and the place they agree on, or those of them near the answer.
    """
    screen, times = np.array([shown.width, shown.height]), AROUND if len(shown.boxes) else AROUND_ANSWERS
    windows = (window_around(focus, screen, times) for focus in _foci(shown))
    return next(((window,) for window in windows if window), ())


def window_around(focus: Floats, screen: Floats, times: float = AROUND, least: float = 0.0) -> Window | None:
    """Return a square so many times as wide as a box (4,), within the screen (2,); None where it is most of the screen.

    Its sides are ``least`` of the screen's shorter side or more.
    """
    longest = (focus[2:] - focus[:2]).max()
    side = np.minimum(times * longest if longest > 0 else SMALL * screen.min(), screen)
    if side.prod() > CLOSER * screen.prod():
        return None
    side = np.minimum(np.maximum(side, least * screen.min()), screen)
    start = np.clip((focus[:2] + focus[2:]) / 2 - side / 2, 0.0, screen - side)
    x1, y1, x2, y2 = np.hstack((start, start + side)).tolist()
    return x1, y1, x2, y2


def _foci(shown: Scene) -> Iterator[Floats]:
    """Yield boxes (4,) to look at closely, the best one first."""
    if len(shown.boxes):
        yield box_around(*shown.boxes)
        yield shown.boxes[np.argmin(_distances(shown.boxes, shown.answer))]
        return
    answer = [] if shown.answer is None else [shown.answer]
    agreed = [] if shown.consensus is None else [shown.consensus.ravel()]
    if agreed or len(shown.others):
        # The first that is small enough is shown.
        for places in ([*answer, *agreed, *shown.others], [*answer, *agreed], answer):
            if places:
                yield box_around(*places)


def box_around(*places: Floats) -> Floats:
    """Return the box (4,) about points, boxes and corners."""
    corners = np.vstack([place.reshape(-1, 2) for place in places])
    return np.hstack((corners.min(axis=0), corners.max(axis=0)))


def _distances(places: Floats, answer: Floats | None) -> Floats:
    centres = (places[:, :2] + places[:, 2:]) / 2
    return np.zeros(len(places)) if answer is None else np.hypot(*(centres - centre(answer)).T)
