"""Shapes in which data write places: lists of one, two corners, lists of pairs, keys of their own, and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from grounding_rewards.literals import literal, numbers_of

Fields = Mapping[str, Any]

_KINDS = ("bbox", "polygon", "circle", "point")
_CORNERS = (
    ("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("x_min", "y_min", "x_max", "y_max"),
    ("left", "top", "right", "bottom"),
)  # fmt: skip
_SIDES = (("x", "y", "w", "h"), ("x", "y", "width", "height"), ("left", "top", "width", "height"))
_POINT = re.compile(r"\s*<\|?point")


def spread(fields: Fields) -> Fields:
    """Return a target's or a region's fields with its places in the wire form; the same where they have it already.

    >>> spread({"bbox": [[10, 20], [30, 40]], "id": "a"})
    {'id': 'a', 'bbox': [10, 20, 30, 40]}
    >>> spread({"bbox": [[1, 2, 3, 4], [5, 6, 7, 8]]})
    {'regions': [{'bbox': [1, 2, 3, 4]}, {'bbox': [5, 6, 7, 8]}]}
    """
    name = next((each for each in _KINDS if each in fields), "")
    if not name:
        keys = next((each for each in (*_CORNERS, *_SIDES, ("x", "y")) if {*each} <= fields.keys()), ())
        own: Any = {key: fields[key] for key in keys}
        places = [_keyed(own)] if keys else []
        gone = {*keys}
    else:
        own, gone = fields[name], {name}
        places = [] if _flat(own) else places_of(own, name)
    if not places:
        return fields
    rest = {key: value for key, value in fields.items() if key not in gone}
    return {**rest, **places[0]} if len(places) == 1 else {**rest, "regions": places}


def places_of(value: Any, kind: str = "bbox") -> list[dict[str, Any]]:
    """Return the places that a value stands for, each in the wire form; none where it has no known shape.

    ``kind`` is the kind of place of four numbers, or of two where it is a point.

    >>> places_of("<box>100, 200, 300, 240</box>"), places_of([[[0, 0], [9, 0], [0, 9]]], "polygon")
    ([{'bbox': [100, 200, 300, 240]}], [{'polygon': [0, 0, 9, 0, 0, 9]}])
    """
    if isinstance(value, str):
        own = "point" if _POINT.match(value) else kind
        read = literal(value)
        return places_of(numbers_of(value) if isinstance(read, str) else read, own)
    if isinstance(value, Mapping):
        return [_keyed(value)] if {*value} in ({*each} for each in (*_CORNERS, *_SIDES, ("x", "y"))) else []
    if isinstance(value, tuple):
        value = list(value)
    if not isinstance(value, list) or not value:
        return []
    if _flat(value):
        return [{kind: value}] if len(value) == _COUNTS.get(kind, len(value)) else []
    pairs = [_pair(each) for each in value]
    if kind != "point" and None not in pairs and len(pairs) > 1:
        flat = [number for pair in pairs if pair for number in pair]
        if len(pairs) > 2:
            return [{"polygon": flat}]
        named = isinstance(value[0], Mapping)  # corners; of pairs the box format says what they are
        return [{"bbox": dict(zip(_CORNERS[0], flat, strict=True)) if named else flat}]
    each = [places_of(item, kind) for item in value]
    return [place for places in each for place in places] if all(each) else []


_COUNTS = {"bbox": 4, "point": 2, "circle": 3}


def corners_of(box: Fields) -> list[Any] | None:
    """Return x1 y1 x2 y2 of a box with keys of its own; None for any other mapping, or without numbers."""
    for keys in _CORNERS:
        if {*keys} == {*box}:
            return [box[key] for key in keys]
    for keys in _SIDES:
        if {*keys} == {*box} and _flat(list(box.values())):
            x, y, width, height = (box[key] for key in keys)
            return [x, y, x + width, y + height]
    return None


def _keyed(place: Fields) -> dict[str, Any]:
    return {"point": [place["x"], place["y"]]} if {*place} == {"x", "y"} else {"bbox": dict(place)}


def _flat(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(each, list | tuple | Mapping | str) for each in value)


def _pair(value: Any) -> Sequence[Any] | None:
    """Return a point of a list of points."""
    if isinstance(value, Mapping):
        return (value["x"], value["y"]) if {*value} == {"x", "y"} else None
    return value if isinstance(value, list | tuple) and len(value) == 2 and _flat(list(value)) else None
