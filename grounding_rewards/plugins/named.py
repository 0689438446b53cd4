"""Verifiers, methods, engines and dialects that a config names, built from plain arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import GroundingRewardsError, RecipeError, near, short_repr
from grounding_rewards.parsing.reading import check_patterns
from grounding_rewards.plugins.loading import current, load, names_code
from grounding_rewards.plugins.registry import frozen, is_dialect, origin_of, registry, thing_named, unknown
from grounding_rewards.verifiers.terms import BOUNDS, VERIFIER, is_bound, verifier, why_invalid

if TYPE_CHECKING:
    from grounding_rewards.pool import SampleStats, Selector


def build(kind: str, name: Any, arguments: Mapping[str, Any] | None = None) -> Any:
    """Build a verifier, a method or an engine from its name and plain arguments, or return the dialect of a name.

    A name is a registered one (``"hit"``, ``"plugin/name"``); or ``module:attr`` or ``/path/file.py:attr`` of one, of a
    class of them, or of a plain function of n rows: ``Rollouts`` to n scores, ``SampleStats`` to n weights. A function
    must be given ``low`` and ``high``, the bounds of what it returns, and as a verifier may be given ``needs``. Where a
    class takes a verifier, its argument is the name of one, or ``{"verifier": NAME, ...}``.
    """
    thing, plain = thing_named(kind, name), frozen(arguments or {})
    if kind in _OWN and name not in getattr(registry(), kind):
        return _OWN[kind](current(name), tuple(plain.items()))
    label = f"{name}{origin_of(name)}"
    built = _built(kind, label, thing, plain)
    if kind == "parsers" and ("/" in name or ":" in name):  # tests check those that are built in: it takes time
        try:
            check_patterns(built)
        except RecipeError as error:
            raise RecipeError(f"{label}: {error}") from error
    return built


def selector(name: str | Mapping[str, Any], /, **arguments: Any) -> Selector:
    """Build a selector from its name and plain arguments, as a config has them.

    Args:
        name: a registered selector's (``"band"``, ``"plugin/name"``); or ``module:attr`` or ``/path/file.py:attr`` of
            a selector, of a class of them, or of a function that maps ``SampleStats`` to weights; or a mapping with
            ``name`` and arguments.
        arguments: what the class or the function takes. A function must be given ``low`` and ``high``, the bounds of
            its weights.

    Raises:
        RecipeError: there is no such selector, or an argument is unknown, missing or invalid.

    >>> selector("band", low_rate=0.25) == selector({"name": "band", "low_rate": 0.25})
    True
    """
    config: dict[str, Any] = dict(name) if isinstance(name, Mapping) else {"name": name}
    term: Selector = method_named({**config, **arguments}, SELECTOR)
    return term


SELECTOR, ALLOCATION, CHOICE = "selector", "allocation", "choice"
"""Kinds of methods: weights of samples, numbers of further rollouts, and rollouts that are kept."""

_COMMANDS = {
    SELECTOR: "is a selector: `pool next --selector`",
    ALLOCATION: "allocates rollouts: `pool allocate`",
    CHOICE: "chooses rollouts: `pool rollouts`",
}


def kind_of(method: Any) -> str:
    """Return the kind of a method, or of a class of methods; a function gives weights."""
    kind = getattr(method, "kind", SELECTOR)
    if kind not in _COMMANDS:
        raise RecipeError(f"{short_repr(method)} has kind {short_repr(kind)}; expected one of {', '.join(_COMMANDS)}")
    return str(kind)


def method_named(config: Mapping[str, Any], kind: str | None = None) -> Any:
    """Build a method of selection from a mapping with ``name`` and arguments; of any kind where None is asked for."""
    noun, every, name = kind or "method", registry().methods, config.get("name")
    if not isinstance(name, str):
        raise RecipeError(f'{noun} without a name: got {short_repr(config)}; expected such as {{"name": "band"}}')
    known = thing_named("methods", name) if name in every or names_code(name) else None
    if known is None or kind not in (None, kind_of(known)):
        there = [each for each in every if kind in (None, kind_of(every[each]))]
        hint = ""
        if known is not None:
            what = "is a plain function, and so a selector" if inspect.isfunction(known) else _COMMANDS[kind_of(known)]
            hint = f"; {name} {what}."
        raise unknown(noun, name, there, hint)
    return build("methods", name, {key: value for key, value in config.items() if key != "name"})


@dataclass(frozen=True)
class NamedTerm:
    """Verifier or method that a config names by its place in code. It is compared and pickled by that name."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()
    inner: Any = field(init=False, repr=False, compare=False)

    of: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", _built(self.of, self.name, load(self.name), dict(self.arguments)))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.name, self.arguments)

    def __getattr__(self, name: str) -> Any:
        """Return what the name stands for declares: bounds, needs and the like."""
        if name == "fn" or name.startswith("__") or "inner" not in vars(self):  # in errors it goes by its place
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __call__(self, table: Any) -> Any:
        """Return the numbers of n rows."""
        return self.inner(table)


