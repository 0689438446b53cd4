"""Dialects: what one text answers, and the patterns that read what is usual in many texts at once.

``read`` (a function, or ``pattern``) defines what a text answers. ``usual`` patterns are for speed alone: what they
capture is what ``read`` would return. ``parse`` reads all other texts one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import Act, normalised
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import DialectError, GroundingRewardsError, RecipeError
from grounding_rewards.parsing.patterns import check_texts, groups_of
from grounding_rewards.parsing.texts import SPACE, Texts, compiled, tag_texts

Answers = Literal["only", "first", "last", "all"]
"""Rule for texts with several answers: none of them counts, the first does, the last does, or all do."""
Place = Sequence[float]
"""x, y of a point, or x1, y1, x2, y2 of a box."""
Read = Callable[[str], Iterable[Act | Place] | None]
Answered = tuple[int, bool, Sequence[Act]]
"""Index of the dialect that matched (-1: none), whether an answer was begun, the answers that the policy needs."""

Many = Callable[[Texts], tuple[NDArray[np.int64], Floats, NDArray[np.int64], NDArray[np.int64]]]
"""From n texts to the rows that are lists of points, all of their points, where each row's points end, and further
rows that surely hold no answer."""

MAX_ANSWERS = 256
"""Largest number of answers that are read; a response with more, such as points all over the screen, is TOO_MANY."""

REFUSED = Act("refusal", (), {"raw": "refusal"})  # by identity: no response can write it
NOTHING: Answered = (-1, False, ())
_POINT, _BOX = {"x", "y"}, {"x1", "y1", "x2", "y2"}
_PLACE = _POINT | _BOX | {"action"}
_GROUPS = _PLACE | {"text", "direction", "app", "status", "button"}


class Dialect(Protocol):
    """A way of writing answers."""

    @property
    def name(self) -> str:
        """Name of the dialect in a config."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects that it tries, in order; its own name where it tries no others."""

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""

    def steps(self) -> list[Step]:
        """The dialects that many texts meet, in order."""


class Step(NamedTuple):
    """A dialect in the order in which many texts meet them."""

    dialect: Dialect  # reads a text by itself
    first: int = 0  # the index of its first name
    gate: tuple[str, ...] = ()  # substrings of which a text with an answer holds one; none: no such rule
    usual: tuple[str, ...] = ()  # its usual forms
    needs: tuple[str, ...] = ()  # patterns that occur in every text with an answer
    # Where an answer is found in a text with one of these patterns, the text is read by itself.
    guards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """One form of answers.

    Args:
        name: the dialect's name.
        read: one text to its answers in order, acts or places; none or None where it cannot be read. It is called with
            texts that hold a sign.
        pattern: in place of ``read``, an answer anywhere in a text, in the common subset of RE2 and Python's re, with
            groups x and y, or x1 y1 x2 y2, and perhaps action; without groups a refusal.
        signs: substrings that show that an answer was begun; every answer contains one (none: no such rule).
        whole: the answer must be the whole text, but for white space around it.
        usual: whole texts in their usual forms; what they capture is what is read.
        begin: a substring whose first occurrence starts what ``usual`` looks at.
        vocabulary: translate actions into the words of ``actions.ACTIONS``.
        formed: a text in the usual form is also well formed, so that ``Format`` need not look at it.
    """

    name: str
    pattern: Any = field(default="", repr=False)
    signs: tuple[str, ...] = ()
    whole: bool = False
    usual: tuple[str, ...] = field(default=(), repr=False)
    read: Read | None = field(default=None, repr=False)
    begin: str = field(default="", repr=False)
    vocabulary: bool = False
    formed: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)

    @cached_property
    def full_pattern(self) -> str:
        """The pattern that is run."""
        return f"^{SPACE}(?:{self.pattern}){SPACE}$" if self.whole and self.pattern else self.pattern

    def check_patterns(self) -> None:
        """Raise a RecipeError where RE2 and Python's re do not read a pattern alike, or its groups hold no place."""
        _ = self._refuses

    @cached_property
    def _refuses(self) -> bool:
        check_texts(self, "signs", "usual")
        captured = [groups_of(self.name, pattern) for pattern in self.usual]
        if self.read is not None:
            wrong = next((names for names in captured if not names <= _GROUPS or not _holds(names)), None)
            expected = f"action, and more of {sorted(_GROUPS)}, or x and y, or x1, y1, x2 and y2"
        else:
            names = groups_of(self.name, self.full_pattern or self.pattern)
            missing = names and not (names >= _POINT or names >= _BOX)
            wrong = names if missing else next((each for each in captured if not each <= names), None)
            expected = "x and y, or x1, y1, x2 and y2, in usual no others; only a refusal has no groups"
            if wrong is None and not names:
                return True
        if wrong is not None:
            raise RecipeError(f"dialect {self.name}: got groups {sorted(wrong)}; expected {expected}")
        return False

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        begun = not self.signs
        for sign in self.signs:  # any() takes longer
            if sign in text:
                begun = True
                break
        if not begun:
            return NOTHING
        try:
            acts = self._policy(self.read(text) if self.read else self._find(text), answers)
            if acts and self.vocabulary:
                name, fields = normalised(acts[0].name, acts[0].arguments)
                acts = [Act(name, acts[0].place, fields), *acts[1:]]
        except GroundingRewardsError:
            raise
        except (Exception, SystemExit) as error:  # SystemExit, too: code of a plugin must not end the run
            failure = DialectError(f"dialect {self.name!r} raised {type(error).__name__}: {error} on {text!r:.80}")
            failure.term = self
            raise failure from error
        return (0, True, acts) if acts else (-1, bool(self.signs), ())

    def _policy(self, found: Iterable[Act | Place] | None, answers: Answers) -> list[Act]:
        """The answers that a policy needs, at most one more than ``MAX_ANSWERS``."""
        if found is None:
            return []
        if answers == "last":
            found = list(found)[-1:]
        acts = list(islice(found, 1 if answers == "first" else MAX_ANSWERS + 1))
        return [each if type(each) is Act else Act("", _as_place(each)) for each in acts]

    def _find(self, text: str) -> Iterator[Act]:
        """Read by the pattern."""
        if self._refuses:
            if compiled(self.full_pattern).search(text):
                yield REFUSED
            return
        for match in compiled(self.full_pattern).finditer(text):
            groups = match.groupdict()
            names = ("x", "y") if groups.get("x") and groups.get("y") else ("x1", "y1", "x2", "y2")
            if groups.get(names[0]):  # numbers of all dialects are limited where they become columns
                yield Act(groups.get("action") or "", tuple([float(groups[name] or "nan") for name in names]))

    def steps(self) -> list[Step]:
        """The dialect alone."""
        needs = (self.full_pattern,) if self.read is None else ()
        return [Step(self, 0, self.signs, self.usual, needs)]

    @cached_property
    def once(self) -> str:
        """A substring of which a text with one answer or none has one, where the pattern can be captured at once."""
        plain = self.read is None and not self._refuses
        return self.signs[0] if plain and len(self.signs) == 1 else ""


