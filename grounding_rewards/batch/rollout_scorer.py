"""Add names of samples, numbers and scores to rows of rollouts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.batch.samples import names_of
from grounding_rewards.batch.score_rows import (
    Inputs,
    RecipeSlice,
    ScoredBatch,
    forgets_space,
    recorded_targets,
    score_rows,
)
from grounding_rewards.batch.table_scorer import TableScorer, fixes, token_lengths
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TableError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.columns import OWN
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow
from grounding_rewards.tables.rollout_source import RolloutFile, column_as_held
from grounding_rewards.tables.rows import Batch, Note
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.write import to_wire

_AGAIN = ("recipe", "total", "acc", "reason", "x_unit", "y_unit")
"""Columns that are written again; the recipe's parts are, too."""

_MAPPED = ("response", "target", "image_size", "model_image_size", "token_length")
"""Columns that a table may call otherwise, as do names of samples."""


@dataclass(frozen=True)
class RolloutScorer:
    """Score a file of rollouts again, into a schema: columns of every rollout table, further ones, and parts."""

    scorer: TableScorer
    source: RolloutFile
    schema: Any
    number: int = 0  # that of the file: rollouts without numbers count from ``number << 32``
    image: str = ""  # column that names are made of before those of usual names; "" for none
    instruction: str = ""
    reads: Recipe | None = None  # of whose form and space targets are; None where nobody says their space

    def noting(self, note: Note) -> RolloutScorer:
        """Return the same, with another place for its notes and warnings."""
        return replace(self, scorer=self.scorer.noting(note))

    def unscored(self, batch: Batch, *, alone: bool = True) -> Any:
        """Return a batch without scores, with names, numbers and, if not ``alone``, sizes."""
        source, columns = self.source, self.scorer.columns
        own = {"sample_id": columns.id, **{name: getattr(columns, name) for name in _MAPPED}}
        arrays = dict[str, Any]()
        for name, kind in zip(self.schema.names, self.schema.types, strict=True):
            if name in _AGAIN or name not in COLUMNS:
                arrays[name] = pa.nulls(len(batch), kind) if name in _AGAIN else source.further(batch, name, kind)
            elif name == "sample_id":
                arrays[name] = self._names(batch)
            elif name == "response" and getattr(column_as_held(batch, columns.response), "type", None) != pa.string():
                arrays[name] = arrow(self.scorer.responses(batch), kind)
            else:
                lossy = name in ("image_size", "model_image_size") and self.scorer.bad_target == "abstain"
                arrays[name] = source.column(batch, own.get(name, name), kind, lossy=lossy)
        arrays["target"] = self._targets(batch, arrays["target"])
        if "image_size" in self.scorer.guessed or (self.scorer.images is not None and not alone):
            known = self.scorer.needed_sizes(batch)
            written = [None] * len(batch) if known is None else [None if size is None else [*size] for size in known]
            arrays["image_size"] = pa.array(written, arrays["image_size"].type)
        if arrays["source"].null_count == len(batch):
            arrays["source"] = source.column(batch, "data_source", pa.string())  # verl's name of it
        arrays["rollout"] = self._numbers(batch, arrays["rollout"])
        return pa.RecordBatch.from_arrays([arrays[name] for name in self.schema.names], schema=self.schema)

    def scored(self, batch: Batch) -> Any:
        """Return a batch with scores; rows without a response have none."""
        rows = self.unscored(batch)
        answered = np.flatnonzero(rows.column("response").is_valid().to_numpy(zero_copy_only=False))
        if not len(answered):
            return _with_scores(rows, self.scorer.recipe, None, answered)
        if len(answered) < len(rows):
            self.scorer.responses(batch)
            batch = batch.take(answered.tolist(), whole=False)
        return _with_scores(rows, self.scorer.recipe, self.scorer.score(batch), answered)

    def _targets(self, batch: Batch, written: Any) -> Any:
        """Return targets as readers take them: boxes as x1 y1 x2 y2, and in a space that they or the recipe name."""
        foreign = self.scorer.box_format not in (None, BoxFormat.XYXY) or self.scorer.cells.rewritten
        if not foreign and (self.reads is None or not forgets_space(self.reads)):
            return written
        values = self.scorer.targets(batch)
        native, box_format = self.scorer.recipe.native, self.scorer.box_format
        read = Targets.from_list(values, native=native, bad_target="abstain", box_format=box_format)
        texts = [
            dumps(to_wire(target)).decode() if foreign and target is not None and row not in read.own_form else text
            for row, (target, text) in enumerate(zip(read.rows, written.to_pylist(), strict=True))
        ]
        return pa.array(texts if self.reads is None else recorded_targets(self.reads, texts, read.rows), written.type)

    def _names(self, batch: Batch) -> Any:
        """The names of samples, as in ``names_of``."""
        column = self.scorer.columns.id
        held = column_as_held(batch, column)
        if held is not None and pa.types.is_string(held.type) and not (held.null_count or "id" in self.scorer.guessed):
            return held
        values = batch.column(column) if held is None else held.to_pylist()
        names = names_of(self.scorer, batch, values, image=self.image, instruction=self.instruction)
        return pa.array(names, pa.string())

    def _numbers(self, batch: Batch, numbers: Any) -> Any:
        names = self.source.table.columns if isinstance(batch.whole, list) else batch.whole.schema.names
        if "rollout" not in names or numbers.null_count == len(numbers):
            start = (self.number << 32) + batch.start
            return pa.array(np.arange(start, start + len(batch)))
        if numbers.null_count:
            row = numbers.is_valid().index(False).as_py()
            raise TableError(
                f"{self.source.table.path}, {batch.place(row)}: rollout: got null; expected a number in every row of "
                "the file, or in none"
            )
        return numbers


