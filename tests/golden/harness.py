"""Runs one golden line, the input of a published reward, through our recipe of the same name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grounding_rewards as gr
from grounding_rewards.scoring import Deviation

Line = Mapping[str, Any]

RECIPES = {"gelato_norm": "gelato", "gelato_px": "gelato-pixel", "gta1": "gta1"}

_GELATO_KEYS = {"overall": "total", "format": "format", "accuracy": "distance", "correct": "acc"}
KEYS = {
    "gelato_norm": _GELATO_KEYS,
    "gelato_px": _GELATO_KEYS,
    "gta1": {"accuracy": "hit", "format": "format"},
}
"""What the published function calls each column of ours."""


def directory() -> Path:
    """Where golden lines lie: GROUNDING_REWARDS_GOLDEN_DIR, else ../shared/data/golden, else the copies here."""
    named = os.environ.get("GROUNDING_REWARDS_GOLDEN_DIR")
    here = Path(__file__).parent
    places = [Path(named)] if named else [here.parents[2] / "shared/data/golden", here]
    return next(place for place in places if place.is_dir())


def build(peer: str, line: Line) -> gr.Recipe:
    """The peer's recipe with the options that the line was made with."""
    options = {"format_weight": line["extra"]["format_weight"]} if "format_weight" in line["extra"] else {}
    return gr.recipe(RECIPES[peer], **options)


def evaluate(peer: str, line: Line) -> tuple[dict[str, float], str | None]:
    """Our values under the published function's keys, and the name of the deviation that applies, if any."""
    found = deviation(peer, line)
    columns = score(build(peer, line), line)
    return {key: columns[ours] for key, ours in KEYS[peer].items()}, found.name if found else None


def deviation(peer: str, line: Line) -> Deviation | None:
    """The first deviation of the peer's recipe that applies to the line."""
    return next((found for found in build(peer, line).deviations if found.applies(line)), None)


def score(recipe: gr.Recipe, line: Line) -> dict[str, float]:
    """All columns of a line's score by name; 0.0 where the response is no text."""
    try:
        scores = recipe.score([line["response"]], [line["ground_truth"]], bad_target="abstain")
    except TypeError:
        return dict.fromkeys(("total", "acc", "valid", *recipe.parts), 0.0)
    columns = {"total": scores.total, "acc": scores.acc, "valid": scores.valid, **scores.parts}
    return {name: float(column[0]) for name, column in columns.items()}


def stated(recipe: gr.Recipe, found: Deviation, line: Line) -> Mapping[str, float]:
    """The value that a deviation states for a line."""
    value: Callable[[Line], Mapping[str, float]] | None = found.value
    if value is not None:
        return value(line)
    assert found.same_as is not None
    return score(recipe, found.same_as(line))
