"""Texts to predictions, many at once: cap, thinking, dialect, policy, reason.

Patterns of what is usual run over all texts; the others are read one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import takewhile
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import NO_ARGUMENTS, Act, Arguments, Objects, canonical, empty, is_known, objects
from grounding_rewards.arrays import Floats, made, nowhere
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.parsing.reading import MAX_ANSWERS, NEVER, REFUSED, Answers, Dialect, Many, Place, Step
from grounding_rewards.parsing.texts import (
    VECTOR_ROWS,
    Texts,
    compiled,
    contains,
    extract,
    floats,
    limited,
    matches,
    occurrences,
    strings,
)  # fmt: skip
from grounding_rewards.rollouts import Predictions, Reason
from grounding_rewards.targets.columns import Targets

Thinking = Literal["closed", "open", "read"]
MAX_LENGTH = 64 * 1024
"""Characters of a response that are read, from its end, where the answer is."""

FEW = 192
"""Rows below which one after the other takes less time than all patterns of usual forms."""

_CLOSE, _OPEN = "</think>", "<think>"
_NOWHERE = (np.nan, np.nan)
# To repeat these is quicker than np.full.
_NO_DIALECT, _NO_NAME = np.array([-1], dtype=np.int8), np.array([""], dtype=np.object_)
_OK, _EMPTY, _NO_ANSWER, _MALFORMED, _UNFINISHED, _REFUSED, _SEVERAL, _TOO_MANY = map(int, (
    Reason.OK, Reason.EMPTY, Reason.NO_ANSWER, Reason.MALFORMED, Reason.UNFINISHED, Reason.REFUSED,
    Reason.SEVERAL_ANSWERS, Reason.TOO_MANY,
))  # fmt: skip
_NUMERIC = ("to", "duration")
_PLACE = {"x", "y", "x1", "y1", "x2", "y2", "action"}


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
    table = _Table(dialect, texts, answers)
    table.read(unfinished)
    xy, box, names, reason = table.xy, table.box, table.names, table.reason
    points, offsets = table.ragged() if answers == "all" else (None, None)
    if getattr(dialect, "vocabulary", False):
        names = _in_vocabulary(names, reason, action_names)
    usual = table.usual if texts is whole else None  # of an answer alone it says nothing of the thinking
    arguments = Arguments(**table.arguments) if table.arguments else NO_ARGUMENTS
    predictions = made(
        Predictions, xy=xy, box=box, reason=reason, dialect=table.dialect, dialects=dialect.names, space=space,
        actions=names, points=points, offsets=offsets, usual=usual, arguments=arguments,
    )  # fmt: skip
    return predictions, capped


def in_one_step(predictions: Predictions, targets: Targets) -> Predictions:
    """Count a click and the text typed behind it as several answers where no target asks for a text at a place."""
    clicked = predictions.arguments.clicked
    if clicked is None:
        return predictions
    asked = targets.alternatives.canonical
    both = asked.row[(asked.names == "type") & (asked.place >= 0)]
    rows = np.setdiff1d(np.flatnonzero(clicked != None), both)  # noqa: E711 (row by row)
    xy, box, actions, reason = (
        column.copy() for column in (predictions.xy, predictions.box, predictions.actions, predictions.reason)
    )
    xy[rows], box[rows], actions[rows], reason[rows] = np.nan, np.nan, "", _SEVERAL
    columns = {name: column.copy() for name, column in vars(predictions.arguments).items() if column is not None}
    for column in columns.values():
        column[rows] = np.nan if column.dtype == np.float64 else None
    return predictions.changed(xy=xy, box=box, actions=actions, reason=reason, arguments=Arguments(**columns))


class _Table:
    """Columns of the answers in n texts: no object of the garbage collector stays for a row."""

    def __init__(self, dialect: Any, texts: Texts, answers: Answers) -> None:
        rows = texts.rows
        self.of, self.texts, self.answers = dialect, texts, answers
        self.reason, self.dialect = np.zeros(rows, dtype=np.int8), _NO_DIALECT.repeat(rows)
        self.xy, self.box, self.names = nowhere(rows, 2), nowhere(rows, 4), _NO_NAME.repeat(rows)
        self.arguments: dict[str, NDArray[Any]] = {}
        self.several: dict[int, Floats] = {}
        self.usual: NDArray[np.bool_] | None = None

    def read(self, unfinished: NDArray[np.bool_] | None) -> None:
        """Read all texts."""
        one, values = self.of.one, self.texts if self.texts.vectorised else self.texts.values
        begun: Any = np.zeros(len(values), dtype=np.bool_) if self.texts.vectorised else [False] * len(values)
        left, again = self._many(begun) if self.texts.vectorised else ([], range(len(values)))
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

    def _put(self, row: int, index: int, acts: Sequence[Act]) -> None:
        """Keep the answers of one text."""
        self.dialect[row] = index
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
            self.xy[row, 0], self.xy[row, 1] = point
            if box:
                self.box[row] = box
        if act.name:
            self.names[row] = _clean(act.name)
        for name, value in act.arguments.items():
            if value is not None:
                self._column(name)[row] = np.add(value, 0.0) if name in _NUMERIC else _clean(value)

    def _column(self, name: str) -> NDArray[Any]:
        if name not in self.arguments:
            self.arguments[name] = empty(name, len(self.texts))
        return self.arguments[name]

    def _many(self, begun: NDArray[np.bool_]) -> tuple[list[int], Sequence[int]]:
        """Read all texts step by step; return rows without an answer, and rows to be read by themselves."""
        texts = self.texts
        if begin := getattr(self.of, "begin", ""):  # max, because find's -1 would leave the last character alone
            texts = Texts([text[max(text.find(begin), 0) :] for text in texts.values])
        left = np.arange(len(texts))
        again: list[int] = []  # in these, the whole dialect is asked
        slow: list[int] = []
        for number, step in enumerate(self._likely_first()):
            if step.needs == NEVER and len(left) < (FEW if number else VECTOR_ROWS):
                return [], [*again, *left.tolist()]
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
            begun[np.setdiff1d(gated, at, assume_unique=True)] |= bool(step.gate) and step.needs != NEVER
            if len(at):
                found = self._one_by_one(at, step, begun)
                slow += found
                done.append(np.array(found, dtype=np.int64))
            if done:
                left = np.setdiff1d(left, np.concatenate(done), assume_unique=True)
            if not len(left):
                break
        if getattr(self.of, "formed", False):
            self.usual = np.ones(len(texts), dtype=np.bool_)
            self.usual[[*left.tolist(), *slow]] = False
        return left.tolist(), again

    def _one_by_one(self, at: Any, step: Step, begun: NDArray[np.bool_]) -> list[int]:
        """Read texts by a step's dialect; return the rows in which it finds an answer."""
        found, values = [], self.texts
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
        begun[at[unread]] = [step.dialect.one(some[each], self.answers)[1] for each in unread.tolist()]
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
            self._column(name)[rows] = objects(groups[name].to_pylist())[kept]
        return _kept(at, some, ~matched)

    def _likely_first(self) -> list[Step]:
        """The steps, those of usual forms that fit the first text first: no two forms match the same texts."""
        text, steps = self.texts[0], self.of.steps()
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


