"""Checks of verifiers' options: a value that does not fit is a RecipeError when the verifier is built."""

from __future__ import annotations

import math
from typing import Any, get_args

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError


def is_number(value: Any) -> bool:
    """Return True for a finite number up to ±1e12; booleans are not numbers."""
    # The limit also refuses NaN and infinities.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= COORDINATE_LIMIT


def number(owner: object, name: str, low: float = 0.0, high: float = math.inf, *, above: bool = False) -> None:
    """Check that an option is a finite number from ``low`` (or above it) to ``high``.

    Raises:
        RecipeError: it is none; names the verifier and the option.
    """
    value = getattr(owner, name)
    if not is_number(value) or not low <= value <= high or (above and value == low):
        start = f"{'above' if above else 'from'} {low:g}" if math.isfinite(low) else "that is finite"
        end = f" to {high:g}" if math.isfinite(high) else ""
        raise wrong(owner, name, f"a number {start}{end}")


def whole(owner: object, name: str, least: int) -> None:
    """Check that an option is a whole number from ``least``, and keep it as an int.

    Raises:
        RecipeError: it is none; names the verifier and the option.
    """
    value = getattr(owner, name)
    if not is_number(value) or value != int(value) or value < least:
        raise wrong(owner, name, f"a whole number from {least}")
    object.__setattr__(owner, name, int(value))


def choice(owner: object, name: str, literal: Any) -> None:
    """Check that an option is one of a ``Literal``'s values.

    Raises:
        RecipeError: it is none; names the verifier and the option.
    """
    value = getattr(owner, name)
    if not isinstance(value, str | int) or value not in get_args(literal):
        raise wrong(owner, name, f"one of {', '.join(map(str, get_args(literal)))}")


def names(owner: Any, name: str) -> None:
    """Check that an option is a list of texts, and keep it as a tuple, so that the verifier can be hashed.

    Raises:
        RecipeError: it is none; names the verifier and the option.
    """
    value = getattr(owner, name)
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(item, str) for item in value):
        raise wrong(owner, name, "a list of texts")
    if not isinstance(value, tuple):
        # Sorted, because a set has no order of its own, and equal options must be equal.
        object.__setattr__(owner, name, tuple(value if isinstance(value, list) else sorted(value)))


def wrong(owner: object, name: str, expected: str) -> RecipeError:
    """Return the error about an option."""
    return RecipeError(f"{type(owner).__name__}({name}=): got {getattr(owner, name)!r:.80}; expected {expected}")
