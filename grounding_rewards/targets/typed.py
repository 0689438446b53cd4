"""Many targets at once, by the types of ``Target``. What does not surely read as with care is left to ``read``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, count
from operator import attrgetter, eq, itemgetter, le
from types import GenericAlias
from typing import Any, get_type_hints

import msgspec
import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.literals import unique_keys
from grounding_rewards.targets.target import Box, NativeForm, Target


class _Lone(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    bbox: tuple[float, float, float, float]  # limits are compared in an array


_decode, _decode_lone = msgspec.json.Decoder(Target).decode, msgspec.json.Decoder(_Lone).decode
_EXACT = {str, int, float, bool, type(None)}
_NUMBERS, _LISTS, _NAMES, _NOTHING = {int, float}, {list, tuple}, {str, int, type(None)}, {type(None)}
_WIDTHS = {"bbox": 4, "image_size": 2, "model_image_size": 2}
_FLAT = (  # the commonest first
    "bbox", "id", "image_size", "model_image_size", "space", "task", "trajectory", "step", "num_steps",
)  # fmt: skip
_KINDS = {name: GenericAlias(list, kind) for name, kind in get_type_hints(Target, include_extras=True).items()}

Extent = tuple[tuple[float, float, float, float], bool, bool]
"""The span of boxes, as ``Targets`` has it; True where one is flat; True where corners of all are in order and near."""

_NO_EXTENT = (np.inf, -np.inf, -np.inf, np.inf), False, True


class Boxes(Sequence[Any]):
    """Lone boxes, (n, 4); their items, cells or each a ``Target``, are what ``make`` returns for some places.

    ``beside`` has columns of other fields of their objects, by name: an array (n, 2) of sizes, NaN where there is none,
    or a list; ``space`` is that of all. They are bare where ``named`` is False, and else objects.
    """

    def __init__(
        self, box: Floats, make: Callable[[Sequence[int]], Sequence[Any]], beside: Mapping[str, Any] | None = None,
        space: CoordSpace | None = None, extent: Extent = _NO_EXTENT, *, named: bool = False,
    ) -> None:  # fmt: skip
        self.box, self._make, self.beside, self.space = box, make, beside or {}, space
        self.extent, self.named = extent, named

    def as_targets(self, native: NativeForm | None, space: CoordSpace | None) -> Boxes | None:
        """Read the boxes; None where a native form takes them, or a box or a size needs care."""
        sizes = self.beside.get("image_size")
        if native is not None and not (native.lists_alone if self.named else native.bare_box):
            return None
        return _lone(self.box, self.beside, self.space or space) if sizes is None or _are_sizes(sizes) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*self],)  # elsewhere without what the items are made of

    def __len__(self) -> int:
        return len(self.box)

    def take(self, places: Sequence[int]) -> Sequence[Any]:
        """Return the items of some places."""
        return self._make(places)

    @cached_property
    def _every(self) -> Sequence[Any]:
        return self._make(range(len(self)))  # one by one, each would take several times as long

    def __getitem__(self, place: Any) -> Any:
        return self._every[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._every)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]


def read_typed(
    items: Sequence[Any], native: NativeForm | None, space: CoordSpace | None = None
) -> Sequence[Target | None]:
    """Read n targets of one kind: ``Boxes``, of which ``space`` is that of targets without one, or a list.

    None stands for one that needs care.
    """
    kinds = set(map(type, items))
    kind = kinds.pop() if len(kinds) == 1 else None
    exact = False
    if kind is list and (native is None or native.bare_box):
        if lone := _lone(_numbers(items, 4), {}, space):
            return lone
        rows = [None if box is None else Target(box) for box in _converted(items, Box)]
    elif kind is dict and (native is None or native.lists_alone):
        columns = _columns(items)
        exact = columns is not None
        if columns and (lone := _lone(columns.pop("bbox", None), columns, space)):
            return lone
        rows = _converted(items, Target)
    elif kind is str and (native is None or native.lists_alone):
        if len(set(items)) < len(items):  # many rollouts of one sample share a text
            distinct = dict(zip(dict.fromkeys(items), count(), strict=False))
            once, places = read_typed(list(distinct), native, space), list(map(distinct.__getitem__, items))
            if isinstance(once, Boxes):
                beside = {name: _some(each, places) for name, each in once.beside.items()}
                return _lone(once.box[places], beside, space) or once.take(places)
            return list(map(once.__getitem__, places))
        quotes = "".join(items).count('"')  # a key that comes twice, of which msgspec keeps the last, leaves some over
        alone = _tried(list, map(_decode_lone, items)) if quotes == 2 * len(items) else None
        if alone and (lone := _lone(rows_of([each.bbox for each in alone], 4), {}, space)):
            return lone
        rows = _tried(list, map(_decode, items)) or [_tried(_decode, text) for text in items]
        columns = None if None in rows else _flat_columns(rows, quotes)
        exact = columns is not None
        if columns and (lone := _lone(columns.pop("bbox", None), columns, space)):
            return lone
    else:
        return [None] * len(items)
    checked = [row if row and (exact or _is_exact(item)) else None for row, item in zip(rows, items, strict=True)]
    return [row if row and _is_sound(row) else None for row in checked]


def extent_of(box: Floats) -> Extent:
    """Return the extent of n boxes, (n, 4)."""
    if not len(box):
        return _NO_EXTENT
    if len(box) < 32:  # of few, Python's own are faster
        x1, y1, x2, y2 = box.T.tolist()
        low, high = x1 + y1, x2 + y2
        span = min(low), max(x2), max(y2), min(map(max, x2, y2))
        flat, ordered = any(map(eq, low, high)), all(map(le, low, high))
    else:
        left, top, right, bottom = np.ascontiguousarray(box.T)  # numpy reduces a row of many faster than many of four
        end = np.maximum(right, bottom).min()
        span = float(min(left.min(), top.min())), float(right.max()), float(bottom.max()), float(end)
        flat = bool((left == right).any() or (top == bottom).any())
        ordered = bool((left <= right).all() and (top <= bottom).all())  # NaN is not
    return span, flat, ordered and span[0] >= -COORDINATE_LIMIT and max(span[1:3]) <= COORDINATE_LIMIT


def _lone(written: Floats | None, beside: Mapping[str, Any], space: CoordSpace | None) -> Boxes | None:
    """Read boxes, and columns of other fields; None for no boxes, and for any out of order or far from any screen.

    A ``Target`` is made for those that are looked at.
    """
    if written is None:
        return None
    if "space" in beside:
        beside = {**beside, "space": [each or space for each in beside["space"]]}
    box = written + 0.0  # no -0.0
    extent = extent_of(box)
    if not extent[-1]:
        return None
    columns = {"bbox": box, **beside}

    def made(places: Sequence[int]) -> list[Target]:
        fields = [
            map(_known, column[places].tolist()) if isinstance(column, np.ndarray) else _some(column, places)
            for column in columns.values()
        ]
        make = partial(Target, space=space)
        return [make(**dict(zip(columns, each, strict=True))) for each in zip(*fields, strict=True)]

    return Boxes(box, made, beside, space, extent)


def _some(column: Any, places: Sequence[int]) -> Any:
    return column[places] if isinstance(column, np.ndarray) else list(map(column.__getitem__, places))


def rows_of(lists: Sequence[Any], size: int = 2) -> Floats | None:
    """Return lists of so many numbers as an array, NaN where there is none; None where there is none at all."""
    if not any(lists):
        return None
    some = lists if all(lists) else [each or (np.nan,) * size for each in lists]
    return np.fromiter(chain.from_iterable(some), np.float64, size * len(some)).reshape(-1, size)


def _known(numbers: list[float]) -> tuple[float, ...] | None:
    return tuple(numbers) if numbers[0] == numbers[0] else None  # NaN: an image's size that nothing says


def _are_sizes(sizes: Floats) -> bool:
    return bool(((sizes >= 1) & (sizes <= COORDINATE_LIMIT)).all())  # NaN is none


def _columns(items: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return fields of n flat targets as columns, numbers as arrays; None where any may need care."""
    columns, keys = dict[str, Any](), sum(map(len, items))
    for name in items[0]:
        try:
            values = list(map(itemgetter(name), items))
            keys -= len(items)
        except KeyError:
            values = [item.get(name) for item in items]
            keys -= sum([name in item for item in items])
        kinds = set(map(type, values))
        if kinds == _NOTHING and name in _FLAT:
            continue
        column: Any = None
        if name == "bbox":
            column = _numbers(values, 4)
        elif name in _WIDTHS:
            there = [value for value in values if value is not None]
            sizes = _numbers(there, 2)
            if sizes is not None and _are_sizes(sizes):
                column = sizes if len(there) == len(values) else rows_of(values)
        elif name in _FLAT and (kinds <= _NAMES or name == "space"):
            column = _tried(msgspec.convert, values, _KINDS[name])
        if column is None:
            return None
        columns[name] = column
    return None if keys else columns


