"""Where an object says that something is done: points, boxes and the ends of drags, under whatever keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.coords.spaces import COORDINATE_LIMIT

Place = tuple[float, ...]

_END_ALONE = ("left_click_drag", "dragTo", "drag_to", "mouse_drag")
_INFINITY = float("inf")


def places_of(given: Mapping[str, Any], item: Mapping[Any, Any]) -> tuple[Place, Place] | None:
    """The place and the other end, () where there is none; None where one of them cannot be read."""
    value, end = given.get("place") or given.get("box"), given.get("to")
    if given.get("start"):
        value, end = given["start"], end or value
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
    """Those of a drag with one place: of four numbers, two and two; of some drags it is where they end."""
    if len(place) == 4:
        return place[:2], place[2:]
    return (place, ()) if begins or name not in _END_ALONE else ((), place)


def place_of(value: Any) -> Place | None:
    """Two or four finite numbers, in one list or in pairs, or an object with x and y; None for anything else.

    >>> place_of([5, 6]), place_of([[1, 2], [3, 4]]), place_of({"x": 5, "y": 6}), place_of([True, 1]), place_of("5, 6")
    ((5.0, 6.0), (1.0, 2.0, 3.0, 4.0), (5.0, 6.0), None, None)
    """
    if isinstance(value, dict):
        value = (value.get("x"), value.get("y"))
    if not isinstance(value, list | tuple):
        return None
    if len(value) in (1, 2) and isinstance(value[0], list | tuple) and isinstance(value[-1], list | tuple):
        value = [number for part in value for number in part[:5]]
    if len(value) != 2 and len(value) != 4:
        return None
    place = tuple([number_of(number) for number in value])
    return None if None in place else place  # type: ignore[return-value]


def number_of(value: Any) -> float | None:
    """A finite number within ±COORDINATE_LIMIT; None for anything else, True and False among it."""
    if type(value) not in (int, float) or not -_INFINITY < value < _INFINITY:
        return None
    return float(min(max(value, -COORDINATE_LIMIT), COORDINATE_LIMIT))
