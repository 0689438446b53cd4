"""Comparisons that rules of several evaluators share, and actions of this package as rules write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import cycle
from math import hypot
from typing import Any

from grounding_rewards.actions import OPPOSITE, Act
from grounding_rewards.evaluators.rule import Box, Size, Step
from grounding_rewards.verifiers.action_match import outcome
from grounding_rewards.verifiers.match import either_contains

Place = Sequence[float]


def numbers(value: Any, count: int) -> list[float]:
    """Return a list of so many numbers, also one written as JSON.

    Raises:
        ValueError: it is something else, as where the evaluator's own code stops.
    """
    value = decoded(value)
    if not isinstance(value, list | tuple) or len(value) != count or not {*map(type, value)} <= {int, float}:
        raise ValueError(f"expected {count} numbers")
    return [float(each) for each in value]


def decoded(value: Any) -> Any:
    """Return a value, decoded where it is JSON in a text."""
    return json.loads(value) if isinstance(value, str) else value


def middle(place: Place) -> tuple[float, ...]:
    """Return a place x, y, or the centre of a box; nothing for nothing."""
    return ((place[0] + place[2]) / 2, (place[1] + place[3]) / 2) if len(place) == 4 else tuple(place[:2])


def apart(a: Place, b: Place) -> float:
    """Return the Euclidean distance of two places."""
    return hypot(a[0] - b[0], a[1] - b[1])


def holds(box: Place, place: Place) -> bool:
    """Return True for a place in a box, borders included."""
    return box[0] <= place[0] <= box[2] and box[1] <= place[1] <= box[3]


def scaled(box: Place, factor: float) -> Box:
    """Return a box of so many times its width and height about its centre."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    right, down = (box[2] - box[0]) * factor / 2, (box[3] - box[1]) * factor / 2
    return x - right, y - down, x + right, y + down


def moved_in(box: Place, factor: float) -> Box:
    """Return a box x, y, width, height as x1, y1, x2, y2 of so many times its size, at most a whole screen.

    One that begins outside the screen is moved into it, so that nothing of its size is lost.
    """
    x, y, width, height = box
    wider, higher = width * (factor - 1), height * (factor - 1)
    x, y = max(0.0, x - wider / 2), max(0.0, y - higher / 2)
    return x, y, x + min(1.0, width + wider), y + min(1.0, height + higher)


def nearest(boxes: Iterable[Box], place: Place, count: int) -> list[Box]:
    """Return the boxes x1, y1, x2, y2 whose centres are nearest to a place; of equal ones the first."""
    return sorted(boxes, key=lambda box: apart(middle(box), place))[:count]


def overlap(a: Place, b: Place) -> float:
    """Return the area that two boxes share over that of both together; 0.0 where they have none."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / both if both > 0 else 0.0


def direction(start: Place, end: Place) -> str:
    """Return the way from one place to another along its longer side, vertical if both are equal; "" without one."""
    right, down = end[0] - start[0], end[1] - start[1]
    if abs(right) > abs(down):
        return "right" if right > 0 else "left"
    return "down" if down > 0 else "up" if down else ""


def stripped_contains(a: str, b: str) -> bool:
    """Return True where one of two texts is part of the other, without white space around them and case."""
    return either_contains(a.strip(), b.strip())


_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def pixels(place: Sequence[float], size: Size) -> list[float]:
    """Return a point or box in pixels of the screen, in shares as before where its size is not known."""
    return [round(share * side, 6) for share, side in zip(place, cycle(size or (1.0, 1.0)))]


def point(act: Act, size: Size) -> list[float]:
    """Return the centre of an action's place in pixels of the screen; 0, 0 of an action without one."""
    return pixels(middle(act.place) or (0.0, 0.0), size)


def boxes(step: Step) -> list[list[float]]:
    """Return the boxes of a step in pixels, x1, y1, x2, y2: its candidates, else that of its action."""
    found = step.boxes or ((step.act.place,) if len(step.act.place) == 4 else ())
    return [pixels(box, step.image_size) for box in found]


def ends(act: Act, size: Size) -> tuple[list[float], list[float]]:
    """Return where the finger of a scroll begins and ends, against the way of the view."""
    right, down = _WAYS.get(OPPOSITE.get(act.arguments.get("direction", ""), ""), (0, 0))
    start, end = (0.5 - 0.2 * right, 0.5 - 0.2 * down), (0.5 + 0.2 * right, 0.5 + 0.2 * down)
    return pixels(start, size), pixels(end, size)


def text(act: Act) -> str:
    """Return what an action types, opens or presses."""
    said = act.arguments
    return str(said.get("app") or said.get("text") or "+".join(said.get("keys", ())))


def failed(act: Act) -> bool:
    """Return True for an end that says that the task could not be done."""
    return outcome(act.arguments.get("status")) == "impossible"
