"""Batches of a file to scores: the mapping of columns, and errors that say where in the file something is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.cli.options import OnBadTarget, read_value
from grounding_rewards.columns import Scores
from grounding_rewards.errors import TableError, TargetError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables import Batch, Table
from grounding_rewards.tables.base import require_column
from grounding_rewards.targets import Targets
from grounding_rewards.truth import LARGEST


@dataclass(frozen=True)
class Columns:
    """Which columns hold what."""

    response: str = "response"
    target: str = "target"
    image_size: str = "image_size"
    model_image_size: str = "model_image_size"
    id: str = "sample_id"

    def check(self, table: Table, *, label_free: bool = False) -> None:
        """Check that the table has what it must have, and what was named other than by default.

        Args:
            table: the file.
            label_free: whether it may go without targets.

        Raises:
            TableError: a column is missing.
        """
        needed = ("response",) if label_free else ("response", "target")
        for field, default in vars(Columns()).items():
            name = getattr(self, field)
            if field in needed or name != default:
                require_column(table, name, f"--{field.replace('_', '-')}-column")


@dataclass(frozen=True)
class Scorer:
    """Scores batches of a table, and says where in the file something is wrong."""

    recipe: Recipe
    columns: Columns
    on_bad_target: OnBadTarget

    def batches(self, table: Table, *, by: Sequence[str] = (), whole: bool) -> Iterator[Batch]:
        """The table's batches with the columns that scoring needs; one batch where a row's score needs other rows."""
        self.columns.check(table, label_free=self.recipe.label_free)
        for name in by:
            require_column(table, name, "--by")
        if "groups" in self.recipe.needs:
            require_column(table, self.columns.id, "--id-column")
        size = np.iinfo(np.int32).max if self.recipe.needs & {"groups", "trajectories"} else None
        return table.batches([*vars(self.columns).values(), *by], whole=whole, size=size)

    def score(self, table: Table, batch: Batch) -> tuple[Scores, Targets]:
        """Score a batch.

        Raises:
            TableError: a response is no text, a size cannot be read, or a target cannot be used and should stop us;
                names the file and the row.
        """
        responses = self.responses(table, batch)
        sizes = [self.sizes(table, batch, name) for name in (self.columns.image_size, self.columns.model_image_size)]
        raw, groups = batch.column(self.columns.target), None
        if "groups" in self.recipe.needs:
            groups = [json.dumps(name, default=str) for name in batch.column(self.columns.id)]
        targets = self.recipe.read_targets(raw, bad_target="abstain")
        scores = self.recipe.score(
            responses, targets, image_sizes=sizes[0], model_image_sizes=sizes[1], groups=groups, bad_target="abstain"
        )
        if self.on_bad_target == OnBadTarget.RAISE and not scores.valid.all():
            raise self._bad_target(table, batch, *next(iter(scores.errors.items())))
        return scores, targets

    def responses(self, table: Table, batch: Batch) -> list[str | None]:
        """The column of responses.

        Raises:
            TableError: one is neither a string nor null; names the file and the row.
        """
        responses = batch.column(self.columns.response)
        for row, text in enumerate(responses):
            if text is not None and not isinstance(text, str):
                came = f"{type(text).__name__} {text!r:.60}"
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {self.columns.response}: got {came}; expected a string or null"
                )
        return responses

    def sizes(self, table: Table, batch: Batch, name: str) -> list[tuple[float, float] | None] | None:
        """One column of sizes, or None where no row has one. Under "abstain" an unreadable size counts as none."""
        found: list[tuple[float, float] | None] = []
        for row, value in enumerate(batch.column(name)):
            size = read_size(value)
            if size is None and value is not None and self.on_bad_target == OnBadTarget.RAISE:
                came = f"{value!r:.60}"
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {name}: got {came}; expected [width, height] or null"
                )
            found.append(size)
        return found if any(found) else None

    def _bad_target(self, table: Table, batch: Batch, row: int, error: TargetError) -> TableError:
        """What is wrong with the target of one row, and where in the file that row stands."""
        sample: str | int = error.sample
        if isinstance(sample, int):
            name = batch.rows[row].get(self.columns.id)
            sample = batch.start + row if name is None else str(name)
        mended = TargetError(sample, error.field, error.came, error.expected)
        return TableError(f"{table.path}, {batch.place(row)}: {mended}{self._size_hint(table, error.field)}")

    def _size_hint(self, table: Table, field: str) -> str:
        name = getattr(self.columns, field, None) if field.endswith("image_size") else None
        absent = name is not None and name not in table.columns
        return f"; the file has no column {name!r} (--{field.replace('_', '-')}-column)" if absent else ""


def read_size(value: Any) -> tuple[float, float] | None:
    """A width and a height, from a list or from the JSON of one; None where it is neither."""
    value = read_value(value) if isinstance(value, str) else value
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(type(side) in (int, float) and 1 <= side <= LARGEST for side in value)
    ):
        return None
    return float(value[0]), float(value[1])
