"""From responses to predictions: cap, thinking, dialect, policy, reason. A dialect reads one text; patterns read many.

``read`` (a function, or ``pattern``) defines what a text answers. ``usual`` patterns are for speed alone: arrow runs
them over many texts at once, and what they capture is what ``read`` would return. All other texts are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import islice, takewhile
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import (
    NO_ARGUMENTS,
    Act,
    Arguments,
    Objects,
    canonical,
    empty,
    is_known,
    normalised,
)  # fmt: skip
from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.errors import DialectError, GroundingRewardsError, RecipeError
from grounding_rewards.parsing.patterns import check_texts, groups_of
from grounding_rewards.parsing.texts import (
    SPACE,
    Texts,
    compiled,
    contains,
    extract,
    floats,
    matches,
    number,
    occurrences,
    strings,
    tag_texts,
)  # fmt: skip
from grounding_rewards.rollouts import Predictions, Reason

Answers = Literal["only", "first", "last", "all"]
"""Rule for texts with several answers: none of them counts, the first does, the last does, or all do."""
Thinking = Literal["closed", "open", "read"]
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
MAX_LENGTH = 64 * 1024
"""Characters of a response that are read, from its end, where the answer is."""

REFUSED = Act("refusal", (), {"raw": "refusal"})  # by identity: no response can write it
NOTHING: Answered = (-1, False, ())
_CLOSE, _OPEN = "</think>", "<think>"
_NOWHERE = (np.nan, np.nan)
_OK, _EMPTY, _NO_ANSWER, _MALFORMED, _UNFINISHED, _REFUSED, _SEVERAL, _TOO_MANY = map(int, (
    Reason.OK, Reason.EMPTY, Reason.NO_ANSWER, Reason.MALFORMED, Reason.UNFINISHED, Reason.REFUSED,
    Reason.SEVERAL_ANSWERS, Reason.TOO_MANY,
))  # fmt: skip
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
    """A dialect in the order in which many texts meet them.

    Attributes:
        dialect: reads a text by itself.
        first: the index of its first name.
        gate: substrings of which a text with an answer holds one; none: no such rule.
        usual: its usual forms.
        needs: patterns that occur in every text with an answer.
        guards: where an answer is found in a text with one of these patterns, the text is read by itself.
    """

    dialect: Dialect
    first: int = 0
    gate: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
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
        inner: with these, ``pattern`` captures a group ``body``, in which these are searched for their groups.
        usual: whole texts in their usual forms; what they capture is what is read.
        begin: a substring whose first occurrence starts what ``usual`` looks at.
        vocabulary: translate actions into the words of ``actions.ACTIONS``.
        formed: a text in the usual form is also well formed, so that ``Format`` need not look at it.
    """

    name: str
    pattern: Any = field(default="", repr=False)
    signs: tuple[str, ...] = ()
    whole: bool = False
    inner: tuple[str, ...] = field(default=(), repr=False)
    usual: tuple[str, ...] = field(default=(), repr=False)
    read: Read | None = field(default=None, repr=False)
    begin: str = field(default="", repr=False)
    vocabulary: bool = False
    formed: bool = False

    @property
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
        check_texts(self, "signs", "inner", "usual")
        captured = [groups_of(self.name, pattern) for pattern in self.usual]
        if self.read is not None:
            wrong = next((names for names in captured if not names <= _GROUPS or not _holds(names)), None)
            expected = f"action, and more of {sorted(_GROUPS)}, or x and y, or x1, y1, x2 and y2"
        else:
            outer = groups_of(self.name, self.full_pattern or self.pattern)
            names = outer.union(*(groups_of(self.name, inner) for inner in self.inner))
            missing = (names and not (names >= _POINT or names >= _BOX)) or (self.inner and "body" not in outer)
            wrong = names if missing else next((each for each in captured if not each <= names), None)
            expected = (
                "x and y, or x1, y1, x2 and y2, in usual no others, and body around inner; only a refusal has no groups"
            )
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
            acts = self._policy((self.read or self._find)(text), answers)
            if acts and self.vocabulary:
                name, fields = normalised(acts[0].name, acts[0].arguments)
                acts = [Act(name, acts[0].place, fields), *acts[1:]]
        except GroundingRewardsError:
            raise
        except (Exception, SystemExit) as error:  # SystemExit, too: code of a plugin must not end the run
            raise _failed(self, error, text) from error
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
            if self.inner:
                inside = [compiled(inner).search(groups["body"]) for inner in self.inner]
                groups = {name: value for each in inside if each for name, value in each.groupdict().items()}
            names = ("x", "y") if groups.get("x") and groups.get("y") else ("x1", "y1", "x2", "y2")
            if groups.get(names[0]):
                yield Act(groups.get("action") or "", tuple([number(groups[name]) for name in names]))

    def steps(self) -> list[Step]:
        """The dialect alone."""
        needs = (self.full_pattern,) if self.read is None else ()
        return [Step(self, 0, self.signs, self.usual, needs)]

    @cached_property
    def once(self) -> str:
        """A substring of which a text with one answer or none has one, where the pattern can be captured at once."""
        plain = self.read is None and not self.inner and not self._refuses
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

    begin = ""
    formed = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects tried, in order."""
        return tuple(name for dialect in self.dialects for name in dialect.names)

    @cached_property
    def _members(self) -> tuple[tuple[int, Dialect], ...]:
        firsts = np.cumsum([0, *(len(dialect.names) for dialect in self.dialects)]).tolist()
        return tuple(zip(firsts, map(_reader, self.dialects), strict=False))

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
class _Within:
    """Base of dialects around another one, under its name."""

    dialect: Dialect

    begin, formed, signs = "", False, ()

    @property
    def name(self) -> str:
        """Name of the dialect inside."""
        return self.dialect.name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects inside."""
        return self.dialect.names

    @property
    def vocabulary(self) -> bool:
        """True where the dialect inside names actions in the shared vocabulary."""
        return bool(getattr(self.dialect, "vocabulary", False))

    def check_patterns(self) -> None:
        """Check the patterns here and inside."""
        groups_of(self.name, getattr(self, "pattern", ""))
        check_patterns(self.dialect)

    def steps(self) -> list[Step]:
        """The dialect itself, as one step."""
        return [Step(cast(Dialect, self))]


