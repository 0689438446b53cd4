"""Contract of verifiers and selectors: one check of declarations and one of results, wherever they are used."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, near, short_repr

VERIFIER = ("low", "high", "needs")
SELECTOR = ("low", "high")
"""Attributes that each declares."""

KNOWN = {
    "needs": ("groups", "screen", "trajectories", "points"),
    "reads": ("extras", "token_lengths"),
    "judges": ("bbox", "polygon", "circle", "point", "refusal", "action"),
}
"""Names that a verifier declares: its needs beside the rows themselves, the further columns that it reads, and the
kinds of target that it judges. The last two may be left out."""

_LIFT = {"verifier": "verifier(fn, low=, high=)", "selector": 'selector("module:fn", low=, high=)'}
_FLOAT64 = np.dtype(np.float64)
_NUMBERS = "fiub"  # kinds of dtype


def is_bound(value: Any) -> bool:
    """Return True for a finite number, numpy's included, but no boolean: a possible bound."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of 400 digits
        return False


def known_names(key: str, declared: Any) -> frozenset[str]:
    """Read names of ``KNOWN[key]``: one as a text, or several."""
    names = (
        [declared] if isinstance(declared, str) else list(declared) if isinstance(declared, Iterable) else [declared]
    )
    for name in names:
        if name not in KNOWN[key]:
            hint = near(name, KNOWN[key]) or "."
            raise RecipeError(f"{key}: got {short_repr(name)}{hint} There are: {', '.join(KNOWN[key])}")
    return frozenset(names)


def why_invalid(thing: Any, keys: Sequence[str]) -> str:
    """Return why a thing is not a verifier or a selector, as the end of a sentence about it; "" where it is one."""
    noun = "verifier" if "needs" in keys else "selector"
    if isinstance(thing, type):
        return f"is a class: build it, such as {thing.__name__}()"
    if not callable(thing):
        return f"cannot be called: expected a {noun}, with __call__"
    try:
        missing = [key for key in keys if not hasattr(thing, key)]
        if missing:
            lift = f": lift a plain function with {_LIFT[noun]}" if inspect.isroutine(thing) else ""
            return f"declares no {' and no '.join(missing)}{lift}"
        low, high = thing.low, thing.high
        if not (is_bound(low) and is_bound(high)) or low > high:
            return f"declares low {short_repr(low)} and high {short_repr(high)}: expected finite numbers, low <= high"
        for key in [each for each in KNOWN if "needs" in keys and hasattr(thing, each)]:
            if not isinstance(declared := getattr(thing, key), frozenset):
                expected = f"expected a frozenset, such as frozenset({{{KNOWN[key][0]!r}}})"
                return f"declares {key} {short_repr(declared)}: {expected}"
            known_names(key, declared)
    except RecipeError as error:
        return f"declares unknown {error}"
    except Exception as error:  # a property of a third-party class
        return f"cannot say what it declares ({type(error).__name__}: {error})"
    return ""


def checked_scores(
    returned: Any, low: float, high: float, rows: int, named: Callable[[int], str] = "row {}".format
) -> Floats:
    """Read a verifier's or selector's result as n float64 numbers between its bounds; a ValueError says what came."""
    scores = returned if type(returned) is np.ndarray and returned.dtype is _FLOAT64 else _numbers(returned, rows)
    if scores.shape != (rows,):
        raise ValueError(f"returned shape {scores.shape}; expected ({rows},)")
    if rows == 1 and low <= scores.item() <= high:  # a single call: as below, at a tenth of the cost
        return scores
    inside = (scores >= low) & (scores <= high)  # NaN is not inside
    if np.count_nonzero(inside) < rows:
        row = int(np.argmin(inside))  # the first that is False
        raise ValueError(
            f"returned {scores[row]} for {named(row)}; expected {low} to {high}: clip it, or declare wider bounds"
        )
    return scores


def _numbers(returned: Any, rows: int) -> Floats:
    """Convert values that stand for numbers to float64; texts and masked arrays are refused."""
    try:
        scores = np.asarray(returned)
        if scores.dtype == np.object_ and not any(isinstance(each, str | bytes) for each in scores.flat):
            scores = scores.astype(np.float64)  # None becomes NaN
        if returned is not None and scores.dtype.kind in _NUMBERS and not isinstance(returned, np.ma.MaskedArray):
            return scores.astype(np.float64)
    except Exception:  # ragged, or a third-party class
        scores = None
    raise ValueError(f"returned {short_repr(returned)}; expected {rows} numbers")
