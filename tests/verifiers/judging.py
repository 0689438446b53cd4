"""Rollouts from points and targets that share one space, without any text."""

from dataclasses import replace

import numpy as np

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.rollouts import Predictions, Reason, Rollouts
from grounding_rewards.targets.columns import Targets


def rollouts(
    points, targets, *, reasons=None, actions=None, text=None, size=None, space=CoordSpace.PIXEL, extras=None,
    groups=None, token_lengths=None,
):  # fmt: skip
    """Points are (x, y) or None; each row has its own target, and is its own group; ``size`` is that of all images."""
    xy = np.array([(np.nan, np.nan) if point is None else point for point in points], dtype=float).reshape(-1, 2)
    rows = len(xy)
    codes = [Reason.NO_ANSWER if point is None else Reason.OK for point in points] if reasons is None else reasons
    sizes = np.full((rows, 2), np.nan if size is None else size)
    return Rollouts(
        predictions=Predictions(
            xy, np.full((rows, 4), np.nan), np.array(codes, dtype=np.int8), np.zeros(rows, dtype=np.int8),
            ("bare_tuple",), space, np.array(actions or [""] * rows, dtype=object),
        ),
        targets=replace(Targets.from_list(targets), known_image_sizes=sizes, known_model_image_sizes=sizes),
        text=text or [""] * rows, groups=np.array(range(rows) if groups is None else groups, dtype=np.int64),
        token_lengths=None if token_lengths is None else np.array(token_lengths, dtype=np.int64), extras=extras or {},
    )  # fmt: skip


def judge(verifier, points, target, **more):
    """The verifier's scores of several points on one target."""
    return verifier(rollouts(points, [target] * len(points), **more)).tolist()


def several(rows, targets, **more):
    """Rows of points, all of which count; each row has its own target."""
    table = rollouts([row[0] if row else None for row in rows], targets, **more)
    points, offsets = ragged(rows)
    return replace(table, predictions=replace(table.predictions, points=points, offsets=offsets))


def judge_all(verifier, rows, targets, **more):
    """The verifier's scores of rows of points."""
    return verifier(several(rows, targets, **more)).tolist()


def ragged(rows):
    """(k, 2) points and (n + 1,) offsets of rows of points."""
    points = np.array([point for row in rows for point in row], dtype=float).reshape(-1, 2)
    return points, np.cumsum([0, *map(len, rows)])
