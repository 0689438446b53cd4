"""What TRL's table of completions is told of each response, so that the table can be read as rollouts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grounding_rewards.batch.scored import ScoredBatch
from grounding_rewards.tables.prompts import answer
from grounding_rewards_adapters._completions import response_text
from grounding_rewards_adapters._recording import origin


def rollouts(
    scored: ScoredBatch,
    completions: Sequence[Any],
    targets: Sequence[Any] | None,
    columns: Mapping[str, Any],
    start: int,
) -> dict[str, list[Any]]:
    """Columns of n values by name: ``acc``, ``total``, ``sample_id``, ``target``, ``response``, ``rollout``.

    ``response`` is None where the table's own completion says as much. ``rollout`` is ``STEP.RANK.NUMBER``: the steps
    that the trainer had done, the process, and how many responses it had scored. Nothing that a column holds raises.

    Args:
        scored: n scored rows; where the target could not be used, ``acc`` and ``total`` are None.
        completions: n completions as they came.
        targets: n targets as they came; None for none at all.
        columns: the other arguments of the trainer's call.
        start: how many responses this process scored before.
    """
    rows, valid = len(scored), scored.columns["valid"] > 0
    step = getattr(columns.get("trainer_state"), "global_step", None)
    process = f"{step if isinstance(step, int) else ''}.{os.environ.get('RANK', '0')}"
    given = [None] * rows if targets is None else list(targets)
    try:
        found = origin(scored, given, columns)
        names, texts = found.samples(), found.texts
    except Exception:  # names of samples are not worth a training
        names = texts = [None] * rows
    return {
        "acc": _paid(scored.columns["acc"], valid),
        "total": _paid(scored.columns["total"], valid),
        "sample_id": names,
        "target": texts,
        "response": [_unless_said(completion) for completion in completions],
        "rollout": [f"{process}.{start + row}" for row in range(rows)],
    }


def _paid(column: Any, valid: Any) -> list[float | None]:
    return [value if known else None for value, known in zip(np.asarray(column).tolist(), valid, strict=True)]


def _unless_said(completion: Any) -> str | None:
    text = response_text(completion)
    return None if text == answer(completion) else text
