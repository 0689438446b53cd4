"""Rows that wait on an event loop, scored in one batch."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future, Task
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

WAIT = 0.001
"""Seconds for which the first row of a batch waits for others."""

Pending = dict[Hashable, tuple[list[tuple[Any, "Future[Any]"]], "Task[None]"]]
_PENDING: WeakKeyDictionary[AbstractEventLoop, Pending] = WeakKeyDictionary()
"""Rows of each loop that wait, by what they are scored with. A forked process has loops of its own."""


async def together(key: Hashable, row: Any, score: Callable[[Sequence[Any]], list[Any]]) -> Any:
    """Return a row's score, computed in a thread with those of the rows that wait beside it under the same key."""
    loop = asyncio.get_running_loop()
    pending, future = _PENDING.setdefault(loop, {}), loop.create_future()
    if key not in pending:
        pending[key] = [], loop.create_task(_scored(pending, key, score))
    pending[key][0].append((row, future))
    return await future


async def _scored(pending: Pending, key: Hashable, score: Callable[[Sequence[Any]], list[Any]]) -> None:
    await asyncio.sleep(WAIT)
    waiting = [(row, future) for row, future in pending.pop(key)[0] if not future.done()]  # less those given up
    outcomes = await asyncio.to_thread(_outcomes, score, [row for row, _ in waiting]) if waiting else []
    for (_, future), outcome in zip(waiting, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _outcomes(score: Callable[[Sequence[Any]], list[Any]], rows: Sequence[Any]) -> list[Any]:
    """Return the score of each row; where the batch fails, that of each alone, or its error."""
    try:
        return score(rows)
    except BaseException as error:
        if len(rows) == 1:
            return [error]
        return [outcome for row in rows for outcome in _outcomes(score, [row])]