def _numbers(lists: Sequence[Any], size: int) -> Floats | None:
    """Return n lists of so many of Python's own numbers, which are what ``msgspec`` takes and more, as an array."""
    if not set(map(type, lists)) <= _LISTS or set(map(len, lists)) != {size}:
        return None
    if not set(map(type, chain.from_iterable(lists))) <= _NUMBERS:  # decimals and members of enums are for msgspec
        return None
    try:
        return rows_of(lists, size)
    except OverflowError:  # a whole number of 400 digits
        return None


def _converted(items: Sequence[Any], kind: Any) -> list[Any]:
    return _tried(msgspec.convert, items, list[kind]) or [_tried(msgspec.convert, item, kind) for item in items]


def _tried(read: Callable[..., Any], *given: Any) -> Any:
    try:
        return read(*given)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):  # a text may hold half a surrogate pair
        return None


def _flat_columns(rows: Sequence[Any], quotes: int) -> dict[str, Any] | None:
    """Return n targets by field, of as many quotes in their texts: a key and a text have two; None if not flat."""
    columns = dict[str, Any]()
    for name in _FLAT:
        if not quotes:
            break
        values = list(map(attrgetter(name), rows))
        kinds = list(map(type, values))
        there = len(kinds) - kinds.count(type(None))
        if there:
            columns[name] = rows_of(values, _WIDTHS[name]) if name in _WIDTHS else values
            quotes -= 2 * there + 2 * (there if name == "space" else kinds.count(str))
    return None if quotes else columns


def _is_exact(item: Any) -> bool:
    """Return True for values of Python's own types, and for JSON in which no key comes twice."""
    if type(item) is dict:
        return all(name == "extra" or _holds_exact(value) for name, value in item.items())
    if type(item) is list:
        return _holds_exact(item)
    try:
        json.loads(item, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return False
    return True


def _holds_exact(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_holds_exact, value))
    if type(value) is dict:
        return all(map(_holds_exact, value.values()))
    return type(value) in _EXACT


def _is_sound(row: Target) -> bool:
    """Return True where corners are in order, and a place, an action or a refusal is there."""
    box, action = row.bbox, row.action
    if action is not None and (action.to is not None or action.duration is not None):
        return False  # their numbers have rules of their own
    if box is None:
        return row.refusal or action is not None
    return not row.refusal and box[0] <= box[2] and box[1] <= box[3]
