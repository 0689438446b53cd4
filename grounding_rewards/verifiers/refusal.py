"""Did the model refuse exactly where nothing on the screen fits?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.columns import Reason, Rollouts
from grounding_rewards.spaces import Floats
from grounding_rewards.verifiers.base import NEEDS_NOTHING


@dataclass(frozen=True)
class CorrectRefusal:
    """1.0 where the target is a refusal and the response refuses, else 0.0.

    A click on a refusal target (false click) and a refusal on any other target (false refusal) are 0.0.
    """

    low = 0.0
    high = 1.0
    needs = NEEDS_NOTHING

    def __call__(self, rollouts: Rollouts) -> Floats:
        refused = rollouts.predictions.reason == Reason.REFUSED
        return np.asarray(refused & rollouts.targets.refusal, dtype=np.float64)
