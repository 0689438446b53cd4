"""Rollouts from points and targets that share one space, without any text."""

import numpy as np

from grounding_rewards.columns import Predictions, Reason, Rollouts
from grounding_rewards.spaces import CoordSpace
from grounding_rewards.targets import Targets


def rollouts(points, targets, *, reasons=None, actions=None, text=None):
    """Points are (x, y) or None; each row has its own target."""
    xy = np.array([(np.nan, np.nan) if point is None else point for point in points], dtype=float).reshape(-1, 2)
    rows = len(xy)
    codes = [Reason.NO_ANSWER if point is None else Reason.OK for point in points] if reasons is None else reasons
    unknown = np.full((rows, 2), np.nan)
    return Rollouts(
        predictions=Predictions(
            xy, np.full((rows, 4), np.nan), np.array(codes, dtype=np.int8), np.zeros(rows, dtype=np.int8),
            ("bare_tuple",), CoordSpace.PIXEL, np.array(actions or [""] * rows, dtype=object),
        ),
        targets=Targets.from_list(targets), text=text or [""] * rows, image_sizes=unknown, model_image_sizes=unknown,
        groups=np.arange(rows), token_lengths=None, extras={},
    )  # fmt: skip


def judge(verifier, points, target, **more):
    """The verifier's scores of several points on one target."""
    return verifier(rollouts(points, [target] * len(points), **more)).tolist()
