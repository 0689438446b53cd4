"""Options checked by their annotations: a value that does not fit is a RecipeError when the thing is built.

A field or a parameter says what it takes: ``Share``, ``Length`` and the other ranges here, a ``Literal``, ``bool``,
``tuple[str, ...]`` or ``Annotated`` with a ``Fit``, each maybe with ``None``. Any other annotation takes anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError


class Range(NamedTuple):
    """Numbers from ``low`` to ``high``, or above ``low``, or below ``high``, or whole ones."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False
    whole: bool = False

    def holds(self, number: Any) -> bool:
        """Return whether a value is a number in the range."""
        return (
            is_number(number)
            and (self.low < number if self.above else self.low <= number)
            and (number < self.high if self.below else number <= self.high)
            and not (self.whole and number != int(number))
        )

    def __str__(self) -> str:
        start = f" {'above' if self.above else 'from'} {self.low:g}" if math.isfinite(self.low) else " that is finite"
        end = f" to {'below ' * self.below}{self.high:g}" if math.isfinite(self.high) else ""
        return f"a {'whole ' * self.whole}number{start}{end}"


Number = Annotated[float, Range()]
Length = Annotated[float, Range(0)]
Positive = Annotated[float, Range(0, above=True)]
Share = Annotated[float, Range(0, 1)]
Part = Annotated[float, Range(0, 1, above=True)]
Discount = Annotated[float, Range(0, 1, below=True)]
ScreenShare = Annotated[float, Range(0), "of the screen"]
"""A length as a share of the screen, which asks for the size of the image."""

Count = Annotated[int, Range(1, whole=True)]
Whole = Annotated[int, Range(0, whole=True)]

Fit = Callable[[Any], Any]
"""Returns a value as it is kept, or raises a ValueError that says what is expected."""


def check(owner: object) -> None:
    """Check the fields of a dataclass by their annotations, and keep what they take in one form."""
    for name, fit in _of_class(cast(Hashable, type(owner))):
        value = getattr(owner, name)
        try:
            kept = fit(value)
        except ValueError as error:
            raise wrong(owner, name, str(error)) from None
        if kept is not value:
            object.__setattr__(owner, name, kept)


def checked(fn: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a function, checked by its annotations."""
    fits = _fits(fn)
    kept = dict(options)
    for name, value in options.items():
        try:
            kept[name] = fits[name](value) if name in fits else value
        except ValueError as error:
            raise RecipeError(f"option {name}: got {value!r:.60}; expected {error}") from None
    return kept


@cache
def screen_shares(kind: Hashable) -> tuple[str, ...]:
    """Return the fields of a dataclass that are a ``ScreenShare``."""
    return tuple(name for name, hint in _hints(kind).items() if ScreenShare in (hint, *get_args(hint)))


@cache
def _of_class(kind: Hashable) -> tuple[tuple[str, Fit], ...]:
    return tuple(_fits(kind).items())


def _hints(thing: Any) -> dict[str, Any]:
    try:
        return get_type_hints(thing, include_extras=True)
    except Exception:  # a plugin's annotations need not be names that are there when it runs
        return {}


def _fits(thing: Any) -> dict[str, Fit]:
    fits = {name: _fit(hint) for name, hint in _hints(thing).items() if name != "return"}
    return {name: fit for name, fit in fits.items() if fit is not None}


def _fit(hint: Any) -> Fit | None:
    """Return the check that an annotation asks for; None where it takes anything."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    one = [kind for kind in kinds if kind is not NoneType]
    choices = tuple(value for kind in one if get_origin(kind) is Literal for value in get_args(kind))
    marks = [mark for kind in one for mark in getattr(kind, "__metadata__", ())]
    ranges, own = [mark for mark in marks if isinstance(mark, Range)], [mark for mark in marks if callable(mark)]
    if len(ranges) == len(one) == 1:
        fit: Fit = lambda value: _number(value, ranges[0])  # noqa: E731
    elif len(own) == len(one) == 1:
        fit = own[0]
    elif choices and all(get_origin(kind) is Literal for kind in one):
        fit = lambda value: _choice(value, choices)  # noqa: E731
    elif one == [bool]:
        fit = _truth
    elif one == [tuple[str, ...]]:
        fit = _texts
    else:
        return None
    return (lambda value: None if value is None else fit(value)) if len(one) < len(kinds) else fit


def _number(value: Any, within: Range) -> Any:
    if not within.holds(value):
        raise ValueError(within)
    return int(value) if within.whole else value


def _choice(value: Any, choices: tuple[Any, ...]) -> Any:
    if not isinstance(value, str | int) or value not in choices:
        raise ValueError(f"one of {', '.join(map(str, choices))}")
    return value


def _truth(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of texts")
    if isinstance(value, tuple):
        return value
    # A tuple has a hash. Sorted, because a set has no order of its own, and equal options must be equal.
    return tuple(value if isinstance(value, list) else sorted(value))


def is_number(value: Any) -> bool:
    """Return True for a finite number up to ±1e12; booleans are not numbers."""
    # The limit also refuses NaN and infinities.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= COORDINATE_LIMIT


def number(owner: object, name: str, low: float, high: float, *, above: bool = False) -> None:
    """Check that a field is a number in a range that other fields decide; raise a RecipeError where it is none."""
    try:
        _number(getattr(owner, name), Range(low, high, above))
    except ValueError as error:
        raise wrong(owner, name, str(error)) from None


def wrong(owner: object, name: str, expected: str) -> RecipeError:
    """Return the error about an option."""
    return RecipeError(f"{type(owner).__name__}({name}=): got {getattr(owner, name)!r:.80}; expected {expected}")
