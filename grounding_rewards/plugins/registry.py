"""Registry of what names stand for: the built-in dialects, recipes and so on, and those that plugins offer.

And options of a config as plain values that can be compared, hashed and written down, with the code that they name.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from grounding_rewards import parsing, verifiers
from grounding_rewards.errors import GroundingRewardsError, PluginError, RecipeError, near, short_repr
from grounding_rewards.plugins.loading import absolute, current, file_of, load, names_code

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import pluggy

BUILT_IN = "grounding-rewards"
GROUP = "grounding_rewards"
"""Entry points of this group are plugins."""

LOAD = "GROUNDING_REWARDS_PLUGINS"
"""Environment variable: plugins to load, separated by commas; set but empty loads none; unset loads all."""

KINDS = ("parsers", "verifiers", "recipes", "methods", "engines", "families", "layouts")
"""Kinds of thing that a plugin may offer, as the hooks call them."""

_NO_VERIFIERS = ("JudgedFormat", "StepReturn", "Verifier")  # these take functions or terms, or are the protocol
_METHODS = """
    answers:DispersionWeighted,RareCells cures:Cures,CuresRollouts dars:Dars
    dart:Dart,DartProportional,DartSteps,DartStored exploration:OutcomeExploration
    filters:Band,Every,MeanBand,MinRollouts,Source,Spread,Unsolved greso:Greso knapsack:Knapsack
    learnability:ItemResponse,Learnability,Screening mopps:Mopps moving_target:MovingTarget
    prime_rl:DifficultyBuffer,DifficultyPools rorecomp:RoRecomp step_returns:StepReturns target_size:TargetSize
    variance:D3s,Pods variance_aware:VarianceAware vip:Vip xrpo:Xrpo
"""
_PUBLISHED = """
    agentcpm-gui btl-ui gelato,gelato-pixel groundnext gta1 gui-g1 gui-g2 gui-r1 gui-rcpo,gui-rcpo-published infigui-g1
    se-gui ui-agile ui-ins ui-r1,ui-r1-dast,ui-r1-e ui-rft ui-s1 ui-venus,ui-venus-navigation
    agentfly gui-cursor gui-libra mobile-use nemo-gym orby,orby-action orby-subtask tailrl uishift
    vigorl,vigorl-uground,vigorl-web vision-reasoner vlm-r1
"""


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


def _of_recipe(module: str, name: str) -> str:
    return f"grounding_rewards.recipes.{module.replace('-', '_')}:{name.replace('-', '_')}"


PATHS: Mapping[str, Mapping[str, str]] = {
    "parsers": {name.lower(): f"grounding_rewards.parsing:{name}" for name in parsing.__all__ if name.isupper()},
    "verifiers": {
        _snake(name): f"grounding_rewards.verifiers:{name}"
        for name in sorted(verifiers.__all__)
        if name[0].isupper() and name not in _NO_VERIFIERS
    },
    "recipes": {
        **{name: _of_recipe(name, name) for name in ("action", "click", "composite")},
        **{
            name: _of_recipe(f"published.{each.partition(',')[0]}", name)
            for each in _PUBLISHED.split()
            for name in each.split(",")
        },
    },
    "methods": {
        "rorecomp" if name == "RoRecomp" else _snake(name): f"grounding_rewards.pool.methods.{file}:{name}"
        for file, _, names in (each.partition(":") for each in _METHODS.split())
        for name in names.split(",")
    },
    "engines": {
        "openai": "grounding_rewards.engines.openai:OpenAI",
        "transformers": "grounding_rewards.engines.transformers:Transformers",
        "vllm": "grounding_rewards.engines.vllm:Vllm",
    },
    "families": {},  # those of families.toml are data
    "layouts": {},  # as those of training_sets.toml
}
"""The import path of each built-in thing by kind and name, ``package.module:attribute``."""

Offer = tuple[str, str, Any]
"""A plugin: its name, its distribution, and the module or object with the hooks."""


class Names(Mapping[str, Any]):
    """Things by name, in order: built-in ones, each imported when it is asked for, and what plugins offer."""

    def __init__(self, kind: str, offered: Mapping[str, Any]) -> None:
        self._paths, self._offered = PATHS[kind], offered
        self._names = dict.fromkeys(sorted({*self._paths, *offered}))

    def __getitem__(self, name: str) -> Any:
        return load(self._paths[name]) if name in self._paths else self._offered[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Registry:
    """Everything that can be named, by kind, and the plugins beside the built-ins."""

    parsers: Mapping[str, Any]
    verifiers: Mapping[str, Any]
    recipes: Mapping[str, Any]
    methods: Mapping[str, Any]
    engines: Mapping[str, Any]
    families: Mapping[str, Any]
    layouts: Mapping[str, Any]
    plugins: tuple[Offer, ...] = ()


def registry() -> Registry:
    """Return the registry of this process: built-ins and the installed plugins."""
    if _LOADING.get():  # asked at every call, and so not in the cached function
        raise RecipeError("it builds a recipe while plugins load; do that inside a function that it registers")
    return _registry()


@cache
def _registry() -> Registry:
    wanted = chosen()
    points = [] if wanted == frozenset() else installed()  # which reads the metadata of all distributions
    known = {point.name for point in points}
    for name in sorted(wanted or ()):
        if name not in known:
            raise PluginError(f"plugin {name!r}, named in {LOAD}, is not installed; there are: {sorted(known)}")
    return collect([loaded(point) for point in points if wanted is None or point.name in wanted])


_LOADING = ContextVar("_LOADING", default=False)


@contextmanager
def _loading() -> Iterator[None]:
    """Refuse the registry while a plugin's own code runs."""
    token = _LOADING.set(True)
    try:
        yield
    finally:
        _LOADING.reset(token)


