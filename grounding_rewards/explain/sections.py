"""What was read and where it lies, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Read:
    """What was read from the response, in the space in which it is written.

    Attributes:
        reason: name of the ``Reason``.
        meaning: what that says, in a sentence.
        dialect: the dialect that matched; None where none did.
        tried: the dialects that were tried, in order.
        space: the space of the response.
        answers: the policy where there are several: only, first, last or all.
        thinking: the policy about thinking: closed, open or read.
        left_out: characters of thinking that were left out.
        cut: characters before the last 64 KiB, which were left out.
        action: name of the action; None where the answer names none.
        arguments: what the action says beside its place.
        point: x and y answered, the centre of an answered box.
        box: x1 y1 x2 y2 answered.
        found: the answers found, their points, where there are several; None in place of one without a point.
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
        action: what to do there, where that is not said for all places.
        alone: the total if this were the only place, where there are several.
    """

    kind: str
    numbers: Numbers
    point: Numbers | None = None
    action: Mapping[str, Any] | None = None
    alone: float | None = None


@dataclass(frozen=True)
class Told:
    """The target as read.

    Attributes:
        form: "native" for the form of the recipe's source, else "wire".
        space: the space of its places; None where there is none.
        places: any of which is right.
        refusal: whether nothing on the screen fits.
        action: what to do, in the recipe's words.
        actions: actions that would be right in place of all others.
        says: sizes, id, trajectory, step and whatever else it has.
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
    """How far a space reaches, and who says so."""

    space: str
    width: float
    height: float
    origin: str


@dataclass(frozen=True)
class Axis:
    """One coordinate's way: ``value · (into / source) = result``, or ``value / source`` into unit."""

    axis: str
    value: float
    source: float
    into: float
    result: float


@dataclass(frozen=True)
class Conversion:
    """What was brought from one space into another, coordinate by coordinate; nothing where both are one space."""

    what: str
    source: str
    into: str
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Position:
    """Where the answer lies and how far that is from the target.

    Attributes:
        space: pixel where the sizes are known, else the space of the formula.
        point: the answered point.
        box: the answered box.
        places: x1 y1 x2 y2 around each place of the target.
        nearest: which place is the nearest.
        inside: whether the point lies in it, borders included; a recipe may have its own rule for borders.
        gap: how far the point is from it, 0 inside.
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