@dataclass(frozen=True)
class TaggedDialect(_Within):
    """Reads nothing but what stands between ``<tag>`` and ``</tag>``; tags that hold the same text are one."""

    tag: str

    @property
    def name(self) -> str:
        """Name of the dialect inside, and the tag."""
        return f"{self.dialect.name} in <{self.tag}>"

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        held = [each.strip() for each in tag_texts(text, self.tag)]
        alike = len(set(held))
        if alike == 1 or (alike and answers in ("first", "last")):
            index, _, acts = _reader(self.dialect).one(held[-1 if answers == "last" else 0], answers)
            return index, True, acts
        several = (Act(""),) * alike if answers == "only" else ()
        return -1, f"<{self.tag}>" in text, several


def parse(
    responses: Sequence[str | None],
    dialect: Dialect,
    *,
    space: CoordSpace,
    answers: Answers = "only",
    thinking: Thinking = "closed",
    action_names: Collection[str] = (),
) -> Predictions:
    """Read the answer of each response. No text raises an error; -0 is read as 0.0, however it is written.

    Args:
        responses: n texts; None counts as empty. Only the last 64 KiB of each are read.
        dialect: the form of answers.
        space: the space that the model answers in; it becomes ``Predictions.space``.
        answers: which answer counts where there are several: ``"only"`` (several are none), ``"first"``, ``"last"``,
            or ``"all"`` (``points`` holds all, ``xy`` the first).
        thinking: ``"closed"`` drops all up to the last ``</think>``; ``"open"``: the prompt already opened the
            block, so that a text without ``</think>`` is unfinished; ``"read"`` reads thinking like the rest.
        action_names: names of actions that are known beside the vocabulary.

    Raises:
        TypeError: a response is neither a string nor None.
        DialectError: the dialect raises.

    >>> from grounding_rewards.parsing import BARE_TUPLE
    >>> predictions = parse(["<think>(1, 1)?</think>(30, 40)", "(1, 2) or (3, 4)"], BARE_TUPLE, space=CoordSpace.PIXEL)
    >>> predictions.xy, [Reason(code).name for code in predictions.reason]
    (array([[30., 40.],
           [nan, nan]]), ['OK', 'SEVERAL_ANSWERS'])
    """
    texts = read_responses(responses)
    return parse_texts(texts, dialect, space=space, answers=answers, thinking=thinking, action_names=action_names)[0]


