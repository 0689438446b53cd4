"""What one target says once it is read: places, an action or a refusal, and the sizes and names beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from grounding_rewards.spaces import CoordSpace

LARGEST = 1e12
"""Numbers beyond this, positive or negative, belong to no screen."""


CLICKS = (
    "", "click", "left_click", "double_click", "right_click", "middle_click", "triple_click", "long_press", "tap",
    "leftClick", "doubleClick", "rightClick", "middleClick", "tripleClick", "left_single", "left_double",
    "right_single", "Click", "CLICK", "DOUBLE_CLICK", "RIGHT_CLICK", "Tap",
)  # fmt: skip
"""Action names under which a coordinate is a click, as models write them; "" is an answer that names no action."""


class RegionKind(IntEnum):
    """The shapes that a place can have."""

    BBOX = 0
    POLYGON = 1
    CIRCLE = 2
    POINT = 3


@dataclass(frozen=True)
class Region:
    """One place: its kind, its numbers in wire order, and the point marked inside a bbox, if any."""

    kind: RegionKind
    numbers: tuple[float, ...]
    point: tuple[float, float] | None = None


@dataclass(frozen=True)
class Action:
    """What should be done at the place, or without one. ``to`` is the other end of a drag, in the target's space."""

    name: str
    text: str | None = None
    direction: str | None = None
    to: tuple[float, ...] | None = None
    button: str | None = None
    keys: tuple[str, ...] | None = None
    app: str | None = None
    status: str | None = None
    duration: float | None = None


@dataclass(frozen=True)
class Target:
    """One sample's truth, as read. ``space`` is None where the wire form did not name one."""

    regions: tuple[Region, ...] = ()
    refusal: bool = False
    action: Action | None = None
    space: CoordSpace | None = None
    image_size: tuple[float, float] | None = None
    model_image_size: tuple[float, float] | None = None
    id: str | int | None = None
    task: str | None = None
    trajectory: str | int | None = None
    step: int | None = None
    num_steps: int | None = None
    extra: Any = None


@dataclass(frozen=True)
class NativeForm:
    """A source's own target rows: what they look like, and how one becomes the wire form.

    ``read`` gets the bare value and returns the wire dict, or None where the value is not in this form.
    """

    description: str
    read: Callable[[Any], dict[str, Any] | None]
