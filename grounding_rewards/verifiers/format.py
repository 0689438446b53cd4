"""Scores of a response's form: an answer was read, patterns occur, or a function finds it well formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.patterns import why_invalid
from grounding_rewards.parsing.texts import Texts, as_texts, contains, matches
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term


def _pattern(value: Any) -> Any:
    if wrong := why_invalid(value):
        raise ValueError(wrong)
    return value


@dataclass(frozen=True)
class Format(Term):
    """1.0 where an answer was read (a place, in the image or not, or a refusal), else 0.0.

    Args:
        pattern: judge the whole text by this pattern instead (the common subset of RE2 and Python's re). It counts
            wherever it occurs; ``^`` and ``$`` tie it to the text's very start and end.
    """

    pattern: Annotated[str, _pattern] | None = None

    def __call__(self, rollouts: Rollouts) -> Floats:
        if self.pattern is None:
            return rollouts.predictions.parsed.astype(np.float64)
        return matches(as_texts(rollouts.text), self.pattern).astype(np.float64)


@dataclass(frozen=True)
class GradedFormat(Term):
    """Partial credit: the weight of the patterns that occur and of a parsed answer, as a share of all weights.

    score = (Σ weight · [pattern occurs] + parsed · [an answer was read]) / (Σ weight + parsed), in 0..1. A response
    that gets one tag right scores more than one that gets none, which an exact format cannot do early in training.
    Tags without an answer score too: that is the idea, and what it can be exploited for.

    Args:
        steps: the patterns, each alone (of weight 1) or with its weight, as (pattern, weight).
        parsed: the weight of an answer that was read, as in ``Format``.

    Source: GuirlVG's soft format reward, partial credit for each tag, is the idea; its code is not public.

    >>> GradedFormat(["<think>", ["</answer>", 2.0]], parsed=0.5).steps
    (('<think>', 1.0), ('</answer>', 2.0))
    """

    steps: tuple[tuple[str, float] | str, ...]
    parsed: Length = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.steps, list | tuple):
            raise options.wrong(self, "steps", "a list of patterns, each alone or with its weight")
        object.__setattr__(self, "steps", tuple([_step(step) for step in self.steps]))
        super().__post_init__()
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
        present = [*(matches(texts, pattern) for pattern, _ in self._pairs), rollouts.predictions.parsed]
        # Both sums add up from left to right, so that all elements together make exactly 1.
        part = reduce(add, [weight * each for weight, each in zip(self._weights, present, strict=True)])
        return np.asarray(part / reduce(add, self._weights), dtype=np.float64)


def _step(step: Any) -> tuple[str, float]:
    pattern, weight = step if isinstance(step, list | tuple) and len(step) == 2 else (step, 1.0)
    wrong = why_invalid(pattern)
    if wrong is None and not (options.is_number(weight) and weight >= 0):
        wrong = "a weight from 0"
    if wrong:
        raise RecipeError(f"GradedFormat(steps=): got {step!r:.80}; expected {wrong}")
    return str(pattern), float(weight)


@dataclass(frozen=True)
class JudgedFormat(Term):
    """``high`` where a function finds the text well formed, else ``low``.

    Args:
        judge: says of one text whether it is well formed. It is called with texts that contain the signs; it must not
            raise, whatever the text. A module-level function keeps the recipe picklable.
        signs: substrings of every well-formed text.
        pattern: texts that surely are well formed: ``judge`` must be True wherever it matches. Used for many texts
            only. Without it these are the texts in the usual form of the recipe's dialect.
        low: the score of other texts.
        high: the score of well-formed texts.
    """

    judge: Callable[[str], bool]
    signs: tuple[str, ...]
    pattern: str = field(default="", repr=False)
    low: float = 0.0
    high: float = 1.0

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
        """Return True for texts that are surely well formed."""
        if self.pattern:
            return matches(texts, self.pattern)
        usual = rollouts.predictions.usual
        return np.zeros(len(texts), dtype=np.bool_) if usual is None else usual.copy()  # read-only, and written to
