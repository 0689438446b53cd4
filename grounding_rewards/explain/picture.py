"""All that a picture of one recipe shows: the whole screen, a closer view of a small target, the answer's pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.columns import Reason
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.reward_map import CELLS, RewardMap, reward_map
from grounding_rewards.explain.scene import Scene, Window, centre, scene
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import Floats

SMALL, AROUND, CLOSER = 1 / 5, 5.0, 0.5
"""A target whose sides are all below this share of the screen's gets a closer view, this many times its longer side, if
the view is closer than the whole: at most this share of the screen."""


@dataclass(frozen=True, eq=False)
class Picture:
    """One recipe on one case.

    Attributes:
        name: what the picture is called: the recipe.
        scene: the screen, and what stands on it.
        views: the whole screen and, where the target is small, what is around it.
        total: what the answer is paid.
        acc: whether it is a full success.
        reason: what became of the response.
    """

    name: str
    scene: Scene
    views: tuple[RewardMap, ...]
    total: float
    acc: float
    reason: str

    @property
    def paid(self) -> str:
        """What the answer is paid, in words."""
        return f"paid {self.total:.4g}, acc {self.acc:.0f}, {self.reason}"


def picture(recipe: Recipe, case: Case, *, cells: int = CELLS) -> Picture:
    """Draw up what a recipe pays on a case.

    Args:
        recipe: the reward.
        case: the rollout to show.
        cells: about how many each view has.

    Raises:
        TargetError: a target cannot be used.
        RecipeError: the place cannot be exchanged, or something that the recipe needs is missing.

    >>> from grounding_rewards import recipe
    >>> found = picture(recipe("gelato"), Case(("(200, 150)",), ([0.1, 0.1, 0.2, 0.2],)), cells=100)
    >>> found.paid, [view.window for view in found.views]
    ('paid 0.6464, acc 1, OK', [(0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 0.5)])
    """
    shown, scores = scene(recipe, case), case.score(recipe)
    windows = [shown.window, *closer(shown)]
    views = tuple(reward_map(recipe, case, window=window, cells=cells, shown=shown) for window in windows)
    row = case.row
    reason = Reason(scores.reason[row]).name
    return Picture(recipe.name, shown, views, float(scores.total[row]), float(scores.acc[row]), reason)


def closer(shown: Scene) -> tuple[Window, ...]:
    """The window around a small target; none where the target can be seen on the whole screen, or where there is none.

    Of several places it is around all if they are close together, else around the one that is nearest to the answer.
    """
    places = shown.boxes if len(shown.boxes) else np.tile(_points(shown), 2)
    screen = np.array([shown.width, shown.height])
    if len(places) == 0:
        return ()
    focus = np.hstack((places[:, :2].min(axis=0), places[:, 2:].max(axis=0)))
    if not _small(focus, screen):
        focus = places[np.argmin(_distances(places, shown.answer))]
    if not _small(focus, screen):
        return ()
    longest = (focus[2:] - focus[:2]).max()
    side = np.minimum(AROUND * longest if longest > 0 else SMALL * screen.min(), screen)
    if side.prod() > CLOSER * screen.prod():
        return ()
    start = np.clip((focus[:2] + focus[2:]) / 2 - side / 2, 0.0, screen - side)
    x1, y1, x2, y2 = np.hstack((start, start + side)).tolist()
    return ((x1, y1, x2, y2),)


def _points(shown: Scene) -> Floats:
    """(k, 2) what is answered, where there is no target to look at."""
    own = [] if shown.answer is None else [centre(shown.answer)]
    return np.vstack((*own, shown.others))


def _small(focus: Floats, screen: Floats) -> bool:
    return bool(((focus[2:] - focus[:2]) < SMALL * screen).all())


def _distances(places: Floats, answer: Floats | None) -> Floats:
    centres = (places[:, :2] + places[:, 2:]) / 2
    return np.zeros(len(places)) if answer is None else np.hypot(*(centres - centre(answer)).T)
