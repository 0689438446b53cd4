"""What there is to say about one score, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from grounding_rewards.explain.labels import plain
from grounding_rewards.explain.sections import Conversion, Extent, Numbers, Position, Read, Told


@dataclass(frozen=True)
class Mate:
    """One of the rows that were scored together.

    Attributes:
        row: what it is called: its number in the file, or among these rows.
        response: as it came.
        point: the point that it answers with, in the space of the formula.
        total: what it is paid.
        acc: 1.0 for full success, else 0.0.
        reason: name of the ``Reason``.
        step: of a trajectory, which step it is.
        length: of the response in tokens where they are known, else in characters; None where it does not matter.
        explained: whether this is the row that is explained.
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
    """The rows without which the score cannot be told: a group, or the rollouts of a trajectory.

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
        score: what it is worth here.
        low: the least that it can be.
        high: the most.
        made_by: the verifier with the arguments that are not defaults or that its formula names, or how the parts are
            put together.
        formula: of a combination the formula by names of parts, of a verifier its formula in words, and what each
            argument says that is not a default.
        in_words: whether it is in words, which of a combination that is not one of ``combine`` it is, too.
        numbers: the formula of a combination with the scores of the parts; of a verifier what it counted or measured
            on the way, "" where that is not told.
        enters: how it enters what it is a part of.
        contribution: what it adds to the total; None where it does not enter by sums, multiples and choices alone.
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
class Explanation:
    """Why a response is paid what it is paid.

    Attributes:
        recipe: how to build the recipe.
        name: its name.
        options: the options that are not defaults.
        spaces: the spaces of the response, of targets that do not name one, and of the formula.
        formula: what makes the total, as the recipe states it.
        response: as it came.
        read: what was read from it.
        target: the target as read; None where it cannot be read or there is none.
        extents: the sizes that conversions used.
        conversions: of the answer and of the target's places into the space of the formula.
        position: where the answer lies, and how far from the target.
        positions: the same of every answer, where all of several count.
        together: the rows that were scored together, where the recipe needs them.
        reward: what makes the total, part by part.
        success: what makes ``acc``, part by part.
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
    positions: tuple[Position, ...] = ()
    together: Together | None = None

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
