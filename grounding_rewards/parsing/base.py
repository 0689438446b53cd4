"""The Dialect protocol, its result ``Found``, and the check of results from dialects of plugins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import ARGUMENTS, empty
from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import DialectError, GroundingRewardsError
from grounding_rewards.parsing.texts import Texts

Answers = Literal["only", "first", "last", "all"]
"""Rule for texts with several answers: none of them counts, the first does, the last does, or all do."""

MAX_ANSWERS = 256
"""Largest number of answers that are read; a response with more, such as points all over the screen, is TOO_MANY."""


@dataclass(frozen=True, eq=False)
class Found:
    """Answers in n texts, as columns.

    Attributes:
        xy: (n, 2) the point of the answer that counts, or its box's centre; NaN where there is none.
        box: (n, 4) its box; NaN where it is a point.
        count: (n,) number of answers (under "first" and "last" at most 1).
        begun: (n,) True where the text shows the beginning of an answer; where none is found, it is malformed.
        refused: (n,) True where the answer is a refusal.
        actions: (n,) the action named with the answer, else "".
        dialect: (n,) index, in ``Dialect.names``, of the dialect that matched; -1 where none did.
        points: under "all", a dict from each row with several answers to the points of them all; else None.
        usual: (n,) True where the whole text matches the dialect's usual form; None if that was not checked.
        arguments: columns of ``actions.Arguments`` by name, only those in which some row has one.
    """

    xy: Floats
    box: Floats
    count: NDArray[np.int64]
    begun: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    actions: NDArray[np.object_]
    dialect: NDArray[np.int8]
    points: dict[int, Floats] | None = None
    usual: NDArray[np.bool_] | None = None
    arguments: dict[str, NDArray[Any]] = field(default_factory=dict)


class Dialect(Protocol):
    """A way of writing answers: finds those in texts. One dialect may try several others in order."""

    @property
    def name(self) -> str:
        """Name of the dialect in a config."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects that it tries, in order; its own name where it tries no others."""

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each of n texts; ``answers`` says which one where there are several."""


class OneDialect:
    """Base of dialects that try no others."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)


_NAMELESS, _UNMATCHED = np.array([""], dtype=np.object_), np.array([-1], dtype=np.int8)
_ONE, _FALSE, _NO_BOX = np.array([1], dtype=np.int64), np.array([False]), np.full((1, 4), np.nan)
# Results of single texts share these arrays, so they must not be written to.
for _shared in (_NAMELESS, _UNMATCHED, _ONE, _FALSE, _NO_BOX):
    _shared.flags.writeable = False


def alone(
    point: tuple[float, float],
    box: tuple[float, ...] | None,
    action: str = "",
    *,
    begun: bool = True,
    answers: Answers,
) -> Found:
    """Return one answer in one text: ``nothing(1, answers)`` with that written into it, but faster."""
    return Found(
        xy=np.array([point], dtype=np.float64),
        box=_NO_BOX if box is None else np.array([box], dtype=np.float64),
        count=_ONE,
        begun=np.array([begun]),
        refused=_FALSE,
        actions=_NAMELESS if not action else np.array([action], dtype=np.object_),
        dialect=np.zeros(1, dtype=np.int8),
        points={} if answers == "all" else None,
    )


def nothing(rows: int, answers: Answers) -> Found:
    """Return columns without an answer in any of n texts."""
    return Found(
        xy=nowhere(rows, 2),
        box=nowhere(rows, 4),
        count=np.zeros(rows, dtype=np.int64),
        begun=np.zeros(rows, dtype=np.bool_),
        refused=np.zeros(rows, dtype=np.bool_),
        actions=_NAMELESS.repeat(rows),
        dialect=_UNMATCHED.repeat(rows),
        points={} if answers == "all" else None,
    )


def put(table: Found, rows: NDArray[np.int64], some: Found, chosen: NDArray[np.int64] | None = None) -> None:
    """Write the answers found in some texts into the columns of all texts, in place.

    Args:
        table: the answers of all texts.
        rows: the rows in ``table`` to write to, one for each row that is taken from ``some``.
        some: the answers of some texts.
        chosen: the rows of ``some`` to take; None for all.
    """
    # As many rows as texts are all rows, in order; slices are faster than indices.
    to_rows = slice(None) if len(rows) == len(table.count) else rows
    from_rows = slice(None) if chosen is None else chosen
    for name in ("xy", "box", "count", "begun", "refused", "actions", "dialect"):
        getattr(table, name)[to_rows] = getattr(some, name)[from_rows]
    for name, column in some.arguments.items():
        if name not in table.arguments:
            table.arguments[name] = empty(name, len(table.count))
        table.arguments[name][to_rows] = column[from_rows]
    if table.points is not None and some.points is not None:
        row_of = dict(zip(range(len(rows)) if chosen is None else chosen.tolist(), rows.tolist(), strict=True))
        table.points.update({row_of[row]: points for row, points in some.points.items() if row in row_of})


# Kinds of numpy dtypes in words, and the kind and the shape of a row of each column of ``Found``.
_KINDS = {"f": "floats", "i": "signed integers", "b": "booleans", "O": "objects"}
_COLUMNS = {
    "xy": ("f", (2,)), "box": ("f", (4,)), "count": ("i", ()), "begun": ("b", ()), "refused": ("b", ()),
    "actions": ("O", ()), "dialect": ("i", ()),
}  # fmt: skip


class _Fault(NamedTuple):
    """Fault of a result: what it holds, what was expected, and the row at fault where one is."""

    actual: str
    expected: str
    row: int | None = None


