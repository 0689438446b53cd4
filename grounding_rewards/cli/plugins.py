"""``grounding-rewards plugins``: installed plugins, and everything that a config can name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import numpy as np
import typer

from grounding_rewards import parsing
from grounding_rewards._version import __version__
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.coords.spaces import PIXEL
from grounding_rewards.errors import PluginError
from grounding_rewards.explain.formulas import first_line
from grounding_rewards.parsing import Dialect
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import BUILT_IN, KINDS, LOAD, Offer, Registry, collect
from grounding_rewards.testing.formats import ANSWER_FORMATS, AnswerFormat

Facts = dict[str, Any]

WORDS = {"parsers": "dialects"}
"""Names of kinds in all other places, where they differ from the hook's."""


_LEFT_OUT = f"left out by {LOAD}"


def list_plugins(
    everything: Annotated[bool, typer.Option("--all", help="Also list the built-ins.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """List the plugins, and the dialects, verifiers, recipes, methods and engines that each adds.

    A plugin that does not load is listed with its error. GROUNDING_REWARDS_PLUGINS=NAME,NAME loads these alone;
    set but empty it loads none.

    Example: `grounding-rewards plugins --all`
    """
    built_in = {"plugin": None, "distribution": BUILT_IN, "version": __version__, "loaded": True}
    listed = [*([{**built_in, **_things(collect([]))}] if everything else []), *installed()]
    terminal.print_json({"plugins": listed}) if as_json else _print(listed)
    for each in listed:
        if not each["loaded"]:
            say = terminal.note if each["error"] == _LEFT_OUT else terminal.warn
            say(f"{_title(each)} is not loaded: {each['error']}")


def _print(listed: Sequence[Facts]) -> None:
    """Print each plugin and the names that it adds."""
    console = layout.console()
    for place, plugin in enumerate(plugin for plugin in listed if plugin["loaded"]):
        if place:
            console.print()
        console.print(layout.text(_title(plugin), "bold"))
        rows = [
            (kind if number == 0 else "", each["name"], each["says"])
            for kind, things in plugin.items()
            for number, each in enumerate(things if isinstance(things, list) else [])
        ]
        console.print(layout.indented(layout.facts(rows, columns=3)))
    if not listed:
        terminal.note("no plugins are installed; --all lists what is built in")


def _title(plugin: Facts) -> str:
    """Name a plugin, and its distribution."""
    if plugin["plugin"] is None:
        return f"built in ({BUILT_IN} {plugin['version']})"
    package = " ".join(filter(None, (plugin.get("distribution"), plugin.get("version"))))
    return f"{plugin['plugin']} ({package})" if package else str(plugin["plugin"])


def installed() -> list[Facts]:
    """List each plugin that is installed, or asked for; with ``error`` where it cannot be used, or is left out."""
    wanted, good, listed = plugins.chosen(), list[Offer](), list[Facts]()
    points = plugins.installed()
    for point in points:
        if wanted is not None and point.name not in wanted:
            listed.append({**_about(point), "loaded": False, "error": _LEFT_OUT})
            continue
        try:
            offer = plugins.loaded(point)
            known = collect([*good, offer])  # with those before it: two may offer one name
        except PluginError as error:
            listed.append({**_about(point), "loaded": False, "error": str(error)})
        else:
            good.append(offer)
            listed.append({**_about(point), "loaded": True, **_things(known, f"{point.name}/")})
    missing = sorted((wanted or frozenset()) - {point.name for point in points})
    asked = f"named in {LOAD}, but not installed"
    return [*listed, *({"plugin": name, "loaded": False, "error": asked} for name in missing)]


def _about(point: EntryPoint) -> Facts:
    version = point.dist.version if point.dist else None
    return {"plugin": point.name, "distribution": plugins.distribution_of(point), "version": version}


def _things(known: Registry, prefix: str = "") -> Facts:
    """List the names that a plugin adds, by kind, with a description each."""
    return {
        WORDS.get(kind, kind): [
            {"name": name, "says": _description(thing)}
            for name, thing in getattr(known, kind).items()
            if name.startswith(prefix)
        ]
        for kind in KINDS
    }


def _description(thing: Any) -> str:
    """Return an answer that a dialect reads; of all else the first line of its docstring; "" where there is none."""
    try:
        if isinstance(thing, Mapping):  # a family
            return str(thing["source"])
        if not hasattr(thing, "one"):
            return first_line(thing)
        return _example(thing) or ("" if type(thing).__module__.startswith(parsing.__name__) else first_line(thing))
    except Exception:  # somebody's code must not end the listing
        return ""


def _example(dialect: Dialect) -> str:
    form = format_of(dialect)
    return "" if form is None else " ".join(form.right.split())


def format_of(dialect: Dialect) -> AnswerFormat | None:
    """Return the shortest format of published models that a dialect reads, one of a click if there is one."""
    forms = sorted(ANSWER_FORMATS, key=lambda form: len(form.right))
    texts = [form.right for form in forms]
    read = [parsing.parse(texts, dialect, space=PIXEL, answers="first", thinking=how) for how in ("closed", "read")]
    clicks = [~np.isnan(predictions.xy[:, 0]) & (predictions.xy[:, 0] > 0) for predictions in read]
    for good in (*clicks, *(predictions.parsed for predictions in read)):
        if good.any():
            return forms[int(good.argmax())]
    return None
