"""One line in the log that says, early in a run, whether responses are read and where they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.actions import normalised
from grounding_rewards.scoring import ACTION
from grounding_rewards.spaces import Floats, nowhere
from grounding_rewards_adapters._judged import Piece
from grounding_rewards_adapters._settings import Trainer

ROWS = 256
"""Rows that are looked at."""


@dataclass(eq=False)
class Diagnosis:
    """The first rows of one recipe, until there are enough of them.

    Attributes:
        recipe: the recipe.
        trainer: who calls.
        finished: whether the line was made.
    """

    recipe: gr.Recipe
    trainer: Trainer
    finished: bool = False
    _responses: list[str | None] = field(default_factory=list)
    _targets: list[Any] = field(default_factory=list)
    _sizes: list[list[Floats]] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _reasons: Counter[gr.Reason] = field(default_factory=Counter)
    _examples: dict[gr.Reason, str] = field(default_factory=dict)
    _asked: Counter[str] = field(default_factory=Counter)
    _said: set[str] = field(default_factory=set)

    def add(self, piece: Piece, responses: Sequence[str | None], targets: Sequence[Any]) -> str | None:
        """Look at scored rows; the line where these made them enough, else None."""
        if self.finished:
            return None
        room = ROWS - len(self._responses)
        self._responses += responses[:room]
        self._targets += targets[:room]
        rows = min(room, len(piece.scores))
        self._sizes.append([nowhere(rows, 2) if told is None else told[:rows] for told in piece.sizes])
        self._count(piece, rows)
        if len(self._responses) < ROWS:
            return None
        line = self._line()
        self.finished = True
        for kept in (self._responses, self._targets, self._sizes):
            kept.clear()
        return line

    def _count(self, piece: Piece, rows: int) -> None:
        scores = piece.scores
        usable = scores.valid[:rows] > 0
        self._counts["valid"] += int(usable.sum())
        self._counts["parsed"] += int((scores.predictions.parsed[:rows] & usable).sum())
        self._counts["hit"] += int((scores.acc[:rows] > 0).sum())
        for row in range(rows):
            reason = gr.Reason(int(scores.reason[row]))
            self._reasons[reason] += 1
            self._examples.setdefault(reason, piece.rollouts.text[row])
        if ACTION in self.recipe.accepts:
            found = scores.predictions
            self._said.update(map(_common, found.actions[:rows][found.parsed[:rows]]))
            for target in piece.rollouts.targets.rows[:rows]:
                self._asked.update({_common(action.name) for action in target.every_action()} if target else ())

    def _line(self) -> str:
        valid = self._counts["valid"]
        succeeded = "agreed on" if self.recipe.label_free else "right"
        parts = [
            f"{self.recipe.name}: of the first {ROWS} responses {self._share('parsed', valid)} were read and "
            f"{self._share('hit', valid)} {succeeded}"
        ]
        if valid < ROWS:
            parts.append(f"{ROWS - valid} targets could not be used")
        parts += self._commonest() + self._unsaid() + self._better()
        return "; ".join(parts)

    def _share(self, what: str, valid: int) -> str:
        return f"{100 * self._counts[what] / valid:.0f} %" if valid else "none"

    def _commonest(self) -> list[str]:
        """The commonest reason for which a response was not read or lies outside, with one such response."""
        wrong = Counter(
            {
                reason: count
                for reason, count in self._reasons.items()
                if reason not in (gr.Reason.OK, gr.Reason.REFUSED, gr.Reason.BAD_TARGET)
            }
        )
        if not wrong:
            return []
        ((reason, count),) = wrong.most_common(1)
        return [f"{reason.name} in {count}, such as {_shortened(self._examples[reason])}"]

    def _unsaid(self) -> list[str]:
        """Actions that targets ask for and no response takes."""
        never = {name: count for name, count in self._asked.items() if name not in self._said}
        named = ", ".join(f"{name!r} ({count})" for name, count in Counter(never).most_common(3))
        return [f"asked for and never done: {named}"] if never else []

    def _better(self) -> list[str]:
        from grounding_rewards.space_fit import fit_spaces  # once in a run

        sizes = [np.concatenate(column) for column in zip(*self._sizes, strict=True)]
        fit = fit_spaces(self.recipe, self._responses, self._targets, image_sizes=sizes[0], model_image_sizes=sizes[1])
        if fit.better is None:
            return []
        return [str(fit), f"set {self.trainer.set(fit.better.role, fit.better.space)}"]


def _common(action: str) -> str:
    """The name under which different ways of writing an action are one; a place alone is a click."""
    return normalised(action or "click", {})[0]


def _shortened(text: str, limit: int = 120) -> str:
    return repr(text) if len(text) <= limit else f"{text[:limit]!r}…"
