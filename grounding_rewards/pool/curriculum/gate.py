"""Gate between stages, which moves up or down by the mean of the last results, and the progress of a run.

>>> gate = StageGate(success_above=0.7, failure_below=0.3, last_k=20)
>>> gate.decide([1] * 15 + [0] * 5), gate.decide([1] * 19), gate.decide([0] * 20)
('up', 'stay', 'down')
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, Literal, TypeVar

import numpy as np

from grounding_rewards.errors import PoolError, RecipeError, near
from grounding_rewards.verifiers.options import Count, Share, check, wrong

T = TypeVar("T")

Move = Literal["up", "stay", "down"]
"""Move to the next stage, none, or back to the previous one."""

ROUNDING = 1e-9
"""Tolerance at a threshold, for sums of floats are rounded."""


@dataclass(frozen=True)
class StageGate:
    """Thresholds on the mean of the last results, above which a run moves up and below which it moves down.

    Up where the mean is above ``success_above``, down where it is below ``failure_below``, both strictly; stay
    otherwise, and wherever there are fewer than ``last_k`` results.

    Raises:
        RecipeError: a number does not fit.
    """

    success_above: Share = 0.7
    failure_below: Share = 0.3  # less than ``success_above``, so that no result moves both ways
    last_k: Count = 20  # number of results that count

    def __post_init__(self) -> None:
        check(self)
        if self.failure_below >= self.success_above:
            raise wrong(self, "failure_below", f"less than success_above, {self.success_above}")

    def decide(self, results: Sequence[float | None]) -> Move:
        """Return the way to go by results of the current stage, oldest first: 1 for right, 0 for wrong, or between.

        None and NaN, which are unscored, do not count. Any other that is no number from 0 to 1 is a PoolError.
        """
        mean = self.success(results)
        if mean is None:
            return "stay"
        if mean > self.success_above + ROUNDING:
            return "up"
        return "down" if mean < self.failure_below - ROUNDING else "stay"

    def success(self, results: Sequence[float | None]) -> float | None:
        """Return the mean of the last ``last_k`` scored results; None where there are fewer."""
        counted = scored(results)[-self.last_k :]  # unscored ones take no place among the last
        return math.fsum(counted) / self.last_k if len(counted) == self.last_k else None  # exact in any order


def of_plain(name: str, kind: type[T], values: Any, needed: Collection[str] = ()) -> T:
    """Build a dataclass from a mapping of its fields; ``needed`` ones have no default here."""
    known: Any = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(values, Mapping):
        raise PoolError(f"{name}: got {values!r:.80}; expected a mapping of names to values")
    for key in values:
        if key not in known:
            raise PoolError(f"{name}: unknown key {key!r}{near(key, known) or '.'} There are: {', '.join(known)}")
    for key, each in known.items():
        if key not in values and (key in needed or each.default is MISSING):
            raise PoolError(f"{name}: no {key!r}; there are: {', '.join(known)}")
    try:
        return kind(**values)
    except RecipeError as error:
        raise PoolError(f"{name}: {error}") from None


def gate_of(values: Any) -> StageGate | None:
    """Build a gate from plain values, which name all of its numbers; None of None."""
    keys = [each.name for each in fields(StageGate)]
    return None if values is None else of_plain("gate", StageGate, values, keys)


def scored(results: Sequence[float | None]) -> list[float]:
    """Return results as floats, without unscored ones."""
    known = [result for result in results if result is not None and result == result]
    for result in known:
        if not (isinstance(result, bool | int | float | np.number | np.bool_) and 0 <= result <= 1):
            raise PoolError(f"result: got {result!r:.80}; expected a number from 0 to 1, or None where not scored")
    return [float(result) for result in known]


@dataclass(frozen=True)
class Progress:
    """Position of a run in a curriculum; each step makes a new one."""

    stage: int = 0  # number of the stage, counted from 0
    results: tuple[float, ...] = ()  # results of this stage that still count for the gate, oldest first
    # number of samples of this stage trained on so far; fractions for a part of a sample's rollouts
    samples: float = 0.0

    def after(
        self,
        results: Sequence[float | None],
        *,
        gate: StageGate | None,
        epochs: Sequence[int],
        samples: float = 0.0,
        size: int = 1,
    ) -> tuple[Progress, Move]:
        """Return the position after a batch, and the move made.

        With a gate, the gate decides; without one a stage ends after its epochs. A move resets the counts. Up from the
        last stage, and down from the first, is to stay.
        """
        counted = [*self.results, *scored(results)]
        done = self.samples + samples
        if gate is None:
            move: Move = "up" if done >= epochs[self.stage] * size - ROUNDING else "stay"
            counted = []  # no gate will ask for them
        else:
            move, counted = gate.decide(counted), counted[-gate.last_k :]  # older ones cannot count again
        stage = self.stage + {"up": 1, "stay": 0, "down": -1}[move]
        if stage == self.stage or not 0 <= stage < len(epochs):  # at an end the results stay, too
            return replace(self, results=tuple(counted), samples=done), "stay"
        return Progress(stage), move
