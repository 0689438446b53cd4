"""One target, as read: places, an action or a refusal, and the sizes and names beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace


class RegionKind(IntEnum):
    """Shapes of places."""

    BBOX = 0
    POLYGON = 1
    CIRCLE = 2
    POINT = 3


Number = Annotated[float, Meta(ge=-COORDINATE_LIMIT, le=COORDINATE_LIMIT)]
Box = tuple[Number, Number, Number, Number]
_Side = Annotated[float, Meta(ge=1, le=COORDINATE_LIMIT)]
_Name = Annotated[str, Meta(min_length=1)]
_Whole = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**53)]  # a float holds every whole number up to here


class Action(Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """An action to do at a place, or without one. ``to`` is the other end of a drag, in the target's space."""

    name: _Name
    text: str | None = None
    direction: Literal["up", "down", "left", "right"] | None = None
    to: tuple[float, ...] | None = None
    button: str | None = None
    keys: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    app: str | None = None
    status: str | None = None
    duration: float | None = None


class Region(Struct, frozen=True, repr_omit_defaults=True):
    """One place: its kind, its numbers in wire order, the point marked inside a bbox and its own action, if any."""

    kind: RegionKind
    numbers: tuple[float, ...]
    point: tuple[float, float] | None = None
    action: Action | None = None


class Listed(tuple[Any, ...]):
    """Places or actions that no JSON says by this name, so that ``msgspec`` takes none."""


NONE = Listed()


def placed(regions: Iterable[Region]) -> dict[str, Any]:
    """Return the fields of a target that hold its places."""
    places = Listed(regions)
    if len(places) == 1 and places[0] == Region(RegionKind.BBOX, places[0].numbers):
        return {"bbox": places[0].numbers, "places": NONE}
    return {"bbox": None, "places": places or NONE}


class Target(Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True, gc=False):
    """Right answers to one sample, as read: the wire form of most targets, which ``msgspec`` reads by these types.

    ``bbox`` is a lone box without anything of its own; other places are in ``places``, and all in ``regions``.
    ``action`` is what to do at the places that have no action of their own, or without a place; ``actions`` are those
    that would be right in place of all others, at no place. ``space`` is None where the wire form did not name one.
    """

    bbox: Box | None = None
    image_size: tuple[_Side, _Side] | None = None
    model_image_size: tuple[_Side, _Side] | None = None
    id: str | _Whole | None = None
    refusal: bool = False
    action: Action | None = None
    space: CoordSpace | None = None
    task: str | None = None
    trajectory: str | _Whole | None = None
    step: _Count | None = None
    num_steps: _Count | None = None
    extra: Any = None
    places: Listed = NONE
    actions: Listed = NONE

    @property
    def regions(self) -> tuple[Region, ...]:
        """The places."""
        if self.bbox is None:
            return self.places
        return (Region(RegionKind.BBOX, tuple([number + 0.0 for number in self.bbox])),)  # -0.0 + 0.0 is 0.0

    def changed(self, regions: Iterable[Region] | None = None, **fields: Any) -> Target:
        """Return a target with other places or fields."""
        return replace(self, **fields, **({} if regions is None else placed(regions)))

    def every_action(self) -> tuple[Action, ...]:
        """Return all actions that it names, in order."""
        own = (self.action, *(region.action for region in self.places))
        return (*[action for action in own if action is not None], *self.actions)

    @property
    def acts(self) -> bool:
        """True where it names an action."""
        if self.action is not None or self.actions:
            return True
        return any([region.action is not None for region in self.places])  # noqa: C419 (faster so)

    @property
    def placeless(self) -> bool:
        """True where an action that needs no place is right."""
        return bool(self.actions) or (self.bbox is None and not self.places)

    @property
    def ends(self) -> bool:
        """True where an action has another end, which is a place, too."""
        return any(action.to is not None for action in self.every_action())


class NativeForm(Struct, frozen=True):
    """A source's own form of targets: its description, and the conversion of one into the wire form.

    ``read`` gets the bare value and returns the wire dict, or None where the value is not in this form. Where
    ``lists_alone``, it is so for every value that is no list; where ``bare_box``, a list of four numbers is a bbox.
    """

    description: str
    read: Callable[[Any], dict[str, Any] | None]
    lists_alone: bool = False
    bare_box: bool = False