def installed() -> list[EntryPoint]:
    """The entry points of all installed plugins, loaded or not, by name."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, distribution_of(point)))


def chosen() -> frozenset[str] | None:
    """Return the names of the plugins that ``GROUNDING_REWARDS_PLUGINS`` asks for; None for all."""
    wanted = os.environ.get(LOAD)
    return None if wanted is None else frozenset(name.strip() for name in wanted.split(",") if name.strip())


def thing_named(kind: str, name: Any) -> Any:
    """Return what a config's name stands for: something registered, or code by its place."""
    known = getattr(registry(), kind)
    if isinstance(name, str) and name in known:
        return known[name]
    if names_code(name):
        return load(current(name))
    raise unknown(NOUNS[kind], name, known)


NOUNS = dict(zip(KINDS, ("dialect", "verifier", "recipe", "method", "engine", "family", "layout"), strict=True))
"""One thing of each kind, in errors."""


def unknown(noun: str, name: Any, known: Iterable[str], hint: str = "") -> RecipeError:
    """Return the error about a name that stands for nothing; ``hint`` says why, in place of the nearest name."""
    hint = hint or _left_out(name) or near(name, known) or "."
    there = f"There are: {', '.join(known)}; your own by module:attr or /path/file.py:attr"
    there += "; docs/reference/verifiers.md describes them" if noun == "verifier" else ""
    return RecipeError(f"unknown {noun} {name!r:.80}{hint} {there}")


def _left_out(name: Any) -> str:
    """Return a hint where a name is unknown because its plugin is left out; "" where that is not why."""
    plugin, slash, _ = str(name).partition("/")
    wanted = chosen()
    if not slash or wanted is None or plugin in wanted or plugin not in {point.name for point in installed()}:
        return ""
    return f"; plugin {plugin!r} is installed, but {LOAD} leaves it out."


def distribution_of(point: EntryPoint) -> str:
    """Return pip's name of the package that a plugin came with."""
    return point.dist.name if point.dist else point.value


def loaded(point: EntryPoint) -> Offer:
    """Import a plugin; a PluginError where it does not load."""
    distribution = distribution_of(point)
    try:
        with _loading():
            return point.name, distribution, point.load()
    except (Exception, SystemExit) as error:  # a script that was meant to be run ends the process that imports it
        raise PluginError(
            f"plugin {point.name!r} of {distribution} does not load ({type(error).__name__}: {error}); "
            f"fix or uninstall it, or leave it out of {LOAD}"
        ) from error


def add_origin(error: GroundingRewardsError) -> None:
    """Add the plugin that the term at fault comes from, if any, to the error's message."""
    if error.term is not None:
        error.args = (f"{error}{origin(error.term)}",)
        error.term = None  # the error can be pickled, whatever the term


def origin(thing: Any) -> str:
    """Return the plugin that a verifier, dialect, selector or recipe's function comes from, for errors; "" for none.

    Never raises, and is slow: only errors ask. The thing is an instance, or what was registered: a class or a function.
    """
    try:
        owner = _owner(registry(), thing)
    except Exception:  # whatever is wrong with a plugin, the error that asks is the one to see
        return ""
    return f" (plugin {owner[0]!r} of {owner[1]})" if owner else ""


def origin_of(name: str) -> str:
    """Return the plugin that a name is of, for errors, without a look at what it names; "" for one of ours or code."""
    plugin, slash, _ = name.partition("/")
    offers = registry().plugins if slash and not names_code(name) else ()
    return next((f" (plugin {plugin!r} of {offer[1]})" for offer in offers if offer[0] == plugin), "")


