"""Scored rollouts as rows of a rollout table: ``record=DIR``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch
from grounding_rewards.errors import TableError
from grounding_rewards_adapters._bridge import say_once
from grounding_rewards_adapters._provenance import Provenance

if TYPE_CHECKING:
    from grounding_rewards.tables.recorder import RolloutRecorder

_VAGUE = (
    "record: samples without an id are named by their target alone, so that equal targets count as one sample; "
    "give each an id (`grounding-rewards convert` does)"
)


class Recording:
    """Record scored rows in a directory. May be shared by threads, and pickled: each process writes its own files."""

    def __init__(self, directory: str, parts: Sequence[str]) -> None:
        from grounding_rewards.tables.recorder import RolloutRecorder  # pyarrow, for none but those who record

        try:
            self.recorder: RolloutRecorder = RolloutRecorder(directory, parts)
        except TableError as error:
            raise gr.RecipeError(
                f"record: {error}; set record to another directory, or leave it out to record nothing"
            ) from error
        self._logged: set[str] = set()

    def add(self, scored: ScoredBatch, inputs: Inputs) -> None:
        """Record n scored rows; what goes wrong is logged once, and never raised. Likewise samples that lack a name."""
        try:
            provenance = Provenance(scored, inputs.targets, inputs.extras or {})
            own = {"sample_id": provenance.samples(), "response": inputs.responses, "target": provenance.texts}
            self.recorder.append({**own, **provenance.columns(), **scored.rollout_columns()})
            if provenance.vague:
                say_once(_VAGUE, self._logged, level=logging.WARNING)
        except Exception as error:  # a table of rollouts is not worth a training
            text = f"rollouts cannot be recorded ({type(error).__name__}: {error!s:.200})"
            say_once(text, self._logged, about="recording")
