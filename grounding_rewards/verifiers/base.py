"""What a verifier is, and a lift from a plain function to one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grounding_rewards.columns import Rollouts
from grounding_rewards.errors import GroundingRewardsError, RecipeError, VerifierError
from grounding_rewards.spaces import Floats

NEEDS_NOTHING: frozenset[str] = frozenset()
NEEDS_SCREEN = frozenset({"screen"})
"""Measures in shares of the screen: every place needs the size of its image, unless the space fixes it."""


class Verifier(Protocol):
    """n rollouts to n scores between ``low`` and ``high``.

    ``needs``: "groups", "screen" (the size of the image), "trajectories" (all steps of each, named in the targets).
    """

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def needs(self) -> frozenset[str]: ...

    def __call__(self, rollouts: Rollouts) -> Floats: ...


@dataclass(frozen=True)
class FunctionVerifier:
    """A plain function as a verifier; what it returns is checked at each call."""

    fn: Callable[[Rollouts], Floats]
    low: float
    high: float
    needs: frozenset[str] = frozenset()

    def __call__(self, rollouts: Rollouts) -> Floats:
        try:
            returned = self.fn(rollouts)
        except GroundingRewardsError:
            raise
        except Exception as error:
            raise VerifierError(f"verifier {called(self)} raised {type(error).__name__}: {error}") from error
        return checked(returned, called(self), self.low, self.high, len(rollouts))


def called(verifier: Verifier) -> str:
    """What errors call a verifier: the function that it lifts, the place that a config names, or its class."""
    thing = getattr(verifier, "fn", verifier)
    name = getattr(thing, "__name__", None) or getattr(thing, "name", None)
    return name if isinstance(name, str) else type(thing).__name__


def checked(returned: Any, name: str, low: float, high: float, rows: int) -> Floats:
    """What a verifier returned, as n float64 scores.

    Raises:
        VerifierError: it is no array of n numbers between ``low`` and ``high``; names the verifier and the row.
    """
    try:
        scores = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        raise VerifierError(f"verifier {name} returned {returned!r:.80}; expected {rows} numbers") from None
    if scores.shape != (rows,):
        raise VerifierError(f"verifier {name} returned shape {scores.shape}; expected ({rows},)")
    if rows == 1 and low <= scores.item() <= high:  # a single call: as below, at a tenth of the cost
        return scores
    inside = (scores >= low) & (scores <= high)
    if np.count_nonzero(inside) < rows:
        row = int(np.argmin(inside))
        raise VerifierError(
            f"verifier {name} returned {scores[row]} for row {row}; expected {low} to {high}: "
            "clip it, or declare wider bounds"
        )
    return scores


def verifier(
    fn: Callable[[Rollouts], Floats], *, low: float, high: float, needs: Iterable[str] = ()
) -> FunctionVerifier:
    """Lift a plain function to a verifier, so that it can stand in any composition.

    Args:
        fn: maps ``Rollouts`` of n rows to n scores. A module-level function keeps the recipe picklable.
        low: the lowest score it can return.
        high: the highest.
        needs: what it must be given beside the rows themselves, such as ``"groups"``.

    Raises:
        RecipeError: ``fn`` cannot be called, or the bounds are not finite and in order.

    >>> short = verifier(lambda rollouts: np.array([float(len(text) < 20) for text in rollouts.text]), low=0, high=1)
    >>> short.low, short.high
    (0.0, 1.0)
    """
    if not callable(fn):
        raise RecipeError(f"verifier(fn): got {fn!r}; expected a function of Rollouts")
    numbers = all(isinstance(bound, int | float) and math.isfinite(bound) for bound in (low, high))
    if not numbers or low > high:
        raise RecipeError(f"verifier(low=, high=): got {low!r} and {high!r}; expected finite bounds with low <= high")
    return FunctionVerifier(fn, float(low), float(high), frozenset([needs] if isinstance(needs, str) else needs))
