"""Is the response written as the recipe asks?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, cast

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.patterns import why_invalid
from grounding_rewards.parsing.texts import as_texts, matches
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.base import NO_TARGET, BaseVerifier


@dataclass(frozen=True)
class Format(BaseVerifier):
    """1.0 where an answer was read (a place, in the image or not, or a refusal), else 0.0.

    Args:
        pattern: judge the whole text by this pattern instead (the common subset of RE2 and Python's re). It counts
            wherever it occurs; ``^`` and ``$`` tie it to the text's very start and end.
    """

    pattern: str | None = None

    low = 0.0
    high = 1.0
    judges = NO_TARGET

    def __post_init__(self) -> None:
        wrong = self.pattern is not None and why_invalid(self.pattern)
        if wrong:
            raise options.wrong(self, "pattern", wrong)

    def __call__(self, rollouts: Rollouts) -> Floats:
        if self.pattern is None:
            return rollouts.predictions.parsed.astype(np.float64)
        return matches(as_texts(rollouts.text), self.pattern).astype(np.float64)


@dataclass(frozen=True)
class GradedFormat(BaseVerifier):
    """Partial credit: the weight of the patterns that occur and of a parsed answer, as a share of all weights.

    score = (Σ weight · [pattern occurs] + parsed · [an answer was read]) / (Σ weight + parsed), in 0..1. A response
    that gets one tag right is told from one that gets none, which an exact format cannot do early in training. Tags
    without an answer are paid too: that is the idea, and what it can be exploited for.

    Args:
        steps: the patterns, each alone (of weight 1) or with its weight, as (pattern, weight).
        parsed: the weight of an answer that was read, as in ``Format``.

    Source: GuirlVG's soft format reward, partial credit for each tag, is the idea; its code is not public.

    >>> GradedFormat(["<think>", ["</answer>", 2.0]], parsed=0.5).steps
    (('<think>', 1.0), ('</answer>', 2.0))
    """

    steps: tuple[tuple[str, float] | str, ...]
    parsed: float = 1.0

    low = 0.0
    high = 1.0
    judges = NO_TARGET

    def __post_init__(self) -> None:
        if not isinstance(self.steps, list | tuple):
            raise options.wrong(self, "steps", "a list of patterns, each alone or with its weight")
        object.__setattr__(self, "steps", tuple([_step(step) for step in self.steps]))
        options.number(self, "parsed")
        if not sum(self._weights) > 0:
            raise options.wrong(self, "steps", "weights with a sum above 0")

    @property
    def _pairs(self) -> tuple[tuple[str, float], ...]:
        return cast(tuple[tuple[str, float], ...], self.steps)

    @property
    def _weights(self) -> list[float]:
        return [*(weight for _, weight in self._pairs), float(self.parsed)]

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts = as_texts(rollouts.text)
        found = [*(matches(texts, pattern) for pattern, _ in self._pairs), rollouts.predictions.parsed]
        # Both sums add up from left to right, so that all elements together make exactly 1.
        part = reduce(add, [weight * each for weight, each in zip(self._weights, found, strict=True)])
        return np.asarray(part / reduce(add, self._weights), dtype=np.float64)


def _step(step: Any) -> tuple[str, float]:
    pattern, weight = step if isinstance(step, list | tuple) and len(step) == 2 else (step, 1.0)
    wrong = why_invalid(pattern)
    if wrong is None and not (options.is_number(weight) and weight >= 0):
        wrong = "a weight from 0"
    if wrong:
        raise RecipeError(f"GradedFormat(steps=): got {step!r:.80}; expected {wrong}")
    return str(pattern), float(weight)
