"""Many targets at once, by the types of ``Target``. What does not surely read as with care is left to ``read``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, count
from operator import attrgetter, eq, itemgetter, le
from types import GenericAlias
from typing import Any, NamedTuple, get_type_hints

import msgspec
import numpy as np

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.literals import unique_keys
from grounding_rewards.targets.target import Box, NativeForm, Target


class _Lone(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    bbox: tuple[float, float, float, float]  # limits are compared in an array


_decode, _decode_lone = msgspec.json.Decoder(Target).decode, msgspec.json.Decoder(_Lone).decode
_EXACT = {str, int, float, bool, type(None)}
_NUMBERS, _LISTS, _NAMES, _NOTHING = {int, float}, {list, tuple}, {str, int, type(None)}, {type(None)}
_SIZES = ("image_size", "model_image_size")
_FLAT = ("bbox", "id", *_SIZES, "space", "task", "trajectory", "step", "num_steps")  # the commonest first
_KINDS = {name: GenericAlias(list, kind) for name, kind in get_type_hints(Target, include_extras=True).items()}

Extent = tuple[tuple[float, float, float, float], bool]
"""The least number of all boxes, the largest x and y, and the least of each box's largest; True where one is flat."""

_NO_SPAN = (np.inf, -np.inf, -np.inf, np.inf)


