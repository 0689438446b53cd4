"""Names to dialects, verifiers, recipes and selectors. Built-ins come through the same hooks as anybody's plugin."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grounding_rewards.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import pluggy

BUILT_IN = "grounding-rewards"
LOAD = "GROUNDING_REWARDS_PLUGINS"
"""Environment variable: plugins to load, separated by commas; set but empty loads none; unset loads all."""

KINDS = ("parsers", "verifiers", "recipes", "selectors")
"""What a plugin may offer, as the hooks call it."""

Offer = tuple[str, str, Any]
"""A plugin: its name, its distribution, and the module or object with the hooks."""


@dataclass(frozen=True)
class Registry:
    """What can be named, by kind, and the plugins beside the built-ins."""

    parsers: Mapping[str, Any]
    verifiers: Mapping[str, Any]
    recipes: Mapping[str, Any]
    selectors: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    plugins: tuple[Offer, ...] = field(default=(), kw_only=True)


@cache
def registry() -> Registry:
    """The registry of this process: built-ins and the installed plugins.

    Raises:
        PluginError: a plugin does not load, or two claim one name.
    """
    points = installed()
    wanted = chosen()
    known = {point.name for point in points}
    for name in sorted(wanted or ()):
        if name not in known:
            raise PluginError(f"plugin {name!r}, named in {LOAD}, is not installed; there are: {sorted(known)}")
    return collect([loaded(point) for point in points if wanted is None or point.name in wanted])


def installed() -> list[EntryPoint]:
    """The entry points of all installed plugins, loaded or not, by name."""
    from importlib.metadata import entry_points

    from grounding_rewards import hookspecs

    return sorted(entry_points(group=hookspecs.GROUP), key=lambda point: (point.name, distribution_of(point)))


def chosen() -> frozenset[str] | None:
    """Names of the plugins that ``GROUNDING_REWARDS_PLUGINS`` asks for; None for all."""
    wanted = os.environ.get(LOAD)
    return None if wanted is None else frozenset(name.strip() for name in wanted.split(",") if name.strip())


def distribution_of(point: EntryPoint) -> str:
    """What pip calls the package that a plugin came with."""
    return point.dist.name if point.dist else point.value


def loaded(point: EntryPoint) -> Offer:
    """Import a plugin.

    Raises:
        PluginError: it does not load.
    """
    distribution = distribution_of(point)
    try:
        return point.name, distribution, point.load()
    except (Exception, SystemExit) as error:  # a script that was meant to be run ends the process that imports it
        raise PluginError(
            f"plugin {point.name!r} of {distribution} does not load ({type(error).__name__}: {error}); "
            f"mend or uninstall it, or leave it out of {LOAD}"
        ) from error


def origin(thing: Any) -> str:
    """Where a verifier, dialect, selector or recipe's function comes from, for errors; "" where no plugin is known.

    Never raises, and is slow: only errors ask.

    Args:
        thing: an instance, or what was registered: a class or a function.

    >>> from grounding_rewards.verifiers import Hit
    >>> origin(Hit())
    ''
    """
    try:
        found = _owner(registry(), thing)
    except Exception:  # whatever is wrong with a plugin, the error that asks is the one to see
        return ""
    return f" (plugin {found[0]!r} of {found[1]})" if found else ""


def _owner(known: Registry, thing: Any) -> Offer | None:
    """The plugin that offers a thing, its class or the function inside it; else the one whose package defines that."""
    inner = getattr(thing, "inner", None) or thing  # a verifier named by its place in code
    for _ in range(_DEEP):  # a function lifted to a verifier, or with its arguments filled in
        inner = getattr(inner, "fn", inner)
    forms = [each for one in (thing, inner) for each in (one, type(one))]
    things = [(name, each) for kind in KINDS for name, each in getattr(known, kind).items()]
    if any(_same(each, form) for name, each in things if "/" not in name for form in forms):
        return None
    for name, each in things:
        if "/" in name and any(_same(each, form) for form in forms):
            return next(offer for offer in known.plugins if offer[0] == name.partition("/")[0])
    package = _package(inner if isinstance(inner, type) or inspect.isroutine(inner) else type(inner))
    offers = [offer for offer in known.plugins if _package(offer[2]) == package]
    return offers[0] if len(offers) == 1 else None


_DEEP = 4


def _same(one: Any, other: Any) -> bool:
    """Whether it is the same thing, or a copy that came from another process."""
    return one is other or bool(type(one) is type(other) and not inspect.isclass(one) and one == other)


def _package(thing: Any) -> str:
    """The package in which a module, a class or a function is; an object stands for its class."""
    name = getattr(thing, "__name__", "") if inspect.ismodule(thing) else getattr(thing, "__module__", "")
    return str(name).partition(".")[0]


def collect(plugins: Iterable[Offer]) -> Registry:
    """Run every plugin's hooks once.

    Args:
        plugins: (plugin name, distribution, module or object with hooks), beside the built-ins.

    Raises:
        PluginError: a hook has a wrong signature or fails, offers something of the wrong kind or under an impossible
            name, or two distributions claim one name.
    """
    import pluggy

    from grounding_rewards import default_plugin, hookspecs

    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    offers = list(plugins)
    owners: dict[str, tuple[str, str]] = {}
    for name, distribution, plugin in [("", BUILT_IN, default_plugin), *offers]:
        if (name or BUILT_IN) in owners:
            both = f"{owners[name or BUILT_IN][1]} and {distribution}"
            raise PluginError(f"plugin {name!r} is offered by both {both}; uninstall one")
        if name and not _is_name(name):
            raise PluginError(f"plugin {name!r} of {distribution}: {_NAME}; rename its entry point")
        try:
            manager.register(plugin, name=name or BUILT_IN)
            manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            raise PluginError(f"plugin {name!r} of {distribution} is not valid: {error}") from error
        _check_hooks(manager, plugin, name, distribution)
        owners[name or BUILT_IN] = (name, distribution)
    return Registry(**{kind: _gather(manager, owners, kind) for kind in KINDS}, plugins=tuple(offers))


def _check_hooks(manager: pluggy.PluginManager, plugin: Any, name: str, distribution: str) -> None:
    """Complain of hooks that would never run: those without the mark, and a plugin that has none."""
    marked = [caller.name for caller in manager.get_hookcallers(plugin) or ()]
    hooks = [f"register_{kind}" for kind in KINDS]
    for hook in hooks:
        if hook not in marked and callable(getattr(plugin, hook, None)):
            raise PluginError(
                f"plugin {name!r} of {distribution}: its {hook} has no mark; write @hookimpl above it "
                "(from grounding_rewards.hookspecs import hookimpl)"
            )
    if not marked:
        raise PluginError(
            f"plugin {name!r} of {distribution} offers nothing: {shown(plugin)} has none of {', '.join(hooks)}; "
            "let its entry point name the module that has"
        )


def _gather(manager: pluggy.PluginManager, owners: Mapping[str, tuple[str, str]], kind: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for implementation in getattr(manager.hook, f"register_{kind}").get_hookimpls():
        plugin, distribution = owners[implementation.plugin_name]

        def register(name: str, thing: Any, plugin: str = plugin, distribution: str = distribution) -> None:
            full = f"{plugin}/{name}" if plugin else name
            wrong = _wrong(kind, name, thing)
            if wrong:
                raise PluginError(f"plugin {plugin!r} of {distribution}: {kind[:-1]} {full!r}: {wrong}")
            if full in found:
                raise PluginError(
                    f"{kind[:-1]} {full!r} is offered by both {origins[full]} and {distribution}; rename one"
                )
            found[full], origins[full] = thing, distribution

        try:
            implementation.function(register)
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(
                f"plugin {plugin!r} of {distribution} fails in register_{kind} ({type(error).__name__}: {error})"
            ) from error
    return MappingProxyType(dict(sorted(found.items())))


_NAME = "a name is a text without spaces, ':' and '/'"


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and name.isprintable() and not set(name) & set(" :/")


def _wrong(kind: str, name: Any, thing: Any) -> str:
    """What is wrong with something that a plugin registers; "" where nothing is."""
    if not _is_name(name):
        return _NAME
    fits, expected = _FITS[kind]
    return "" if fits(thing) else f"got {shown(thing)}; expected {expected}"


def _is_dialect(thing: Any) -> bool:
    return not isinstance(thing, type) and callable(getattr(thing, "find", None)) and hasattr(thing, "names")


def _makes_callables(thing: Any) -> bool:
    """Whether it can be called or, of a class, whether what it makes can be."""
    if isinstance(thing, type):
        return any("__call__" in vars(each) for each in thing.__mro__)
    return callable(thing)


_FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "parsers": (_is_dialect, "a dialect with name, names and find, such as a PatternDialect"),
    "verifiers": (_makes_callables, "a class of verifiers, a frozen dataclass with low, high, needs and __call__"),
    "recipes": (callable, "a function of keyword-only options that returns a Recipe"),
    "selectors": (_makes_callables, "a class of selectors, a frozen dataclass with low, high and __call__"),
}


def shown(thing: Any) -> str:
    """The beginning of a repr, for errors, whatever the thing.

    >>> shown("hit")
    "'hit'"
    """
    try:
        return f"{thing!r:.80}"
    except Exception:  # it is somebody's code that says what it is
        return f"a {type(thing).__name__}"
