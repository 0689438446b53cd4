"""Scored rollouts as rows of a rollout table: ``record=DIR``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch
from grounding_rewards.errors import TableError, near
from grounding_rewards_adapters._bridge import say_once
from grounding_rewards_adapters._provenance import Provenance

if TYPE_CHECKING:
    from grounding_rewards.tables.recorder import RolloutRecorder

_VAGUE = (
    "record: samples without an id are named by their target alone, so that equal targets count as one sample; "
    "give each an id (`grounding-rewards convert` does)"
)

_PATIENCE = 64
"""Rows that come one by one, of which one has to have each further column."""


class Recording:
    """Record scored rows in a directory. May be shared by threads, and pickled: each process writes its own files.

    ``further`` names columns of the trainer's rows, or of targets' ``extra``, to record as well.
    """

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
        """Record n scored rows; what goes wrong is logged once, and not raised. Likewise samples that lack a name.

        Raises:
            RecipeError: the first rows have no column of the name of a further one.
        """
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
