"""Runs one golden line, the input of a published reward, through our recipe of the same name."""

from __future__ import annotations

import math
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
        more: values that are no column of ours, from the line and its scores.
    """

    recipe: str
    keys: Mapping[str, str]
    options: Callable[[Line], dict[str, Any]] = field(default=lambda line: {})
    score_options: Callable[[Line], dict[str, Any]] = field(default=lambda line: {})
    more: Callable[[Line, gr.Scores], Columns] = field(default=lambda line, scores: {})


def format_weight(line: Line) -> dict[str, Any]:
    return {name: value for name, value in line["extra"].items() if name == "format_weight"}


def image_size(line: Line) -> dict[str, Any]:
    return {"image_sizes": line["extra"].get("image_size")}


def raw_distance(line: Line, scores: gr.Scores) -> Columns:
    """GroundNext's distance in pixels: to the nearest corner inside the box, below 0 outside."""
    (x, y), truth = scores.predictions.xy[0], line["ground_truth"] or dict.fromkeys(("x1", "y1", "x2", "y2"), 0)
    (x1, x2), (y1, y2) = sorted((truth["x1"], truth["x2"])), sorted((truth["y1"], truth["y2"]))
    if x1 == x2 or y1 == y2:
        return {"raw_distance": -math.hypot(*line["extra"]["image_size"])}
    if x1 <= x <= x2 and y1 <= y <= y2:
        return {"raw_distance": math.hypot(min(x - x1, x2 - x), min(y - y1, y2 - y))}
    return {"raw_distance": -math.hypot(max(x1 - x, 0, x - x2), max(y1 - y, 0, y - y2))}


def image_sides(line: Line) -> dict[str, Any]:
    return {"image_sizes": (line["extra"]["image_width"], line["extra"]["image_height"])}


def gui_g1_weighted(line: Line, scores: gr.Scores) -> Columns:
    """GUI-G1's functions return the parts times their weights."""
    return {"weighted_iou": 0.25 * float(scores.parts["iou"][0]), "weighted_box": 0.125 * float(scores.parts["box"][0])}


def no_think(line: Line) -> dict[str, Any]:
    return {"no_think": bool(line["extra"].get("no_think"))}


def several_points(line: Line, scores: gr.Scores) -> Columns:
    """InfiGUI-G1's counts, which are 0 where the format is."""
    start, end = scores.predictions.offsets.tolist()
    formatted, hit = float(scores.parts["format"][0]), scores.parts["exploration"][0] > 0
    return {
        "num_pred": (end - start) * formatted, "has_correct": float(hit),
        "only_correct": float(hit and end - start == 1),
        "is_collinear": float(end - start > 2 and not formatted),
    }  # fmt: skip


_GELATO = {"overall": "total", "format": "format", "accuracy": "distance", "correct": "acc"}
_GUI_G1 = {"hit": "hit", "iou": "weighted_iou", "box": "weighted_box"}
_GUI_G2 = {"gaussian_point": "point", "gaussian_plane": "coverage", "format": "format"}
_GROUNDNEXT = {
    "score": "total", "clipped_reward": "clipped", "format": "format", "accuracy": "acc",
    "norm_distance": "norm_distance", "raw_distance": "raw_distance",
}  # fmt: skip
_INFIGUI_G1 = {
    "score": "total", "format": "format", "accuracy": "exploration", "num_pred": "num_pred",
    "has_correct": "has_correct", "first_correct": "acc", "only_correct": "only_correct",
    "is_collinear": "is_collinear",
}  # fmt: skip
PEERS = {
    "gelato_norm": Peer("gelato", _GELATO, format_weight),
    "gelato_px": Peer("gelato-pixel", _GELATO, format_weight),
    "gta1": Peer("gta1", {"accuracy": "hit", "format": "format"}),
    "guig1": Peer("gui-g1", _GUI_G1, score_options=image_sides, more=gui_g1_weighted),
    "guig2": Peer("gui-g2", _GUI_G2),
    "infigui_g1": Peer("infigui-g1", _INFIGUI_G1, no_think, more=several_points),
    "segui": Peer("se-gui", {"point": "point", "format": "format"}),
    "uiins": Peer("ui-ins", {"score": "total"}),
    "uirft": Peer("ui-rft", {"score": "total"}),
    "groundnext": Peer("groundnext", _GROUNDNEXT, score_options=image_size, more=raw_distance),
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
    return {**{name: float(column[0]) for name, column in columns.items()}, **adapter.more(line, scores)}


def stated(peer: str, recipe: gr.Recipe, found: Deviation, line: Line) -> Mapping[str, float]:
    """The value that a deviation states for a line."""
    value: Callable[[Line], Mapping[str, float]] | None = found.value
    if value is not None:
        return value(line)
    assert found.same_as is not None
    return score(peer, recipe, found.same_as(line))
