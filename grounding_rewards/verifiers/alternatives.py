"""Parts of verifiers of actions: a prediction beside each alternative of its target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.alternatives import Alternatives

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
    given: NDArray[Any] | None = getattr(rollouts.predictions.arguments, name)
    return None if given is None else alternatives.each(given), wanted


def compared(columns: Columns, rows: int, compare: Callable[[Any, Any], float]) -> Floats:
    """Return compare(given, wanted) for each of k alternatives: (k,).

    1.0 where nothing is wanted; 0.0 where something is and the response has none.

    >>> columns = np.array(["up", "up", None], dtype=object), np.array(["up", None, "up"], dtype=object)
    >>> compared(columns, 3, lambda given, wanted: float(given == wanted))
    array([1., 1., 0.])
    """
    given, wanted = columns
    if wanted is None:
        return np.ones(rows)
    if given is None:
        return np.array([float(right is None) for right in wanted.tolist()])
    pairs = zip(given.tolist(), wanted.tolist(), strict=True)
    scores = [1.0 if right is None else 0.0 if said is None else compare(said, right) for said, right in pairs]
    return np.array(scores, dtype=np.float64)
