"""Many targets at once, by the types of ``Target``. What does not surely read as with care is left to ``read``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import chain, compress, count
from operator import attrgetter, eq, itemgetter, le
from types import GenericAlias
from typing import Any, get_type_hints

import msgspec
import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.literals import unique_keys
from grounding_rewards.targets.target import Action, Box, NativeForm, Target


class _Lone(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    bbox: tuple[float, float, float, float]  # limits are compared in an array


_decode, _decode_lone = msgspec.json.Decoder(Target).decode, msgspec.json.Decoder(_Lone).decode
_BLANK = Target()
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


class Rows(Sequence[Any]):
    """Items that are made when they are looked at: ``make`` returns those of some places, ``known`` has some."""

    def __init__(
        self, count: int, make: Callable[[Sequence[int]], Sequence[Any]], known: Mapping[int, Any] | None = None
    ) -> None:
        self._count, self._make, self._known = count, make, {**(known or {})}

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*self],)  # elsewhere without what the items are made of

    def __len__(self) -> int:
        return self._count

    def take(self, places: Sequence[int]) -> Sequence[Any]:
        """Return the items of some places."""
        return self._make(places)

    @cached_property
    def _every(self) -> Sequence[Any]:
        return self._make(range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        if type(place) is not int or not 0 <= place < len(self) or "_every" in vars(self):
            return self._every[place]
        if place not in self._known:
            if len(self) <= 16 * len(self._known):  # one by one, each takes several times as long as all together
                return self._every[place]
            (self._known[place],) = self._make([place])
        return self._known[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._every)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]


class Boxes(Rows):
    """Lone boxes, (n, 4); their items are cells, or each a ``Target``.

    ``beside`` has columns of other fields of their objects, by name: an array (n, 2) of sizes, NaN where there is none,
    or a list; ``space`` is that of all. They are bare where ``named`` is False, and else objects. ``odd`` has the
    places, among all that were read, of those that need care and are not among the boxes.
    """

    def __init__(
        self, box: Floats, make: Callable[[Sequence[int]], Sequence[Any]], beside: Mapping[str, Any] | None = None,
        space: CoordSpace | None = None, extent: Extent = _NO_EXTENT, odd: Sequence[int] = (), *, named: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(len(box), make)
        self.box, self.beside, self.space = box, beside or {}, space
        self.extent, self.odd, self.named = extent, odd, named

    def as_targets(self, native: NativeForm | None, space: CoordSpace | None) -> Boxes | None:
        """Read the boxes; None where a native form takes them, or many need care."""
        if native is not None and not (native.lists_alone if self.named else native.bare_box):
            return None
        box = self.box.copy()
        if "image_size" in self.beside:
            box[_unsized(self.beside["image_size"])] = np.nan
        return _lone({"bbox": box, **self.beside}, self.space or space, named=self.named)


def read_typed(
    items: Sequence[Any], native: NativeForm | None, space: CoordSpace | None = None
) -> Sequence[Target | None]:
    """Read n targets: ``Boxes``, of which ``space`` is that of targets without one, where most are; or a list.

    None stands for one that needs care.
    """
    kinds = set(map(type, items))
    kind: Any = Counter(map(type, items)).most_common(1)[0][0] if len(kinds) > 1 else next(iter(kinds), None)
    if not (kind is list or kind is dict or kind is str):
        return [None] * len(items)
    if native is not None and not (native.bare_box if kind is list else native.lists_alone):
        return [None] * len(items)
    if len(kinds) > 1:
        boxes = read_typed([item if type(item) is kind else kind() for item in items], native, space)
        return boxes if isinstance(boxes, Boxes) else [None] * len(items)
    rows: Sequence[Any] = ()
    if kind is str:
        columns, rows = _from_json(items)
    else:
        columns = {"bbox": _numbers(items, 4)[0]} if kind is list else _columns(items)
    if columns and (lone := _lone(columns, space, named=kind is not list)):
        return lone
    if kind is list:
        rows = [None if box is None else Target(box) for box in _converted(items, Box)]
    elif kind is dict:
        rows = _converted(items, Target)
    elif not rows:
        rows = _decoded(items)
    exact = cache(_is_exact) if kind is str else _is_exact  # many rollouts of one sample share a text
    return [row if row and exact(item) and _is_sound(row) else None for row, item in zip(rows, items, strict=True)]


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


def _lone(columns: dict[str, Any], space: CoordSpace | None, *, named: bool) -> Boxes | None:
    """Read boxes, and columns of other fields; None where many are out of order, far from any screen or NaN.

    A ``Target`` is made for those that are looked at.
    """
    if columns.get("bbox") is None:
        return None
    if "space" in columns:
        columns = {**columns, "space": [each or space for each in columns["space"]]}
    box, odd = columns["bbox"] + 0.0, list[int]()  # no -0.0
    extent = extent_of(box)
    if not extent[-1]:
        x1, y1, x2, y2 = box.T
        even = (x1 <= x2) & (y1 <= y2) & (abs(box) <= COORDINATE_LIMIT).all(axis=1)  # NaN is not
        odd, box, there = np.flatnonzero(~even).tolist(), box[even], even.tolist()
        if not _are_few(odd, there):
            return None
        for name, column in [*columns.items()]:
            columns[name] = column[even] if isinstance(column, np.ndarray) else list(compress(column, there))
            if name in _WIDTHS and np.isnan(columns[name]).all():
                del columns[name]  # of odd ones alone
        extent = extent_of(box)
    columns["bbox"] = box

    def made(places: Sequence[int]) -> list[Target]:
        fields = [
            map(_known, column[places].tolist()) if isinstance(column, np.ndarray) else _some(column, places)
            for column in columns.values()
        ]
        make = partial(Target, space=space)
        return [make(**dict(zip(columns, each, strict=True))) for each in zip(*fields, strict=True)]

    beside = {name: column for name, column in columns.items() if name != "bbox"}
    return Boxes(box, made, beside, space, extent, odd, named=named)


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


def _unsized(sizes: Floats) -> list[int]:
    """Return the rows that are no sizes; NaN is none."""
    fine = (sizes >= 1) & (sizes <= COORDINATE_LIMIT)
    return [] if fine.all() else np.flatnonzero(~fine.all(axis=1)).tolist()


def _columns(items: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return fields of n flat targets as columns, numbers as arrays; NaN is the box of one that needs care.

    None where many do.
    """
    boxes = _values(items, "bbox")[0]
    box, places = _numbers(boxes, 4)
    odd = {*places}
    if box is None or not _are_few(odd, items):
        return None
    columns: dict[str, Any] = {"bbox": box}
    names, keys = [*items[0]], sum(map(len, items))
    for name in names:
        values, there = (boxes, len(items)) if name == "bbox" else _values(items, name)
        keys -= there
        if keys and name == names[-1]:  # others have more
            names += dict.fromkeys(chain.from_iterable(items)).keys() - {*names}
        kinds = set(map(type, values))
        if name not in _FLAT:
            odd.update([row for row, item in enumerate(items) if name in item])
        elif name == "bbox" or kinds == _NOTHING:
            continue
        elif name in _WIDTHS:
            sizes, places = _numbers(values, 2)
            if sizes is None:
                return None
            odd.update([row for row in [*places, *_unsized(sizes)] if values[row] is not None])
            columns[name] = sizes
        else:
            column: Any = _tried(msgspec.convert, values, _KINDS[name]) if kinds <= _NAMES or name == "space" else None
            if column is None:
                some = [_is_exact([each]) and _tried(msgspec.convert, [each], _KINDS[name]) for each in values]
                odd.update([row for row, each in enumerate(some) if not each])
                column = [each[0] if each else None for each in some]
            columns[name] = column
        if not _are_few(odd, items):
            return None
    box[list(odd)] = np.nan
    return columns


