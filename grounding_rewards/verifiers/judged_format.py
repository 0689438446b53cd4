"""Is the response written in a form that no single pattern can tell?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from grounding_rewards.columns import Rollouts
from grounding_rewards.parsing.texts import as_texts, matches
from grounding_rewards.spaces import Floats
from grounding_rewards.verifiers.base import NEEDS_NOTHING


@dataclass(frozen=True)
class JudgedFormat:
    """``high`` where a function finds the text well formed, else ``low``.

    Args:
        judge: says of one text whether it is well formed. It is called with texts that contain the sign; it must not
            raise, whatever the text. A module-level function keeps the recipe picklable.
        pattern: texts that need no such care: ``judge`` must be True wherever it matches. Used for many texts only.
        sign: a substring of every well-formed text.
        low: the score of other texts.
        high: the score of well-formed texts.
    """

    judge: Callable[[str], bool]
    pattern: str = field(repr=False)
    sign: str
    low: float = 0.0
    high: float = 1.0

    needs = NEEDS_NOTHING

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts = as_texts(rollouts.text)
        if not texts.vectorised:
            return np.array([self._score(text) for text in texts.values], dtype=np.float64)
        scores = np.where(matches(texts, self.pattern), self.high, self.low)
        for row in map(int, np.flatnonzero(scores != self.high)):
            scores[row] = self._score(texts.values[row])
        return scores

    def _score(self, text: str) -> float:
        return self.high if self.sign in text and self.judge(text) else self.low
