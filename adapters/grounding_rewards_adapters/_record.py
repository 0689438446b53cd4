"""Scored rollouts as rows of a rollout table: where each is from, and ``record=DIR``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch
from grounding_rewards.errors import PoolError, TableError, near
from grounding_rewards.tables.sample_ids import PARTS, as_json, shared_id
from grounding_rewards_adapters._launch import say_once

if TYPE_CHECKING:
    from grounding_rewards.tables.recorder import RolloutRecorder

_VAGUE = (
    "record: samples without an id are named by their target alone, so that equal targets count as one sample; "
    "give each an id (`grounding-rewards convert` does)"
)

_PATIENCE = 64
"""Rows that come one by one, of which one has to have each further column."""


class Recording:
    """Recorder of scored rows in a directory. Threads may share it, and it can be pickled."""

    def __init__(self, directory: str, parts: Sequence[str], further: Sequence[str] = ()) -> None:
        # pyarrow, for none but those who record
        from grounding_rewards.tables.recorder import RolloutRecorder
        from grounding_rewards.tables.rollout_columns import rollout_schema

        for option, columns in {"record": (), "record_columns": further}.items():
            try:
                rollout_schema(parts, columns)
            except TableError as error:
                raise gr.RecipeError(f"{option}: {error}") from error
        try:
            self.recorder: RolloutRecorder = RolloutRecorder(directory, parts, further)
        except TableError as error:
            raise gr.RecipeError(
                f"record: {error}; set record to another directory, or leave it out to record nothing"
            ) from error
        self._awaited = dict.fromkeys(further, 0)
        self._logged: set[str] = set()

    def add(self, scored: ScoredBatch, inputs: Inputs) -> None:
        """Record n scored rows; what goes wrong is logged once, and not raised. Likewise samples that lack a name."""
        try:
            provenance = Provenance(scored, inputs.targets, inputs.extras or {})
            targets = scored.recorded_targets(provenance.texts)
            own = {"sample_id": provenance.samples(), "response": inputs.responses, "target": targets}
            self._check(provenance, len(inputs.responses))
            further = provenance.further(self.recorder.further)
            self.recorder.append({**own, **provenance.columns(), **scored.rollout_columns(), **further})
            if provenance.vague:
                say_once(_VAGUE, self._logged, level=logging.WARNING)
        except gr.RecipeError:
            raise
        except Exception as error:  # a table of rollouts is not worth a training
            text = f"rollouts cannot be recorded ({type(error).__name__}: {error!s:.200})"
            say_once(text, self._logged, about="recording")

    def _check(self, provenance: Provenance, rows: int) -> None:
        """Check that the first rows have the further columns; a row that comes alone may lack what later ones have."""
        if not self._awaited:
            return
        there = provenance.names()
        self._awaited = {name: count + rows for name, count in self._awaited.items() if name not in there}
        for name, count in self._awaited.items():
            if rows > 1 or count >= _PATIENCE:
                raise gr.RecipeError(
                    f"record_columns: no column {name!r}{near(name, there) or '.'} The first rows have: "
                    f"{', '.join(sorted(there))}; fields in the `extra` of targets can be recorded as well"
                )


_SAMPLE = ("sample_id", "id")  # not verl's uid, which is another one at every step
_TRAIN_STEP = ("train_step", "global_step", "global_steps")
_LENGTH = ("token_length", "response_length")


class Provenance:
    """Origin of n scored rows; ``vague``: nothing but its target, and perhaps its data set, identifies a sample."""

    vague = False

    def __init__(self, scored: ScoredBatch, targets: Sequence[Any], columns: Mapping[str, Any]) -> None:
        self._columns, self._targets, self._read = columns, list(targets), scored.targets
        self._own = [target.extra if target and isinstance(target.extra, Mapping) else {} for target in self._read]
        self._ids = [None if target is None else target.id for target in self._read]
        for row, error in scored.errors.items():  # whose message keeps the name that the target gives
            self._ids[row] = error.sample if isinstance(error.sample, str) else self._ids[row]
        self.texts = _each(as_json, self._targets)
        self.source = self._first(PARTS["source"][0], _name, own="source")

    def samples(self) -> list[str | None]:
        """Name the n samples: by the target's id, else the column ``sample_id`` or ``id``, else their content."""
        names = _either(self._ids, self._first(_SAMPLE, _name))
        if None not in names:
            return [str(name) for name in names]
        image, instruction = (self._first(*PARTS[part]) for part in ("image", "instruction"))
        index, split = (self._first((name,), _name) for name in ("index", "split"))
        for row, name in enumerate(names):
            if name is None:
                self.vague |= image[row] is None and instruction[row] is None and index[row] is None
                with suppress(PoolError):  # it says nothing, or what JSON lacks
                    names[row] = shared_id(
                        source=self.source[row], image=image[row], instruction=instruction[row], index=index[row],
                        split=split[row],
                        target=self._targets[row] if isinstance(self._targets[row], str) else self.texts[row],
                    )  # fmt: skip
        return [None if name is None else str(name) for name in names]

    def columns(self) -> dict[str, Any]:
        """Return the columns of a rollout table beside scores: n values each, None where nobody says."""
        own = {
            name: [None if target is None else getattr(target, name) for target in self._read]
            for name in ("trajectory", "step")
        }
        return {
            "source": self.source,
            **{name: self._first((name,), own=name) for name in ("round", "temperature", "policy")},
            **{name: _either(values, self._first((name,))) for name, values in own.items()},
            "train_step": _either([trainer_step(self._columns)] * len(self._targets), self._first(_TRAIN_STEP)),
            "token_length": _either(self._first(_LENGTH), self._first(("completion_ids",), _count)),
        }

    def further(self, names: Sequence[str]) -> dict[str, list[str | None]]:
        """Return further columns as texts, or as JSON; None where neither a column nor the target's ``extra`` says."""
        return {name: _each(_as_text, self._first((name,), own=name)) for name in names}

    def names(self) -> list[str]:
        """Return the names of what ``further`` can return."""
        rows = len(self._targets)
        columns = [name for name, column in self._columns.items() if is_column(column, rows)]
        return list(dict.fromkeys([*columns, *(name for own in self._own for name in own)]))

    def _first(self, names: Sequence[str], read: Any = None, *, own: str = "") -> list[Any]:
        """Return (n,) values of the first of these columns that has one, else of ``own`` in ``extra``."""
        rows = len(self._targets)
        cells: list[Any] = [None] * rows
        for column in [*map(self._columns.get, names), *([[fields.get(own) for fields in self._own]] if own else [])]:
            if is_column(column, rows):
                values = column.tolist() if isinstance(column, np.ndarray) else list(column)
                cells = _either(cells, values if read is None else _each(read, values))
        return cells


