"""Tables of generated rows, as verifiers read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from grounding_rewards.actions import Arguments, columns
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.rollouts import Predictions, Rollouts, group_codes
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL, into_space
from grounding_rewards.targets.columns import Targets
from grounding_rewards.testing._rows import NAN, Row

_KINDS = frozenset({BBOX, POLYGON, CIRCLE, POINT, REFUSAL, ACTION})


def rollouts(
    rows: Sequence[Row], space: CoordSpace, *, bare: frozenset[str] | None = None, extras: Sequence[str] = ()
) -> Rollouts:
    """Return rows as a verifier of a recipe that works in ``space`` reads them.

    Args:
        rows: any of ``generated_rows``.
        space: into which predictions and targets are brought.
        bare: names of the required columns (``needs``): the other optional ones are left out.
        extras: names of the further columns.
    """
    sizes = np.array([row.image_size for row in rows], dtype=np.float64).reshape(-1, 2)
    targets = Targets.from_list([row.target for row in rows], space=CoordSpace.PIXEL, bad_target="abstain").prepare(
        space, default=CoordSpace.PIXEL, response_space=CoordSpace.PIXEL, accepts=_KINDS,
        image_sizes=sizes, model_image_sizes=sizes / 2, bad_target="abstain",
    )  # fmt: skip
    several = bare is None or "points" in bare
    counted = bare is None or "token_lengths" in bare
    answered = [([row.point] if row.point else []) + list(row.more) for row in rows]
    predictions = Predictions(
        xy=np.array([row.point or (NAN, NAN) for row in rows], dtype=np.float64).reshape(-1, 2),
        box=np.array([row.box or [NAN] * 4 for row in rows], dtype=np.float64).reshape(-1, 4),
        reason=np.array([row.reason for row in rows], dtype=np.int8),
        dialect=np.array([0 if row.point else -1 for row in rows], dtype=np.int8),
        dialects=("generated",),
        space=CoordSpace.PIXEL,
        actions=np.array([row.action for row in rows], dtype=np.object_),
        points=np.array(list(chain(*answered)), dtype=np.float64).reshape(-1, 2) if several else None,
        offsets=np.cumsum([0, *map(len, answered)], dtype=np.int64) if several else None,
        arguments=Arguments(**columns([row.arguments for row in rows])),
    )
    return Rollouts(
        predictions=into_space(predictions, space, targets),
        targets=targets,
        text=[row.text for row in rows],
        groups=group_codes([row.group for row in rows], len(rows)),
        token_lengths=np.array([row.tokens for row in rows], dtype=np.int64) if counted else None,
        extras={name: [row.extras[name] for row in rows] for name in extras},
    ).read_only()
