"""Tables of n rows as frozen dataclasses of arrays: the input of verifiers and the result of scoring."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import IntEnum
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import NO_ARGUMENTS, Arguments
from grounding_rewards.arrays import Floats, made, read_only
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError, TableError, TargetError, short_repr
from grounding_rewards.targets.columns import Targets


class Reason(IntEnum):
    """Outcome of reading a response."""

    OK = 0  #: an answer was read, and it lies in the image
    EMPTY = 1  #: no text (None, or nothing but white space)
    NO_ANSWER = 2  #: text, but nothing that looks like an answer
    SEVERAL_ANSWERS = 3  #: more than one answer where only one counts
    TOO_MANY = 4  #: more answers than are read at all (256)
    MALFORMED = 5  #: an answer was begun, but cannot be read
    OUT_OF_IMAGE = 6  #: an answer was read, and it lies outside the image
    REFUSED = 7  #: the model said that nothing on the screen fits
    UNFINISHED = 8  #: thinking that never closed
    BAD_TARGET = 9  #: the target cannot be used; the row is not valid
    UNKNOWN_ACTION = 10  #: an action was read, and the vocabulary does not have its name


CLICKED = (Reason.OK, Reason.OUT_OF_IMAGE)
"""Reasons under which the response answered with a place."""

PARSED = (*CLICKED, Reason.REFUSED)
"""Reasons under which the response was read: a place, a known action or a refusal."""

_NAMES_OF_REASONS = np.array([reason.name for reason in Reason], dtype=np.object_)
_IS_PARSED = np.isin(np.arange(len(Reason)), PARSED)  # a table by code, quicker to look up than to compare rows


@dataclass(frozen=True, eq=False)
class Predictions:
    """Answers parsed from n responses.

    Attributes:
        xy: (n, 2) the point answered, the centre of an answered box; NaN where there is none. In ``space``.
        box: (n, 4) the box answered, x1 y1 x2 y2 as written; NaN where the answer is no box.
        reason: (n,) ``Reason``.
        dialect: (n,) index into ``dialects`` of the dialect that matched; -1 where none did.
        dialects: names of the dialects that were tried, in order.
        space: coordinate space of ``xy``, ``box`` and ``points``.
        actions: (n,) the action's name as the response wrote it (from dialects that share the vocabulary, the name
            that has there), "" where it names none and in rows that answer with neither a place nor an action.
        points: (k, 2) all answers of all rows, where the policy is ``answers="all"``; else None.
        offsets: (n + 1,) where each row's answers start and end in ``points``; else None.
        usual: (n,) True where the whole response, thinking and all, is known to be in the dialect's usual form; None
            where this was not checked. For speed alone.
        arguments: what the action says beside its name and place, from dialects that read that.
    """

    xy: Floats
    box: Floats
    reason: NDArray[np.int8]
    dialect: NDArray[np.int8]
    dialects: tuple[str, ...]
    space: CoordSpace
    actions: NDArray[np.object_]
    points: Floats | None = None
    offsets: NDArray[np.int64] | None = None
    usual: NDArray[np.bool_] | None = None
    arguments: Arguments = NO_ARGUMENTS

    def __len__(self) -> int:
        return len(self.reason)

    def changed(self, **columns: Any) -> Predictions:
        """Return the same predictions with other columns, as ``dataclasses.replace`` does, at a tenth of the cost."""
        return made(Predictions, **(vars(self) | columns))

    def take(self, rows: NDArray[np.int64]) -> Predictions:
        """Return the predictions of some rows, in their order."""
        arguments = {name: column[rows] for name, column in vars(self.arguments).items() if column is not None}
        points, offsets = self.points, self.offsets
        if points is not None and offsets is not None:
            spans = [points[offsets[row] : offsets[row + 1]] for row in rows.tolist()]
            points = np.concatenate([points[:0], *spans])
            offsets = np.cumsum([0, *map(len, spans)])
        return self.changed(
            xy=self.xy[rows], box=self.box[rows], reason=self.reason[rows], dialect=self.dialect[rows],
            actions=self.actions[rows], points=points, offsets=offsets,
            usual=None if self.usual is None else self.usual[rows], arguments=Arguments(**arguments),
        )  # fmt: skip

    @property
    def parsed(self) -> NDArray[np.bool_]:
        """(n,) True where an answer was read: a place, a known action or a refusal."""
        parsed: NDArray[np.bool_] = _IS_PARSED.take(self.reason)
        return parsed


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Input of a verifier: predictions and targets of n rollouts, both in the recipe's space.

    Attributes:
        predictions: what was parsed.
        targets: what counts as right.
        text: the responses as they came ("" for None), the last 64 KiB of each.
        groups: (n,) the sample that each rollout belongs to; without groups every row is its own.
        token_lengths: (n,) length of each response in tokens, or None.
        extras: further columns by name.
    """

    predictions: Predictions
    targets: Targets
    text: Sequence[str]
    groups: NDArray[np.int64]
    token_lengths: NDArray[np.int64] | None
    extras: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.predictions.reason)

    def read_only(self) -> Rollouts:
        """Make the columns read-only, so that no term changes what the next one reads; return the same rollouts."""
        seen = self.predictions
        read_only(
            seen.xy, seen.box, seen.reason, seen.dialect, seen.actions, seen.points, seen.offsets, seen.usual,
            self.groups, self.token_lengths,
        )  # fmt: skip
        if seen.arguments is not NO_ARGUMENTS:
            read_only(*vars(seen.arguments).values())
        return self

    @property
    def image_sizes(self) -> Floats:
        """(n, 2) width and height of the original images; NaN where unknown."""
        return self.targets.image_sizes

    @property
    def model_image_sizes(self) -> Floats:
        """(n, 2) width and height of the images that the model saw; NaN where unknown."""
        return self.targets.model_image_sizes


