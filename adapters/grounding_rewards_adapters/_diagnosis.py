"""One line in the log that says, early in a run, whether responses are read and where they go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.checks import diagnosis
from grounding_rewards.checks.finding import Code
from grounding_rewards.checks.naming import BOX_FORMAT, Naming, in_python, without
from grounding_rewards_adapters._settings import Named, Trainer

ROWS = 256
"""Rows that are looked at."""

_IN_THE_LINE = (Code.BAD_TARGET, Code.NO_HITS)
"""Findings that the line begins with, or that the log has already."""


@dataclass(eq=False)
class Diagnosis:
    """The first rows of one recipe, until there are enough of them."""

    recipe: gr.Recipe
    trainer: Trainer
    named: Named | None
    finished: bool = False
    _first: diagnosis.Diagnosis = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._first = diagnosis.Diagnosis(self.recipe, Naming(self._use, "the responses of the rollouts"))

    def add(self, scored: RecipeSlice) -> str | None:
        """Look at scored rows; the line where these made them enough, else None."""
        if self.finished:
            return None
        self._first.add(scored, rows=ROWS - self._first.rows)
        if self._first.rows < ROWS:
            return None
        line = self._line()
        self.finished = True
        del self._first
        return line

    def _use(self, settings: Mapping[str, Any]) -> str:
        """Return how a launch makes settings."""
        options = {name: value for name, value in settings.items() if name != BOX_FORMAT and value is not None}
        if "model" in options:
            options["model"] = options["model"].rpartition("+")[2]  # a trainer adds its own way of resizing
        requests = []
        if options:
            requests += [in_python(options) if self.named is None else f"set {self.named.set(self.trainer, options)}"]
        if BOX_FORMAT in settings:
            requests += [f"write them as x1 y1 x2 y2: convert them with --box-format {settings[BOX_FORMAT]}"]
        return f"{' and '.join(requests)}{without(settings)}"

    def _line(self) -> str:
        first = self._first
        succeeded = "agreed on" if self.recipe.label_free else "right"
        usable = "" if first.valid == ROWS else f"the {first.valid} with a usable target among "
        findings = [each for each in first.findings() if each.code not in _IN_THE_LINE]
        commonest = first.commonest()
        parts = [
            f"{self.recipe.name}: of {usable}the first {ROWS} responses {_share(first.parsed, first.valid)} were read "
            f"and {_share(first.hits, first.valid)} {succeeded}",
            *([commonest] if commonest and not any(commonest in each.message for each in findings) else []),
            *map(str, findings),
        ]
        return "; ".join(parts)


def _share(count: int, valid: int) -> str:
    # Below one in a hundred the count says more than 0 %.
    return f"{100 * count / valid:.0f} %" if count >= 0.01 * valid else f"{count}" if count else "none"