def trainer_step(columns: Mapping[str, Any]) -> int | None:
    """Return the step that TRL's trainer is at."""
    step = getattr(columns.get("trainer_state"), "global_step", None)
    return step if isinstance(step, int) else None


def is_column(column: Any, rows: int) -> TypeGuard[Sequence[Any] | NDArray[Any]]:
    return (isinstance(column, list | tuple) or getattr(column, "ndim", 0) > 0) and len(column) == rows


def _as_text(value: Any) -> str | None:
    """Return a text as it is, anything else as JSON; None for nothing, and for what JSON has not."""
    if isinstance(value, str):
        return value
    return None if isinstance(value, float) and value != value else as_json(value)


def _count(tokens: Any) -> int | None:
    return len(tokens) if hasattr(tokens, "__len__") else None


def _name(value: Any) -> str | int | None:
    """Return a name as text or a whole number; None for what is no name, such as a missing one's NaN."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int) else None


def _either(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [other if one is None else one for one, other in zip(first, second, strict=True)]


def _each(read: Any, values: Sequence[Any]) -> list[Any]:
    """Read each value, but once a value that stands several times in a row, as those of one sample do."""
    readings: list[Any] = []
    for row, value in enumerate(values):
        readings.append(readings[-1] if row and value is values[row - 1] else read(value))
    return readings