COLUMNS: Mapping[str, str] = {
    "total": "the reward",
    "acc": "full success, 1 or 0",
    "valid": "1, or 0 where the target could not be used; total, acc and parts are then null",
    "x": "the point answered, or the centre of the box, in the recipe's space; null without one",
    "y": "the same",
    "reason": "the name of the `Reason`",
    "dialect": "the form in which the answer was written; null where none was read",
}
"""Columns of ``Scores.columns`` and their meaning. The recipe's parts stand between ``valid`` and ``x``."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of n rollouts; every float finite.

    Attributes:
        total: (n,) the reward, within the recipe's ``low`` and ``high``.
        acc: (n,) 1.0 for full success, else 0.0.
        valid: (n,) 0.0 where the target could not be used, else 1.0. Such rows have acc and parts 0.0, and the total
            between ``low`` and ``high`` that is nearest to 0.0.
        parts: each named part's own score (n,), before weights.
        reason: (n,) ``Reason``.
        predictions: what was parsed, in the recipe's space.
        errors: why rows are not valid, by row.
    """

    total: Floats
    acc: Floats
    valid: Floats
    parts: Mapping[str, Floats]
    reason: NDArray[np.int8]
    predictions: Predictions
    errors: Mapping[int, TargetError] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.total)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows as named tuples with the fields of ``columns``.

        A part whose name no field can have, such as ``class``, is named by its place, such as ``_3``.

        >>> from grounding_rewards import recipe
        >>> [row] = recipe("gelato").score(["(200, 150)"], [[0.1, 0.1, 0.3, 0.2]])
        >>> row.acc, row.reason, row.x
        (1.0, 'OK', 0.2)
        """
        columns = self.columns()
        row = namedtuple("Row", columns, rename=True)  # type: ignore[misc]
        return map(row._make, zip(*columns.values(), strict=True))

    def __getitem__(self, rows: Any) -> Any:
        """Return one row as iterating does, or the ``Scores`` of a slice, a mask or a list of indices.

        Raises:
            IndexError: a row is not there, or a mask has another length.
            TypeError: it is none of these.

        >>> from grounding_rewards import recipe
        >>> scores = recipe("gelato").score(["(200, 150)", "(900, 900)"], [[0.1, 0.1, 0.3, 0.2]] * 2)
        >>> scores[1].acc, scores[:1].acc, scores[scores.acc == 0].total
        (0.0, array([1.]), array([0.]))
        """
        if isinstance(rows, str):
            raise TypeError(
                f"got {rows!r:.80}; expected a row, a slice, a mask or indices: columns() has columns by name"
            )
        chosen = np.arange(len(self))[list(rows) if isinstance(rows, tuple | range) else rows]
        if chosen.ndim == 0:
            [row] = self[[int(chosen)]]
            return row
        return replace(
            self, total=self.total[chosen], acc=self.acc[chosen], valid=self.valid[chosen],
            parts={name: part[chosen] for name, part in self.parts.items()}, reason=self.reason[chosen],
            predictions=self.predictions.take(chosen),
            errors={row: self.errors[old] for row, old in enumerate(chosen.tolist()) if old in self.errors},
        )  # fmt: skip

    def columns(self) -> dict[str, list[Any]]:
        """Return what ``grounding-rewards score`` writes of n rows, by name: see ``COLUMNS``.

        A row whose target could not be used has None as total, acc and parts.
        """
        return {
            name: values.tolist() if values.dtype == np.object_ else _or_none(values)
            for name, values in self.arrays().items()
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return ``columns`` as (n,) arrays, numbers with NaN for None."""
        usable, xy = self.valid == 1, self.predictions.xy
        dialects = np.array([*self.predictions.dialects, None], dtype=np.object_)  # None at -1
        numbers = {"total": self.total, "acc": self.acc, "valid": self.valid, **self.parts}
        scores = {
            name: values if name == "valid" else np.where(usable, values, np.nan) for name, values in numbers.items()
        }
        return {
            **scores,
            "x": xy[:, 0],
            "y": xy[:, 1],
            "reason": _NAMES_OF_REASONS[self.reason],
            "dialect": dialects[self.predictions.dialect],
        }

    def to_arrow(self) -> Any:
        """Return ``columns`` as a ``pyarrow.Table``: texts and doubles, with nulls for None.

        >>> from grounding_rewards import recipe
        >>> scores = recipe("gelato").score(["(200, 150)", None], [[0.1, 0.1, 0.3, 0.2]] * 2)
        >>> scores.to_arrow().select(["acc", "x", "reason"]).to_pydict()
        {'acc': [1.0, 0.0], 'x': [0.2, None], 'reason': ['OK', 'EMPTY']}
        """
        import pyarrow as pa  # takes a while, and few ask for a table

        kinds = {"reason": pa.string(), "dialect": pa.string()}
        columns = self.columns()
        return pa.table({name: pa.array(values, kinds.get(name, pa.float64())) for name, values in columns.items()})

    def to_pandas(self) -> Any:
        """Return ``columns`` as a ``pandas.DataFrame``.

        Raises:
            TableError: pandas is not installed.
        """
        pandas_beside("to_arrow()")  # pyarrow's own error does not say what to install
        return self.to_arrow().to_pandas()


