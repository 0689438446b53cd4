"""Base classes of verifiers that score each alternative or place, and arguments beside each alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.verifiers.base import ACTIONS, PLACES, BaseVerifier

Mask = NDArray[np.bool_] | None


class OfAlternatives(BaseVerifier):
    """A verifier that scores each alternative of a target by itself; a sample's score is that of its best one."""

    @property
    def judges(self) -> frozenset[str]:
        """Kinds of target that it judges: actions, where it does not say otherwise."""
        return ACTIONS

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the score of each alternative: (k,).

        Args:
            rollouts: n rollouts whose targets have k alternatives.
            among: (k,) True where the score is of use; elsewhere it may be anything within the bounds. None for all.
        """
        raise NotImplementedError

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return rollouts.targets.alternatives.best(self.each(rollouts), len(rollouts))


class OfPlaces(BaseVerifier):
    """A verifier that scores each place of a target; an alternative that needs no place scores 0.0."""

    @property
    def judges(self) -> frozenset[str]:
        """Kinds of target that it judges: places, where it does not say otherwise."""
        return PLACES

    def places(self, rollouts: Rollouts) -> Floats:
        """Return the score of each place: (m,)."""
        raise NotImplementedError

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Return the score of each alternative: (k,)."""
        return rollouts.targets.alternatives.place_scores(self.places(rollouts))

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return rollouts.targets.regions.best(self.places(rollouts), len(rollouts))


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
