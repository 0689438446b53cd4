"""Trainers that hand over single responses and no options: these come from the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import grounding_rewards as gr
from grounding_rewards_adapters import _launch, _scorer

OPTIONS = "GROUNDING_REWARDS_OPTIONS"
"""The variable that holds a recipe's name, or options as JSON, for trainers that hand over none."""


def trainer(name: str, where: str, *, groups: bool = False) -> _launch.Trainer:
    """Return a trainer that hands over single responses, or the whole group of a sample."""
    single = {} if groups else {"groups": f"{name} gives single samples; TRL, ms-swift and EasyR1 give whole groups"}
    return _launch.Trainer(
        name=name,
        option=f'"{{}}" in the JSON of {OPTIONS}',
        where=where,
        sizes="in the target, or beside it in image_size",
        fields="columns beside the target can choose, or task in each target",
        lacking={**single, "trajectories": f"the {name} adapter cannot give it those rows together"},
        patience=64,  # rows, which come one a call
    )


def options() -> dict[str, Any]:
    """Return the options that the environment gives."""
    return read_options(os.environ.get(OPTIONS, ""))


def read_options(text: str) -> dict[str, Any]:
    """Read the variable's text."""
    text = text.strip()
    if not text.startswith("{"):
        return {"recipe": text or None}
    try:
        return dict(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise gr.RecipeError(
            f'{OPTIONS}: got {text!r:.80} ({error}); expected a recipe\'s name, or JSON such as {{"recipe": "gelato"}}'
        ) from None


def scored(
    trainer: _launch.Trainer,
    given: Mapping[str, Any],
    responses: Sequence[str | None],
    targets: Sequence[Any],
    columns: Sequence[Mapping[str, Any]],
    *,
    together: bool = False,
) -> list[dict[str, float]]:
    """Return total, acc, valid, parsed, in_image and the parts of each response; ``together``: they are one group."""
    batch = _scorer.samples(trainer, {**options(), **given}, responses, targets, columns, together=together)
    return _scorer.rows(batch.columns)
