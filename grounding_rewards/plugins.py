"""Names to dialects, verifiers and recipes. Built-ins come through the same hooks as anybody's plugin."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grounding_rewards.errors import PluginError

if TYPE_CHECKING:
    import pluggy

BUILT_IN = "grounding-rewards"
LOAD = "GROUNDING_REWARDS_PLUGINS"
"""Environment variable: plugins to load, separated by commas; set but empty loads none; unset loads all."""


@dataclass(frozen=True)
class Registry:
    """What can be named, by kind."""

    parsers: Mapping[str, Any]
    verifiers: Mapping[str, Any]
    recipes: Mapping[str, Any]


@cache
def registry() -> Registry:
    """The registry of this process: built-ins and the installed plugins.

    Raises:
        PluginError: a plugin does not load, or two claim one name.
    """
    from importlib.metadata import entry_points

    from grounding_rewards import hookspecs

    wanted = os.environ.get(LOAD)
    chosen = None if wanted is None else {name.strip() for name in wanted.split(",") if name.strip()}
    plugins: list[tuple[str, str, Any]] = []
    points = entry_points(group=hookspecs.GROUP)
    for name in sorted(chosen or ()):
        if name not in points.names:
            raise PluginError(f"plugin {name!r}, named in {LOAD}, is not installed; there are: {sorted(points.names)}")
    for point in points:
        if chosen is None or point.name in chosen:
            distribution = point.dist.name if point.dist else point.value
            try:
                plugins.append((point.name, distribution, point.load()))
            except Exception as error:
                raise PluginError(
                    f"plugin {point.name!r} of {distribution} does not load ({type(error).__name__}: {error}); "
                    f"mend or uninstall it, or leave it out of {LOAD}"
                ) from error
    return collect(plugins)


def collect(plugins: Iterable[tuple[str, str, Any]]) -> Registry:
    """Run every plugin's hooks once.

    Args:
        plugins: (plugin name, distribution, module or object with hooks), beside the built-ins.

    Raises:
        PluginError: a hook has a wrong signature or fails, or two distributions claim one name.
    """
    import pluggy

    from grounding_rewards import default_plugin, hookspecs

    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    owners: dict[str, tuple[str, str]] = {}
    for name, distribution, plugin in [("", BUILT_IN, default_plugin), *plugins]:
        if (name or BUILT_IN) in owners:
            both = f"{owners[name or BUILT_IN][1]} and {distribution}"
            raise PluginError(f"plugin {name!r} is offered by both {both}; uninstall one")
        try:
            manager.register(plugin, name=name or BUILT_IN)
            manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            raise PluginError(f"plugin {name!r} of {distribution} is not valid: {error}") from error
        owners[name or BUILT_IN] = (name, distribution)
    return Registry(*(_gather(manager, owners, kind) for kind in ("parsers", "verifiers", "recipes")))


def _gather(manager: pluggy.PluginManager, owners: Mapping[str, tuple[str, str]], kind: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for implementation in getattr(manager.hook, f"register_{kind}").get_hookimpls():
        plugin, distribution = owners[implementation.plugin_name]

        def register(name: str, thing: Any, plugin: str = plugin, distribution: str = distribution) -> None:
            full = f"{plugin}/{name}" if plugin else name
            if full in found:
                raise PluginError(
                    f"{kind[:-1]} {full!r} is offered by both {origin[full]} and {distribution}; rename one"
                )
            found[full], origin[full] = thing, distribution

        try:
            implementation.function(register)
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(
                f"plugin {plugin!r} of {distribution} fails in register_{kind} ({type(error).__name__}: {error})"
            ) from error
    return MappingProxyType(dict(sorted(found.items())))