def parse_texts(
    whole: Texts, dialect: Dialect, *, space: CoordSpace, answers: Answers, thinking: Thinking,
    action_names: Collection[str],
) -> tuple[Predictions, Texts]:  # fmt: skip
    """Return what ``parse`` does of the same arguments, and the last 64 KiB of each text, thinking and all."""
    texts, unfinished = answer_texts(whole, thinking)  # before the cap, which could cut off <think>
    capped = whole.capped(MAX_LENGTH)
    texts = capped if texts is whole else texts.capped(MAX_LENGTH)
    dialect = _reader(dialect)
    table = _Table(dialect, texts, answers)
    table.read(unfinished)
    xy, box, names, reason = table.xy, table.box, table.names, table.reason
    points, offsets = table.ragged() if answers == "all" else (None, None)
    if getattr(dialect, "vocabulary", False):
        names = _in_vocabulary(names, reason, action_names)
    usual = table.usual if texts is whole else None  # of an answer alone it says nothing of the thinking
    arguments = Arguments(**table.arguments) if table.arguments else NO_ARGUMENTS
    return Predictions(
        xy, box, reason, table.dialect, dialect.names, space, names, points, offsets, usual, arguments
    ), capped


class _Table:
    """Columns of the answers in n texts.

    Answers that Python reads are kept as flat lists until the end: no object of the garbage collector stays for a row.
    """

    def __init__(self, dialect: Any, texts: Texts, answers: Answers) -> None:
        rows = len(texts)
        self.of, self.texts, self.answers = dialect, texts, answers
        self.reason, self.dialect = np.zeros(rows, dtype=np.int8), np.full(rows, -1, dtype=np.int8)
        self.xy, self.box, self.names = nowhere(rows, 2), nowhere(rows, 4), np.full(rows, "", dtype=np.object_)
        self.arguments: dict[str, NDArray[Any]] = {}
        self.several: dict[int, Floats] = {}
        self.usual: NDArray[np.bool_] | None = None
        self._points = _Cells()
        self._boxes, self._indices, self._named = _Cells(), _Cells(), _Cells()
        self._fields: dict[str, _Cells] = {}

    def read(self, unfinished: NDArray[np.bool_] | None) -> None:
        """Read all texts."""
        begun, left = np.zeros(len(self.texts), dtype=np.bool_), list(range(len(self.texts)))
        if self.texts.vectorised:
            left, again = self._many(begun)
        else:
            left, again = [], left
        one, values = self.of.one, self.texts.values
        for row in again:
            index, some, acts = one(values[row], self.answers)
            if acts:
                self._put(row, index, acts)
            else:
                begun[row] |= some
                left.append(row)
        for row in left:
            if begun[row]:
                self.reason[row] = _MALFORMED
            elif unfinished is not None and unfinished[row]:
                self.reason[row] = _UNFINISHED
            else:
                self.reason[row] = _NO_ANSWER if values[row].strip() else _EMPTY
        for cells, column in ((self._points, self.xy), (self._boxes, self.box), (self._named, self.names)):
            cells.into(column)
        self._indices.into(self.dialect)
        for name, cells in self._fields.items():
            cells.into(self._column(name))

    def _put(self, row: int, index: int, acts: Sequence[Act]) -> None:
        """Keep the answers of one text."""
        self._indices.add(row, index)
        act = acts[0]
        if act is REFUSED:
            self.reason[row] = _REFUSED
            return
        if len(acts) > 1:
            if len(acts) > MAX_ANSWERS and self.answers in ("only", "all"):
                self.reason[row] = _TOO_MANY
                return
            if self.answers == "only":
                self.reason[row] = _SEVERAL
                return
            if self.answers == "all":
                self.several[row] = np.array(
                    [_point_and_box(each.place)[0] if each.place else _NOWHERE for each in acts]
                )
        if act.place:
            point, box = _point_and_box(act.place)
            self._points.add(row, *point)
            if box:
                self._boxes.add(row, *box)
        if act.name:
            self._named.add(row, _clean(act.name))
        for name, value in act.arguments.items():
            if value is not None:
                if name not in self._fields:
                    self._fields[name] = _Cells()
                self._fields[name].add(row, *value) if name == "to" else self._fields[name].add(row, _clean(value))

    def _column(self, name: str) -> NDArray[Any]:
        if name not in self.arguments:
            self.arguments[name] = empty(name, len(self.texts))
        return self.arguments[name]

    def _many(self, begun: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
        """Read all texts step by step; return rows without an answer, and rows to be read by themselves."""
        texts = self.texts
        if self.of.begin:  # max, because find's -1 would leave the last character alone
            texts = Texts([text[max(text.find(self.of.begin), 0) :] for text in texts.values])
        left = np.arange(len(texts))
        again: list[int] = []  # in these, the whole dialect is asked
        slow: list[int] = []
        for step in self._likely_first():
            at, some = left, texts.take(left)
            if step.gate:
                at, some = _kept(at, some, reduce(np.logical_or, [contains(some, sign) for sign in step.gate]))
            done: list[NDArray[np.int64]] = []
            gated = at
            many = getattr(step.dialect, "many", None)
            if many is not None and len(at):
                at, some = self._listed(at, some, many, step, done, begun)
            for pattern in step.usual if len(at) else ():
                at, some = self._captured(at, some, pattern, step, done, again)
            once = "" if step.needs == NEVER else getattr(step.dialect, "once", "")
            if once and len(at):
                several = occurrences(some, once) > 1
                more = at[several], some.take(np.flatnonzero(several))
                self._captured(*_kept(at, some, ~several), step.needs[0], step, done, again)
                at, some = more
            for need in step.needs:
                at, some = _kept(at, some, matches(some, need)) if len(at) else (at, some)
            begun[np.setdiff1d(gated, at, assume_unique=True)] |= bool(step.gate)
            if len(at):
                found = self._one_by_one(at, step, begun)
                slow += found
                done.append(np.array(found, dtype=np.int64))
            if done:
                left = np.setdiff1d(left, np.concatenate(done), assume_unique=True)
            if not len(left):
                break
        if self.of.formed:
            self.usual = np.ones(len(texts), dtype=np.bool_)
            self.usual[[*left.tolist(), *slow]] = False
        return left.tolist(), again

    def _one_by_one(self, at: Any, step: Step, begun: NDArray[np.bool_]) -> list[int]:
        """Read texts by a step's dialect; return the rows in which it finds an answer."""
        found, values = [], self.texts.values
        for row in at.tolist():
            index, some, acts = step.dialect.one(values[row], self.answers)
            if acts:
                found.append(row)
                self._put(row, index + step.first, acts)
            elif some:
                begun[row] = True
        return found

    def _listed(
        self, at: Any, some: Texts, many: Many, step: Step, done: list[NDArray[np.int64]], begun: NDArray[np.bool_]
    ) -> tuple[Any, Texts]:
        """Write lists of points that a dialect reads in many texts at once; return the texts to be read by Python."""
        chosen, points, ends, unread = many(some)
        rows, counts = at[chosen], np.diff(ends, prepend=0)
        self.dialect[rows] = step.first
        self.xy[rows] = points[ends - 1 if self.answers == "last" else ends - counts] + 0.0
        several = np.flatnonzero(counts > 1)
        if self.answers in ("only", "all"):
            self.reason[rows[counts > MAX_ANSWERS]] = _TOO_MANY
            if self.answers == "only":
                self.reason[rows[(counts > 1) & (counts <= MAX_ANSWERS)]] = _SEVERAL
            else:
                few = several[counts[several] <= MAX_ANSWERS]
                slices = map(slice, (ends - counts)[few].tolist(), ends[few].tolist())
                self.several.update(zip(rows[few].tolist(), map(points.__getitem__, slices), strict=True))
            self.xy[rows[self.reason[rows] != _OK]] = np.nan
        done.append(rows)
        begun[at[unread]] = [step.dialect.one(some.values[each], self.answers)[1] for each in unread.tolist()]
        return _kept(at, some, np.isin(np.arange(len(at)), np.concatenate((chosen, unread)), invert=True))

    def _captured(
        self, at: Any, some: Texts, pattern: str, step: Step, done: list[NDArray[np.int64]], again: list[int]
    ) -> tuple[Any, Texts]:
        """Write the answers of texts that a pattern matches; return the others."""
        groups = extract(some.arrow, pattern)
        matched = np.asarray(next(iter(groups.values())).is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
        if not matched.any():
            return at, some
        xy, box = places(groups, len(at))
        filled = matched.copy()
        for guard in step.guards:
            filled[filled] &= ~matches(some.take(np.flatnonzero(filled)), guard)
        again += at[matched & ~filled].tolist()
        done.append(at[matched])
        rows, kept = at[filled], slice(None) if filled.all() else filled
        self.xy[rows], self.dialect[rows] = xy[kept] + 0.0, step.first
        if "x1" in groups:
            self.box[rows] = box[kept] + 0.0
        if "action" in groups:
            self.names[rows] = strings(groups["action"])[kept]
        for name in set(groups) - _PLACE:
            self._column(name)[rows] = _objects(groups[name].to_pylist())[kept]
        return _kept(at, some, ~matched)

    def _likely_first(self) -> list[Step]:
        """The steps, those of usual forms that fit the first text first: no two forms match the same texts."""
        text, steps = self.texts.values[0], self.of.steps()
        forms = list(takewhile(lambda step: step.needs == NEVER, steps))
        forms.sort(key=lambda step: all(compiled(form).search(text) is None for form in step.usual))
        return [*forms, *steps[len(forms) :]]

    def ragged(self) -> tuple[Floats, NDArray[np.int64]]:
        """All answers of the rows that are OK, one after the other, and the offsets of each row's."""
        counts = (self.reason == _OK).astype(np.int64)
        for row, some in self.several.items():
            counts[row] = len(some)
        offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        points = self.xy.repeat(counts, axis=0)
        for row, some in self.several.items():
            points[offsets[row] : offsets[row + 1]] = some
        return points + 0.0, offsets


class _Cells:
    """Cells of some rows of a column: flat lists, which hold nothing that the garbage collector has to visit."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.values: list[Any] = []

    def add(self, row: int, *values: Any) -> None:
        self.rows.append(row)
        self.values += values

    def into(self, column: NDArray[Any]) -> None:
        """Write the cells into the column."""
        if not self.rows:
            return
        if column.dtype == np.object_:
            column[self.rows] = _objects(self.values)
        elif column.dtype == np.float64:
            column[self.rows] = np.array(self.values, dtype=np.float64).reshape(len(self.rows), *column.shape[1:]) + 0.0
        else:
            column[self.rows] = self.values


def _kept(rows: Any, texts: Texts, kept: NDArray[np.bool_]) -> tuple[Any, Texts]:
    some = np.flatnonzero(kept)
    return rows[some], texts.take(some)


def _point_and_box(place: Place) -> tuple[tuple[float, float], tuple[float, ...]]:
    """A place's point and box, limited to ±COORDINATE_LIMIT; () where there is no box."""
    # In this order NaN gives the limit, and whole numbers too large for a float are compared as they are.
    numbers = [float(max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, each))) for each in place]
    if len(numbers) == 2:
        return (numbers[0], numbers[1]), ()
    x1, y1, x2, y2 = numbers
    return ((x1 + x2) / 2, (y1 + y2) / 2), (x1, y1, x2, y2)


