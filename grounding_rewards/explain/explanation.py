"""An explanation of one score, as plain values: response and target as read, conversions, positions, parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class ReadResponse:
    """A response as read, in the space in which it is written."""

    reason: str  # name of the `Reason`
    meaning: str  # the reason in a sentence
    dialect: str | None  # the dialect that matched; None where none did
    tried: tuple[str, ...]  # the dialects that were tried, in order
    space: str  # the space of the response
    answers: str  # the policy where there are several: only, first, last or all
    thinking: str  # the policy about thinking: closed, open or read
    left_out: int  # characters of thinking that were left out
    cut: int  # characters before the last 64 KiB, which were left out
    action: str | None  # name of the action; None where the answer names none
    arguments: Mapping[str, Any]  # arguments of the action beside its place
    point: Numbers | None  # x and y answered, the centre of an answered box
    box: Numbers | None  # x1 y1 x2 y2 answered
    # the points of all answers, where there are several; None in place of one without a point
    found: tuple[Numbers | None, ...]


@dataclass(frozen=True)
class Place:
    """A place of the target as it is written there."""

    kind: str  # bbox, polygon, circle or point
    numbers: Numbers  # its numbers in the order of the wire form
    point: Numbers | None = None  # the point marked in it
    action: Mapping[str, Any] | None = None  # the action there, where it is not that of all places
    alone: float | None = None  # the total if this were the only place, where there are several


@dataclass(frozen=True)
class ReadTarget:
    """The target as read."""

    form: str  # "native" for the form of the recipe's source, else "wire"
    space: str | None  # the space of its places; None where there is none
    places: tuple[Place, ...]  # any of which is right
    refusal: bool  # True where nothing on the screen fits
    action: Mapping[str, Any] | None  # the action to take, in the recipe's words
    actions: tuple[Mapping[str, Any], ...]  # actions that would be right in place of all others
    says: Mapping[str, Any]  # sizes, id, trajectory, step and any other field
    compared: bool = True  # False of a recipe that compares nothing with targets


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
    """Place of the answer, and its distance to the target."""

    space: str  # pixel where the sizes are known, else the space of the formula
    point: Numbers  # the answered point
    box: Numbers | None  # the answered box
    places: tuple[Numbers, ...]  # x1 y1 x2 y2 around each place of the target
    nearest: int  # index of the nearest place
    inside: bool  # True where the point lies in it, borders included; a recipe may have its own rule for borders
    gap: float  # distance of the point to it, 0 inside
    words: str  # the same in words


@dataclass(frozen=True)
class Mate:
    """One of the rows that were scored together."""

    row: int  # its number in the file, or among these rows
    response: str | None  # as it came
    point: Numbers | None  # its answer, in the space of the formula
    total: float  # its reward
    acc: float  # 1.0 for full success, else 0.0
    reason: str  # name of the `Reason`
    step: int | None = None  # its step in the trajectory
    # of the response in tokens where they are known, else in characters; None where it does not matter
    length: int | None = None
    explained: bool = False  # True for the row that is explained


@dataclass(frozen=True)
class Together:
    """The rows that the score depends on: a group, or the rollouts of a trajectory."""

    what: str  # "group" or "trajectory"
    space: str  # the space of the points
    rows: tuple[Mate, ...]  # all of them, the explained one included


@dataclass(frozen=True)
class Term:
    """A part of the reward, or the whole."""

    name: str  # name of the part; "total" and "acc" are the whole
    score: float  # its score here
    low: float  # the lowest score that it can have
    high: float  # the highest
    # the verifier with the arguments that are not defaults or that its formula names, or the way in which the parts are
    # combined
    made_by: str
    # of a combination the formula by names of parts, of a verifier its formula in words, with each argument that is not
    # a default
    formula: str
    in_words: bool = True  # True where the formula is in words, as also of combinations that are not of `combine`
    # the formula of a combination with the scores of the parts; of a verifier the numbers that it counted or measured
    # on the way, "" where they are not known
    numbers: str = ""
    enters: str = ""  # the way in which it enters the term that it is a part of
    # its share of the total; None where it does not enter by sums, multiples and choices alone
    contribution: float | None = None
    constant: float = 0.0  # a constant added to the total here beside the parts
    parts: tuple[Term, ...] = ()  # the parts of a combination


@dataclass(frozen=True)
class Explanation:
    """The score of one response, and how it came about."""

    recipe: str  # how to build the recipe
    name: str  # its name
    options: Mapping[str, Any]  # the options that are not defaults
    spaces: Mapping[str, str]  # the spaces of the response, of targets that do not name one, and of the formula
    formula: str  # the formula of the total, as the recipe states it
    response: str | None  # as it came
    read: ReadResponse  # the response as read
    target: ReadTarget | None  # the target as read; None where it cannot be read or there is none
    valid: float  # 0.0 where the target cannot be used, else 1.0
    reason: str  # name of the `Reason`
    error: str | None = None  # why the target cannot be used
    total: float | None = None  # the reward; None where the target cannot be used
    acc: float | None = None  # 1.0 for full success, else 0.0; None where the target cannot be used
    acc_is: str = ""  # the same in words
    reward: Term | None = None  # the composition of the total, part by part
    success: Term | None = None  # the composition of `acc`, part by part
    extents: tuple[Extent, ...] = ()  # the sizes that conversions used
    conversions: tuple[Conversion, ...] = ()  # of the answer and of the target's places into the space of the formula
    position: Position | None = None  # the answer's place, and its distance to the target
    positions: tuple[Position, ...] = ()  # the same of every answer, where all of several count
    together: Together | None = None  # the rows that were scored together, where the recipe needs them

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; a number that is not finite is text."""
        values: dict[str, Any] = plain(asdict(self))
        return values

    def __str__(self) -> str:
        """Return the verdict, what was read, where it lies, and what each part scores."""
        verdict = "not scored" if self.total is None else f"total {self.total:.6g} · acc {self.acc:.6g}"
        lines = [f"{self.recipe}: {verdict} · {self.reason}", f"  {self.error or self.read.meaning}"]
        lines += [f"  {self.position.words}"] if self.position else []
        parts = self.reward.parts if self.reward else ()
        lines += [f"  {part.name} {part.score:.6g}, {part.enters or 'enters'}: {part.made_by}" for part in parts]
        return "\n".join(lines)


@dataclass(frozen=True)
class Compared:
    """The scores of one case by one of several recipes."""

    recipe: str  # how to build it
    name: str  # its name
    response_space: str  # the space in which it reads the response
    low: float  # the lowest total
    high: float  # the highest
    total: float | None = None  # None, as `acc` and `reason`, where it cannot judge the case
    acc: float | None = None  # 1.0 for full success, else 0.0
    reason: str | None = None  # name of the `Reason`
    error: str | None = None  # why it cannot judge the case

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return dict(vars(self))


def plain(value: Any) -> Any:
    """Return a value as JSON has it; anything else as Python writes it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)  # an enum of texts is one, too: plain for JSON
    known = value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else repr(value)
