"""Arguments of responses beside those that each alternative of their targets asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.verifiers.terms import Mask

Columns = tuple[NDArray[Any] | None, NDArray[Any] | None]
"""An argument as predicted and as wanted, a value for each of k alternatives; None where no row has one."""


def argument(rollouts: Rollouts, name: str, alternatives: Alternatives | None = None) -> Columns:
    """Return an argument of each alternative: its sample's response's, and the one that it wants itself.

    Args:
        rollouts: n rollouts.
        name: an attribute of ``Arguments``.
        alternatives: those of the targets in another form, such as in the vocabulary; None for them as they are.
    """
    alternatives = rollouts.targets.alternatives if alternatives is None else alternatives
    wanted: NDArray[Any] | None = getattr(alternatives.arguments, name)
    written: NDArray[Any] | None = getattr(rollouts.predictions.arguments, name)
    return None if written is None else alternatives.each(written), wanted


def compared(
    columns: Columns, rows: int, compare: Callable[[Any, Any], float], among: Mask = None, unasked: float = 1.0
) -> Floats:
    """Return compare(written, wanted) for each of k alternatives: (k,).

    ``unasked`` where nothing is wanted, or among others than those asked for; 0.0 where something is and the response
    has none.

    >>> columns = np.array(["up", "up", None], dtype=object), np.array(["up", None, "up"], dtype=object)
    >>> compared(columns, 3, lambda written, wanted: float(written == wanted))
    array([1., 1., 0.])
    """
    written, wanted = columns
    if wanted is None:
        return np.full(rows, unasked)
    scores, rights = [unasked] * rows, wanted.tolist()
    values = [None] * rows if written is None else written.tolist()
    for row in range(rows) if among is None else np.flatnonzero(among).tolist():  # comparing texts takes longest
        right = rights[row]
        if right is not None:
            scores[row] = 0.0 if values[row] is None else compare(values[row], right)
    return np.array(scores, dtype=np.float64)
