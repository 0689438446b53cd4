"""``grounding-rewards families``: what the numbers of models mean, by family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables
from grounding_rewards.coords.register import Family

_SEEN = {"code": "code", "page": "a page", "memory": "nothing yet: unchecked"}


def list_families(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="One family, or the folder of a checkpoint; else all.",
            autocompletion=options.completing(catalogue.known_families),
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the model families, or show one: the space of its answers, its resizing, an example and the source.

    Example: `grounding-rewards families gta1`
    """
    if name is not None:
        facts = _facts(catalogue.family(name))
        terminal.print_json(facts) if as_json else tables.console().print(tables.facts(_lines(facts)))
        return
    listed = [_facts(each) for _, each in sorted(catalogue.known_families().items())]
    if as_json:
        terminal.print_json({"families": listed})
        return
    rows = [(each["name"], str(each["options"]["response_space"]), _settings(each["options"])) for each in listed]
    tables.console().print(tables.table(["name", "answers in", "further options"], ["name", "answers in"], rows))


def _facts(family: Family) -> dict[str, Any]:
    example = {"response": family.response, "image_size": [*family.image_size], "point": [*family.point]}
    return {
        "name": family.name, "options": dict(family.options), "example": example, "source": family.source,
        "seen": family.seen, "prompts": [*family.prompts],
    }  # fmt: skip


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    example = facts["example"]
    width, height = example["image_size"]
    x, y = example["point"]
    return [
        ("name", facts["name"]),
        *[(name, str(value)) for name, value in facts["options"].items()],
        ("example", f"{example['response']}\nmeans ({x:g}, {y:g}) in an image of {width} x {height}"),
        *([("prompts", ", ".join(facts["prompts"]))] if facts["prompts"] else []),
        ("source", facts["source"]),
        ("seen in", _SEEN[facts["seen"]]),
    ]


def _settings(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items() if name != "response_space")
