"""Calls in threads of their own, so that an exception, such as the one that Ctrl-C raises, stops waiting for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any


def thread_of(future: Future[Any], call: Callable[..., Any], *arguments: Any) -> Thread:
    """Return a thread, not started yet, that sets a future to the result of a call, or to what the call raises.

    It is a daemon, unlike those of a pool: a call that does not end must not keep the process from ending.

    >>> future = Future()
    >>> thread_of(future, len, "abc").start()
    >>> future.result()
    3
    """

    def run() -> None:
        try:
            future.set_result(call(*arguments))
        except BaseException as error:
            future.set_exception(error)

    return Thread(target=run, daemon=True)


def interruptible(connection: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call that queries a connection; an exception that a signal raises meanwhile stops it.

    DuckDB itself looks for signals between some of its steps only, and may not for minutes. So the call runs in a
    thread of its own, and here is waited for.

    >>> import duckdb
    >>> connection = duckdb.connect()
    >>> interruptible(connection, lambda sql: connection.sql(sql).fetchall(), "SELECT 1")
    [(1,)]
    """
    future: Future[Any] = Future()
    thread = thread_of(future, call, *arguments)
    try:
        thread.start()
        return future.result()
    except BaseException:
        while thread.is_alive() and not future.done():
            connection.interrupt()  # once more, where the query began right after it was interrupted
            thread.join(0.05)
        raise
