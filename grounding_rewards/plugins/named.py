"""Verifiers and methods of selection that a config names: registered ones, and anybody's own by their place in code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import GroundingRewardsError, RecipeError, near, short_repr
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.plugins.loading import current, load, names_code
from grounding_rewards.plugins.registry import left_out, origin, registry
from grounding_rewards.verifiers.contract import SELECTOR as BOUNDS
from grounding_rewards.verifiers.contract import VERIFIER, is_bound, why_invalid
from grounding_rewards.verifiers.terms import Term, Verifier, verifier

if TYPE_CHECKING:
    from grounding_rewards.pool import SampleStats, Selector


def verifier_named(name: str, arguments: Mapping[str, Any] | None = None) -> Verifier:
    """Build a verifier from its name and plain arguments, as a config has them.

    Args:
        name: a registered verifier's (``"hit"``, ``"plugin/name"``); or ``module:attr`` or ``/path/file.py:attr`` of
            a verifier, of a class of verifiers, or of a function that maps ``Rollouts`` to n scores.
        arguments: what the class or the function takes. A function must be given ``low`` and ``high``, the bounds of
            its scores, and may be given ``needs``. Where a class takes a verifier, these say its name, or
            ``{"verifier": NAME, ...}``.

    Raises:
        RecipeError: there is no such verifier, or an argument is unknown, missing or invalid.

    >>> verifier_named("hit", {"point_radius": 14}).point_radius
    14
    >>> verifier_named("dast_length", {"correct": {"verifier": "hit", "point_radius": 14}}).correct.point_radius
    14
    >>> verifier_named("hti")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown verifier 'hti'; did you mean 'hit'? ...
    """
    term: Verifier = OwnVerifier.named(name, registry().verifiers, arguments or {})
    return term


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
    >>> selector("bnad")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown selector 'bnad'; did you mean 'band'? There are: band, ...
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
    kind = getattr(method.inner if isinstance(method, NamedTerm) else method, "kind", SELECTOR)
    if kind not in _COMMANDS:
        raise RecipeError(f"{short_repr(method)} has kind {short_repr(kind)}; expected one of {', '.join(_COMMANDS)}")
    return str(kind)


def method_named(config: Mapping[str, Any], kind: str | None = None) -> Any:
    """Build a method of selection from a mapping with ``name`` and arguments; of any kind where None is asked for.

    Raises:
        RecipeError: there is no such method of this kind, or an argument is unknown, missing or invalid.

    >>> method_named({"name": "pods", "keep": 4}, "allocation")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown allocation 'pods'; pods chooses rollouts: `pool rollouts`. There ...
    """
    noun = kind or "method"
    if not isinstance(config.get("name"), str):
        raise RecipeError(f'{noun} without a name: got {short_repr(config)}; expected such as {{"name": "band"}}')
    every, name = registry().methods, config["name"]
    arguments = frozen({key: value for key, value in config.items() if key != "name"})
    known = every[name] if name in every else load(name) if names_code(name) else None
    if known is None or kind not in (None, kind_of(known)):
        there = [each for each in every if kind in (None, kind_of(every[each]))]
        hint = left_out(name) or near(name, there) or "."
        if known is not None:
            what = "is a plain function, and so a selector" if inspect.isfunction(known) else _COMMANDS[kind_of(known)]
            hint = f"; {name} {what}."
        raise RecipeError(
            f"unknown {noun} {name!r:.80}{hint} There are: {', '.join(there)}; your own by module:attr or "
            "/path/file.py:attr"
        )
    return OwnMethod.named(name, every, arguments)


@dataclass(frozen=True)
class NamedTerm:
    """Verifier or selector that a config names by its place in code. It is compared and pickled by that name.

    Args:
        name: ``module:attr`` or ``/path/file.py:attr``.
        arguments: what it was built with.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()
    inner: Any = field(init=False, repr=False, compare=False)

    noun: ClassVar[str]
    described: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]]
    """Names that one declares; of a plain function the config gives them, the bounds at least."""
    taken: ClassVar[tuple[str, ...]] = ()
    """Further keys of a config, after which no argument can be called."""
    takes: ClassVar[str]
    gives: ClassVar[str]
    lift: ClassVar[Callable[..., Any]]
    """Makes one of a plain function and what it declares."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", self.built(self.name, load(self.name), dict(self.arguments)))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.name, self.arguments)

    @property
    def low(self) -> float:
        """The lowest number that it returns."""
        return float(self.inner.low)

    @property
    def high(self) -> float:
        """The highest."""
        return float(self.inner.high)

    def __call__(self, table: Any) -> Any:
        """Return the numbers of n rows."""
        return self.inner(table)

    @classmethod
    def named(cls, name: Any, known: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
        """Build a registered one, or one by its place in code."""
        plain = frozen(arguments)
        if isinstance(name, str) and name in known:
            label = f"{name}{origin(known[name])}" if "/" in name else name
            return cls.built(label, known[name], plain)
        if names_code(name):
            return cls(current(name), tuple(plain.items()))
        hint = left_out(name) or near(name, known) or "."
        raise RecipeError(
            f"unknown {cls.noun} {name!r:.80}{hint} There are: {', '.join(known)}; "
            f"your own by module:attr or /path/file.py:attr{cls.described}"
        )

    @classmethod
    def built(cls, name: str, thing: Any, arguments: Mapping[str, Any]) -> Any:
        """Build one from what a name stands for, and plain arguments."""
        if isinstance(thing, type):
            cls._check_names(name, thing, cls.taken)
            built = made(name, thing, arguments)
        elif callable(thing) and _is_bare(thing):
            built = cls._lifted(name, thing, arguments)
        elif arguments and callable(thing):
            raise RecipeError(f"{name} is built already; got {', '.join(arguments)}, expected no arguments")
        else:
            built = thing
        if wrong := why_invalid(built, cls.keys):
            what = f"a {type(built).__name__}" if callable(built) else short_repr(built)
            raise RecipeError(
                f"{name} is {what}; expected a {cls.noun} with finite bounds low <= high, a class of them, or a "
                f"function of {cls.takes}; this {wrong}"
            )
        return built

    @classmethod
    def _lifted(cls, name: str, fn: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        cls._check_names(name, fn, (*cls.keys, *cls.taken))
        more = {key: value for key, value in arguments.items() if key not in cls.keys}
        _check_arguments(name, fn, more, skip=1)  # the first parameter is the table
        if not {"low", "high"} <= set(arguments):
            bounds = f"the bounds of its {cls.gives}, such as low: 0 and high: 1"
            raise RecipeError(f"{name} is a plain function; give {bounds}")
        function = Bound(fn, tuple(more.items())) if more else fn
        try:
            return cls.lift(function, **{key: arguments[key] for key in cls.keys if key in arguments})
        except RecipeError as error:
            raise RecipeError(f"{name}: {error}") from None

    @staticmethod
    def _check_names(name: str, fn: Callable[..., Any], taken: tuple[str, ...]) -> None:
        """Complain of an argument that a config could not give, because what stands under its name is taken first."""
        signature = _signature(fn)
        for argument in signature.parameters if signature else ():
            if argument in taken:
                raise RecipeError(
                    f"{name}: its argument {argument!r} cannot be given, because a config means its own {argument!r} "
                    f"by that; rename it, such as {argument}_"
                )


class OwnVerifier(NamedTerm, Term):
    """Verifier of one's own."""

    described = "; docs/reference/verifiers.md describes them"
    noun, keys, taken, takes, gives = "verifier", VERIFIER, ("verifier", "weight"), "Rollouts", "scores"
    lift = staticmethod(verifier)

    @property
    def within(self) -> tuple[Any, ...]:
        """The verifier that the name stands for."""
        return (self.inner,)


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


class OwnMethod(NamedTerm):
    """Method of one's own."""

    noun, keys, takes, gives = "selector", BOUNDS, "SampleStats", "weights"
    lift = staticmethod(_selector)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that a choice reads."""
        return tuple(self.inner.needs)

    @property
    def samples_apart(self) -> bool:
        """True for a choice of each sample's rollouts by these alone."""
        return bool(getattr(self.inner, "samples_apart", False))


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
    return verifier_named(name, config) if isinstance(name, str) else value


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