def _owner(known: Registry, thing: Any) -> Offer | None:
    """Return the plugin that offers a thing, its class or function; else the one whose package defines that."""
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
    """Return True for the same thing, or a copy that came from another process."""
    return one is other or bool(type(one) is type(other) and not inspect.isclass(one) and one == other)


def _package(thing: Any) -> str:
    """Return the package in which a module, a class or a function is; an object stands for its class."""
    name = getattr(thing, "__name__", "") if inspect.ismodule(thing) else getattr(thing, "__module__", "")
    return str(name).partition(".")[0]


def collect(plugins: Iterable[Offer]) -> Registry:
    """Run every plugin's hooks once."""
    offers = list(plugins)  # it is run through twice
    if not offers:
        return Registry(**{kind: Names(kind, {}) for kind in KINDS}, plugins=())
    import pluggy

    from grounding_rewards import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    owners = {BUILT_IN: BUILT_IN}
    for name, distribution, plugin in offers:
        if (other := owners.get(name)) is not None:
            both = f"by both {other} and {distribution}" if other != distribution else f"twice by {distribution}"
            raise PluginError(f"plugin {name!r} is offered {both}; uninstall one")
        if not _is_name(name):
            raise PluginError(f"plugin {name!r} of {distribution}: {_NAME}; rename its entry point")
        try:
            manager.register(plugin, name=name)
            manager.check_pending()  # complains of hooks that hookspecs does not have
        except (Exception, SystemExit) as error:  # a third-party object is looked at
            raise PluginError(f"plugin {name!r} of {distribution} is not valid: {error}") from error
        _check_hooks(manager, plugin, name, distribution)
        owners[name] = distribution
    return Registry(**{kind: _gather(manager, owners, kind) for kind in KINDS}, plugins=tuple(offers))


def _check_hooks(manager: pluggy.PluginManager, plugin: Any, name: str, distribution: str) -> None:
    """Complain of hooks that would never run: those without the mark, and a plugin that has none."""
    marked = [caller.name for caller in manager.get_hookcallers(plugin) or ()]
    hooks = [f"register_{kind}" for kind in KINDS]
    start = f"plugin {name!r} of {distribution}"
    if isinstance(plugin, type):
        raise PluginError(f"{start} is {short_repr(plugin)}; let its entry point name an instance of it, or a module")
    for each in sorted(set(dir(plugin)) - set(marked)):
        if (meant := _hook_meant(each, hooks)) and callable(getattr(plugin, each, None)):
            misspelt = "" if each == meant else f" and is no hook: call it {meant}"
            raise PluginError(
                f"{start}: its {each} has no mark{misspelt}; write @hookimpl above it "
                "(from grounding_rewards.hookspecs import hookimpl)"
            )
    if not marked and getattr(getattr(plugin, "__spec__", None), "_initializing", False):
        raise PluginError(f"{start} builds a recipe while it is imported; do that inside a function that it registers")
    if not marked:
        raise PluginError(
            f"{start} offers nothing: {short_repr(plugin)} has none of {', '.join(hooks)}; "
            "let its entry point name the module that has"
        )


def _hook_meant(name: str, hooks: list[str]) -> str:
    """The hook that a name is, or is misspelt from; "" for none."""
    if not name.startswith("register_"):
        return ""
    import difflib  # a good plugin has no such name without the mark

    return next(iter(difflib.get_close_matches(name, hooks, n=1, cutoff=0.85)), "")


class _Register(Struct):
    """Argument of a hook: takes what the plugin offers, while the hook runs."""

    kind: str
    plugin: str
    distribution: str
    things: dict[str, Any]
    closed: bool = False

    def __call__(self, name: str, thing: Any) -> None:
        full = f"{self.plugin}/{name}"
        noun = NOUNS[self.kind] if self.kind == "families" else self.kind[:-1]
        what, owner = f"{noun} {full!r}", f"plugin {self.plugin!r} of {self.distribution}"
        if self.closed:
            raise PluginError(f"{owner}: {what} comes too late: register_{self.kind} has returned; call register in it")
        if wrong := _wrong(self.kind, name, thing):
            raise PluginError(f"{owner}: {what}: {wrong}")
        if full in self.things:
            raise PluginError(f"{what} is offered twice by {self.distribution}; rename one")
        self.things[full] = thing