def _holds(names: set[str]) -> bool:
    return "action" in names or names >= _POINT or names >= _BOX


@dataclass(frozen=True)
class FirstOf:
    """Several dialects, tried in order; the first that finds an answer counts.

    Args:
        dialects: the least ambiguous first.
        name: the dialect's name.
        vocabulary: translate the names of actions into those of ``actions.ACTIONS``.
    """

    dialects: tuple[Dialect, ...]
    name: str = "first_of"
    vocabulary: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects tried, in order."""
        return tuple(name for dialect in self.dialects for name in dialect.names)

    @cached_property
    def _members(self) -> tuple[tuple[int, Dialect], ...]:
        firsts = np.cumsum([0, *(len(dialect.names) for dialect in self.dialects)]).tolist()
        return tuple(zip(firsts, self.dialects, strict=False))

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        begun = False
        for first, dialect in self._members:
            index, some, acts = dialect.one(text, answers)
            if acts:
                return first + index, True, acts
            begun = begun or some
        return -1, begun, ()

    def check_patterns(self) -> None:
        """Check the patterns of all dialects inside."""
        for dialect in self.dialects:
            check_patterns(dialect)

    def steps(self) -> list[Step]:
        """The steps of all dialects inside."""
        return [step._replace(first=first + step.first) for first, dialect in self._members for step in dialect.steps()]


NEVER = ("a^",)
"""Needs of a step that is a usual form and nothing else."""


def check_patterns(dialect: Any) -> None:
    """Check a dialect's patterns, if its class has any."""
    check = getattr(dialect, "check_patterns", None)
    if check is not None:
        check()


@dataclass(frozen=True)
class TaggedDialect:
    """Reads nothing but what stands between ``<tag>`` and ``</tag>``; tags that hold the same text are one."""

    dialect: Dialect
    tag: str

    @property
    def name(self) -> str:
        """Name of the dialect inside, and the tag."""
        return f"{self.dialect.name} in <{self.tag}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects inside."""
        return self.dialect.names

    @property
    def vocabulary(self) -> bool:
        """True where the dialect inside names actions in the shared vocabulary."""
        return bool(getattr(self.dialect, "vocabulary", False))

    def check_patterns(self) -> None:
        """Check the patterns of the dialect inside."""
        check_patterns(self.dialect)

    def steps(self) -> list[Step]:
        """The dialect itself, as one step."""
        return [Step(self)]

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        held = [each.strip() for each in tag_texts(text, self.tag)]
        alike = len(set(held))
        if alike == 1 or (alike and answers in ("first", "last")):
            index, _, acts = self.dialect.one(held[-1 if answers == "last" else 0], answers)
            return index, True, acts
        several = (Act(""),) * alike if answers == "only" else ()
        return -1, f"<{self.tag}>" in text, several


def _as_place(place: Any) -> tuple[float, ...]:
    """Check a place that a function returned, maybe a plugin's."""
    numbers = tuple(place)
    if len(numbers) not in (2, 4):
        many = "number" if len(numbers) == 1 else "numbers"
        raise ValueError(f"read returned a place of {len(numbers)} {many}; expected 2 or 4, or an act without a place")
    for each in numbers:
        if not isinstance(each, int | float):
            raise TypeError(f"read returned {each!r:.60} in a place; expected numbers")
    return numbers


PatternDialect = Form
"""The name of ``Form`` for plugins, most of which are one pattern."""
