"""How near to the target's middle is a hit?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import OfPlaces

Shape = Literal[
    "gaussian", "linear", "quadratic", "inverse_quadratic", "exponential", "cosine", "sigmoid", "step", "cubic", "sqrt"
]

SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "gaussian": lambda n: np.exp(-4.0 * (n * n)),
    "linear": lambda n: 1.0 - n,
    "quadratic": lambda n: 1.0 - n * n,
    "inverse_quadratic": lambda n: 1.0 / (1.0 + n * n),
    "exponential": lambda n: np.exp(-n),
    "cosine": lambda n: 0.5 * (1.0 + np.cos(np.pi * n)),
    "sigmoid": lambda n: 2.0 / (1.0 + np.exp(4.0 * n)),
    "step": lambda n: (n <= 0.5).astype(np.float64),
    "cubic": lambda n: 1.0 - n * n * n,
    "sqrt": lambda n: 1.0 - np.sqrt(n),
}
"""f(n), falling from f(0) = 1, for n from 0 at the centre to 1 on the border."""


@dataclass(frozen=True)
class Centredness(OfPlaces):
    """f(n) for a point inside the target's box, n = max(|x - cx| / (width / 2), |y - cy| / (height / 2)); else 0.0.

    1.0 at the centre, f(1) on the border, which is inside; 0.0 without a predicted point, and for a box without width
    or height. f: gaussian exp(-4 n²); linear 1 - n; quadratic 1 - n²; inverse_quadratic 1 / (1 + n²); exponential
    exp(-n); cosine (1 + cos πn) / 2; sigmoid 2 / (1 + exp(4 n)); step 1 up to n = 1/2, then 0; cubic 1 - n³; sqrt
    1 - √n. A circle or polygon counts as its bounding box. Several places: the best one's score.

    Args:
        shape: which f.

    Raises:
        RecipeError: there is none of that name.

    Source: UI-AGILE a8f7658, ``train/src/trl_train/src/open_r1/reward.py``. Its values for the gaussian are known; of
    the other shapes the names alone are, and these are the functions that such names have.
    """

    shape: Shape = "gaussian"

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.choice(self, "shape", Shape)

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions = rollouts.targets.regions
        points = regions.each(rollouts.predictions.xy)
        return centredness(points, regions.box, self.shape)


def centredness(points: Floats, box: Floats, shape: str, outside: float = 0.0) -> Floats:
    """f(n) of each point in its box, ``outside`` elsewhere: (m, 2) and (m, 4) to (m,).

    >>> centredness(np.array([[200.0, 150.0], [250.0, 150.0], [301.0, 150.0]]), np.array([[100.0, 100, 300, 200]] * 3),
    ...             "linear")
    array([1. , 0.5, 0. ])
    """
    if len(points) == 1:  # plain floats give the same last bit, and much sooner
        ratio = _ratio(*points[0].tolist(), *box[0].tolist())
        return np.array([outside]) if ratio is None else SHAPES[shape](np.array([ratio]))
    half = (box[:, 2:] - box[:, :2]) / 2
    off = np.abs(points - (box[:, :2] + box[:, 2:]) / 2) / np.where(half > 0.0, half, 1.0)
    n = np.minimum(np.maximum(off[:, 0], off[:, 1]), 1.0)
    inside = geometry.in_box(points, box) & (half[:, 0] > 0.0) & (half[:, 1] > 0.0)
    return np.where(inside, SHAPES[shape](n), outside)


def _ratio(x: float, y: float, x1: float, y1: float, x2: float, y2: float) -> float | None:
    """What n is of one point; None outside."""
    width, height = (x2 - x1) / 2, (y2 - y1) / 2
    if not (x1 <= x <= x2 and y1 <= y <= y2 and width > 0.0 and height > 0.0):
        return None
    return min(max(abs(x - (x1 + x2) / 2) / width, abs(y - (y1 + y2) / 2) / height), 1.0)
