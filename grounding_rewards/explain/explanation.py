"""An explanation of one score, as plain values: response and target as read, conversions, positions, parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True)
class Mate:
    """One of the rows that were scored together.

    Attributes:
        row: its number in the file, or among these rows.
        response: as it came.
        point: its answer, in the space of the formula.
        total: its reward.
        acc: 1.0 for full success, else 0.0.
        reason: name of the ``Reason``.
        step: its step in the trajectory.
        length: of the response in tokens where they are known, else in characters; None where it does not matter.
        explained: True for the row that is explained.
    """

    row: int
    response: str | None
    point: Numbers | None
    total: float
    acc: float
    reason: str
    step: int | None = None
    length: int | None = None
    explained: bool = False


@dataclass(frozen=True)
class Together:
    """The rows that the score depends on: a group, or the rollouts of a trajectory.

    Attributes:
        what: "group" or "trajectory".
        space: the space of the points.
        rows: all of them, the explained one included.
    """

    what: str
    space: str
    rows: tuple[Mate, ...]


@dataclass(frozen=True)
class Term:
    """A part of the reward, or the whole.

    Attributes:
        name: name of the part; "total" and "acc" are the whole.
        score: its score here.
        low: the lowest score that it can have.
        high: the highest.
        made_by: the verifier with the arguments that are not defaults or that its formula names, or the way in which
            the parts are combined.
        formula: of a combination the formula by names of parts, of a verifier its formula in words, with each
            argument that is not a default.
        in_words: True where the formula is in words, as also of combinations that are not of ``combine``.
        numbers: the formula of a combination with the scores of the parts; of a verifier the numbers that it counted
            or measured on the way, "" where they are not known.
        enters: the way in which it enters the term that it is a part of.
        contribution: its share of the total; None where it does not enter by sums, multiples and choices alone.
        constant: a constant added to the total here beside the parts.
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
class Explanation:
    """The score of one response, and how it came about.

    Attributes:
        recipe: how to build the recipe.
        name: its name.
        options: the options that are not defaults.
        spaces: the spaces of the response, of targets that do not name one, and of the formula.
        formula: the formula of the total, as the recipe states it.
        response: as it came.
        read: the response as read.
        target: the target as read; None where it cannot be read or there is none.
        extents: the sizes that conversions used.
        conversions: of the answer and of the target's places into the space of the formula.
        position: the answer's place, and its distance to the target.
        positions: the same of every answer, where all of several count.
        together: the rows that were scored together, where the recipe needs them.
        reward: the composition of the total, part by part.
        success: the composition of ``acc``, part by part.
        acc_is: the same in words.
        total: the reward; None where the target cannot be used.
        acc: 1.0 for full success, else 0.0; None where the target cannot be used.
        valid: 0.0 where the target cannot be used, else 1.0.
        reason: name of the ``Reason``.
        error: why the target cannot be used.
    """

    recipe: str
    name: str
    options: Mapping[str, Any]
    spaces: Mapping[str, str]
    formula: str
    response: str | None
    read: ReadResponse
    target: ReadTarget | None
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
    positions: tuple[Position, ...] = ()
    together: Together | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; a number that is not finite is text.

        >>> from grounding_rewards import recipe
        >>> from grounding_rewards.explain import Case, explain
        >>> explain(recipe("gelato"), Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],))).to_dict()["position"]["words"]
        'inside'
        """
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
    """The scores of one case by one of several recipes.

    Attributes:
        recipe: how to build it.
        name: its name.
        response_space: the space in which it reads the response.
        low: the lowest total.
        high: the highest.
        total: None, as ``acc`` and ``reason``, where it cannot judge the case.
        acc: 1.0 for full success, else 0.0.
        reason: name of the ``Reason``.
        error: why it cannot judge the case.
    """

    recipe: str
    name: str
    response_space: str
    low: float
    high: float
    total: float | None = None
    acc: float | None = None
    reason: str | None = None
    error: str | None = None

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