def places(groups: Mapping[str, Any], rows: int) -> tuple[Floats, Floats]:
    """Return points (n, 2) and boxes (n, 4) from captured numerals; a box's point is its centre."""
    xy, box = nowhere(rows, 2), nowhere(rows, 4)
    if "x1" in groups:
        box = np.stack([floats(groups[name]) for name in ("x1", "y1", "x2", "y2")], axis=1)
        xy = (box[:, :2] + box[:, 2:]) / 2
    if "x" in groups:
        point = np.stack([floats(groups["x"]), floats(groups["y"])], axis=1)
        xy = np.where(np.isnan(point), xy, point)
    return xy, box


def _objects(values: list[Any]) -> Objects:
    column = np.empty(len(values), dtype=np.object_)
    column[:] = values
    return column


def _clean(value: Any) -> Any:
    """Replace lone surrogates in a text, as arrow does; return anything else as it is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value


def _in_vocabulary(names: Objects, reason: NDArray[np.int8], more: Collection[str]) -> Objects:
    """Return names in the vocabulary's words; mark rows in ``reason`` whose name neither it nor ``more`` has."""
    known = {name: canonical(name) for name in set(names.tolist())}
    unknown = {name for name in known if not is_known(name)} - set(more)
    if unknown:  # np.isin would compare every row with every one of them
        reason[[name in unknown for name in names.tolist()]] = Reason.UNKNOWN_ACTION
    return _objects([known[name] for name in names.tolist()])


