"""Lists of what there is: recipes, model families and plugins, and the place of a trainer's adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from grounding_rewards import catalogue, parsing
from grounding_rewards._version import __version__
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.cli.render.tables import as_written, bounds_of, clipped
from grounding_rewards.coords.register import Family
from grounding_rewards.coords.spaces import PIXEL
from grounding_rewards.errors import PluginError, RecipeError, near
from grounding_rewards.explain import describe
from grounding_rewards.explain.formulas import first_line
from grounding_rewards.parsing import Dialect
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import BUILT_IN, KINDS, LOAD, Offer, Registry, collect

if TYPE_CHECKING:
    from grounding_rewards.testing import AnswerFormat

Facts = dict[str, Any]


def list_recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help=f"One recipe; else all in a table. {options.NAMED}", autocompletion=options.RECIPES
        ),
    ] = None,
    *,
    chosen: options.RecipeOptions,
    as_json: options.AsJson = False,
) -> None:
    """List the recipes, or show one: formula, parts, options, source, deviations, exploits and a scored example.

    A recipe that cannot be built without options is shown with some, which the output names.

    Example: `grounding-rewards recipes gelato --option format_weight=0.1`
    """
    if name is not None:
        facts = describe.recipe(name, chosen)
        terminal.print_json(facts) if as_json else _print_recipe(facts)
        return
    if chosen:
        raise RecipeError(f"recipes: got {', '.join(chosen)} without a NAME; expected the recipe that takes them")
    listed = [describe.entry(each) for each in catalogue.list_recipes()]
    terminal.print_json({"recipes": listed}) if as_json else _print_recipes(listed)
    for each in listed:
        if "error" in each:
            terminal.warn(f"{each['name']} is not shown: {each['error']}")


_OPTIONAL = {"paper": 10, "answer": 24, "needs": 12}
"""Columns that the list has where so much room is left for them, in this order."""


def _print_recipes(listed: Sequence[Facts]) -> None:
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
        if further := _further(each["with"]):
            console.print(layout.text(f"{each['name']} is shown with {further}"))
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


def _print_recipe(recipe: Facts) -> None:
    """Print the description of one recipe."""
    console = layout.console()
    console.print(layout.text(recipe["name"], "bold"))
    for line in recipe["formula"].splitlines():
        console.print(layout.indented(layout.text(line)))
    parts = [[part["name"], bounds_of(part), part["made_by"]] for part in recipe["parts"]]
    actions = [[action["field"], action["says"], as_written(action["example"])] for action in recipe["actions"]]
    sections = {
        "": layout.facts(_of_recipe(recipe)),
        "Parts": layout.table(["part", "range", "made by"], ["part", "range"], parts),
        "Actions in targets": layout.table(["field", "says", "example"], ["field"], actions),
        "Options": layout.table(["option", "default", "here", "meaning"], ["option", "default"], _options(recipe)),
        "Departs from the source": layout.facts([(each["name"], each["why"]) for each in recipe["deviations"]]),
        "Known exploits": layout.facts(
            (each["name"], f"{each['payoff']:.4g}: {each['what']}") for each in recipe["exploits"]
        ),
        "Example": layout.facts(_scored(recipe["example"]) if recipe["example"] else []),
    }
    for title, section in sections.items():
        layout.section(console, title, section)


def _of_recipe(recipe: Facts) -> list[tuple[str, str]]:
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
    rows = []
    for name, default in recipe["options"].items():
        here = as_written(values[name]) if name in values else ""
        meaning = re.split(r"[.:;]\s", about[name]["meaning"], maxsplit=1)[0].rstrip(".:;").replace("`", "")
        rows.append([name, "-" if default is None else as_written(default), here, meaning])
    return rows


def _scored(example: Facts) -> list[tuple[str, str]]:
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


def _further(options: Facts) -> str:
    return settings({name: value for name, value in options.items() if name != "response_space"})


_SEEN = {"code": "code", "page": "a page", "memory": "nothing yet: unchecked"}


def list_families(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="One family, the folder of a checkpoint, or auto:MODEL for a model's name; else all.",
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
        terminal.print_json(facts) if as_json else layout.console().print(layout.facts(_lines(facts)))
        return
    listed = [_facts(each) for _, each in sorted(catalogue.known_families().items())]
    if as_json:
        terminal.print_json({"families": listed})
        return
    rows = [(each["name"], each["options"]["response_space"], _further(each["options"])) for each in listed]
    layout.console().print(layout.table(["name", "answers in", "further options"], ["name", "answers in"], rows))


def _facts(family: Family) -> dict[str, Any]:
    example = {"response": family.response, "image_size": [*family.image_size], "point": [*family.point]}
    return {
        "name": family.name, "options": dict(family.options), "example": example, "source": family.source,
        "seen": family.seen, "taken": family.taken, "prompts": [*family.prompts], "prefill": family.prefill,
        "stop": [*family.stop],
    }  # fmt: skip


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    example = facts["example"]
    width, height = example["image_size"]
    x, y = example["point"]
    return [
        ("name", facts["name"]),
        *[(name, str(value)) for name, value in facts["options"].items()],
        ("example", f"{example['response']}\nmeans ({x:g}, {y:g}) in an image of {width} x {height}"),
        *[(name, ", ".join(facts[name])) for name in ("prompts", "stop") if facts[name]],
        *([("prefill", facts["prefill"])] if facts["prefill"] else []),
        *([("taken", facts["taken"])] if facts["taken"] else []),
        ("source", facts["source"]),
        ("seen in", _SEEN[facts["seen"]]),
    ]


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
        {"parsers": "dialects"}.get(kind, kind): [
            {"name": name, "says": _description(thing)}
            for name, thing in getattr(known, kind).items()
            if name.startswith(prefix)
        ]
        for kind in KINDS
    }


def _description(thing: Any) -> str:
    """Return an answer that a dialect reads; of all else the first line of its docstring; "" where there is none."""
    try:
        if isinstance(thing, Mapping | list):  # a family, or a layout's tables
            first = thing if isinstance(thing, Mapping) else thing[0]
            return str(first.get("published", "") if "has" in first else first["source"])
        if not hasattr(thing, "one"):
            return first_line(thing)
        if (form := format_of(thing)) is not None:
            return " ".join(form.right.split())
        return "" if type(thing).__module__.startswith(parsing.__name__) else first_line(thing)
    except Exception:  # somebody's code must not end the listing
        return ""


def format_of(dialect: Dialect) -> AnswerFormat | None:
    """Return the shortest format of published models that a dialect reads, one of a click if there is one."""
    from grounding_rewards.testing import ANSWER_FORMATS  # with pools, which other lists do without

    forms = sorted(ANSWER_FORMATS, key=lambda form: len(form.right))
    texts = [form.right for form in forms]
    read = [parsing.parse(texts, dialect, space=PIXEL, answers="first", thinking=how) for how in ("closed", "read")]
    clicks = [~np.isnan(predictions.xy[:, 0]) & (predictions.xy[:, 0] > 0) for predictions in read]
    for good in (*clicks, *(predictions.parsed for predictions in read)):
        if good.any():
            return forms[int(good.argmax())]
    return None


PACKAGE = "grounding_rewards_adapters"
TRAINERS = {
    "easyr1": ("{file}:compute_score",),
    "easyr1_sequential": ("{file}:compute_score",),
    "areal": ("{package}.areal.reward",),
    "nemo_gym": ("{package}.nemo_gym:GroundingServer",),
    "openenv": ("{package}.openenv:GroundingEnv",),
    "openrlhf": ("{file}",),
    "skyrl": ("{package}.skyrl:GroundingEnv",),
    "slime": ("{package}.slime.reward",),
    "swift": ("{folder}/ms_swift/plugin.py",),
    "trl": ("{file}:reward_funcs",),
    "verifiers": ("{package}.verifiers:reward",),
    "verl": ("pkg://{package}.verl", "{file}"),
}
"""Lines to print by trainer; of several any one will do."""


def where(
    trainer: Annotated[
        str,
        typer.Argument(help=f"{', '.join([*TRAINERS][:-1])} or {[*TRAINERS][-1]}.", autocompletion=lambda: [*TRAINERS]),
    ],
    as_json: options.AsJson = False,
) -> None:
    """Print where a trainer's adapter is installed, as the trainer's config names it.

    For verl two lines, of which either will do as the path of its reward function. easyr1 scores a batch in one call;
    easyr1_sequential one response at a time.

    Example: `worker.reward.reward_function=$(grounding-rewards where easyr1)`
    """
    if trainer not in TRAINERS:
        hint = near(trainer, TRAINERS) or "."
        raise RecipeError(f"where: unknown trainer {trainer!r}{hint} There are: {', '.join(TRAINERS)}")
    spec = find_spec(PACKAGE)  # which imports nothing of it
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise RecipeError(f"where: there is no package {PACKAGE}; install grounding-rewards again, from its wheel")
    folder = Path(folders[0]).absolute()
    places = [line.format(package=PACKAGE, folder=folder, file=folder / f"{trainer}.py") for line in TRAINERS[trainer]]
    if as_json:
        terminal.print_json({"places": places})
    else:
        terminal.results().writelines(f"{terminal.printable(place)}\n" for place in places)