def pandas_beside(instead: str) -> Any:
    """Return pandas, or raise a ``TableError`` that names what does without it."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise TableError(f"a data frame needs pandas: pip install pandas; {instead} does without") from error


def _or_none(values: Floats) -> list[float | None]:
    return [value if finite else None for value, finite in zip(values.tolist(), np.isfinite(values), strict=True)]


_NO_COUNT = np.array([-1])
_NAMES = {str, int}


def read_lengths(lengths: Sequence[int] | NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Return lengths in tokens as (n,) whole numbers from 0; anything else is an error."""
    column = np.asarray(lengths)
    if rows == 0 and column.size == 0:
        return np.zeros(0, dtype=np.int64)
    counts = column.astype(np.int64) if column.shape == (rows,) and column.dtype.kind in "iu" else _NO_COUNT
    if (counts < 0).any():  # also a number too large for 64 bits with a sign, which becomes negative
        raise RecipeError(f"token_lengths: got {lengths!r:.80}; expected a whole number from 0 for each of {rows} rows")
    return counts


def read_extras(extras: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Return further columns of n rows in a dict; a value that is no column, such as a trainer's state, passes."""
    for name, column in extras.items():
        sized = isinstance(column, list | tuple) or (isinstance(column, np.ndarray) and column.ndim)
        if sized and len(column) != rows:
            raise RecipeError(f"extras[{name!r}]: got {len(column)}; expected one for each of {rows} rows")
    return dict(extras)


def group_codes(groups: Sequence[Any] | NDArray[Any] | None, rows: int) -> NDArray[np.int64]:
    """Return (n,) whole numbers that are equal where the names of the samples are; errors name the row."""
    if groups is None:
        return np.arange(rows, dtype=np.int64)
    names = _plain(groups)
    if isinstance(names, str | Set | Mapping) or not isinstance(names, Collection):  # these have a length, and no rows
        raise RecipeError(
            f"groups: got {short_repr(groups)}; expected a list or an array, the sample of each of {rows} rows"
        )
    if len(names) != rows:
        raise RecipeError(f"groups: got {len(names)}; expected one for each of {rows} rows")
    codes: dict[Any, int] = {}
    if not set(map(type, names)) <= _NAMES:  # most batches: no look at each name
        names = [_name(row, name) for row, name in enumerate(names)]
    return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)


def _name(row: int, value: Any) -> Any:
    """Return the name of a row's sample; an error where it does not tell samples apart."""
    name = _plain(value)
    try:
        hash(name)
        known = name is not None and bool(name == name)  # NaN is not equal to itself
    except Exception:  # somebody's class
        known = False
    if not known:
        raise RecipeError(
            f"groups: row {row}: got {short_repr(value)}; expected the name of its sample, such as 'a7' or 7"
        )
    return name


def _plain(value: Any) -> Any:
    """Return a value of numpy, torch or pandas as Python's own, whose elements have a hash by value."""
    return value.tolist() if hasattr(value, "tolist") else value