def _are_few(odd: Collection[int], among: Sequence[Any]) -> bool:
    """Return True where reading the others as columns is faster than reading each."""
    return not odd or (len(among) >= 32 and len(odd) <= len(among) / 4)


def _values(items: Sequence[Mapping[str, Any]], name: str) -> tuple[list[Any], int]:
    """Return a field of n mappings, None where one has none, and how many have it."""
    try:
        return list(map(itemgetter(name), items)), len(items)
    except KeyError:
        return [item.get(name) for item in items], sum([name in item for item in items])


def _numbers(lists: Sequence[Any], size: int) -> tuple[Floats | None, list[int]]:
    """Return n lists of so many of Python's own numbers, which are what ``msgspec`` takes and more, as an array.

    NaN stands for what is no such list, of which the places are returned, too; None for all if a number is too large.
    """
    none, odd = (np.nan,) * size, list[int]()
    if not set(map(type, lists)) <= _LISTS or set(map(len, lists)) != {size}:
        lists = [each if type(each) in _LISTS and len(each) == size else none for each in lists]
        odd = [place for place, each in enumerate(lists) if each is none]
    if not set(map(type, chain.from_iterable(lists))) <= _NUMBERS:  # decimals and members of enums are for msgspec
        lists = [each if _NUMBERS.issuperset(map(type, each)) else none for each in lists]
        odd = [place for place, each in enumerate(lists) if each is none]
    try:
        return np.fromiter(chain.from_iterable(lists), np.float64, size * len(lists)).reshape(-1, size), odd
    except OverflowError:  # a whole number of 400 digits
        return None, odd


