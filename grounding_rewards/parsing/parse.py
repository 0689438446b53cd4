"""n responses to predictions: cap, thinking, dialect, policy, reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.columns import Predictions, Reason
from grounding_rewards.parsing.dialect import Answers, Dialect, Found
from grounding_rewards.parsing.texts import Texts
from grounding_rewards.spaces import CoordSpace

Thinking = Literal["closed", "open", "read"]

MAX_LENGTH = 64 * 1024
"""Characters of a response that are read, from its end."""

MAX_ANSWERS = 256
"""Answers of a response that are read; more make it TOO_MANY."""

_CLOSE, _OPEN = "</think>", "<think>"


def parse(
    responses: Sequence[str | None],
    dialect: Dialect,
    *,
    space: CoordSpace,
    answers: Answers = "only",
    thinking: Thinking = "closed",
) -> Predictions:
    """Read the answer of each response. Whatever the text, this returns.

    Args:
        responses: n texts; None counts as empty. Only the last 64 KiB of each are read.
        dialect: how answers are written.
        space: the space that the model answers in; it becomes ``Predictions.space``.
        answers: which answer counts where there are several: ``"only"`` (several are none), ``"first"``, ``"last"``,
            or ``"all"`` (``points`` holds all, ``xy`` the first).
        thinking: ``"closed"`` drops all up to the last ``</think>``; ``"open"`` says that the prompt already opened the
            block, so that a text without ``</think>`` is unfinished; ``"read"`` reads thinking like the rest.

    Raises:
        TypeError: a response is neither a string nor None.

    >>> from grounding_rewards.parsing import BARE_TUPLE
    >>> found = parse(["<think>(1, 1)?</think>(30, 40)", "(1, 2) or (3, 4)"], BARE_TUPLE, space=CoordSpace.PIXEL)
    >>> found.xy, [Reason(code).name for code in found.reason]
    (array([[30., 40.],
           [nan, nan]]), ['OK', 'SEVERAL_ANSWERS'])
    """
    texts, unfinished = answer_texts(read_responses(responses), thinking)
    texts = capped(texts)
    found = dialect.find(Texts(texts), answers)
    reason = _reasons(found, texts, unfinished, answers)
    read = (reason == Reason.OK)[:, None]
    points, offsets = _ragged(found, reason)
    return Predictions(
        xy=np.where(read, found.xy, np.nan),
        box=np.where(read, found.box, np.nan),
        reason=reason,
        dialect=found.dialect,
        dialects=dialect.names,
        space=space,
        actions=found.actions,
        points=points,
        offsets=offsets,
    )


def read_responses(responses: Sequence[str | None]) -> list[str]:
    """The responses as texts; None becomes "".

    Raises:
        TypeError: a response is neither a string nor None.
    """
    if set(map(type, responses)) <= {str}:
        return cast(list[str], list(responses))
    for row, response in enumerate(responses):
        if response is not None and not isinstance(response, str):
            came = f"{type(response).__name__} {response!r:.60}"
            raise TypeError(f"response of row {row}: got {came}; expected a string or None")
    return [response or "" for response in responses]


def capped(texts: list[str]) -> list[str]:
    """The last MAX_LENGTH characters of each text."""
    if max(map(len, texts), default=0) <= MAX_LENGTH:
        return texts
    return [text[-MAX_LENGTH:] for text in texts]


def answer_texts(texts: list[str], thinking: Thinking) -> tuple[list[str], NDArray[np.bool_]]:
    """The texts without their thinking, and which of them never finished it (these become "")."""
    unfinished = np.zeros(len(texts), dtype=np.bool_)
    if thinking == "read" or (thinking == "closed" and not any("think>" in text for text in texts)):
        return texts, unfinished
    answers = []
    for row, text in enumerate(texts):
        _, close, answer = text.rpartition(_CLOSE)
        unfinished[row] = _OPEN in answer or (thinking == "open" and not close and bool(text.strip()))
        answers.append("" if unfinished[row] else answer)
    return answers, unfinished


def _reasons(found: Found, texts: list[str], unfinished: NDArray[np.bool_], answers: Answers) -> NDArray[np.int8]:
    reason = np.full(len(texts), Reason.OK, dtype=np.int8)
    if answers == "only":
        reason[found.count > 1] = Reason.SEVERAL_ANSWERS
    if answers in ("only", "all"):
        reason[found.count > MAX_ANSWERS] = Reason.TOO_MANY
    for row in np.flatnonzero(found.count == 0):
        if unfinished[row]:
            reason[row] = Reason.UNFINISHED
        elif found.begun[row]:
            reason[row] = Reason.MALFORMED
        else:
            reason[row] = Reason.NO_ANSWER if texts[row].strip() else Reason.EMPTY
    reason[found.refused] = Reason.REFUSED
    return reason


def _ragged(found: Found, reason: NDArray[np.int8]) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    if found.points is None:
        return None, None
    kept = [points if code == Reason.OK else points[:0] for points, code in zip(found.points, reason, strict=True)]
    offsets = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    return np.concatenate([np.zeros((0, 2)), *kept]), offsets