def rescored(recipe: Recipe, rows: Any, of: str, *, groups: Any = None, bad_target: str = "abstain") -> Any:
    """Return rows of a rollout table, which are ``of`` a place, with scores; ``groups`` are keys of rows to compare."""
    answered = np.flatnonzero(rows.column("response").is_valid().to_numpy(zero_copy_only=False))
    if not len(answered):
        return _with_scores(rows, recipe, None, answered)
    part = rows if len(answered) == len(rows) else rows.take(answered)
    names, numbers = part.column("sample_id").to_pylist(), part.column("rollout")

    def place(row: int) -> str:
        return f"{of}, sample {names[row]!r}, rollout {numbers[row].as_py()}"

    read = part.schema.names if recipe.reads_extras else [each for each in vars(OWN).values() if each in COLUMNS]
    columns = {name: part.column(name).to_pylist() for name in read}
    sizes = {name: [read_size(size) for size in columns[name]] for name in ("image_size", "model_image_size")}
    for name, each in sizes.items() if bad_target == "raise" else ():
        for row, (came, size) in enumerate(zip(columns[name], each, strict=True)):
            if came is not None and size is None:
                raise TableError(f"{place(row)}: {name}: got {came!r:.60}; expected [width, height] or null")
    if "groups" in recipe.needs:
        groups = names if groups is None else [groups[row] for row in answered.tolist()]
    extras = lengths = None
    if recipe.reads_extras:
        extras, lengths = columns, token_lengths(columns["token_length"], lambda row: f"{place(row)}: token_length")
    own_sizes, model_sizes = sizes.values()
    inputs = Inputs(columns["response"], columns["target"], extras, own_sizes, model_sizes, groups, lengths)
    scored = score_rows(recipe, inputs, "abstain")  # under "raise", too: the error below names the row
    if bad_target == "raise" and scored.scores.errors:
        row, error = next(iter(scored.scores.errors.items()))
        raise TableError(f"{place(row)}: {'; '.join([str(error.named(names[row])), *fixes(error)])}")
    return _with_scores(rows, recipe, scored, answered)


def _with_scores(rows: Any, recipe: Recipe, scored: RecipeSlice | None, answered: Ints) -> Any:
    """Return rows with the scores of those that were ``answered``; the others have none."""
    count = len(rows)
    columns = dict[str, Any]()
    if scored is not None:
        scored = scored if len(answered) == count else replace(scored, rows=answered)
        columns = ScoredBatch([scored], recipe.parts, count).rollout_columns()
        for name in ("image_size", "model_image_size"):
            columns[name] = _filled(rows.column(name), columns[name])
        for name, values in columns.items():
            if isinstance(values, np.ndarray):
                columns[name] = pa.array(values, rows.schema.field(name).type, mask=np.isnan(values))
    columns["recipe"] = arrow([recipe.name], pa.string()).take(pa.array(np.zeros(count, dtype=np.int64)))
    arrays = [columns.get(name, rows.column(name)) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


def _filled(column: Any, sizes: Floats) -> Any:
    """A column of sizes, with those that scoring knew where it has none."""
    if not column.null_count or np.isnan(sizes).all():
        return column
    known = zip(column.to_pylist(), sizes.tolist(), strict=True)
    return pa.array([value if value or size[0] != size[0] else size for value, size in known], column.type)
