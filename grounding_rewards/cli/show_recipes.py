"""Recipes on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from grounding_rewards.cli import layout
from grounding_rewards.cli.terminal import printable
from grounding_rewards.cli.values import as_written, bounds_of
from grounding_rewards.plugins import BUILT_IN

Facts = dict[str, Any]

WIDE = 100
"""Columns from which the list has room for whole titles and longer answers."""


def table(listed: Sequence[Facts]) -> None:
    """Print the list: a row a recipe, below it what some are shown with."""
    console = layout.console()
    wide = console.width >= WIDE
    found = layout.table(["name", "answers", "from response\nto target", "total", "needs", "paper"], ["name"])
    found.columns[1].min_width, found.columns[2].no_wrap = 12, True
    found.columns[4].max_width = len("model image")
    built = [each for each in listed if "error" not in each]
    for each in built:
        layout.row(found, _entry(each, wide))
    console.print(found)
    for each in built:
        if each["with"]:
            console.print(Text(printable(f"{each['name']} is shown with {_settings(each['with'])}")))


def _entry(found: Facts, wide: bool) -> list[str]:
    spaces = f"{found['response_space']}\n-> {found['target_space']}"
    needs = "\n".join(found["needs"])
    paper = "ours" if found["paper"] == BUILT_IN else found["paper"]
    title = paper if wide else paper.partition(":")[0]
    return [found["name"], _clipped(_answer(found), 80 if wide else 40), spaces, bounds_of(found), needs, title]


def one(found: Facts) -> None:
    """Print all about one recipe."""
    console = layout.console()
    console.print(Text(printable(found["name"]), style="bold"))
    for line in found["formula"].splitlines():
        console.print(layout.indented(Text(printable(line))))
    sections = {
        "": layout.facts(_about(found)),
        "Parts": _filled(["part", "range", "made by"], [_part(each) for each in found["parts"]]),
        "Actions in targets": _filled(["field", "says", "example"], [_action(each) for each in found["actions"]], 1),
        "Options": _filled(["option", "default", "here"], _options(found)),
        "Departs from the source": layout.facts([(each["name"], each["why"]) for each in found["deviations"]]),
        "Pays for nothing": layout.facts([_exploit(each) for each in found["exploits"]]),
        "Example": layout.facts(_example(found["example"]) if found["example"] else []),
    }
    for title, section in sections.items():
        if section.row_count:
            console.print()
            if title:
                console.print(Text(title, style="bold"))
            console.print(layout.indented(section))


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


def _part(part: Facts) -> list[str]:
    return [part["name"], bounds_of(part), part["made_by"]]


def _action(action: Facts) -> list[str]:
    return [action["field"], action["says"], as_written(action["example"])]


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


def _clipped(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _settings(options: Facts) -> str:
    return ", ".join(f"{name}={as_written(value)}" for name, value in options.items())


def _filled(heads: Sequence[str], rows: Iterable[Sequence[str]], whole: int = 2) -> Table:
    found = layout.table(heads, heads[:whole])
    for row in rows:
        layout.row(found, row)
    return found
