"""Verifiers that a config names: registered ones, and anybody's own by ``module:attr`` or ``/path/file.py:attr``."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from grounding_rewards.columns import Rollouts
from grounding_rewards.errors import RecipeError, near
from grounding_rewards.loading import absolute, load, names_code
from grounding_rewards.plain import frozen
from grounding_rewards.spaces import Floats
from grounding_rewards.verifiers.base import Verifier, verifier

_BOUNDS = ("low", "high", "needs")


def verifier_named(name: str, arguments: Mapping[str, Any] | None = None) -> Verifier:
    """A verifier from its name and plain arguments, as a config has them.

    Args:
        name: a registered verifier's (``"hit"``, ``"plugin/name"``); or ``module:attr`` or ``/path/file.py:attr`` of
            a verifier, of a class of verifiers, or of a function that maps ``Rollouts`` to n scores.
        arguments: what the class or the function takes. A function must be given ``low`` and ``high``, the bounds of
            its scores, and may be given ``needs``.

    Raises:
        RecipeError: there is no such verifier, or an argument is unknown, missing or not to its liking.

    >>> verifier_named("hit", {"point_radius": 14}).point_radius
    14
    >>> verifier_named("hti")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown verifier 'hti'; did you mean 'hit'? ...
    """
    from grounding_rewards.plugins import registry

    plain = frozen(arguments or {})
    known = registry().verifiers
    if name in known:
        return _built(name, known[name], plain)
    if names_code(name):
        return OwnVerifier(absolute(name), tuple(plain.items()))
    raise RecipeError(
        f"unknown verifier {name!r}{near(name, known) or '.'} There are: {', '.join(known)}; "
        "your own by module:attr or /path/file.py:attr"
    )


@dataclass(frozen=True)
class OwnVerifier:
    """A verifier that a config names by its place in code. It is compared and pickled by that name.

    Args:
        name: ``module:attr`` or ``/path/file.py:attr``.
        arguments: what it was built with.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()
    inner: Verifier = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        built = _built(self.name, load(self.name), dict(self.arguments))
        object.__setattr__(self, "inner", built)

    def __reduce__(self) -> tuple[type[OwnVerifier], tuple[Any, ...]]:
        return OwnVerifier, (self.name, self.arguments)

    @property
    def low(self) -> float:
        return self.inner.low

    @property
    def high(self) -> float:
        return self.inner.high

    @property
    def needs(self) -> frozenset[str]:
        return self.inner.needs

    def __call__(self, rollouts: Rollouts) -> Floats:
        return self.inner(rollouts)


@dataclass(frozen=True)
class _Bound:
    """A function with its further arguments filled in; equal ones are equal."""

    fn: Callable[..., Floats]
    arguments: tuple[tuple[str, Any], ...]

    @property
    def __name__(self) -> str:
        return str(getattr(self.fn, "__name__", self.fn))

    def __call__(self, rollouts: Rollouts) -> Floats:
        return self.fn(rollouts, **dict(self.arguments))


def _built(name: str, thing: Any, arguments: Mapping[str, Any]) -> Verifier:
    if isinstance(thing, type):
        built = _made(name, thing, arguments)
    elif _is_verifier(thing):
        if arguments:
            raise RecipeError(f"{name} is built already; got {', '.join(arguments)}, expected no arguments")
        built = thing
    elif callable(thing):
        built = _lifted(name, thing, arguments)
    else:
        built = thing
    if not _is_verifier(built) or not -math.inf < built.low <= built.high < math.inf:
        raise RecipeError(
            f"{name} is {built!r:.60}; expected a verifier with finite bounds low <= high, a class of them, or a "
            "function of Rollouts"
        )
    return built


def _is_verifier(thing: Any) -> TypeGuard[Verifier]:
    return not isinstance(thing, type) and callable(thing) and all(hasattr(thing, key) for key in _BOUNDS)


def _made(name: str, kind: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    _check(name, kind, arguments, skip=0)
    try:
        return kind(**arguments)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"{name}: {error}") from error


def _lifted(name: str, fn: Callable[..., Any], arguments: Mapping[str, Any]) -> Verifier:
    more = {key: value for key, value in arguments.items() if key not in _BOUNDS}
    _check(name, fn, more, skip=1)
    if not {"low", "high"} <= set(arguments):
        raise RecipeError(f"{name} is a plain function; give the bounds of its scores, such as low: 0 and high: 1")
    given = _Bound(fn, tuple(more.items())) if more else fn
    return verifier(given, low=arguments["low"], high=arguments["high"], needs=arguments.get("needs", ()))


def _check(name: str, fn: Callable[..., Any], arguments: Mapping[str, Any], skip: int) -> None:
    """Complain about arguments that do not fit, all but the first ``skip`` parameters being a config's to give."""
    try:
        signature = inspect.signature(fn)
    except ValueError:  # some functions written in C do not say what they take
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
