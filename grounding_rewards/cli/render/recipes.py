"""Recipes on the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.tables import as_written, bounds_of, clipped
from grounding_rewards.plugins.registry import BUILT_IN

Facts = dict[str, Any]

_OPTIONAL = {"paper": 10, "answer": 24, "needs": 12}
"""Columns that the list has where so much room is left for them, in this order."""


def table(listed: Sequence[Facts]) -> None:
    """Print the list: a line a recipe, and below it the options that some are built with."""
    console = layout.console()
    built = [each for each in listed if "error" not in each]
    columns = {
        "name": [each["name"] for each in built],
        "answers in": ["you say" if "response_space" in each["with"] else each["response_space"] for each in built],
        "targets in": [each["target_space"] for each in built],
        "total": [bounds_of(each) for each in built],
    }
    room = console.width - sum(_width(name, cells) + _GAP for name, cells in columns.items())
    for name, least in _OPTIONAL.items():
        if room >= least:
            cells = [clipped(_cell(name, each), min(room, _LONGEST)) for each in built]
            columns[name], room = cells, room - _width(name, cells) - _GAP
    console.print(layout.table([*columns], [*columns], zip(*columns.values(), strict=True)))
    for each in built:
        if further := {name: value for name, value in each["with"].items() if name != "response_space"}:
            console.print(layout.text(f"{each['name']} is shown with {settings(further)}"))
    console.print(layout.text("you say: option response_space (--response-space) is needed"))
    console.print(layout.text("`grounding-rewards recipes NAME` shows all of one."))


_GAP, _LONGEST = 2, 80


def _width(name: str, cells: Sequence[str]) -> int:
    return max(map(len, [name, *cells]))


def _cell(name: str, recipe: Facts) -> str:
    if name == "needs":
        return ", ".join(recipe["needs"])
    if name == "answer":
        return " ".join(_answer(recipe).split())
    return "ours" if recipe["paper"] == BUILT_IN else str(recipe["paper"]).partition(":")[0]


def one(recipe: Facts) -> None:
    """Print the description of one recipe."""
    console = layout.console()
    console.print(layout.text(recipe["name"], "bold"))
    for line in recipe["formula"].splitlines():
        console.print(layout.indented(layout.text(line)))
    parts = [[part["name"], bounds_of(part), part["made_by"]] for part in recipe["parts"]]
    actions = [[action["field"], action["says"], as_written(action["example"])] for action in recipe["actions"]]
    sections = {
        "": layout.facts(_about(recipe)),
        "Parts": layout.table(["part", "range", "made by"], ["part", "range"], parts),
        "Actions in targets": layout.table(["field", "says", "example"], ["field"], actions),
        "Options": layout.table(["option", "default", "here", "meaning"], ["option", "default"], _options(recipe)),
        "Departs from the source": layout.facts([(each["name"], each["why"]) for each in recipe["deviations"]]),
        "Known exploits": layout.facts(
            (each["name"], f"{each['payoff']:.4g}: {each['what']}") for each in recipe["exploits"]
        ),
        "Example": layout.facts(_example(recipe["example"]) if recipe["example"] else []),
    }
    for title, section in sections.items():
        layout.section(console, title, section)


def _about(recipe: Facts) -> list[tuple[str, str]]:
    commit = f", commit {recipe['commit']}" if recipe["commit"] else ""
    rows = [
        ("answers", _answer(recipe)),
        ("response space", recipe["response_space"]),
        ("targets", recipe["native"] or ""),
        ("judges", ", ".join(recipe["accepts"]) or "no target: none need say what is right"),
        ("target space", recipe["target_space"]),
        ("works in", recipe["space"]),
        ("needs", ", ".join(recipe["needs"])),
        ("total", bounds_of(recipe)),
        ("acc", recipe["acc"]),
        ("with", settings(recipe["with"])),
        ("paper", recipe["paper"]),
        ("repository", f"{recipe['repository']}{commit}" if recipe["repository"] else ""),
        ("files", ", ".join(recipe["files"])),
    ]
    return [(name, text) for name, text in rows if text]


def _options(recipe: Facts) -> list[list[str]]:
    values, about = recipe["with"], recipe["about_options"]
    return [
        [
            name,
            "-" if default is None else as_written(default),
            as_written(values[name]) if name in values else "",
            _first_sentence(about[name]["meaning"]),
        ]
        for name, default in recipe["options"].items()
    ]


def _first_sentence(text: str) -> str:
    return re.split(r"[.:;]\s", text, maxsplit=1)[0].rstrip(".:;").replace("`", "")


def _example(example: Facts) -> list[tuple[str, str]]:
    inputs = ("response", "target", "image_size", "model_image_size")
    rows = [(name, as_written(example[name])) for name in inputs if example[name] is not None]
    rows[1:1] = [("of its group", text) for text in example.get("group", ())]
    if "error" in example:
        return [*rows, ("not scored", example["error"])]
    scores = {**example["parts"], "total": example["total"], "acc": example["acc"]}
    return [*rows, *((name, f"{score:.6g}") for name, score in scores.items()), ("reason", example["reason"])]


def _answer(recipe: Facts) -> str:
    return recipe["answers"] or f"dialect {recipe['dialect']}"


def settings(options: Facts) -> str:
    """Return options with their values."""
    return ", ".join(f"{name}={as_written(value)}" for name, value in options.items())