class OwnVerifier(NamedTerm):
    """Verifier of one's own."""

    of = "verifiers"

    @property
    def within(self) -> tuple[Any, ...]:
        """The verifier that the name stands for."""
        return (self.inner,)


class OwnMethod(NamedTerm):
    """Method of one's own."""

    of = "methods"


_OWN: Mapping[str, type[NamedTerm]] = {kind.of: kind for kind in (OwnVerifier, OwnMethod)}


@dataclass(frozen=True)
class FunctionSelector:
    """Plain function as a selector."""

    fn: Callable[[SampleStats], Floats]
    low: float
    high: float

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        return self.fn(stats)


def _selector(fn: Callable[..., Any], *, low: Any, high: Any) -> FunctionSelector:
    if not (is_bound(low) and is_bound(high)) or low > high:
        raise RecipeError(f"got bounds {short_repr(low)} and {short_repr(high)}; expected finite numbers, low <= high")
    return FunctionSelector(fn, float(low), float(high))


_LIFTS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...], str, str]] = {
    "verifiers": (verifier, VERIFIER, "Rollouts", "scores"),
    "methods": (_selector, BOUNDS, "SampleStats", "weights"),
}
"""Function that makes one of a plain function, attributes of one, and what such a function takes and gives."""

_TAKEN = {"verifiers": ("verifier", "weight")}
"""Keys that a config means itself, after which no argument can be called."""


@dataclass(frozen=True)
class Bound:
    """Function with its further arguments filled in; two of the same are equal."""

    fn: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return str(getattr(self.fn, "__name__", self.fn))

    def __call__(self, table: Any) -> Any:
        """Return what the function returns."""
        return self.fn(table, **dict(self.arguments))


def _built(kind: str, name: str, thing: Any, arguments: Mapping[str, Any]) -> Any:
    """Build one from what a name stands for, and plain arguments."""
    if kind == "engines" or (isinstance(thing, type) and kind != "parsers"):
        _check_names(name, thing, _TAKEN.get(kind, ()))
        built = made(name, thing, arguments)
    elif kind in _LIFTS and callable(thing) and _is_bare(thing):
        built = _lifted(kind, name, thing, arguments)
    elif arguments and callable(thing):
        raise RecipeError(f"{name} is built already; got {', '.join(arguments)}, expected no arguments")
    else:
        built = thing
    if wrong := _fault(kind, built):
        what = f"a {type(built).__name__}" if callable(built) and kind in _LIFTS else short_repr(built)
        raise RecipeError(f"{name} is {what}; expected {wrong}")
    return built


