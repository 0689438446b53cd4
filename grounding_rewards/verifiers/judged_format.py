"""Is the response written in a form that no single pattern can tell?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.parsing.texts import Texts, as_texts, contains, matches
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.base import NO_TARGET, BaseVerifier


@dataclass(frozen=True)
class JudgedFormat(BaseVerifier):
    """``high`` where a function finds the text well formed, else ``low``.

    Args:
        judge: says of one text whether it is well formed. It is called with texts that contain the signs; it must not
            raise, whatever the text. A module-level function keeps the recipe picklable.
        signs: substrings of every well-formed text.
        pattern: texts that need no such care: ``judge`` must be True wherever it matches. Used for many texts only.
            Without it these are the texts in the usual form of the recipe's dialect.
        low: the score of other texts.
        high: the score of well-formed texts.
    """

    judge: Callable[[str], bool]
    signs: tuple[str, ...]
    pattern: str = field(default="", repr=False)
    low: float = 0.0
    high: float = 1.0

    judges = NO_TARGET

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts = as_texts(rollouts.text)
        if not texts.vectorised:
            formed = [all(sign in text for sign in self.signs) and self.judge(text) for text in texts.values]
            return np.where(formed, self.high, self.low)
        well = self._usual(rollouts, texts)
        left = np.flatnonzero(~well)
        for sign in self.signs:
            left = left[contains(texts.take(left), sign)]
        for row in left.tolist():
            well[row] = self.judge(texts.values[row])
        return np.where(well, self.high, self.low)

    def _usual(self, rollouts: Rollouts, texts: Texts) -> NDArray[np.bool_]:
        """The texts that are surely well formed."""
        if self.pattern:
            return matches(texts, self.pattern)
        usual = rollouts.predictions.usual
        return np.zeros(len(texts), dtype=np.bool_) if usual is None else usual.copy()
