"""One line in the log that says, early in a run, whether responses are read and where they go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.coords.spaces import MODEL_PIXEL
from grounding_rewards.scoring import ACTION
from grounding_rewards.targets.findings import Finding, described, findings, merged
from grounding_rewards.verifiers.action import in_vocabulary
from grounding_rewards_adapters._settings import Named, Trainer

ROWS = 256
"""Rows that are looked at."""


@dataclass(eq=False)
class Diagnosis:
    """The first rows of one recipe, until there are enough of them."""

    recipe: gr.Recipe
    trainer: Trainer
    named: Named | None
    finished: bool = False
    _responses: list[str | None] = field(default_factory=list)
    _targets: list[Any] = field(default_factory=list)
    _sizes: list[list[Floats]] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _reasons: Counter[gr.Reason] = field(default_factory=Counter)
    _examples: dict[gr.Reason, str] = field(default_factory=dict)
    _asked: Counter[str] = field(default_factory=Counter)
    _taken: set[str] = field(default_factory=set)
    _findings: list[Finding] = field(default_factory=list)

    def add(self, scored: RecipeSlice) -> str | None:
        """Look at scored rows; the line where these made them enough, else None."""
        if self.finished:
            return None
        room = ROWS - len(self._responses)
        self._responses += list(scored.inputs.responses[:room])
        self._targets += list(scored.inputs.targets[:room])
        rows = min(room, len(scored.scores))
        self._sizes.append([nowhere(rows, 2) if sizes is None else sizes[:rows] for sizes in scored.sizes])
        self._count(scored, rows)
        self._findings = merged([*self._findings, *findings(scored.rollouts.targets, self.recipe, rows, partly=True)])
        if len(self._responses) < ROWS:
            return None
        line = self._line()
        self.finished = True
        for kept in (self._responses, self._targets, self._sizes):
            kept.clear()
        return line

    def _count(self, scored: RecipeSlice, rows: int) -> None:
        scores = scored.scores
        usable = scores.valid[:rows] > 0
        self._counts["valid"] += int(usable.sum())
        self._counts["parsed"] += int((scores.predictions.parsed[:rows] & usable).sum())
        self._counts["hit"] += int((scores.acc[:rows] > 0).sum())
        for row in range(rows):
            reason = gr.Reason(int(scores.reason[row]))
            self._reasons[reason] += 1
            self._examples.setdefault(reason, scored.inputs.responses[row] or "")
        if ACTION in self.recipe.accepts:
            self._taken.update(in_vocabulary(scores.predictions)[:rows][scores.predictions.parsed[:rows]])
            failed = set(np.flatnonzero(usable & (scores.acc[:rows] == 0)).tolist())
            wanted = scored.rollouts.targets.alternatives
            pairs = set(zip(wanted.row.tolist(), wanted.canonical.names.tolist(), strict=True))
            self._asked.update(name for row, name in pairs if row in failed)

    def _line(self) -> str:
        valid = self._counts["valid"]
        succeeded = "agreed on" if self.recipe.label_free else "right"
        usable = "" if valid == ROWS else f"the {valid} with a usable target among "
        parts = [
            f"{self.recipe.name}: of {usable}the first {ROWS} responses {self._share('parsed', valid)} were read and "
            f"{self._share('hit', valid)} {succeeded}"
        ]
        parts += self._commonest() + self._unsaid() + described(self._findings) + self._better()
        return "; ".join(parts)

    def _share(self, what: str, valid: int) -> str:
        count = self._counts[what]
        # Below one in a hundred the count says more than 0 %.
        return f"{100 * count / valid:.0f} %" if count >= 0.01 * valid else f"{count}" if count else "none"

    def _commonest(self) -> list[str]:
        """The commonest reason for which a response was not read or lies outside, with one such response."""
        fine = (gr.Reason.OK, gr.Reason.REFUSED, gr.Reason.BAD_TARGET)
        wrong = [(reason, count) for reason, count in self._reasons.most_common() if reason not in fine]
        if not wrong:
            return []
        reason, count = wrong[0]
        texts = [f"{reason.name} in {count}, such as {_shortened(self._examples[reason])}"]
        example = self.recipe.example
        if example is not None and 2 * self._counts["parsed"] < self._counts["valid"]:
            texts.append(f"{self.recipe.name} reads answers such as {_shortened(example.response)}")
        return texts

    def _unsaid(self) -> list[str]:
        """Actions that targets ask for and no response takes."""
        done = self._taken | ({"scroll"} if "swipe" in self._taken else set())
        never = {name: count for name, count in self._asked.items() if name not in done}
        named = ", ".join(f"{name!r} ({count})" for name, count in Counter(never).most_common(3))
        return [f"asked for and never done: {named}"] if never else []

    def _better(self) -> list[str]:
        from grounding_rewards.checks.space_fit import fit_spaces  # once in a run

        sizes = [np.concatenate(column) for column in zip(*self._sizes, strict=True)]
        fit = fit_spaces(self.recipe, self._responses, self._targets, image_sizes=sizes[0], model_image_sizes=sizes[1])
        if fit.better is None:
            if self.recipe.response_space != MODEL_PIXEL or not self._counts["parsed"] > 2 * self._counts["hit"]:
                return []
            return [
                "answers are in pixels of the resized image: compare the bounds that are set here with the launch's own"
            ]
        if fit.better.role == "box_format":
            return [str(fit), f"write them as x1 y1 x2 y2: convert them with --box-format {fit.better.value}"]
        settings = [(fit.better.role, fit.better.value.rpartition("+")[2]), *fit.better.also]  # trainers go by the model
        if self.named is None:
            return [str(fit), f"build it with {', '.join(f'{name}={value!r}' for name, value in settings)}"]
        named = (self.named.set(self.trainer, name, value or "null") for name, value in settings)
        return [str(fit), f"set {' and '.join(named)}"]


def _shortened(text: str) -> str:
    return repr(text) if len(text) <= 120 else f"{text[:120]!r}…"
