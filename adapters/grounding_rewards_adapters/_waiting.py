"""Rows that wait on an event loop, scored in one batch."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

WAIT = 0.001
"""Seconds for which the first row of a batch waits for others."""

Waiting = list[tuple[Any, "Future[Any]"]]
_PENDING: WeakKeyDictionary[AbstractEventLoop, dict[Hashable, Waiting]] = WeakKeyDictionary()
"""Rows of each loop that wait, by what they are scored with. A forked process has loops of its own."""


async def together(key: Hashable, row: Any, score: Callable[[Sequence[Any]], list[Any]]) -> Any:
    """Return a row's score, computed in a thread with those of the rows that wait beside it under the same key."""
    loop = asyncio.get_running_loop()
    pending, future = _PENDING.setdefault(loop, {}), loop.create_future()
    if key not in pending:
        pending[key] = []
        loop.call_later(WAIT, _begin, loop, key, score)
    pending[key].append((row, future))
    return await future


def _begin(loop: AbstractEventLoop, key: Hashable, score: Callable[[Sequence[Any]], list[Any]]) -> None:
    waiting = [(row, future) for row, future in _PENDING[loop].pop(key) if not future.done()]  # less those given up
    if waiting:
        made = loop.run_in_executor(None, _outcomes, score, [row for row, _ in waiting])
        made.add_done_callback(partial(_hand_out, [future for _, future in waiting]))


def _outcomes(score: Callable[[Sequence[Any]], list[Any]], rows: Sequence[Any]) -> list[Any]:
    """Return the score of each row; where the batch fails, that of each alone, or its error."""
    try:
        return score(rows)
    except Exception as error:
        if len(rows) == 1:
            return [error]
        return [outcome for row in rows for outcome in _outcomes(score, [row])]


def _hand_out(futures: Sequence[Future[Any]], made: Future[list[Any]]) -> None:
    if made.cancelled():  # the loop is ending
        for future in futures:
            future.cancel()
        return
    outcomes: list[Any] = [made.exception()] * len(futures) if made.exception() else made.result()
    for future, outcome in zip(futures, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