def read_responses(responses: Sequence[str | None]) -> Texts:
    """Return the responses as texts; None becomes "". Anything but strings and None is a TypeError."""
    if type(responses) is Texts:
        return responses
    if isinstance(responses, bytes | bytearray):  # list() would make numbers of it
        raise TypeError(f"responses: got {type(responses).__name__} {responses!r:.60}; expected strings: decode them")
    responses = list(responses)
    if set(map(type, responses)) <= {str}:
        return Texts(cast(list[str], responses))
    for row, response in enumerate(responses):
        if response is not None and not isinstance(response, str):
            actual = f"{type(response).__name__} {response!r:.60}"
            raise TypeError(f"response of row {row}: got {actual}; expected a string or None")
    return Texts([response or "" for response in responses])


def answer_texts(texts: Texts, thinking: Thinking) -> tuple[Texts, NDArray[np.bool_] | None]:
    """Return the texts without thinking, and a mask of those that never finish it, which become ""; None if all do."""
    # "think>" ends both tags: one search for the two.
    if thinking == "read" or (thinking == "closed" and not contains(texts, "think>").any()):
        return texts, None
    answers = [text.rpartition(_CLOSE)[2] for text in texts.values]
    still_open = [_OPEN in answer for answer in answers]
    if thinking == "open":
        closed = [_CLOSE in text or not text.strip() for text in texts.values]  # no text at all is EMPTY
        still_open = [one or not other for one, other in zip(still_open, closed, strict=True)]
    if not any(still_open):
        return Texts(answers), None
    return Texts(["" if cut else text for text, cut in zip(answers, still_open, strict=True)]), np.array(still_open)


