"""Are the answered box's edges where the target's are?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.alternatives import OfPlaces
from grounding_rewards.verifiers.base import NEEDS_SCREEN
from grounding_rewards.verifiers.screen import screens


@dataclass(frozen=True)
class BoxSize(OfPlaces):
    """Harmonic mean of how near each edge is: 4 / Σ 1 / t_k, with t_k = 1 - |P_k - B_k| / side of the image.

    P and B are the predicted box and the target's, x1 y1 x2 y2; the side is the image's width for x and its height
    for y. 1.0 for equal boxes, towards 0.0 where an edge is a whole image away, and 0.0 from there on and without a
    predicted box. Any box on the screen is worth something. A circle or polygon counts as its bounding box. Several
    places: the best one's score.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: GUI-G1 e581fe9, ``open_r1/grpo_rec.py``, ``box_reward``; there it is neither limited nor 0 beyond an image.
    """

    low = 0.0
    high = 1.0
    needs = NEEDS_SCREEN

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions = rollouts.targets.regions
        screen = screens(rollouts, "BoxSize")
        away = np.abs(regions.each(rollouts.predictions.box) - regions.box)
        near = 1.0 - away / np.concatenate((screen, screen), axis=1)
        reaches = near.min(axis=1) > 0
        parts = 1.0 / np.where(reaches[:, None], near, 1.0)
        score = 4.0 / (parts[:, 0] + parts[:, 1] + parts[:, 2] + parts[:, 3])
        close: Floats = score * reaches
        return close
