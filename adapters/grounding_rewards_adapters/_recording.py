"""Scored rollouts as rows of a rollout table: ``record=DIR``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch
from grounding_rewards.errors import TableError
from grounding_rewards_adapters._provenance import Provenance

if TYPE_CHECKING:
    from grounding_rewards.tables.recorder import RolloutRecorder

LOG = logging.getLogger("grounding_rewards")

_VAGUE = (
    "record: samples without an id are named by their target alone, so that equal targets count as one sample; "
    "give each an id (`grounding-rewards convert` does)"
)


class Recording:
    """Record scored rows in a directory. May be shared by threads, and pickled: each process writes its own files.

    Args:
        directory: where the rollout table is; it is made where there is none.
        parts: names of the parts of all recipes.

    Raises:
        RecipeError: the directory cannot be written into, or a part bears the name of another column.
    """

    def __init__(self, directory: str, parts: Sequence[str]) -> None:
        from grounding_rewards.tables.recorder import RolloutRecorder  # pyarrow, for none but those who record

        try:
            self.recorder: RolloutRecorder = RolloutRecorder(directory, parts)
        except TableError as error:
            raise gr.RecipeError(
                f"record: {error}; set record to another directory, or leave it out to record nothing"
            ) from error
        self._said: set[str] = set()

    def add(self, scored: ScoredBatch, inputs: Inputs) -> None:
        """Record n scored rows; what goes wrong is logged once, and never raised. Likewise samples that lack a name."""
        try:
            found = Provenance(scored, inputs.targets, inputs.extras or {})
            own = {"sample_id": found.samples(), "response": inputs.responses, "target": found.texts}
            self.recorder.append({**own, **found.columns(), **scored.rollout_columns()})
            if found.vague:
                self._say(logging.WARNING, _VAGUE)
        except Exception as error:  # a table of rollouts is not worth a training
            self._say(logging.ERROR, "rollouts cannot be recorded (%s: %s)", type(error).__name__, f"{error!s:.200}")

    def _say(self, level: int, line: str, *values: str) -> None:
        if line not in self._said:
            self._said.add(line)
            LOG.log(level, line, *values)