def _fault(kind: str, built: Any) -> str:
    """Return what was expected of a thing of a kind; "" where it is one."""
    if kind == "parsers":
        return "" if is_dialect(built) else "a dialect with name, names and one, such as a PatternDialect"
    if kind == "engines":
        starts = hasattr(built, "model") and callable(getattr(built, "start", None))
        return "" if starts else "an engine, with model and start"
    _, keys, takes, _ = _LIFTS[kind]
    wrong = why_invalid(built, keys)
    noun = "selector" if keys == BOUNDS else "verifier"
    one = f"a {noun} with finite bounds low <= high, a class of them, or a function of {takes}"
    return wrong and f"{one}; this {wrong}"


def _lifted(kind: str, name: str, fn: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    lift, keys, _, gives = _LIFTS[kind]
    _check_names(name, fn, (*keys, *_TAKEN.get(kind, ())))
    more = {key: value for key, value in arguments.items() if key not in keys}
    _check_arguments(name, fn, more, skip=1)  # the first parameter is the table
    if not {"low", "high"} <= set(arguments):
        bounds = f"the bounds of its {gives}, such as low: 0 and high: 1"
        raise RecipeError(f"{name} is a plain function; give {bounds}")
    function = Bound(fn, tuple(more.items())) if more else fn
    try:
        return lift(function, **{key: arguments[key] for key in keys if key in arguments})
    except RecipeError as error:
        raise RecipeError(f"{name}: {error}") from None


def _check_names(name: str, fn: Callable[..., Any], taken: tuple[str, ...]) -> None:
    """Complain of an argument that a config could not give, because what stands under its name is taken first."""
    signature = _signature(fn)
    for argument in signature.parameters if signature else ():
        if argument in taken:
            raise RecipeError(
                f"{name}: its argument {argument!r} cannot be given, because a config means its own {argument!r} "
                f"by that; rename it, such as {argument}_"
            )


def made(name: str, kind: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Build an object of a class from plain arguments."""
    _check_arguments(name, kind, arguments, skip=0)
    known = fields(kind) if is_dataclass(kind) else ()
    inner = {each.name for each in known if each.metadata.get("takes") == "verifier"}
    try:
        return kind(**{key: _verifier(value) if key in inner else value for key, value in arguments.items()})
    except (GroundingRewardsError, TypeError, ValueError) as error:
        raise RecipeError(f"{name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise RecipeError(f"{name} cannot be built ({type(error).__name__}: {error})") from error


def _verifier(value: Any) -> Any:
    """Build a verifier from its name, or ``{"verifier": NAME, ...}``; return anything else as it is."""
    config = {"verifier": value} if isinstance(value, str) else dict(value) if isinstance(value, Mapping) else {}
    name = config.pop("verifier", None)
    return build("verifiers", name, config) if isinstance(name, str) else value


def _check_arguments(name: str, fn: Callable[..., Any], arguments: Mapping[str, Any], skip: int) -> None:
    """Complain about arguments that do not fit, all but the first ``skip`` parameters being a config's to give."""
    signature = _signature(fn)
    if signature is None:
        return
    parameters = dict(list(signature.parameters.items())[skip:])
    anything = any(each.kind == inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    for key in arguments:
        if key not in parameters and not anything:
            takes = ", ".join(parameters) or "no arguments"
            raise RecipeError(f"{name}: unknown argument {key!r}{near(key, parameters) or '.'} It takes: {takes}")
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [key for key, each in parameters.items() if each.default is each.empty and each.kind in named]
    if missing := [key for key in needed if key not in arguments]:
        raise RecipeError(f"{name}: needs {', '.join(missing)}; it takes: {', '.join(parameters)}")
    try:
        signature.bind(*[None] * skip, **arguments)  # of positional arguments
    except TypeError as error:
        raise RecipeError(f"{name}: {error}") from None


def _is_bare(thing: Any) -> bool:
    """Tell whether a thing declares no bounds, as a plain function does not."""
    try:
        return not (hasattr(thing, "low") or hasattr(thing, "high"))
    except Exception:  # a property of a third-party class
        return False


def _signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    """Return what something takes; None for some functions written in C, which do not say."""
    try:
        return inspect.signature(fn)
    except ValueError:
        return None