def is_trusted(dialect: Any) -> bool:
    """Return True where a dialect's class says ``trusted = True``: its results are not checked.

    Subclasses do not inherit this, because they may find answers in another way.
    """
    return vars(type(dialect)).get("trusted") is True


def find(dialect: Dialect, texts: Texts, answers: Answers) -> Found:
    """Run a dialect on n texts.

    Raises:
        DialectError: the dialect raises, or one that is not trusted returns what ``Found`` does not allow; the error's
            ``term`` is the dialect.
    """
    fault, cause = None, None
    try:
        table = dialect.find(texts, answers)
        if is_trusted(dialect) or not (fault := _fault(table, len(dialect.names), len(texts), answers)):
            return table
    except (Exception, SystemExit) as error:  # SystemExit, too: code of a plugin must not end the run
        if isinstance(error, GroundingRewardsError) and is_trusted(dialect):  # it says what is wrong already
            raise
        cause = error
    name = f"dialect {getattr(dialect, 'name', dialect)!r:.80}"
    row = 0 if len(texts) == 1 else fault and fault.row
    where = f"on {len(texts)} texts" if row is None else f"on {texts.values[row]!r:.80}"
    if fault:
        failure = DialectError(f"{name} returned {fault.actual} {where}; expected {fault.expected}")
    else:
        failure = DialectError(f"{name} raised {type(cause).__name__}: {cause} {where}")
    failure.term = dialect
    raise failure from cause


def _fault(table: Any, names: int, rows: int, answers: Answers) -> _Fault | None:
    """Return the first fault of a result, None if it has none."""
    if not isinstance(table, Found):
        return _Fault(f"{table!r:.60}", "a Found")
    columns = {**_COLUMNS, **({} if table.usual is None else {"usual": ("b", ())})}
    for name, (kind, more) in columns.items():
        if not _fits(column := getattr(table, name), kind, (rows, *more)):
            return _Fault(f"{name}: {_shape(column)}", f"{_KINDS[kind]} of shape {(rows, *more)}")
    if not isinstance(table.arguments, dict) or not set(table.arguments) <= set(ARGUMENTS):
        return _Fault(f"arguments {table.arguments!r:.60}", f"a dict of columns, of {', '.join(ARGUMENTS)}")
    for name, column in table.arguments.items():
        like = empty(name, rows)
        if not _fits(column, like.dtype.kind, like.shape):
            return _Fault(f"arguments[{name!r}]: {_shape(column)}", f"{_KINDS[like.dtype.kind]} of shape {like.shape}")
    if (table.points is None) == (answers == "all") or not set(table.points or ()) <= set(range(rows)):
        return _Fault(f"points {table.points!r:.60} (answers={answers!r})", 'points by row under "all", else None')
    return _wrong_row(table, names, answers)


def _wrong_row(table: Found, names: int, answers: Answers) -> _Fault | None:
    """Return the first row's fault that breaks a rule on values, None if there is none."""
    names_of_actions = table.actions.tolist()
    named = np.array([isinstance(name, str) and bool(name) for name in names_of_actions], dtype=np.bool_)
    has_xy, has_box = ~np.isnan(table.xy), ~np.isnan(table.box)
    # Nobody reads the places of these rows, so they may hold anything.
    unread = (table.count == 0) | table.refused | (table.count > (1 if answers == "only" else MAX_ANSWERS))
    limit = f"at most {COORDINATE_LIMIT:g} on either side of 0"
    rules = (
        ("count", table.count >= 0, "0 or more answers"),
        ("dialect", (table.dialect >= -1) & (table.dialect < names), f"-1 or an index into its {names} names"),
        ("actions", np.array([isinstance(name, str) for name in names_of_actions], dtype=np.bool_), 'a name, or ""'),
        ("xy", unread | (has_xy[:, 0] == has_xy[:, 1]), "two numbers, or NaN twice"),
        ("box", unread | (has_box.all(axis=1) | ~has_box.any(axis=1)), "four numbers, or NaN four times"),
        ("xy", unread | has_xy[:, 0] | (named & ~has_box[:, 0]), "a place, or an action's name without any"),
        ("xy", unread | _within(table.xy), limit),
        ("box", unread | _within(table.box), limit),
    )
    for name, good, expected in rules:
        if len(rows := np.flatnonzero(~good)):
            return _Fault(f"{name} {getattr(table, name)[rows[0]]!r:.80}", expected, int(rows[0]))
    points = table.points or {}
    several = np.flatnonzero((table.count > 1) & ~unread).tolist() if answers == "all" else []
    for row in dict.fromkeys([*several, *(row for row in points if not unread[row])]):
        shape = (int(table.count[row]), 2)
        if not _fits(points.get(row), "f", shape) or not _within(points[row]).all():
            actual = f"points[{row}]: {_shape(points.get(row))}"
            return _Fault(actual, f"the places of its answers, floats of shape {shape}, {limit}", row)
    return None


def _within(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return True for the rows with coordinates within the limit; NaN is within it."""
    return np.logical_not((np.abs(numbers) > COORDINATE_LIMIT).any(axis=1), dtype=np.bool_)


def _fits(column: Any, kind: str, shape: tuple[int, ...]) -> bool:
    """Return True for a numpy array of this kind of dtype and this shape."""
    # Subclasses, such as masked arrays, may compare otherwise.
    return type(column) is np.ndarray and column.dtype.kind == kind and column.shape == shape


def _shape(column: Any) -> str:
    """Describe a column by its dtype and shape, for errors; what is no array, as Python writes it."""
    return f"{column.dtype} of shape {column.shape}" if isinstance(column, np.ndarray) else f"{column!r:.60}"