def _kept(rows: Any, texts: Texts, kept: NDArray[np.bool_]) -> tuple[Any, Texts]:
    some = np.flatnonzero(kept)
    return rows[some], texts.take(some)


def _point_and_box(place: Place) -> tuple[tuple[float, float], tuple[float, ...]]:
    """A place's point and box, limited to ±COORDINATE_LIMIT; () where there is no box."""
    # -0.0 becomes 0.0
    numbers = [(each if -COORDINATE_LIMIT <= each <= COORDINATE_LIMIT else limited(each)) + 0.0 for each in place]
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


def _clean(value: Any) -> Any:
    """Replace lone surrogates in a text, as arrow does; return anything else as it is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value


def _in_vocabulary(names: Objects, reason: NDArray[np.int8], more: Collection[str]) -> Objects:
    """Return names in the vocabulary's words; mark rows in ``reason`` whose name neither it nor ``more`` has."""
    written = set(names.tolist())
    if written <= {"", "click"}:  # mostly so
        return names
    known = {name: canonical(name) for name in written}
    unknown = {name for name in known if not is_known(name)} - set(more)
    if unknown:  # np.isin would compare every row with every one of them
        reason[[name in unknown for name in names.tolist()]] = Reason.UNKNOWN_ACTION
    return objects([known[name] for name in names.tolist()])


def read_responses(responses: Sequence[str | None]) -> Texts:
    """Return the responses as texts; None becomes "". Anything but strings and None is a TypeError."""
    if type(responses) is Texts:
        return responses
    if isinstance(responses, bytes | bytearray):  # list() would make numbers of it
        raise TypeError(f"responses: got {type(responses).__name__} {responses!r:.60}; expected strings: decode them")
    texts: list[Any] = list(responses)
    if set(map(type, texts)) <= {str}:
        return Texts(texts)
    for row, response in enumerate(texts):
        if response is not None and not isinstance(response, str):
            actual = f"{type(response).__name__} {response!r:.60}"
            raise TypeError(f"response of row {row}: got {actual}; expected a string or None")
    return Texts([response or "" for response in texts])


def answer_texts(texts: Texts, thinking: Thinking) -> tuple[Texts, NDArray[np.bool_] | None]:
    """Return the texts without thinking, and a mask of those that never finish it, which become ""; None if all do."""
    # "think>" ends both tags: one search for the two.
    if thinking == "read":
        return texts, None
    if thinking == "closed":
        any_thinks = contains(texts, "think>").any() if texts.vectorised else "think>" in "\n".join(texts.values)
        if not any_thinks:
            return texts, None
    answers = [text.rpartition(_CLOSE)[2] for text in texts.values]
    still_open = [_OPEN in answer for answer in answers]
    if thinking == "open":
        closed = [_CLOSE in text or not text.strip() for text in texts.values]  # no text at all is EMPTY
        still_open = [one or not other for one, other in zip(still_open, closed, strict=True)]
    if not any(still_open):
        return Texts(answers), None
    return Texts(["" if cut else text for text, cut in zip(answers, still_open, strict=True)]), np.array(still_open)
