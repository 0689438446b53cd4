"""Verifiers and selectors that a config names: registered ones, and anybody's own by their place in code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from grounding_rewards.errors import GroundingRewardsError, RecipeError, near, short_repr
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.plugins.loading import current, load, names_code
from grounding_rewards.plugins.registry import left_out, origin
from grounding_rewards.verifiers.contract import why_invalid


@dataclass(frozen=True)
class Kind:
    """What verifiers have in common with selectors.

    Attributes:
        noun: what one is called.
        keys: what one declares; a plain function is given these in its place, the bounds at least.
        takes: what one is called with.
        lift: makes one of a plain function and these keys.
        beside: what else a config says of one, so that no argument can be called so.
        gives: what it returns.
    """

    noun: str
    keys: tuple[str, ...]
    takes: str
    lift: Callable[..., Any]
    beside: tuple[str, ...] = ()
    gives: str = "scores"

    def built(self, name: str, thing: Any, arguments: Mapping[str, Any]) -> Any:
        """One of these from what a name stands for, and plain arguments.

        Raises:
            RecipeError: it is none, or an argument is unknown, missing or not to its liking.
        """
        if isinstance(thing, type):
            self._check_names(name, thing, self.beside)
            built = _made(name, thing, arguments)
        elif callable(thing) and _is_bare(thing):
            built = self._lifted(name, thing, arguments)
        elif arguments and callable(thing):
            raise RecipeError(f"{name} is built already; got {', '.join(arguments)}, expected no arguments")
        else:
            built = thing
        if wrong := why_invalid(built, self.keys):
            what = f"a {type(built).__name__}" if callable(built) else short_repr(built)
            raise RecipeError(
                f"{name} is {what}; expected a {self.noun} with finite bounds low <= high, a class of them, or a "
                f"function of {self.takes}; this {wrong}"
            )
        return built

    def _lifted(self, name: str, fn: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        self._check_names(name, fn, (*self.keys, *self.beside))
        more = {key: value for key, value in arguments.items() if key not in self.keys}
        check_arguments(name, fn, more, skip=1)
        if not {"low", "high"} <= set(arguments):
            bounds = f"the bounds of its {self.gives}, such as low: 0 and high: 1"
            raise RecipeError(f"{name} is a plain function; give {bounds}")
        given = Bound(fn, tuple(more.items())) if more else fn
        try:
            return self.lift(given, **{key: arguments[key] for key in self.keys if key in arguments})
        except RecipeError as error:
            raise RecipeError(f"{name}: {error}") from None

    def _check_names(self, name: str, fn: Callable[..., Any], taken: tuple[str, ...]) -> None:
        """Complain of an argument that a config could not give, because what stands under its name is taken first."""
        for argument in _parameters(fn):
            if argument in taken:
                raise RecipeError(
                    f"{name}: its argument {argument!r} cannot be given, because a config means its own {argument!r} "
                    f"by that; rename it, such as {argument}_"
                )

    def named(
        self, name: Any, known: Mapping[str, Any], arguments: Mapping[str, Any] | None, own: Callable[..., Any]
    ) -> Any:
        """One of these by its name.

        Args:
            name: a registered one's; or ``module:attr`` or ``/path/file.py:attr``.
            known: the registered ones.
            arguments: what its class or function takes.
            own: makes one of a place in code and its arguments.

        Raises:
            RecipeError: there is none of that name, or an argument does not fit.
        """
        plain = frozen(arguments or {})
        if isinstance(name, str) and name in known:
            label = f"{name}{origin(known[name])}" if "/" in name else name
            return self.built(label, known[name], plain)
        if names_code(name):
            return own(current(name), tuple(plain.items()))
        hint = left_out(name) or near(name, known) or "."
        raise RecipeError(
            f"unknown {self.noun} {name!r:.80}{hint} There are: {', '.join(known)}; "
            "your own by module:attr or /path/file.py:attr"
        )


@dataclass(frozen=True)
class Own:
    """One that a config names by its place in code. It is compared and pickled by that name.

    Args:
        name: ``module:attr`` or ``/path/file.py:attr``.
        arguments: what it was built with.
    """

    kind: ClassVar[Kind]

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()
    inner: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", self.kind.built(self.name, load(self.name), dict(self.arguments)))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.name, self.arguments)

    @property
    def low(self) -> float:
        """The lowest that it returns."""
        return float(self.inner.low)

    @property
    def high(self) -> float:
        """The highest."""
        return float(self.inner.high)

    def __call__(self, table: Any) -> Any:
        """What it returns."""
        return self.inner(table)


@dataclass(frozen=True)
class Bound:
    """A function with its further arguments filled in; equal ones are equal."""

    fn: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return str(getattr(self.fn, "__name__", self.fn))

    def __call__(self, table: Any) -> Any:
        """What the function returns."""
        return self.fn(table, **dict(self.arguments))


def _made(name: str, kind: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    check_arguments(name, kind, arguments, skip=0)
    try:
        return kind(**arguments)
    except (GroundingRewardsError, TypeError, ValueError) as error:
        raise RecipeError(f"{name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise RecipeError(f"{name} cannot be built ({type(error).__name__}: {error})") from error


def check_arguments(name: str, fn: Callable[..., Any], arguments: Mapping[str, Any], skip: int) -> None:
    """Complain about arguments that do not fit, all but the first ``skip`` parameters being a config's to give.

    Raises:
        RecipeError: one is unknown or missing.
    """
    signature = _signature(fn)
    if signature is None:
        return
    parameters = dict(list(signature.parameters.items())[skip:])
    anything = any(each.kind == inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    for key in arguments:
        if key not in parameters and not anything:
            takes = ", ".join(parameters) or "no arguments"
            raise RecipeError(f"{name}: unknown argument {key!r}{near(key, parameters) or '.'} It takes: {takes}")
    try:
        signature.bind(*[None] * skip, **arguments)
    except TypeError as error:
        raise RecipeError(f"{name}: {error}") from None


def _is_bare(thing: Any) -> bool:
    """Whether it declares no bounds, as a plain function does not."""
    try:
        return not (hasattr(thing, "low") or hasattr(thing, "high"))
    except Exception:  # a property of somebody's class
        return False


def _signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    """What something takes; None for some functions written in C, which do not say."""
    try:
        return inspect.signature(fn)
    except ValueError:
        return None


def _parameters(fn: Callable[..., Any]) -> tuple[str, ...]:
    signature = _signature(fn)
    return tuple(signature.parameters) if signature else ()
