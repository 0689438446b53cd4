"""Plugins on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from grounding_rewards.cli import terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.plugins.registry import BUILT_IN

Facts = dict[str, Any]


def listing(listed: Sequence[Facts]) -> None:
    """Print each plugin and the names that it adds."""
    console = layout.console()
    for place, plugin in enumerate(plugin for plugin in listed if plugin["loaded"]):
        if place:
            console.print()
        console.print(layout.text(title(plugin), "bold"))
        console.print(layout.indented(_things(plugin)))
    if not listed:
        terminal.note("no plugins are installed; --all lists what is built in")


def title(found: Facts) -> str:
    """Name a plugin, and its distribution."""
    if found["plugin"] is None:
        return f"built in ({BUILT_IN} {found['version']})"
    package = " ".join(filter(None, (found.get("distribution"), found.get("version"))))
    return f"{found['plugin']} ({package})" if package else str(found["plugin"])


def _things(found: Facts) -> Table:
    rows = [
        (kind if place == 0 else "", each["name"], each["says"])
        for kind, things in found.items()
        for place, each in enumerate(things if isinstance(things, list) else [])
    ]
    return layout.facts(rows, columns=3)
