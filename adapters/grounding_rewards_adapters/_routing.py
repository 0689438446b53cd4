"""Which of several recipes judges which row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.errors import near
from grounding_rewards_adapters._settings import Trainer

TASK = "task"


@dataclass(frozen=True)
class Router:
    """Rows by the value of one field.

    Attributes:
        field: the field.
        places: which recipe judges each value.
        rest: which judges all others; None where that is an error.
    """

    field: str
    places: Mapping[str, int]
    rest: int | None = None

    def choose(self, targets: Sequence[Any], columns: Mapping[str, Any], trainer: Trainer) -> NDArray[np.int64]:
        """(n,) which recipe judges each row.

        Raises:
            RecipeError: there is no such field, or a row's value has no recipe.
        """
        values = self._values(targets, columns, trainer)
        chosen = np.empty(len(values), dtype=np.int64)
        for row, value in enumerate(values):
            place = self.places.get(str(value), self.rest) if value is not None else self.rest
            if place is None:
                raise gr.RecipeError(self._complaint(row, value, trainer))
            chosen[row] = place
        return chosen

    def _values(self, targets: Sequence[Any], columns: Mapping[str, Any], trainer: Trainer) -> list[Any]:
        column = columns.get(self.field)
        if isinstance(column, np.ndarray):
            column = column.tolist()
        if not isinstance(column, list | tuple):
            column = None
        if self.field == TASK:
            own = [_task(target) for target in targets]
            return (
                own
                if column is None
                else [given if mine is None else mine for mine, given in zip(own, column, strict=True)]
            )
        if column is None and self.rest is None:
            given = ", ".join(sorted(name for name, each in columns.items() if isinstance(each, list | tuple)))
            hint = near(self.field, columns) or "."
            raise gr.RecipeError(f"routes: {trainer.name} gives no {self.field!r}{hint} It gives: {given or 'nothing'}")
        return [None] * len(targets) if column is None else list(column)

    def _complaint(self, row: int, value: Any, trainer: Trainer) -> str:
        said = f"row {row} has none" if value is None else f"got {value!r:.80}"
        return (
            f"routes: {self.field}: {said}; expected one of {', '.join(self.places)}: add it to "
            f"{trainer.set('routes')}, or name a recipe for all other rows: set {trainer.set('recipe')}"
        )


def _task(target: Any) -> Any:
    """What a target says is its task; None where it says nothing."""
    if isinstance(target, str) and target.lstrip().startswith("{"):
        try:
            target = json.loads(target)
        except (ValueError, RecursionError):
            return None
    return target.get(TASK) if isinstance(target, Mapping) else None
