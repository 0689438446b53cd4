"""Runs one golden line, the input of a published reward, through our recipe of the same name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grounding_rewards as gr
from grounding_rewards.scoring import Deviation

Line = Mapping[str, Any]
Columns = dict[str, float]


@dataclass(frozen=True)
class Peer:
    """How a published function's line becomes a call of ours, and our columns its values.

    Attributes:
        recipe: name of our recipe.
        keys: what the published function calls each column of ours.
        options: the recipe's options that the line was made with.
        score_options: further arguments of ``Recipe.score``, such as sizes.
        more: values that are no column of ours, from the line's scores.
    """

    recipe: str
    keys: Mapping[str, str]
    options: Callable[[Line], dict[str, Any]] = field(default=lambda line: {})
    score_options: Callable[[Line], dict[str, Any]] = field(default=lambda line: {})
    more: Callable[[gr.Scores], Columns] = field(default=lambda scores: {})


def format_weight(line: Line) -> dict[str, Any]:
    return {name: value for name, value in line["extra"].items() if name == "format_weight"}


_GELATO = {"overall": "total", "format": "format", "accuracy": "distance", "correct": "acc"}
PEERS = {
    "gelato_norm": Peer("gelato", _GELATO, format_weight),
    "gelato_px": Peer("gelato-pixel", _GELATO, format_weight),
    "gta1": Peer("gta1", {"accuracy": "hit", "format": "format"}),
}


def directory() -> Path:
    """Where golden lines lie: GROUNDING_REWARDS_GOLDEN_DIR, else ../shared/data/golden, else the copies here."""
    named = os.environ.get("GROUNDING_REWARDS_GOLDEN_DIR")
    here = Path(__file__).parent
    places = [Path(named)] if named else [here.parents[2] / "shared/data/golden", here]
    return next(place for place in places if place.is_dir())


def build(peer: str, line: Line) -> gr.Recipe:
    """The peer's recipe with the options that the line was made with."""
    return gr.recipe(PEERS[peer].recipe, **PEERS[peer].options(line))


def evaluate(peer: str, line: Line) -> tuple[Columns, str | None]:
    """Our values under the published function's keys, and the name of the deviation that applies, if any."""
    found = deviation(peer, line)
    columns = score(peer, build(peer, line), line)
    values = {key: columns[ours] for key, ours in PEERS[peer].keys.items()}
    return values, found.name if found else None


def deviation(peer: str, line: Line) -> Deviation | None:
    """The first deviation of the peer's recipe that applies to the line."""
    return next((found for found in build(peer, line).deviations if found.applies(line)), None)


def score(peer: str, recipe: gr.Recipe, line: Line) -> Columns:
    """All columns of a line's score by name, ``more`` included; 0.0 where the response is no text."""
    adapter = PEERS[peer]
    try:
        scores = recipe.score(
            [line["response"]], [line["ground_truth"]], bad_target="abstain", **adapter.score_options(line)
        )
    except TypeError:
        return dict.fromkeys(("total", "acc", "valid", *recipe.parts), 0.0)
    columns = {"total": scores.total, "acc": scores.acc, "valid": scores.valid, **scores.parts}
    return {**{name: float(column[0]) for name, column in columns.items()}, **adapter.more(scores)}


def stated(peer: str, recipe: gr.Recipe, found: Deviation, line: Line) -> Mapping[str, float]:
    """The value that a deviation states for a line."""
    value: Callable[[Line], Mapping[str, float]] | None = found.value
    if value is not None:
        return value(line)
    assert found.same_as is not None
    return score(peer, recipe, found.same_as(line))
