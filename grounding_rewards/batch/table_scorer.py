"""Score batches of a table: names of its columns, and errors that say where in the file something is wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, get_args

import numpy as np

from grounding_rewards.batch.score_rows import Inputs, RecipeSlice, score_rows
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError, TableError, TargetError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables import Batch, Table
from grounding_rewards.tables.base import Note, joined, require_column
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import BadTarget, Targets


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns: each attribute stands for what the column of that name holds."""

    response: str = "response"
    target: str = "target"
    image_size: str = "image_size"
    model_image_size: str = "model_image_size"
    id: str = "sample_id"
    token_length: str = "token_length"

    def check(self, table: Table, *, label_free: bool = False) -> None:
        """Check that the table has the columns that every score needs, and those with names other than the default."""
        needed = ("response",) if label_free else ("response", "target")
        for role, default in vars(Columns()).items():
            name = getattr(self, role)
            if role in needed or name != default:
                require_column(table, name, f"--{role.replace('_', '-')}-column")


@dataclass(frozen=True)
class TableScorer:
    """Score batches of a table; errors name the file and the row.

    ``box_format`` says how boxes are written, as of ``Targets.from_list``.
    ``on_warning`` takes what looks wrong with rows, ``diagnosis`` counts what was scored, batch by batch.

    Raises:
        RecipeError: ``bad_target`` is neither "raise" nor "abstain".
    """

    recipe: Recipe
    columns: Columns
    bad_target: str = "raise"
    box_format: BoxFormat | None = None
    on_warning: Note = field(default=lambda text: None, repr=False, compare=False)
    diagnosis: Diagnosis | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.bad_target not in (choices := get_args(BadTarget)):
            raise RecipeError(f"bad_target: got {self.bad_target!r:.60}; expected one of {', '.join(choices)}")

    def batches(self, table: Table, *, by: Sequence[str] = (), whole: bool) -> Iterator[Batch]:
        """Return the table's batches with the columns that scoring needs, and the columns ``by``.

        All rows come in one batch where a row's score needs other rows. ``whole`` is as for ``Table.batches``.

        Raises:
            TableError: a column is missing.
        """
        self.columns.check(table, label_free=self.recipe.label_free)
        for name in by:
            require_column(table, name, "--by")
        if "groups" in self.recipe.needs and self.columns.target not in table.columns:
            require_column(table, self.columns.id, "--id-column")
        columns = None if self.recipe.reads_extras else [*vars(self.columns).values(), *by]
        if not self.recipe.needs & {"groups", "trajectories"}:
            return table.batches(columns, whole=whole)
        # A directory has a batch a file at least, and a row is to be compared with those of other files, too.
        return iter([joined(table.batches(columns, whole=whole, size=np.iinfo(np.int32).max))])

    def score(self, table: Table, batch: Batch, *, groups: Sequence[Hashable] | None = None) -> RecipeSlice:
        """Score a batch; ``groups`` says which rows to compare, by a key for each row; None for those of one sample.

        Raises:
            TableError: a response is no text, a size or length cannot be read, a sample has no name where rows are
                compared, or a target cannot be used under ``"raise"``; names the file and the row.
        """
        reads_extras = self.recipe.reads_extras
        inputs = Inputs(
            self.responses(table, batch),
            batch.column(self.columns.target),
            # Rows of JSON may have keys that the first batch, which names the columns, lacks.
            extras={name: batch.column(name) for name in dict.fromkeys([*table.columns, *chain(*batch.rows)])}
            if reads_extras
            else None,
            image_sizes=self.sizes(table, batch, self.columns.image_size),
            model_image_sizes=self.sizes(table, batch, self.columns.model_image_size),
            groups=(lambda _, targets, __: self.samples(table, batch, targets)) if groups is None else groups,
            token_lengths=self.lengths(table, batch) if reads_extras else None,
            box_format=self.box_format,
        )
        scored = score_rows(self.recipe, inputs, "abstain")  # under "raise", too: the error below names the file
        if self.bad_target == "raise" and scored.scores.errors:
            raise self._bad_target(table, batch, *next(iter(scored.scores.errors.items())))
        if self.diagnosis is not None:
            self.diagnosis.add(scored, place=lambda row: f"{table.path}, {batch.place(row)}")
        return scored

    def read_targets(self, targets: Sequence[Any]) -> Targets:
        """Read targets as ``score`` does; those that cannot be read abstain."""
        return self.recipe.read_targets(targets, bad_target="abstain", warn=False, box_format=self.box_format)

    def responses(self, table: Table, batch: Batch) -> list[str | None]:
        """Return the column of responses, each a text or None."""
        responses = batch.column(self.columns.response)
        for row, text in enumerate(responses):
            if text is not None and not isinstance(text, str):
                came = f"{type(text).__name__} {text!r:.60}"
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {self.columns.response}: got {came}; expected a string or null"
                )
        return responses

    def samples(self, table: Table, batch: Batch, targets: Targets) -> list[Hashable]:
        """Return the name of each row's sample, as text: from its column, else the ``id`` of its target.

        A row without either whose target cannot be read is a sample of its own.
        """
        names: list[Hashable] = []
        for row, sample in enumerate(batch.column(self.columns.id)):
            target = targets.rows[row]
            if sample is None:
                sample = targets.errors[row].sample if target is None else target.id
                if target is None and sample == row:  # the error has only the row's number to name it by
                    names.append(("unread", row))  # no text, and so no other row's name
                    continue
            name = name_of(sample)
            if name is None:
                came = "null" if sample is None else f"{sample!r:.60}"
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {self.columns.id}: got {came}; expected the sample's name, a "
                    f"text or a whole number, in this column (--id-column) or as id of the target: {self.recipe.name} "
                    "compares the rollouts of one sample"
                )
            names.append(name)
        if 1 < len(names) == len(set(names)):
            self.on_warning(f"{self.recipe.name} compares the rollouts of one sample, and no sample here has two")
        return names

    def lengths(self, table: Table, batch: Batch) -> list[int] | None:
        """Return the column of lengths in tokens, or None where no row has one."""
        lengths = batch.numbers(self.columns.token_length)
        if all(length is None for length in lengths):
            return None
        for row, length in enumerate(lengths):
            # True is no length; fractions, NaN and infinities differ from what // makes of them
            if type(length) not in (int, float) or length != length // 1 or not 0 <= length <= COORDINATE_LIMIT:
                came = "null" if length is None else f"{length!r:.60}"
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {self.columns.token_length}: got {came}; expected how many "
                    "tokens the response has, a whole number from 0, in every row or in none"
                )
        return [int(length) for length in lengths]

    def sizes(self, table: Table, batch: Batch, name: str) -> list[tuple[float, float] | None] | None:
        """Return a column of sizes, or None where no row has one; under "abstain" an unreadable size counts as none."""
        sizes: list[tuple[float, float] | None] = []
        for row, value in enumerate(batch.column(name)):
            size = read_size(value)
            if size is None and value is not None and self.bad_target == "raise":
                came = f"{value!r:.60}"
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {name}: got {came}; expected [width, height] or null"
                )
            sizes.append(size)
        return sizes if any(sizes) else None

    def _bad_target(self, table: Table, batch: Batch, row: int, error: TargetError) -> TableError:
        """Return the error of one row's target, with the place of that row in the file."""
        name = batch.rows[row].get(self.columns.id)
        named = error.named(batch.number(row) if name is None else str(name))
        size = getattr(self.columns, error.field, None) if error.field.endswith("image_size") else None
        absent = size is not None and size not in table.columns
        hint = f"; the file has no column {size!r} (--{error.field.replace('_', '-')}-column)" if absent else ""
        return TableError(f"{table.path}, {batch.place(row)}: {named}{hint}")
