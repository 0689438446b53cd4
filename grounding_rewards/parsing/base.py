"""Dialects run: whatever one raises, or returns against its word, is an error that names it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import ARGUMENTS, empty
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import DialectError, GroundingRewardsError
from grounding_rewards.parsing.pattern_dialect import MAX_ANSWERS, Answers, Dialect, Found
from grounding_rewards.parsing.texts import Texts

_KINDS = {"f": "floats", "i": "signed integers", "b": "booleans", "O": "objects"}
_COLUMNS = {
    "xy": ("f", (2,)), "box": ("f", (4,)), "count": ("i", ()), "begun": ("b", ()), "refused": ("b", ()),
    "actions": ("O", ()), "dialect": ("i", ()),
}  # fmt: skip


class _Fault(NamedTuple):
    came: str
    expected: str
    row: int | None = None


def is_trusted(dialect: Any) -> bool:
    """Tell whether a dialect's class says ``trusted = True``: what it finds is as ``Found`` says, and is not checked.

    A class that is made of one says so itself, because it may find otherwise.
    """
    return vars(type(dialect)).get("trusted") is True


def find(dialect: Dialect, texts: Texts, answers: Answers) -> Found:
    """Return what a dialect finds.

    Raises:
        DialectError: it raises, or what it returns is not what ``Found`` says; its ``term`` is the dialect.
    """
    fault, cause = None, None
    try:
        found = dialect.find(texts, answers)
        if is_trusted(dialect) or not (fault := _fault(found, len(dialect.names), len(texts), answers)):
            return found
    except (Exception, SystemExit) as error:
        if isinstance(error, GroundingRewardsError) and is_trusted(dialect):
            raise
        cause = error
    name = f"dialect {getattr(dialect, 'name', dialect)!r:.80}"
    row = 0 if len(texts) == 1 else fault and fault.row
    where = f"on {len(texts)} texts" if row is None else f"on {texts.values[row]!r:.80}"
    if fault:
        wrong = DialectError(f"{name} returned {fault.came} {where}; expected {fault.expected}")
    else:
        wrong = DialectError(f"{name} raised {type(cause).__name__}: {cause} {where}")
    wrong.term = dialect
    raise wrong from cause


def _fault(found: Any, names: int, rows: int, answers: Answers) -> _Fault | None:
    """What is wrong with what a dialect returned, if anything is."""
    if not isinstance(found, Found):
        return _Fault(f"{found!r:.60}", "a Found")
    columns = {**_COLUMNS, **({} if found.usual is None else {"usual": ("b", ())})}
    for name, (kind, more) in columns.items():
        if not _fits(column := getattr(found, name), kind, (rows, *more)):
            return _Fault(f"{name}: {_told(column)}", f"{_KINDS[kind]} of shape {(rows, *more)}")
    if not isinstance(found.arguments, dict) or not set(found.arguments) <= set(ARGUMENTS):
        return _Fault(f"arguments {found.arguments!r:.60}", f"a dict of columns, of {', '.join(ARGUMENTS)}")
    for name, column in found.arguments.items():
        like = empty(name, rows)
        if not _fits(column, like.dtype.kind, like.shape):
            return _Fault(f"arguments[{name!r}]: {_told(column)}", f"{_KINDS[like.dtype.kind]} of shape {like.shape}")
    if (found.points is None) == (answers == "all") or not set(found.points or ()) <= set(range(rows)):
        return _Fault(f"points {found.points!r:.60} (answers={answers!r})", 'points by row under "all", else None')
    return _wrong_row(found, names, answers)


def _wrong_row(found: Found, names: int, answers: Answers) -> _Fault | None:
    said = found.actions.tolist()
    named = np.array([isinstance(name, str) and bool(name) for name in said], dtype=np.bool_)
    there, boxed = ~np.isnan(found.xy), ~np.isnan(found.box)
    unread = (found.count == 0) | found.refused | (found.count > (1 if answers == "only" else MAX_ANSWERS))
    limit = f"at most {COORDINATE_LIMIT:g} on either side of 0"
    rules = (
        ("count", found.count >= 0, "0 or more answers"),
        ("dialect", (found.dialect >= -1) & (found.dialect < names), f"-1 or an index into its {names} names"),
        ("actions", np.array([isinstance(name, str) for name in said], dtype=np.bool_), 'a name, or ""'),
        ("xy", unread | (there[:, 0] == there[:, 1]), "two numbers, or NaN twice"),
        ("box", unread | (boxed.all(axis=1) | ~boxed.any(axis=1)), "four numbers, or NaN four times"),
        ("xy", unread | there[:, 0] | (named & ~boxed[:, 0]), "a place, or an action's name without any"),
        ("xy", unread | _within(found.xy), limit),
        ("box", unread | _within(found.box), limit),
    )
    for name, good, expected in rules:
        if len(rows := np.flatnonzero(~good)):
            return _Fault(f"{name} {getattr(found, name)[rows[0]]!r:.80}", expected, int(rows[0]))
    points = found.points or {}
    several = np.flatnonzero((found.count > 1) & ~unread).tolist() if answers == "all" else []
    for row in dict.fromkeys([*several, *(row for row in points if not unread[row])]):
        shape = (int(found.count[row]), 2)
        if not _fits(points.get(row), "f", shape) or not _within(points[row]).all():
            came = f"points[{row}]: {_told(points.get(row))}"
            return _Fault(came, f"the places of its answers, floats of shape {shape}, {limit}", row)
    return None


def _within(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows within the limit; NaN is."""
    return np.logical_not((np.abs(numbers) > COORDINATE_LIMIT).any(axis=1), dtype=np.bool_)


def _fits(column: Any, kind: str, shape: tuple[int, ...]) -> bool:
    return type(column) is np.ndarray and column.dtype.kind == kind and column.shape == shape


def _told(column: Any) -> str:
    return f"{column.dtype} of shape {column.shape}" if isinstance(column, np.ndarray) else f"{column!r:.60}"
