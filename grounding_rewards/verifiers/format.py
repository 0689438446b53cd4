"""Is the response written as the recipe asks?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.columns import Rollouts
from grounding_rewards.parsing.texts import Texts, matches
from grounding_rewards.spaces import Floats
from grounding_rewards.verifiers.base import NEEDS_NOTHING


@dataclass(frozen=True)
class Format:
    """1.0 where an answer was read (a place, in the image or not, or a refusal), else 0.0.

    Args:
        pattern: judge the whole text by this pattern instead (the common subset of RE2 and Python's re).
    """

    pattern: str | None = None

    low = 0.0
    high = 1.0
    needs = NEEDS_NOTHING

    def __call__(self, rollouts: Rollouts) -> Floats:
        if self.pattern is None:
            return rollouts.predictions.parsed.astype(np.float64)
        return matches(Texts(list(rollouts.text)), self.pattern).astype(np.float64)
