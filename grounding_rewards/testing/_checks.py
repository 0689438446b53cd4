"""Parts of all checks: calls that must not raise, and messages that name the fault."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.errors import short_repr
from grounding_rewards.verifiers.terms import why_invalid

T = TypeVar("T")

TOLERANCE = 1e-9
"""Largest difference of sums over a group, and of scores of moved places: the order of additions rounds."""


brief = partial(short_repr, limit=300)


def quietly(what: str, run: Callable[[], T], *, settled: bool = False) -> T:
    """Return the result of a call that may not raise, warn or print, nor change shared state where ``settled``."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            if settled:  # the same seed again shows, once a number was drawn
                random.random(), np.random.random()  # noqa: NPY002
            before = _shared() if settled else {}
            result = run()
            after = _shared() if settled else {}
    except (Exception, SystemExit) as error:  # exit() in a reward ends a trainer
        raise AssertionError(f"{what} raises {type(error).__name__}: {brief(str(error))}") from error
    changed = [name for name, value in before.items() if after[name] != value]
    if changed:
        raise AssertionError(f"{what} changes {' and '.join(changed)}, which all code shares: leave it alone")
    if printed.getvalue():
        raise AssertionError(f"{what} prints {brief(printed.getvalue())}")
    return result


def _shared() -> dict[str, Any]:
    """Return the state of the process that a verifier could change for all other code."""
    # A number drawn moves ``pos``, a seed set changes ``key``: bytes, for arrays have no plain ==.
    drawn: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    return {
        "the state of random": random.getstate(),
        "the state of numpy.random": (drawn["state"]["pos"], drawn["state"]["key"].tobytes()),
        "numpy's handling of errors": np.geterr(),
        "the filters of warnings": list(warnings.filters),
    }


def same_bits(ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare rows to the last bit: NaN equals NaN, and -0.0 is not 0.0. No row of two lengths is equal."""
    if len(ours) != len(theirs):
        return np.zeros(max(len(ours), len(theirs)), dtype=np.bool_)
    if len(ours) == 0 or ours.dtype == np.object_:  # neither can be viewed as bytes
        return np.array([one == other for one, other in zip(ours, theirs, strict=True)], dtype=np.bool_)
    shape = (len(ours), -1)
    bits = [np.ascontiguousarray(side).reshape(shape).view(np.uint8) for side in (ours, theirs)]
    equal: NDArray[np.bool_] = (bits[0] == bits[1]).all(axis=1)
    return equal


def close(ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare rows up to rounding."""
    equal: NDArray[np.bool_] = np.abs(ours - theirs) <= TOLERANCE * np.maximum(1.0, np.abs(theirs))
    return equal


def survives_copies(name: str, thing: Any) -> None:
    """Check that a pickled or copied reward works and equals the first: trainers send rewards to other processes."""
    ways: dict[str, Callable[[], Any]] = {
        "pickled": lambda: pickle.loads(pickle.dumps(thing)),  # nosec B301
        "copied": lambda: copy.deepcopy(thing),
    }
    for verb, make in ways.items():
        try:
            other = make()
        except Exception as error:
            raise AssertionError(f"{name} cannot be {verb}: {type(error).__name__}: {brief(str(error))}") from error
        if other != thing:
            raise AssertionError(f"{name} does not equal itself {verb}: make it a frozen dataclass")
    try:
        same = hash(thing) == hash(copy.deepcopy(thing))
    except TypeError as error:
        raise AssertionError(
            f"{name} has no hash ({error}): make it a frozen dataclass, with tuples for lists"
        ) from None
    if not same:
        raise AssertionError(f"{name} has another hash than its copy, which equals it: make it a frozen dataclass")


@contextlib.contextmanager
def declared(name: str, keys: Sequence[str], thing: Any) -> Iterator[None]:
    """Check that a verifier or a method declares what it must, can be copied, and declares the same at the end."""
    if wrong := why_invalid(thing, keys):
        raise AssertionError(f"{name} {wrong}")
    before = tuple(getattr(thing, key) for key in keys)
    survives_copies(name, thing)
    yield
    after = tuple(getattr(thing, key) for key in keys)
    if after != before:
        raise AssertionError(f"{name} declares {', '.join(keys)} as {after}, and {before} before: expected the same")


def members(groups: Sequence[int] | None, rows: int) -> list[list[int]]:
    """List the units that can be scored alone: the rows of each group, in order, or single rows without groups."""
    if groups is None:
        return [[row] for row in range(rows)]
    rows_of: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    return list(rows_of.values())
