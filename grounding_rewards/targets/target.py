"""One target, as read: places, an action or a refusal, and the sizes and names beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from grounding_rewards.coords.spaces import CoordSpace


class RegionKind(IntEnum):
    """Shapes of places."""

    BBOX = 0
    POLYGON = 1
    CIRCLE = 2
    POINT = 3


@dataclass(frozen=True)
class Action:
    """An action to do at a place, or without one. ``to`` is the other end of a drag, in the target's space."""

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
class Region:
    """One place: its kind, its numbers in wire order, the point marked inside a bbox and its own action, if any."""

    kind: RegionKind
    numbers: tuple[float, ...]
    point: tuple[float, float] | None = None
    action: Action | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Target:
    """Right answers to one sample, as read.

    ``action`` is what to do at the places that have no action of their own, or without a place; ``actions`` are those
    that would be right in place of all others, at no place. ``space`` is None where the wire form did not name one.
    """

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
    actions: tuple[Action, ...] = ()

    def every_action(self) -> tuple[Action, ...]:
        """Return all actions that it names, in order."""
        own = (self.action, *(region.action for region in self.regions))
        return (*[action for action in own if action is not None], *self.actions)

    @property
    def acts(self) -> bool:
        """True where it names an action."""
        if self.action is not None or self.actions:
            return True
        return any([region.action is not None for region in self.regions])  # noqa: C419 (faster so)

    @property
    def placeless(self) -> bool:
        """True where an action that needs no place is right."""
        return bool(self.actions) or not self.regions

    @property
    def ends(self) -> bool:
        """True where an action has another end, which is a place, too."""
        return any(action.to is not None for action in self.every_action())


@dataclass(frozen=True)
class NativeForm:
    """A source's own form of targets: its description, and the conversion of one into the wire form.

    ``read`` gets the bare value and returns the wire dict, or None where the value is not in this form.
    """

    description: str
    read: Callable[[Any], dict[str, Any] | None]
