"""The way from n responses to predictions: cap, thinking, dialect, policy, reason."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import NO_ARGUMENTS, Arguments, Objects, canonical, empty, is_known
from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.base import MAX_ANSWERS, Answers, Dialect, Found, find
from grounding_rewards.parsing.texts import Texts, contains
from grounding_rewards.rollouts import Predictions, Reason

Thinking = Literal["closed", "open", "read"]

MAX_LENGTH = 64 * 1024
"""Characters of a response that are read, from its end, where the answer is."""

_STRINGS = {str}
_OK = np.int8(Reason.OK)
_FLOATS = ("to", "duration")
_CLOSE, _OPEN = "</think>", "<think>"


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
        DialectError: the dialect raises, or returns something other than a valid ``Found``.

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
    table = find(dialect, texts, answers)
    xy, box, names = table.xy + 0.0, table.box + 0.0, table.actions  # + 0.0: one zero, where "-0" may be -0.0 or 0
    arguments: dict[str, NDArray[Any]] = {
        name: column + 0.0 if name in _FLOATS else column for name, column in table.arguments.items()
    }
    if unfinished is None and _is_plain(table):
        reason = np.zeros(len(texts), dtype=np.int8)  # OK, all of them
    else:
        reason = _reasons(table, texts, unfinished, answers)
        unread = reason != _OK
        names = names.copy()  # the dialect's column may be shared, and read-only
        xy[unread], box[unread], names[unread] = np.nan, np.nan, ""  # verifiers are not to read these
        arguments = {name: _blanked(name, column, unread) for name, column in arguments.items()}
    points, offsets = (None, None) if table.points is None else _ragged(table, reason)
    if getattr(dialect, "vocabulary", False):
        names = _in_vocabulary(names, reason, action_names)
    predictions = Predictions(
        xy=xy,
        box=box,
        reason=reason,
        dialect=table.dialect,
        dialects=dialect.names,
        space=space,
        actions=names,
        points=points,
        offsets=offsets,
        usual=table.usual if texts is whole else None,  # of an answer alone it says nothing of the thinking
        arguments=Arguments(**arguments) if arguments else NO_ARGUMENTS,
    )
    return predictions, capped


def _blanked(name: str, column: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[Any]:
    """Return a column of arguments without those of the chosen rows."""
    return np.where(rows if column.ndim == 1 else rows[:, None], empty(name, len(column)), column)


def _in_vocabulary(names: Objects, reason: NDArray[np.int8], more: Collection[str]) -> Objects:
    """Return names in the vocabulary's words; mark rows in ``reason`` whose name neither it nor ``more`` has."""
    known = {name: canonical(name) for name in set(names.tolist())}
    unknown = {name for name in known if not is_known(name)} - set(more)
    if unknown:  # np.isin would compare every row with every one of them
        reason[[name in unknown for name in names.tolist()]] = Reason.UNKNOWN_ACTION
    return np.array([known[name] for name in names.tolist()], dtype=np.object_)


def _is_plain(table: Found) -> bool:
    """Return True if every text holds one answer, and none is a refusal."""
    if len(table.count) == 1:
        return table.count.item() == 1 and not table.refused.item()
    return not (np.count_nonzero(table.count - 1) or np.count_nonzero(table.refused))


def read_responses(responses: Sequence[str | None]) -> Texts:
    """Return the responses as texts; None becomes "".

    Raises:
        TypeError: a response is neither a string nor None.
    """
    if type(responses) is Texts:
        return responses
    if isinstance(responses, bytes | bytearray):  # list() would make numbers of it
        raise TypeError(f"responses: got {type(responses).__name__} {responses!r:.60}; expected strings: decode them")
    responses = list(responses)
    if set(map(type, responses)) <= _STRINGS:
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
    unfinished = np.array(still_open, dtype=np.bool_)
    for row in np.flatnonzero(unfinished):
        answers[row] = ""
    return Texts(answers), unfinished


def _reasons(table: Found, texts: Texts, unfinished: NDArray[np.bool_] | None, answers: Answers) -> NDArray[np.int8]:
    reason = np.zeros(len(texts), dtype=np.int8)
    if answers == "only":
        reason[table.count > 1] = Reason.SEVERAL_ANSWERS
    if answers in ("only", "all"):
        reason[table.count > MAX_ANSWERS] = Reason.TOO_MANY
    missing = table.count == 0  # reasons below overrule those above
    reason[missing] = Reason.MALFORMED
    for row in np.flatnonzero(missing & ~table.begun):
        reason[row] = Reason.NO_ANSWER if texts.values[row].strip() else Reason.EMPTY
    if unfinished is not None:
        reason[missing & unfinished] = Reason.UNFINISHED
    reason[table.refused] = Reason.REFUSED
    return reason


def _ragged(table: Found, reason: NDArray[np.int8]) -> tuple[Floats, NDArray[np.int64]]:
    """Return all answers of the rows that are OK, one after the other, and the offsets of each row's."""
    counts = np.where(reason == _OK, table.count, 0)
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    points = table.xy.repeat(counts, axis=0)  # all there is for rows with one answer
    for row, some in (table.points or {}).items():
        if counts[row]:
            points[offsets[row] : offsets[row + 1]] = some
    return points + 0.0, offsets
