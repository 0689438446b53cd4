"""Routes: one of several recipes for each row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.errors import MISSING, near
from grounding_rewards_adapters._settings import Trainer

TASK = "task"
NONE = -1
"""Stands for no recipe, where recipes are kept as places."""


@dataclass(frozen=True)
class Router:
    """Places of recipes by the value of one field; ``rest`` judges all others, which are an error where it is None."""

    field: str
    places: Mapping[str, int]
    rest: int | None = None

    def choose(
        self, targets: Sequence[Any], columns: Mapping[str, Any], trainer: Trainer, *, started: bool = False
    ) -> NDArray[np.int64]:
        """Return (n,) the recipe of each row; ``NONE`` for rows without a value where others have one, or had."""
        values = self._values(targets, columns, trainer)
        chosen = np.full(len(values), NONE if self.rest is None else self.rest, dtype=np.int64)
        for row, value in enumerate(values):
            place = self.rest if value is None else self.places.get(str(value), self.rest)
            if place is not None:
                chosen[row] = place
            elif value is not None:
                raise gr.RecipeError(
                    f"routes: {self.field}: got {value!r:.80}; expected one of {', '.join(self.places)}: add it to "
                    f"{trainer.set('routes')}, or name a recipe for all other rows: set {trainer.set('recipe')}"
                )
        if len(chosen) and not started and (chosen == NONE).all():
            raise gr.RecipeError(
                f"routes: {self.field}: row 0 has none; expected one of {', '.join(self.places)}; {trainer.fields}; or "
                f"name a recipe for rows without: set {trainer.set('recipe')}"
            )
        return chosen

    def missing(self, target: Any, row: int) -> gr.TargetError:
        """Return the error of a row that has no value, by its target's id, else by its number."""
        name = _own(target, "id")
        sample = row if name is None or not isinstance(name, str | int) else str(name)
        return gr.TargetError(
            sample, self.field, MISSING, f"one of {', '.join(self.places)}: routes choose the recipe by it"
        )

    def _values(self, targets: Sequence[Any], columns: Mapping[str, Any], trainer: Trainer) -> list[Any]:
        column = columns.get(self.field)
        if isinstance(column, np.ndarray):
            column = column.tolist()
        if not isinstance(column, list | tuple):
            column = None
        if self.field == TASK:
            own = [_own(target, TASK) for target in targets]
            return [mine if mine is not None else theirs for mine, theirs in zip(own, column or own, strict=True)]
        if column is None and (self.rest is None or trainer.whole_columns):
            names = ", ".join(sorted(name for name, each in columns.items() if isinstance(each, list | tuple)))
            hint = near(self.field, columns) or "."
            raise gr.RecipeError(
                f"routes: {trainer.name} gives no {self.field!r}{hint} It gives: {names or 'nothing'}; {trainer.fields}"
            )
        return [None] * len(targets) if column is None else list(column)


def _own(target: Any, name: str) -> Any:
    """Return what a target itself says in a field; None where it says nothing."""
    if isinstance(target, str) and target.lstrip().startswith("{"):
        try:
            target = json.loads(target)
        except (ValueError, RecursionError):
            return None
    return target.get(name) if isinstance(target, Mapping) else None