class Boxes(Sequence[Any]):
    """Lone boxes, (n, 4); their items, cells or each a ``Target``, are what ``make`` returns for some places.

    ``beside`` has columns of other fields of their objects, by name: an array (n, 2) of sizes, NaN where there is none,
    or a list; ``space`` is that of all. They are bare where ``named`` is False, and else objects.
    """

    def __init__(
        self, box: Floats, make: Callable[[Sequence[int]], Sequence[Any]], beside: Mapping[str, Any] | None = None,
        space: CoordSpace | None = None, *, named: bool = False,
    ) -> None:  # fmt: skip
        self.box, self._make, self.beside, self.space, self.named = box, make, beside or {}, space, named

    def fits(self, native: NativeForm | None) -> bool:
        """Return True where every box can be x1 y1 x2 y2, every size one, and a native form leaves them alone."""
        if native is not None and not (native.lists_alone if self.named else native.bare_box):
            return False
        finite = (np.abs(self.box) <= COORDINATE_LIMIT).all()  # not >, which NaN would pass
        sound = finite and (self.box[:, :2] <= self.box[:, 2:]).all()
        sizes = self.beside.get("image_size")
        sized = sizes is None or ((sizes >= 1) & (sizes <= COORDINATE_LIMIT)).all()
        return bool(sound and sized)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*self],)  # elsewhere without what the items are made of

    def __len__(self) -> int:
        return len(self.box)

    def take(self, places: Sequence[int]) -> Sequence[Any]:
        """Return the items of some places."""
        return self._make(places)

    def __getitem__(self, place: Any) -> Any:
        return self._make([place])[0] if isinstance(place, int) else [*self][place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make(range(len(self))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]


class Typed(NamedTuple):
    """Targets read at once."""

    rows: Sequence[Target | None]  # n targets; None stands for one that needs care
    box: Floats | None = None  # (n, 4) the boxes of n lone boxes; None where there is anything else
    extent: Extent = (_NO_SPAN, False)  # of n lone boxes


def read_typed(items: Sequence[Any], native: NativeForm | None, space: CoordSpace | None = None) -> Typed:
    """Read n targets of one kind; ``Boxes`` must fit the native form, and ``space`` is that of targets without one."""
    if type(items) is Boxes:
        return _lone(items.box, items.beside, items.space or space) or Typed([None] * len(items))
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
            if not isinstance(once.rows, Boxes):
                return Typed(list(map(once.rows.__getitem__, places)))
            shared, beside = once.rows.take, {name: _some(each, places) for name, each in once.rows.beside.items()}
            box = once.rows.box[places]
            boxes = Boxes(box, lambda some: shared([places[place] for place in some]), beside, space)
            return Typed(boxes, box, once.extent)
        quotes = "".join(items).count('"')  # a key that comes twice, of which msgspec keeps the last, leaves some over
        if quotes == 2 * len(items) and (lone := _lone(_lone_boxes(items), {}, space)):
            return lone
        rows = [_decoded(text) for text in items]
        columns = None if None in rows else _flat_columns(rows, quotes)
        exact = columns is not None
        lists: list[Any] = columns.pop("bbox", [None]) if columns else [None]
        found = None if None in lists else _array(chain.from_iterable(lists), 4 * len(lists))
        if columns is not None and (lone := _lone(found, columns, space)):
            return lone
    else:
        return Typed([None] * len(items))
    checked = [row if row and (exact or _is_exact(item)) else None for row, item in zip(rows, items, strict=True)]
    return Typed([row if row and _is_sound(row) else None for row in checked])


def extent_of(box: Floats) -> tuple[Extent, bool]:
    """Return the span of boxes, whether one is flat, and whether all have corners in order."""
    if not len(box):
        return (_NO_SPAN, False), True
    if len(box) < 32:  # of few, Python's own are faster
        x1, y1, x2, y2 = box.T.tolist()
        low, high = x1 + y1, x2 + y2
        span = min(low), max(x2), max(y2), min(map(max, x2, y2))
        return (span, any(map(eq, low, high))), all(map(le, low, high))
    left, top, right, bottom = np.ascontiguousarray(box.T)  # numpy reduces a row of many faster than many of four
    end = np.maximum(right, bottom).min()
    span = float(min(left.min(), top.min())), float(right.max()), float(bottom.max()), float(end)
    ordered = (left <= right).all() and (top <= bottom).all()
    return (span, bool((left == right).any() or (top == bottom).any())), bool(ordered)


def _lone(written: Floats | None, beside: Mapping[str, Any], space: CoordSpace | None) -> Typed | None:
    """Read boxes, and columns of other fields; None for no boxes, and for any out of order or far from any screen.

    A ``Target`` is made for those that are looked at.
    """
    if written is None:
        return None
    exact = written + 0.0  # no -0.0
    extent, ordered = extent_of(exact)
    (least, right, bottom, _), _ = extent
    if not ordered or least < -COORDINATE_LIMIT or max(right, bottom) > COORDINATE_LIMIT:
        return None
    if "space" in beside:
        beside = {**beside, "space": [each or space for each in beside["space"]]}
    columns = {"bbox": written, **beside}

    def made(places: Sequence[int]) -> list[Target]:
        fields = [
            map(_known, column[places].tolist()) if isinstance(column, np.ndarray) else _some(column, places)
            for column in columns.values()
        ]
        return [
            Target(**{"space": space, **dict(zip(columns, each, strict=True))}) for each in zip(*fields, strict=True)
        ]

    return Typed(Boxes(exact, made, beside, space), exact, extent)


def _some(column: Any, places: Sequence[int]) -> Any:
    return column[places] if isinstance(column, np.ndarray) else list(map(column.__getitem__, places))


def sizes_of(sizes: Sequence[tuple[float, float] | None]) -> Floats | None:
    """Return sizes as an array, NaN where there is none; None where there is none at all."""
    if not any(sizes):
        return None
    return np.array([side for size in sizes for side in size or (np.nan, np.nan)], dtype=np.float64).reshape(-1, 2)


def _known(numbers: list[float]) -> tuple[float, ...] | None:
    return tuple(numbers) if numbers[0] == numbers[0] else None  # NaN: an image's size that nothing says


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
        elif name in _SIZES:
            known = [value is not None for value in values]
            sizes = _numbers(list(compress(values, known)), 2)
            if sizes is not None and ((sizes >= 1) & (sizes <= COORDINATE_LIMIT)).all():
                column = nowhere(len(values), 2)
                column[known] = sizes
        elif name in _FLAT and (kinds <= _NAMES or name == "space"):
            column = _one(values, _KINDS[name])
        if column is None:
            return None
        columns[name] = column
    return None if keys else columns


def _numbers(lists: Sequence[Any], size: int) -> Floats | None:
    """Return n lists of so many of Python's own numbers, which are what ``msgspec`` takes and more, as an array."""
    if not set(map(type, lists)) <= _LISTS or set(map(len, lists)) != {size}:
        return None
    flat = list(chain.from_iterable(lists))
    if not set(map(type, flat)) <= _NUMBERS:  # decimals, too, are numbers for msgspec, and so are members of enums
        return None
    try:
        return _array(flat, len(flat), size)
    except OverflowError:  # a whole number of 400 digits
        return None


def _lone_boxes(texts: Sequence[str]) -> Floats | None:
    """Return the boxes of JSON texts that hold nothing else; None where any may need care."""
    try:
        boxes = [_decode_lone(text).bbox for text in texts]
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    return _array(chain.from_iterable(boxes), 4 * len(boxes))


def _array(numbers: Iterable[float], count: int, size: int = 4) -> Floats:
    return np.fromiter(numbers, np.float64, count).reshape(-1, size)


def _converted(items: Sequence[Any], kind: Any) -> list[Any]:
    every = _one(items, list[kind])
    return [_one(item, kind) for item in items] if every is None else every


def _one(item: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(item, kind)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):  # a text may hold half a surrogate pair
        return None


def _decoded(text: str) -> Target | None:
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
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
            columns[name] = sizes_of(values) if name in _SIZES else values
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
