"""Plugins on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
        rows = [
            (kind if number == 0 else "", each["name"], each["says"])
            for kind, things in plugin.items()
            for number, each in enumerate(things if isinstance(things, list) else [])
        ]
        console.print(layout.indented(layout.facts(rows, columns=3)))
    if not listed:
        terminal.note("no plugins are installed; --all lists what is built in")


def title(plugin: Facts) -> str:
    """Name a plugin, and its distribution."""
    if plugin["plugin"] is None:
        return f"built in ({BUILT_IN} {plugin['version']})"
    package = " ".join(filter(None, (plugin.get("distribution"), plugin.get("version"))))
    return f"{plugin['plugin']} ({package})" if package else str(plugin["plugin"])