@dataclass(frozen=True, eq=False)
class Found:
    """Columns that ``find`` of a plugin's dialect returns of n texts; this release still reads them.

    Attributes:
        xy: (n, 2) the point of the answer that counts, or its box's centre; NaN where there is none.
        box: (n, 4) its box; NaN where it is a point.
        count: (n,) number of answers (under "first" and "last" at most 1).
        begun: (n,) True where the text shows the beginning of an answer.
        refused: (n,) True where the answer is a refusal.
        actions: (n,) the action named with the answer, else "".
        dialect: (n,) index, in ``names``, of the dialect that matched.
        points: under "all", a dict from each row with several answers to the points of them all; else None.
        usual: no longer read.
        arguments: columns of ``actions.Arguments`` by name.
    """

    xy: Floats
    box: Floats
    count: NDArray[np.int64]
    begun: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    actions: Objects
    dialect: NDArray[np.int8]
    points: dict[int, Floats] | None = None
    usual: NDArray[np.bool_] | None = None
    arguments: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Finding(_Within):
    """A plugin's dialect that has ``find`` in place of ``one``."""

    dialect: Any

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        try:
            found = self.dialect.find(Texts([text]), answers)
            return self._answered(found, answers)
        except (Exception, SystemExit) as error:  # SystemExit, too: code of a plugin must not end the run
            raise _failed(self.dialect, error, text) from error

    def _answered(self, found: Any, answers: Answers) -> Answered:
        if not isinstance(found, Found):
            raise TypeError(f"find returned {found!r:.60}; expected a Found")
        index, count = int(found.dialect[0]), int(found.count[0])
        if not -1 <= index < len(self.names) or count < 0:
            raise ValueError(f"find returned dialect {index} and count {count}; expected a dialect that it names")
        if not count:
            return -1, bool(found.begun[0]), ()
        if found.refused[0]:
            return index, True, (REFUSED,)
        box, xy = found.box[0].tolist(), found.xy[0].tolist()
        place = tuple(xy if box[0] != box[0] else box)
        fields = {name: column[0] for name, column in found.arguments.items()}
        act = Act(str(found.actions[0]), place if place[0] == place[0] else (), fields)
        if count > MAX_ANSWERS or answers != "all" or count == 1:
            return index, True, (act,) * count
        return index, True, [act, *(Act("", tuple(point)) for point in (found.points or {})[0][1:].tolist())]


def _reader(dialect: Any) -> Dialect:
    """A dialect as this room calls it: one of a plugin that only has ``find`` is wrapped."""
    return cast(Dialect, dialect if hasattr(dialect, "one") else _Finding(dialect))


def _failed(dialect: Any, error: BaseException, text: str) -> DialectError:
    failure = DialectError(f"dialect {dialect.name!r} raised {type(error).__name__}: {error} on {text!r:.80}")
    failure.term = dialect
    return failure


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
