"""What there is to say about one score, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from grounding_rewards.explain.wording import plain

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
        inside: whether the point lies in it, borders included.
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


@dataclass(frozen=True)
class Mate:
    """One of the rows that were scored together."""

    row: int
    response: str | None
    point: Numbers | None
    total: float
    acc: float
    reason: str
    step: int | None = None


@dataclass(frozen=True)
class Together:
    """The rows without which the score cannot be told: a group, or the rollouts of a trajectory."""

    what: str
    rows: tuple[Mate, ...]


@dataclass(frozen=True)
class Term:
    """A part of the reward, or the whole.

    Attributes:
        name: name of the part; "total" and "acc" are the whole.
        score: what it is worth here.
        low: the least that it can be.
        high: the most.
        made_by: the verifier with the arguments that are not defaults, or how the parts are put together.
        formula: of a combination the formula by names of parts, of a verifier its formula in words.
        in_words: whether it is in words, which of a combination that is not one of ``combine`` it is, too.
        numbers: the formula of a combination with the scores of the parts.
        enters: how it enters what it is a part of.
        contribution: what it adds to the total; None where it does not enter by sums and scalings alone.
        constant: what is added to the total here beside the parts.
        parts: the parts of a combination.
    """

    name: str
    score: float
    low: float
    high: float
    made_by: str
    formula: str
    in_words: bool = True
    numbers: str = ""
    enters: str = ""
    contribution: float | None = None
    constant: float = 0.0
    parts: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Departure:
    """A deviation of the recipe from its source that applies to this response and target."""

    name: str
    why: str


@dataclass(frozen=True)
class Explanation:
    """Why a response is paid what it is paid.

    Attributes:
        recipe: how to build the recipe.
        name: its name.
        options: the options that are not defaults.
        spaces: the spaces of the response, of targets that do not name one, and of the formula.
        response: as it came.
        read: what was read from it.
        target: the target as read; None where it cannot be read or there is none.
        extents: the sizes that conversions used.
        conversions: of the answer and of the target's places into the space of the formula.
        position: where the answer lies, and how far from the target.
        together: the rows that were scored together, where the recipe needs them.
        reward: what makes the total, part by part.
        success: what makes ``acc``, part by part.
        acc_is: the same in words.
        total: the reward; None where the target cannot be used.
        acc: 1.0 for full success, else 0.0; None where the target cannot be used.
        valid: 0.0 where the target cannot be used, else 1.0.
        reason: name of the ``Reason``.
        error: why the target cannot be used.
        departures: deviations from the source that apply here, as far as that can be told.
    """

    recipe: str
    name: str
    options: Mapping[str, Any]
    spaces: Mapping[str, str]
    response: str | None
    read: Read
    target: Told | None
    valid: float
    reason: str
    error: str | None = None
    total: float | None = None
    acc: float | None = None
    acc_is: str = ""
    reward: Term | None = None
    success: Term | None = None
    extents: tuple[Extent, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    position: Position | None = None
    together: Together | None = None
    departures: tuple[Departure, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; a number that is not finite is text.

        >>> from grounding_rewards import recipe
        >>> from grounding_rewards.explain import Case, explain
        >>> found = explain(recipe("gelato"), Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],)))
        >>> found.to_dict()["position"]["words"]
        'inside'
        """
        found: dict[str, Any] = _jsonable(self)
        return found


def _jsonable(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _jsonable(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [_jsonable(each) for each in value]
    return plain(value)
