"""Queries of DuckDB that an exception stops, such as the one that Ctrl-C raises."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any


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

    def run() -> None:
        try:
            future.set_result(call(*arguments))
        except BaseException as error:
            future.set_exception(error)

    thread = Thread(target=run, daemon=True)  # a query that does not stop must not keep the process from ending
    try:
        thread.start()
        return future.result()
    except BaseException:
        while thread.is_alive() and not future.done():
            connection.interrupt()  # once more, where the query began right after it was interrupted
            thread.join(0.05)
        raise
