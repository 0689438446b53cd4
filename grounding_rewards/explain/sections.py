"""Response and target as read, conversions and positions, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class ReadResponse:
    """A response as read, in the space in which it is written.

    Attributes:
        reason: name of the ``Reason``.
        meaning: the reason in a sentence.
        dialect: the dialect that matched; None where none did.
        tried: the dialects that were tried, in order.
        space: the space of the response.
        answers: the policy where there are several: only, first, last or all.
        thinking: the policy about thinking: closed, open or read.
        left_out: characters of thinking that were left out.
        cut: characters before the last 64 KiB, which were left out.
        action: name of the action; None where the answer names none.
        arguments: arguments of the action beside its place.
        point: x and y answered, the centre of an answered box.
        box: x1 y1 x2 y2 answered.
        found: the points of all answers, where there are several; None in place of one without a point.
    """

    reason: str
    meaning: str
    dialect: str | None
    tried: tuple[str, ...]
    space: str
    answers: str
    thinking: str
    left_out: int
    cut: int
    action: str | None
    arguments: Mapping[str, Any]
    point: Numbers | None
    box: Numbers | None
    found: tuple[Numbers | None, ...]


@dataclass(frozen=True)
class Place:
    """A place of the target as it is written there.

    Attributes:
        kind: bbox, polygon, circle or point.
        numbers: its numbers in the order of the wire form.
        point: the point marked in it.
        action: the action there, where it is not that of all places.
        alone: the total if this were the only place, where there are several.
    """

    kind: str
    numbers: Numbers
    point: Numbers | None = None
    action: Mapping[str, Any] | None = None
    alone: float | None = None


@dataclass(frozen=True)
class ReadTarget:
    """The target as read.

    Attributes:
        form: "native" for the form of the recipe's source, else "wire".
        space: the space of its places; None where there is none.
        places: any of which is right.
        refusal: True where nothing on the screen fits.
        action: the action to take, in the recipe's words.
        actions: actions that would be right in place of all others.
        says: sizes, id, trajectory, step and any other field.
        compared: False of a recipe that compares nothing with targets.
    """

    form: str
    space: str | None
    places: tuple[Place, ...]
    refusal: bool
    action: Mapping[str, Any] | None
    actions: tuple[Mapping[str, Any], ...]
    says: Mapping[str, Any]
    compared: bool = True


@dataclass(frozen=True)
class Extent:
    """Width and height of a space, and where they come from."""

    space: str
    width: float
    height: float
    origin: str


@dataclass(frozen=True)
class Axis:
    """One converted coordinate: ``value · (into / source) = result``, or ``value / source`` into unit."""

    axis: str
    value: float
    source: float
    into: float
    result: float


@dataclass(frozen=True)
class Conversion:
    """A place converted from one space into another, coordinate by coordinate; no axes where both are one space."""

    what: str
    source: str
    into: str
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Position:
    """Place of the answer, and its distance to the target.

    Attributes:
        space: pixel where the sizes are known, else the space of the formula.
        point: the answered point.
        box: the answered box.
        places: x1 y1 x2 y2 around each place of the target.
        nearest: index of the nearest place.
        inside: True where the point lies in it, borders included; a recipe may have its own rule for borders.
        gap: distance of the point to it, 0 inside.
        words: the same in words.
    """

    space: str
    point: Numbers
    box: Numbers | None
    places: tuple[Numbers, ...]
    nearest: int
    inside: bool
    gap: float
    words: str
