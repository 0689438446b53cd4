"""Scores of lengths: of a response among those of its group, and of its thinking."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.group import NEEDS_GROUPS
from grounding_rewards.verifiers.hit import Hit
from grounding_rewards.verifiers.options import Length, Number, Positive, Share
from grounding_rewards.verifiers.terms import VERIFIER, Term, Verifier, judges_of, reads_of, scored, why_invalid


def _verifier(value: Any) -> Any:
    """Return a verifier as it is; anything else is an error."""
    if wrong := why_invalid(value, VERIFIER):
        raise ValueError(f'a verifier (in a config its name, or {{"verifier": NAME, ...}}); this {wrong}')
    return value


@dataclass(frozen=True)
class DastLength(Term):
    """DAST's length reward: max(0.5 - 0.5 λ, 0.1) where the rollout is right, min(0.9 λ - 0.1, -0.1) where it is wrong.

    λ = (L - B) / B, with L the length of the response and B = p · L_r + (1 - p) · L_max the budget of its group: p is
    the share of its rollouts that are right, L_r their mean length and L_max the largest length of all. B = 0: λ = 0.
    -1.0 to 1.0. Right answers score from 0.1 to 1, the more, the shorter; wrong ones lose from 1 to 0.1, the less, the
    longer: where nothing is right, the longest is the best.

    Lengths are those in tokens where they are known (``token_lengths``), else in characters of the text. The source
    measures the padded batch, in which all rows are equally long, so that its rewards hardly differ; here
    every row has its own length.

    Args:
        correct: the verifier that says whether a rollout is right; in a config its name, or ``{"verifier": NAME, ...}``
            with what it takes.
        above: a rollout is right where that is above this number.

    >>> DastLength(correct=Hit(point_radius=14)).needs
    frozenset({'groups'})

    Source: UI-R1 2fe9bf0, ``trainer/DAST_grpo_trainer.py``, after DAST.
    """

    # "takes", so that configs may name one
    correct: Annotated[Verifier, _verifier] = field(default=Hit(), metadata={"takes": "verifier"})
    above: Number = 0.0

    low = -1.0

    @property
    def needs(self) -> frozenset[str]:
        return NEEDS_GROUPS | self.correct.needs

    @property
    def reads(self) -> frozenset[str]:
        return reads_of(self.correct) | {"token_lengths"}

    @property
    def judges(self) -> frozenset[str]:
        return judges_of(self.correct)

    def __call__(self, rollouts: Rollouts) -> Floats:
        right = scored(self.correct, rollouts, "correct") > self.above
        return length_rewards(right, lengths_of(rollouts), rollouts.groups)

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, float | str]:
        """Return the numbers of a row by the letters of the formula."""
        lengths, right = lengths_of(rollouts), scored(self.correct, rollouts, "correct") > self.above
        mine = rollouts.groups == rollouts.groups[row]
        p, longest, solved = right[mine].mean(), lengths[mine].max(), lengths[mine & right]
        budget = p * solved.mean() + (1 - p) * longest if len(solved) else longest
        over = (lengths[row] - budget) / budget if budget else 0.0
        found: dict[str, float | str] = {"L": lengths[row], "B": budget, "λ": over, "p": p, "L_max": longest}
        found |= {"L_r": solved.mean()} if len(solved) else {}
        unit = "characters" if rollouts.token_lengths is None else "tokens"
        return {**found, "unit": unit, "answer": "right" if right[row] else "wrong"}


def length_rewards(right: NDArray[np.bool_], lengths: Floats, groups: NDArray[np.int64]) -> Floats:
    """Compute the formula of ``DastLength`` for n rows: from -1 to 1."""
    longest = np.zeros(int(groups.max(initial=-1)) + 1)  # initial, because no rows have no maximum
    np.maximum.at(longest, groups, lengths)
    rollouts = np.maximum(np.bincount(groups), 1)  # a number that no row has must not divide by 0
    wrong = np.bincount(groups, weights=~right)
    budgets = ((np.bincount(groups, weights=lengths * right) + wrong * longest) / rollouts)[groups]
    over = np.where(budgets > 0, lengths - budgets, 0.0) / np.where(budgets > 0, budgets, 1.0)
    return np.where(right, np.maximum(0.5 - 0.5 * over, 0.1), np.minimum(0.9 * over - 0.1, -0.1))


def lengths_of(rollouts: Rollouts) -> Floats:
    """Return the length of each response (n,), in tokens where they are known, else in characters."""
    if rollouts.token_lengths is not None:
        return rollouts.token_lengths.astype(np.float64)
    return np.array([len(text) for text in rollouts.text], dtype=np.float64)


Form = Literal["simple", "plain"]
Opened = Literal["closed", "open"]

_OPEN, _CLOSE = "<think>", "</think>"
_ENDINGS = tuple(".!?…。！？")


def _ramp(value: Any) -> tuple[float, ...]:
    numbers = isinstance(value, list | tuple) and len(value) == 4 and all(map(options.is_number, value))
    if not numbers or not 0 <= value[0] < value[1] <= value[2] < value[3]:
        raise ValueError("four lengths from 0 in order, such as 50, 120, 200, 300")
    return tuple(value)  # a config's list has no hash


@dataclass(frozen=True)
class ThinkingLength(Term):
    """A score for the L characters between the first ``<think>`` and the next ``</think>``, white space around aside.

    simple: exp(-(L - ideal)² / (2 · spread²)). plain: (1 - bonus) · r(L) + bonus · [the thinking ends with . ! ? or …],
    where r rises as half a cosine wave from 0 at the first of ``ramp`` to 1 at the second, stays there up to the third,
    and falls to 0 at the fourth. 0.0 to 1.0; 0.0 where no thinking was opened and closed. No thought is read, so any
    filler of the right length scores: let it count where the answer is right, with ``gate``.

    Args:
        form: which of the two.
        ideal: the best length under ``"simple"``.
        spread: the distance from it that scores exp(-½); above 0.
        ramp: the four lengths of ``"plain"``, in order; the first below the second, the third below the fourth.
        bonus: the share that punctuation at the end is worth under ``"plain"``, 0 to 1.
        thinking: ``"open"`` says that the prompt already opened the thinking, so that it starts with the text.

    Source: UI-AGILE a8f7658, ``train/src/trl_train/src/open_r1/reward.py``.
    """

    form: Form = "simple"
    ideal: Length = 150.0
    spread: Positive = 75.0
    ramp: Annotated[tuple[float, ...], _ramp] = (50.0, 120.0, 200.0, 300.0)
    bonus: Share = 0.2
    thinking: Opened = "closed"

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
        """Return the thinking of a response; None where there is none."""
        start = text.find(_OPEN)
        if start < 0 and self.thinking == "closed":
            return None
        start = 0 if start < 0 else start + len(_OPEN)
        end = text.find(_CLOSE, start)
        return None if end < 0 else text[start:end].strip()