def _gather(manager: pluggy.PluginManager, owners: Mapping[str, str], kind: str) -> Names:
    things: dict[str, Any] = {}
    for implementation in getattr(manager.hook, f"register_{kind}").get_hookimpls():
        plugin, distribution = implementation.plugin_name, owners[implementation.plugin_name]
        register = _Register(kind, plugin, distribution, things)
        try:
            with _loading():
                returned = implementation.function(register)  # one by one, so that an error names the plugin
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"plugin {plugin!r} of {distribution} fails in register_{kind} ({type(error).__name__}: {error})"
            ) from error
        register.closed = True
        if returned is not None:  # a dict of things, or the rest of a hook with yield or async, would be lost
            if inspect.iscoroutine(returned):
                returned.close()  # else Python warns that nobody awaited it
            raise PluginError(
                f"plugin {plugin!r} of {distribution}: its register_{kind} returned {short_repr(returned)}; "
                "expected None: call register(name, thing) for each thing, "
                "without return, yield, async and wrapper=True"
            )
    return Names(kind, things)


_NAME = "a name is a text without spaces, ',', ':' and '/'"


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and name.isprintable() and not set(name) & set(" ,:/")


def _wrong(kind: str, name: Any, thing: Any) -> str:
    """Return the fault of something that a plugin registers; "" where there is none."""
    if not _is_name(name):
        return _NAME
    fits, expected = _FITS[kind]
    return "" if fits(thing) else f"got {short_repr(thing)}; expected {expected}"


def is_dialect(thing: Any) -> bool:
    """Return True for a dialect, False for a class of them or anything else."""
    reads = callable(getattr(thing, "one", None)) and hasattr(thing, "names")
    return reads and not isinstance(thing, type) and isinstance(getattr(thing, "name", None), str)


def makes_callables(thing: Any) -> bool:
    """Return True for what can be called, or for a class of such."""
    if isinstance(thing, type):
        return any("__call__" in vars(each) for each in thing.__mro__)
    return callable(thing)


_FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "parsers": (is_dialect, "a dialect with name, names and one, such as a PatternDialect"),
    "verifiers": (makes_callables, "a class of verifiers, a frozen dataclass with low, high, needs and __call__"),
    "recipes": (callable, "a function of keyword-only options that returns a Recipe"),
    "methods": (makes_callables, "a class of methods, a frozen dataclass with low, high and __call__"),
    "engines": (
        lambda thing: isinstance(thing, type) and callable(getattr(thing, "start", None)),
        "a class of engines, a frozen dataclass with model and start",
    ),
    "families": (lambda thing: isinstance(thing, Mapping), "a table such as [gta1] in families.toml, as a dict"),
    "layouts": (
        lambda thing: isinstance(thing, Mapping | list),
        "a table such as [uground] in training_sets.toml, as a dict, or a list of them",
    ),
}


NAMING = ("name", "verifier", "dialect", "success", "correct")
"""Options that may name code, in a recipe's dict form and among the arguments of verifiers."""


class FrozenDict(dict[str, Any]):
    """Mapping among the options of a recipe: a dict with a hash, which nothing changes."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def frozen(value: Any) -> Any:
    """Return a value of a config in one hashable form: mappings as ``FrozenDict``, lists as tuples, enums as text."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(each) for key, each in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return tuple([frozen(each) for each in value])
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return frozen(value.tolist())
    return value


def in_full(options: Any) -> Any:
    """Return plain options of a recipe with the paths of the files that they name in full."""
    return FrozenDict({key: _in_full(key, each) for key, each in options.items()})


def _in_full(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return in_full(value)
    return absolute(value) if key in NAMING and isinstance(value, str) and ".py:" in value else value


def files_named(options: Any) -> list[Path]:
    """Return the files of code that plain options name; what those files import is left out."""
    files = (file_of(name) for name in _names(options))
    return [file for file in dict.fromkeys(files) if file is not None and file.is_file()]


def plugins_named(options: Any) -> dict[str, str]:
    """Return the distributions of the plugins that plain options name, with their versions."""
    from importlib.metadata import PackageNotFoundError, version

    wanted = {name.partition("/")[0] for name in _names(options) if "/" in name and ":" not in name}
    versions = {}
    for distribution in sorted(offer[1] for offer in registry().plugins if offer[0] in wanted) if wanted else ():
        try:
            versions[distribution] = version(distribution)
        except PackageNotFoundError:  # an entry point without its distribution
            versions[distribution] = "unknown"
    return versions


def _names(options: Any) -> Iterator[str]:
    for key, value in options.items() if isinstance(options, Mapping) else ():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, Mapping):
                yield from _names(each)
            elif key in (*NAMING, "selectors") and isinstance(each, str):
                yield each
