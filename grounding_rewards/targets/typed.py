"""Many targets at once, by the types of ``Target``. What does not surely read as with care is left to ``read``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.targets.target import Box, NativeForm, Target
from grounding_rewards.targets.unique_keys import unique_keys

_decode = msgspec.json.Decoder(Target).decode
_EXACT = {str, int, float, bool, type(None)}
_NUMBERS, _NAMES = {int, float}, {str, int, type(None)}
_SIZES = ("image_size", "model_image_size")
_NAMED = ("id", "task", "trajectory", "step", "num_steps")
_FLAT = ("bbox", *_SIZES, "id", "space", "task", "trajectory", "step", "num_steps")


def read_typed(items: Sequence[Any], native: NativeForm | None) -> tuple[list[Target | None], Floats | None]:
    """Read n targets; None stands for one that needs care. Beside them are the boxes (n, 4) of lone boxes.

    >>> read_typed([{"bbox": [1, 2, 3, 4], "id": "a"}, {"bbox": ["1", 2, 3, 4]}], None)
    ([Target(bbox=(1.0, 2.0, 3.0, 4.0), id='a'), None], None)
    """
    kinds = set(map(type, items))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is list and (native is None or native.bare_box):
        boxes = _converted(items, Box)
        rows = [None if box is None else Target(box) for box in boxes]
        alone = None not in boxes and _are_numbers(items)
    elif kind is dict and (native is None or native.lists_alone):
        rows = _converted(items, Target)
        alone = None not in rows and _left(rows, sum(map(len, items)), 0) == 0 and _all_exact(items, rows)
    elif kind is str and (native is None or native.lists_alone):
        distinct = list(dict.fromkeys(items))  # many rollouts of one sample share a text
        if len(distinct) < len(items):
            known = dict(zip(distinct, read_typed(distinct, native)[0], strict=True))
            return [known[text] for text in items], None
        rows = [_decoded(text) for text in items]
        # A key that comes twice, of which msgspec keeps the last, leaves quotes over.
        alone = None not in rows and _left(rows, "".join(items).count('"'), 2) == 0
    else:
        return [None] * len(items), None
    boxes = list(map(attrgetter("bbox"), rows)) if alone else [None]
    if None not in boxes:
        box = np.fromiter(chain.from_iterable(boxes), np.float64, 4 * len(boxes)).reshape(-1, 4) + 0.0  # no -0.0
        if (box[:, :2] <= box[:, 2:]).all():
            return rows, box
    checked = [row if row and (alone or _is_exact(item)) else None for row, item in zip(rows, items, strict=True)]
    return [row if row and _is_sound(row) else None for row in checked], None


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


def _left(rows: Iterable[Any], count: int, quotes: int) -> int:
    """Return the keys of n targets beside flat fields, or the quotes, of which a key and a text have two."""
    for name in _FLAT:
        if not count:
            break
        kinds = list(map(type, map(attrgetter(name), rows)))
        there = len(kinds) - kinds.count(type(None))
        count -= there * (quotes or 1) + quotes * (there if name == "space" else kinds.count(str))
    return count


def _all_exact(items: Sequence[Any], rows: Sequence[Any]) -> bool:
    """Return True where numbers and names of dicts of flat fields are Python's own: msgspec takes decimals, too."""
    for name in ("bbox", *_SIZES):
        if not _are_numbers([item[name] for item in items if item.get(name) is not None]):
            return False
    return all(set(map(type, [item.get(name) for item in items])) <= _NAMES for name in _NAMED if _is_there(rows, name))


def _is_there(rows: Iterable[Any], name: str) -> bool:
    return set(map(type, map(attrgetter(name), rows))) != {type(None)}


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
