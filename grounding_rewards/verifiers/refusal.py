"""Scores of refusals: right ones, and wrong ones of either kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import CLICKED, Reason, Rollouts
from grounding_rewards.verifiers.terms import PLACES, Term

_CLICKED = np.isin(np.arange(len(Reason)), CLICKED)
_REFUSED = np.int8(Reason.REFUSED)


@dataclass(frozen=True)
class CorrectRefusal(Term):
    """1.0 where the target is a refusal and the response refuses, else 0.0.

    A click on a refusal target (``FalseClick``) and a refusal on any other target (``FalseRefusal``) are 0.0.
    """

    judges = PLACES | {"refusal"}

    def __call__(self, rollouts: Rollouts) -> Floats:
        return (_refused(rollouts) & rollouts.targets.refusal).astype(np.float64)


@dataclass(frozen=True)
class FalseRefusal(Term):
    """1.0 where the response refuses although there is a target, else 0.0. For weights below 0, and for counting."""

    judges = PLACES

    def __call__(self, rollouts: Rollouts) -> Floats:
        return (_refused(rollouts) & ~rollouts.targets.refusal).astype(np.float64)


@dataclass(frozen=True)
class FalseClick(Term):
    """1.0 where the response answers with a place although the target is a refusal, else 0.0.

    For weights below 0, and for counting. The place may lie outside the image.
    """

    judges = PLACES

    def __call__(self, rollouts: Rollouts) -> Floats:
        return (_CLICKED[rollouts.predictions.reason] & rollouts.targets.refusal).astype(np.float64)


def _refused(rollouts: Rollouts) -> NDArray[np.bool_]:
    refused: NDArray[np.bool_] = rollouts.predictions.reason == _REFUSED
    return refused
