"""Is the thinking about as long as it should be?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.base import NO_TARGET, BaseVerifier

Form = Literal["simple", "plain"]
Opened = Literal["closed", "open"]

_OPEN, _CLOSE = "<think>", "</think>"
_ENDINGS = tuple(".!?…。！？")


@dataclass(frozen=True)
class ThinkingLength(BaseVerifier):
    """A score for the L characters between the first ``<think>`` and the next ``</think>``, white space around aside.

    simple: exp(-(L - ideal)² / (2 · spread²)). plain: (1 - bonus) · r(L) + bonus · [the thinking ends with . ! ? or …],
    where r rises as half a cosine wave from 0 at the first of ``ramp`` to 1 at the second, stays there up to the third,
    and falls to 0 at the fourth. 0.0 to 1.0; 0.0 where no thinking was opened and closed. No thought is read, so any
    filler of the right length is paid: let it count where the answer is right, with ``gate``.

    Args:
        form: which of the two.
        ideal: the best length under ``"simple"``.
        spread: how far from it exp(-½) is paid; above 0.
        ramp: the four lengths of ``"plain"``, in order; the first below the second, the third below the fourth.
        bonus: the share that punctuation at the end is worth under ``"plain"``, 0 to 1.
        thinking: ``"open"`` says that the prompt already opened the thinking, so that it starts with the text.

    Raises:
        RecipeError: an option does not fit.

    Source: UI-AGILE a8f7658, ``train/src/trl_train/src/open_r1/reward.py``.
    """

    form: Form = "simple"
    ideal: float = 150.0
    spread: float = 75.0
    ramp: tuple[float, ...] = (50.0, 120.0, 200.0, 300.0)
    bonus: float = 0.2
    thinking: Opened = "closed"

    low = 0.0
    high = 1.0
    judges = NO_TARGET

    def __post_init__(self) -> None:
        options.choice(self, "form", Form)
        options.choice(self, "thinking", Opened)
        options.number(self, "ideal")
        options.number(self, "spread", above=True)
        options.number(self, "bonus", high=1.0)
        if not _is_ramp(self.ramp):
            raise options.wrong(self, "ramp", "four lengths from 0 in order, such as 50, 120, 200, 300")
        object.__setattr__(self, "ramp", tuple(self.ramp))

    def __call__(self, rollouts: Rollouts) -> Floats:
        thoughts = [self.thought(text) for text in rollouts.text]
        length = np.array([np.nan if thought is None else len(thought) for thought in thoughts])
        if self.form == "simple":
            off = (length - self.ideal) / self.spread
            score = np.exp(-0.5 * (off * off))
        else:
            start, full, still, end = self.ramp
            ends = np.array([thought is not None and thought.endswith(_ENDINGS) for thought in thoughts])
            near = np.clip(np.minimum((length - start) / (full - start), (end - length) / (end - still)), 0.0, 1.0)
            wave = 0.5 * (1.0 - np.cos(math.pi * near))
            score = np.minimum((1.0 - self.bonus) * wave + self.bonus * ends, 1.0)
        return np.fmax(score, 0.0)  # NaN, where nothing was thought, is 0.0

    def thought(self, text: str) -> str | None:
        """The thinking of a response; None where there is none."""
        start = text.find(_OPEN)
        if start < 0 and self.thinking == "closed":
            return None
        start = 0 if start < 0 else start + len(_OPEN)
        end = text.find(_CLOSE, start)
        return None if end < 0 else text[start:end].strip()


def _is_ramp(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 4 or not all(options.is_number(each) for each in value):
        return False
    return value[0] >= 0 and all(a <= b for a, b in pairwise(value)) and value[0] < value[1] and value[2] < value[3]
