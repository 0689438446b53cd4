"""The generated page of all verifiers: formula, arguments, range, maps over a screen, and one miss side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from docs.gallery.figure import COLOURS
from docs.gallery.overview import SCREEN, TARGET
from docs.gallery.page import code
from grounding_rewards import catalogue
from grounding_rewards.arrays import Floats
from grounding_rewards.cli.render.tables import as_written
from grounding_rewards.explain.explanation import plain
from grounding_rewards.explain.formulas import arguments_of, formula_of
from grounding_rewards.plugins.named import build
from grounding_rewards.plugins.registry import collect
from grounding_rewards.verifiers.terms import walk

Facts = dict[str, Any]

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "argument_match": {"field": "button"},
    "difficulty": {"most": 2.0},
    "graded_format": {"steps": ["<think>", "</answer>"]},
    "near_point": {"radius": 60.0},
    "noise": {"amplitude": 0.01},
    "novelty": {"radius": 40.0},
    "repetition": {"radius": 40.0},
    "suggestion": {"tag": "suggestion"},
    "verdict": {"tag": "score", "positive": ["right"], "negative": ["wrong"]},
}
"""Arguments of verifiers that cannot be built without."""

CHOICES: Mapping[str, str] = {
    "hit": "a right click is worth 1, any other 0: success itself, and no gradient among misses",
    "inside_distance": "misses are 0, and among hits the nearer to the centre the more: for clicks that hit the border",
    "centredness": "the same from 1 at the centre to almost 0 at the border: a corner is hardly worth more than a miss",
    "gaussian_point": "falls off with the size of the target; a hit near a corner may be worth less than a near miss",
    "dense_distance": "misses count by their distance, and none as much as any hit: for policies that hit little yet",
    "screen_distance": "the distance on the screen alone: a click anywhere is worth something, and one near the target "
    "almost as much as a hit; beside `hit`, for the first steps",
    "corner_distance": "below 0 outside; the middle of a long edge is worth as much as the centre",
}
"""Verifiers of a click's place, and when to choose each."""

BUTTON, WINDOW = (920, 520, 1000, 560), (1920, 1080)
CLICKS: Mapping[str, tuple[float, float]] = {
    "centre": (960, 540), "near a corner": (998, 558), "5 px beside": (1005, 540), "50 px beside": (1050, 540),
    "400 px beside": (1400, 540), "a corner of the screen": (1919, 1079),
}  # fmt: skip
_CELLS = 48, 27
_OTHERS = ((480.0, 270.0), (468.0, 262.0), (496.0, 282.0), (720.0, 430.0))
"""Other rollouts of the sample, where a verifier compares them."""

_COLUMNS = 5
_NEEDS = {"screen": "the image's size in pixel spaces", "points": "all answers"}


def page() -> Facts:
    """Return each verifier, and the scores of some clicks by those of a click's place."""
    shown = {name: facts(name) for name in collect([]).verifiers}
    clicks = np.array(list(CLICKS.values()))
    compared = {name: [f"{score:.3f}" for score in scores(name, clicks, BUTTON, WINDOW)] for name in CHOICES}
    return {
        "verifiers": shown, "clicks": list(CLICKS), "compared": compared, "choices": CHOICES,
        "button": BUTTON, "window": WINDOW,
    }  # fmt: skip


def facts(name: str) -> Facts:
    """Describe a verifier by its docstring and its fields."""
    kind, given = collect([]).verifiers[name], EXAMPLES.get(name, {})
    term, meanings = build("verifiers", name, given), arguments_of(kind)
    defaults = {
        each.name: "must be given" if (value := _default(each)) is MISSING else code(as_written(plain(value)))
        for each in fields(kind)
        if each.init
    }
    arguments = [(each, default, meanings.get(each, "").replace("``", "`")) for each, default in defaults.items()]
    return {
        "class": kind.__name__, "low": term.low, "high": term.high,
        "needs": [_NEEDS.get(each, each) for each in sorted(term.needs)],
        "formula": formula_of(term).split("\n\n"), "arguments": arguments, "given": plain(dict(given)),
        "recipes": [recipe for recipe, terms in _terms().items() if kind in terms],
    }  # fmt: skip


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


