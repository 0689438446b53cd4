"""Scored rollouts as rows of a rollout table: ``record=DIR``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import TableError
from grounding_rewards_adapters._judged import Judged
from grounding_rewards_adapters._provenance import Provenance

if TYPE_CHECKING:
    from grounding_rewards.tables.recorder import RolloutRecorder

LOG = logging.getLogger("grounding_rewards")

_VAGUE = (
    "record: samples without an id are told apart by their target alone, so that equal targets count as one sample; "
    "give each an id (`grounding-rewards convert` does)"
)
_REASONS = tuple(reason.name for reason in gr.Reason)


class Recording:
    """What a launch's ``record`` asks for. May be shared by threads, and pickled: each process writes its own files.

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

    def add(
        self,
        judged: Judged,
        responses: Sequence[str | None],
        targets: Sequence[Any],
        columns: Mapping[str, Any],
    ) -> None:
        """Record n scored rows; what goes wrong is logged once, and never raised. Likewise samples that lack a name.

        Args:
            judged: what they were given.
            responses: n texts.
            targets: n targets as they came.
            columns: further columns; those that say where a row comes from are recorded, images never.
        """
        try:
            found = origin(judged, targets, columns)
            self.recorder.append(_recorded(judged, responses, found))
            if found.vague:
                self._say(logging.WARNING, _VAGUE)
        except Exception as error:  # a table of rollouts is not worth a training
            self._say(logging.ERROR, "rollouts cannot be recorded (%s: %s)", type(error).__name__, f"{error!s:.200}")

    def _say(self, level: int, line: str, *values: str) -> None:
        if line not in self._said:
            self._said.add(line)
            LOG.log(level, line, *values)


def origin(judged: Judged, targets: Sequence[Any], columns: Mapping[str, Any]) -> Provenance:
    """Where n scored rows come from; a target that cannot be used keeps the name that its error says."""
    ids = list(judged.samples)
    for row, error in judged.errors.items():
        ids[row] = error.sample if isinstance(error.sample, str) else ids[row]
    return Provenance(columns, targets, judged.targets, ids)


def _recorded(judged: Judged, responses: Sequence[str | None], origin: Provenance) -> dict[str, Any]:
    """The columns of a rollout table that n scored rows fill."""
    return {
        "sample_id": origin.samples(),
        "response": responses,
        "target": origin.texts,
        **origin.columns(),
        **_scores(judged),
    }


def _scores(judged: Judged) -> dict[str, Any]:
    """What rows were given: null where the target could not be used, and in parts that a row's recipe has not."""
    xy = judged.xy_unit
    paid = {"total": judged.total, "acc": judged.acc, **_parts(judged)}
    if judged.errors:
        paid = {name: np.where(judged.valid > 0, column, np.nan) for name, column in paid.items()}
    return {
        **paid,
        "recipe": _recipes(judged),
        "reason": [_REASONS[code] for code in judged.reason.tolist()],
        "x_unit": xy[:, 0],
        "y_unit": xy[:, 1],
        "image_size": judged.image_sizes,
        "model_image_size": judged.model_image_sizes,
    }


def _recipes(judged: Judged) -> list[str]:
    if len(judged.pieces) == 1:
        return [judged.pieces[0].recipe.name] * len(judged)
    found = [""] * len(judged)
    for piece in judged.pieces:
        for row in piece.numbers.tolist():
            found[row] = piece.recipe.name
    return found


def _parts(judged: Judged) -> dict[str, Floats]:
    """Parts, NaN in rows whose recipe has none of that name."""
    if len(judged.pieces) == 1 and len(judged.names) == len(judged.pieces[0].scores.parts):
        return dict(judged.parts)
    found = {name: np.full(len(judged), np.nan) for name in judged.names}
    for piece in judged.pieces:
        for name, part in piece.scores.parts.items():
            found[name][piece.numbers] = part
    return found
