"""Places of an object's action: points, boxes and the ends of drags, by the keys in ``_keys.KEYS``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.parsing.texts import limited

Place = tuple[float, ...]

_END_ALONE = ("left_click_drag", "dragTo", "drag_to", "mouse_drag")
_INFINITY = float("inf")


def places_of(parts: Mapping[str, Any], item: Mapping[Any, Any]) -> tuple[Place, Place] | None:
    """Return the place and the other end, () for one that is absent; None if one of them cannot be read."""
    value, end = parts.get("place") or parts.get("box"), parts.get("to")
    if parts.get("start"):
        value, end = parts["start"], end or value  # beside a start, a plain place is where it ends
    elif not value:
        x, y = item.get("x"), item.get("y")
        if x is not None or y is not None:
            value = (x, y)
        elif "x1" in item:
            value = [item.get(key) for key in ("x1", "y1", "x2", "y2")]
        elif "path" in item and not end:
            path = item["path"]
            value, end = (path[0], path[-1]) if isinstance(path, list | tuple) and path else (None, None)
    place = place_of(value) if value else ()
    to = place_of(end) if end and not isinstance(end, str) else ()
    if place is None or to is None:
        return None
    return place, to if len(to) != 4 else ((to[0] + to[2]) / 2, (to[1] + to[3]) / 2)


def two_ends(name: str, place: Place, begins: bool) -> tuple[Place, Place]:
    """Split the one place of a drag: four numbers are both ends; two are the start, or for some functions the end."""
    if len(place) == 4:
        return place[:2], place[2:]
    return (place, ()) if begins or name not in _END_ALONE else ((), place)


def place_of(value: Any) -> Place | None:
    """Return two or four finite numbers, from one list, pairs, or an object with x and y; None for anything else.

    >>> place_of([5, 6]), place_of([[1, 2], [3, 4]]), place_of({"x": 5, "y": 6}), place_of([True, 1]), place_of("5, 6")
    ((5.0, 6.0), (1.0, 2.0, 3.0, 4.0), (5.0, 6.0), None, None)
    """
    if isinstance(value, dict):
        value = (value.get("x"), value.get("y"))
    if not isinstance(value, list | tuple):
        return None
    if len(value) in (1, 2) and isinstance(value[0], list | tuple) and isinstance(value[-1], list | tuple):
        value = [number for pair in value for number in pair[:5]]  # of more than four numbers none are a place
    if len(value) != 2 and len(value) != 4:
        return None
    place = tuple([number_of(number) for number in value])
    return None if None in place else place  # type: ignore[return-value]


def number_of(value: Any) -> float | None:
    """Return a finite number clipped to ±COORDINATE_LIMIT; None for anything else, such as True and False."""
    if type(value) not in (int, float) or not -_INFINITY < value < _INFINITY:
        return None
    return limited(value)