def _from_json(texts: Sequence[str]) -> tuple[dict[str, Any] | None, Sequence[Any]]:
    """Return the columns of n targets as ``_columns`` has them, and what ``_decoded`` makes of them; () if not yet."""
    distinct = dict.fromkeys(texts)
    if len(distinct) < len(texts):  # many rollouts of one sample share a text
        (columns, rows), place = _from_json(list(distinct)), dict(zip(distinct, count(), strict=False))
        places = list(map(place.__getitem__, texts))
        columns = columns and {name: _some(column, places) for name, column in columns.items()}
        return columns, rows and _some(rows, places)
    quotes = "".join(texts).count('"')  # a key that comes twice, of which msgspec keeps the last, leaves some over
    alone = _tried(list, map(_decode_lone, texts)) if quotes == 2 * len(texts) else None
    if alone:
        return {"bbox": rows_of([each.bbox for each in alone], 4)}, ()
    rows = _decoded(texts)
    columns = None if None in rows else _flat_columns(rows, quotes)
    if columns is None:
        even = [row and row.bbox and not (row.refusal or row.action or row.extra is not None) for row in rows]
        quotes = sum([text.count('"') for text in compress(texts, even)])
        columns = _flat_columns([row if each else _BLANK for row, each in zip(rows, even, strict=True)], quotes)
    return columns, rows


def _decoded(texts: Sequence[str]) -> list[Any]:
    return _tried(list, map(_decode, texts)) or [_tried(_decode, text) for text in texts]


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
    if action is not None and not _has_sound_numbers(action):
        return False
    if box is None:
        return row.refusal or action is not None
    return not row.refusal and box[0] <= box[2] and box[1] <= box[3]


def _has_sound_numbers(action: Action) -> bool:
    """Return True where an action ends at a point or a box and takes some time, if it says so; -0.0 needs care."""
    if action.duration is not None and not 0.0 < action.duration <= COORDINATE_LIMIT:
        return False
    if (to := action.to) is None:
        return True
    in_order = len(to) == 2 or (len(to) == 4 and to[0] <= to[2] and to[1] <= to[3])
    return in_order and 0.0 not in to and all(abs(number) <= COORDINATE_LIMIT for number in to)  # NaN is not
