"""Recipes on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.values import as_written, bounds_of, clipped
from grounding_rewards.plugins.registry import BUILT_IN

Facts = dict[str, Any]

WIDE = 100
"""Columns from which the list has room for whole titles and longer answers."""


def table(listed: Sequence[Facts]) -> None:
    """Print the list: a row a recipe, below it what some are shown with."""
    console = layout.console()
    wide = console.width >= WIDE
    built = [each for each in listed if "error" not in each]
    heads = ["name", "answers", "from response\nto target", "total", "needs", "paper"]
    found = layout.table(heads, ["name"], [_entry(each, wide) for each in built])
    found.columns[1].min_width, found.columns[2].no_wrap = 12, True
    found.columns[4].max_width = len("model image")
    console.print(found)
    for each in built:
        if each["with"]:
            console.print(layout.text(f"{each['name']} is shown with {_settings(each['with'])}"))


def _entry(found: Facts, wide: bool) -> list[str]:
    spaces = f"{found['response_space']}\n-> {found['target_space']}"
    needs = "\n".join(found["needs"])
    paper = "ours" if found["paper"] == BUILT_IN else found["paper"]
    title = paper if wide else paper.partition(":")[0]
    answers = clipped(" ".join(_answer(found).split()), 80 if wide else 40)
    return [found["name"], answers, spaces, bounds_of(found), needs, title]


def one(found: Facts) -> None:
    """Print all about one recipe."""
    console = layout.console()
    console.print(layout.text(found["name"], "bold"))
    for line in found["formula"].splitlines():
        console.print(layout.indented(layout.text(line)))
    parts = [[part["name"], bounds_of(part), part["made_by"]] for part in found["parts"]]
    actions = [[action["field"], action["says"], as_written(action["example"])] for action in found["actions"]]
    sections = {
        "": layout.facts(_about(found)),
        "Parts": layout.table(["part", "range", "made by"], ["part", "range"], parts),
        "Actions in targets": layout.table(["field", "says", "example"], ["field"], actions),
        "Options": layout.table(["option", "default", "here"], ["option", "default"], _options(found)),
        "Departs from the source": layout.facts([(each["name"], each["why"]) for each in found["deviations"]]),
        "Known exploits": layout.facts([_exploit(each) for each in found["exploits"]]),
        "Example": layout.facts(_example(found["example"]) if found["example"] else []),
    }
    for title, section in sections.items():
        layout.section(console, title, section)


def _about(found: Facts) -> list[tuple[str, str]]:
    commit = f", commit {found['commit']}" if found["commit"] else ""
    rows = [
        ("answers", _answer(found)),
        ("response space", found["response_space"]),
        ("targets", found["native"] or ""),
        ("judges", ", ".join(found["accepts"]) or "no target: none need say what is right"),
        ("target space", found["target_space"]),
        ("works in", found["space"]),
        ("needs", ", ".join(found["needs"])),
        ("total", bounds_of(found)),
        ("acc", found["acc"]),
        ("with", _settings(found["with"])),
        ("paper", found["paper"]),
        ("repository", f"{found['repository']}{commit}" if found["repository"] else ""),
        ("files", ", ".join(found["files"])),
    ]
    return [(name, text) for name, text in rows if text]


def _options(found: Facts) -> list[list[str]]:
    given = found["with"]
    return [
        [name, "-" if default is None else as_written(default), as_written(given[name]) if name in given else ""]
        for name, default in found["options"].items()
    ]


def _exploit(exploit: Facts) -> tuple[str, str]:
    return exploit["name"], f"{exploit['payoff']:.4g}: {exploit['what']}"


def _example(example: Facts) -> list[tuple[str, str]]:
    inputs = ("response", "target", "image_size", "model_image_size")
    rows = [(name, as_written(example[name])) for name in inputs if example[name] is not None]
    rows[1:1] = [("of its group", text) for text in example.get("group", ())]
    if "error" in example:
        return [*rows, ("not scored", example["error"])]
    scores = {**example["parts"], "total": example["total"], "acc": example["acc"]}
    return [*rows, *((name, f"{score:.6g}") for name, score in scores.items()), ("reason", example["reason"])]


def _answer(found: Facts) -> str:
    return found["answers"] or f"dialect {found['dialect']}"


def _settings(options: Facts) -> str:
    return ", ".join(f"{name}={as_written(value)}" for name, value in options.items())
