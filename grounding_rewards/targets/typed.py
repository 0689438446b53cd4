"""Many targets at once, by the types of ``Target``. What does not surely read as with care is left to ``read``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.literals import unique_keys
from grounding_rewards.targets.target import Box, NativeForm, Target

_decode = msgspec.json.Decoder(Target).decode
_EXACT = {str, int, float, bool, type(None)}
_NUMBERS, _NAMES = {int, float}, {str, int}
_SIZES = ("image_size", "model_image_size")
_FLAT = ("bbox", "id", *_SIZES, "space", "task", "trajectory", "step", "num_steps")  # the commonest first


class Boxes(Sequence[Any]):
    """Lone boxes, (n, 4); their items, cells or each a ``Target``, are what ``make`` returns for some places.

    ``image_size``, (n, 2), and ``space``, one of all, are in their objects beside them; they are bare where ``named``
    is False, and else objects.
    """

    def __init__(
        self, box: Floats, make: Callable[[Sequence[int]], Sequence[Any]], image_size: Floats | None = None,
        space: CoordSpace | None = None, *, named: bool = False,
    ) -> None:  # fmt: skip
        self.box, self._make, self.image_size, self.space, self.named = box, make, image_size, space, named

    def fits(self, native: NativeForm | None) -> bool:
        """Return True where every box can be x1 y1 x2 y2, every size one, and a native form leaves them alone."""
        if native is not None and not (native.lists_alone if self.named else native.bare_box):
            return False
        finite = (np.abs(self.box) <= COORDINATE_LIMIT).all()  # not >, which NaN would pass
        sound = finite and (self.box[:, :2] <= self.box[:, 2:]).all()
        sizes = self.image_size
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
    fields: frozenset[str] = frozenset()  # the fields that any of n lone boxes has


def read_typed(items: Sequence[Any], native: NativeForm | None, space: CoordSpace | None = None) -> Typed:
    """Read n targets of one kind; ``Boxes`` must fit the native form, and ``space`` is that of targets without one."""
    if type(items) is Boxes:
        return _lone(items.box, items.image_size, items.space or space)
    kinds = set(map(type, items))
    kind = kinds.pop() if len(kinds) == 1 else None
    fields: frozenset[str] | None = None
    if kind is list and (native is None or native.bare_box):
        boxes = _converted(items, Box)
        if None not in boxes and _are_numbers(items) and (box := _sound(boxes)) is not None:
            return _lone(box, None, space)
        rows = [None if box is None else Target(box) for box in boxes]
    elif kind is dict and (native is None or native.lists_alone):
        rows = _converted(items, Target)
        if None not in rows:
            fields = _flat_fields(rows, sum(map(len, items)), items)
    elif kind is str and (native is None or native.lists_alone):
        if len(set(items)) < len(items):  # many rollouts of one sample share a text
            distinct = dict(zip(dict.fromkeys(items), count(), strict=False))
            once, places = read_typed(list(distinct), native), list(map(distinct.__getitem__, items))
            box = None if once.box is None else once.box[places]
            return Typed(list(map(once.rows.__getitem__, places)), box, once.fields)
        rows = [_decoded(text) for text in items]
        if None not in rows:  # a key that comes twice, of which msgspec keeps the last, leaves quotes over
            fields = _flat_fields(rows, "".join(items).count('"'), None)
    else:
        return Typed([None] * len(items))
    boxes = [None] if fields is None else list(map(attrgetter("bbox"), rows))
    if fields is not None and None not in boxes and (box := _sound(boxes)) is not None:
        if kind is dict and fields == {"bbox"}:
            return _lone(box, None, space)
        return Typed(rows, box + 0.0, fields)  # no -0.0
    alone = fields is not None
    checked = [row if row and (alone or _is_exact(item)) else None for row, item in zip(rows, items, strict=True)]
    return Typed([row if row and _is_sound(row) else None for row in checked])


def _lone(written: Floats, size: Floats | None, space: CoordSpace | None) -> Typed:
    """Read boxes, and sizes beside them if any; a ``Target`` is made for those that are looked at."""

    def made(places: Sequence[int]) -> list[Target]:
        sizes: Iterable[Any] = repeat(None) if size is None else map(tuple, size[places].tolist())
        boxes: Iterable[Any] = map(tuple, written[places].tolist())
        return [Target(box, image_size, space=space) for box, image_size in zip(boxes, sizes, strict=False)]

    exact = written + 0.0  # no -0.0
    return Typed(Boxes(exact, made, size, space), exact, frozenset() if size is None else frozenset({"image_size"}))


def _sound(boxes: Sequence[Box]) -> Floats | None:
    """Return n boxes as an array (n, 4); None where corners of any are not in order."""
    box = np.fromiter(chain.from_iterable(boxes), np.float64, 4 * len(boxes)).reshape(-1, 4)
    # for few, count_nonzero takes a third of the time of all
    return box if np.count_nonzero(box[:, :2] <= box[:, 2:]) == 2 * len(boxes) else None


def _converted(items: Sequence[Any], kind: Any) -> list[Any]:
    try:
        return msgspec.convert(items, list[kind])
    except (msgspec.ValidationError, RecursionError):
        return [_one(item, kind) for item in items]


def _one(item: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(item, kind)
    except (msgspec.ValidationError, RecursionError):
        return None


def _decoded(text: str) -> Target | None:
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None


def _flat_fields(rows: Sequence[Any], keys: int, items: Sequence[Any] | None) -> frozenset[str] | None:
    """Return the fields that n targets have, if they are flat and exact; else None.

    ``keys`` is the number of keys of all ``items``; of JSON texts (None), that of quotes: a key and a text have two.
    """
    found = set[str]()
    for name in _FLAT:
        if not keys:
            break
        kinds = list(map(type, map(attrgetter(name), rows)))
        there = len(kinds) - kinds.count(type(None))
        if not there:
            continue
        found.add(name)
        if items is None:
            keys -= 2 * there + 2 * (there if name == "space" else kinds.count(str))
            continue
        keys -= there
        if name != "space":  # msgspec takes decimals and numbers of numpy, too
            having = items if there == len(items) else [item for item in items if item.get(name) is not None]
            values = map(itemgetter(name), having)
            if not (_are_numbers(values) if name == "bbox" or name in _SIZES else set(map(type, values)) <= _NAMES):
                return None
    return None if keys else frozenset(found)


def _are_numbers(lists: Iterable[Any]) -> bool:
    return set(map(type, chain.from_iterable(lists))) <= _NUMBERS


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