@cache
def _terms() -> dict[str, set[type]]:
    """Return the classes of the terms in each built-in recipe."""
    built = {name: catalogue.recipe(name, **catalogue.shown_with(name)) for name in collect([]).recipes}
    return {name: {type(term) for part in (it.reward, it.success) for term in walk(part)} for name, it in built.items()}


def scores(name: str, points: Floats, box: Sequence[float], screen: tuple[float, float], boxes: bool = False) -> Floats:
    """Score an answer at each point (n, 2); ``boxes`` answers with boxes of the target's size about them."""
    parts = {name: {"verifier": name, **EXAMPLES.get(name, {}), "weight": 1}}
    judge = catalogue.recipe("composite", parts=parts, response_space="pixel")
    half = np.array([box[2] - box[0], box[3] - box[1]]) / 2
    places = np.hstack([points - half, points + half]) if boxes else points
    bracket = "[]" if boxes else "()"
    answers = [f"{bracket[0]}{', '.join(f'{number:g}' for number in place)}{bracket[1]}" for place in places.tolist()]
    others = [f"({x:g}, {y:g})" for x, y in _OTHERS] if "groups" in judge.needs else []
    rows = [text for answer in answers for text in (answer, *others)]
    centre = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
    target = {"bbox": list(box), "point": centre, "image_size": list(screen), "extra": {"verdict": True}}
    groups = np.repeat(np.arange(len(answers)), 1 + len(others)).tolist()
    part: Floats = judge.score(rows, [target] * len(rows), groups=groups).parts[name]
    return part[:: 1 + len(others)]


@cache
def maps() -> dict[str, Floats]:
    """Return the scores over the screen (h, w) of each verifier that a place changes."""
    across, down = _CELLS
    x, y = ((np.arange(cells) + 0.5) * size / cells for cells, size in zip(_CELLS, SCREEN, strict=True))
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    drawn = {}
    for name in collect([]).verifiers:
        few = points[:: len(points) // 12]  # one in the target among them
        boxes = next(
            (boxes for boxes in (False, True) if np.ptp(scores(name, few, TARGET, SCREEN, boxes)) > 0.05), None
        )
        if boxes is not None:
            drawn[name] = scores(name, points, TARGET, SCREEN, boxes).reshape(down, across)
    return drawn


def picture() -> Figure:
    """Draw the maps beside each other, each from its verifier's lowest to its highest score."""
    drawn = maps()
    rows = -(-len(drawn) // _COLUMNS)
    figure = Figure(figsize=(9.0, 1.4 * rows), dpi=100, facecolor="white", layout="constrained")
    x1, y1, x2, y2 = TARGET
    grid = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
    for axes in grid[len(drawn) :]:
        axes.set_axis_off()
    for axes, (name, scored) in zip(grid, drawn.items(), strict=False):
        low, high = facts(name)["low"], facts(name)["high"]
        axes.imshow(scored, cmap=COLOURS, vmin=low, vmax=high, extent=(0, SCREEN[0], SCREEN[1], 0))
        axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, color="white", linewidth=0.8))
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"{name}  ", loc="left", fontsize=8, weight="bold")
        axes.set_xlabel(f"{low:g} to {high:g}", fontsize=7, labelpad=2, color="0.3")
    return figure


def profile() -> Figure:
    """Draw the scores of clicks from the centre of a button to the right of the screen."""
    figure = Figure(figsize=(9.0, 3.4), dpi=100, facecolor="white", layout="constrained")
    axes = figure.subplots()
    away = np.concatenate([np.linspace(0, 120, 241), np.linspace(121, 900, 200)])
    points = np.stack([960 + away, np.full_like(away, 540.0)], axis=1)
    for number, name in enumerate(CHOICES):
        style = ("-", "--", "-.", ":")[number % 4]
        axes.plot(away, scores(name, points, BUTTON, WINDOW), style, label=name, linewidth=1.6)
    axes.axvspan(0, 40, color="0.92")
    axes.annotate("in the button", (20, -0.52), ha="center", fontsize=8, color="0.3")
    axes.set_xscale("symlog", linthresh=100)
    axes.set(xlim=(0, 900), ylim=(-0.6, 1.05), xlabel="pixels to the right of the centre", ylabel="score")
    axes.set_xticks(
        [0, 20, 40, 60, 80, 100, 200, 400, 900], labels=["0", "20", "40", "60", "80", "100", "200", "400", "900"]
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    return figure
