"""Calls in threads of their own, so that an exception, such as the one that Ctrl-C raises, stops waiting for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()


def thread_of(future: Future[Any], call: Callable[..., Any], *arguments: Any) -> Thread:
    """Return a daemon thread, not started yet, that sets a future to the result of a call, or to what it raises."""

    def run() -> None:
        try:
            future.set_result(call(*arguments))
        except BaseException as error:
            future.set_exception(error)

    return Thread(target=run, daemon=True)


def begun(call: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Begin a call in a thread of its own."""
    future = Future[Any]()
    thread_of(future, call, *arguments).start()
    return future


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items, while a thread of its own makes the next one."""
    coming = begun(next, items, _END)
    try:
        while (item := coming.result()) is not _END:
            coming = begun(next, items, _END)
            yield item
    finally:
        wait([coming])


@contextmanager
def behind(call: Callable[..., Any]) -> Iterator[Callable[..., None]]:
    """Yield a function that makes a call in a thread of its own, once the one before has ended."""
    last = begun(int)

    def begin(*arguments: Any) -> None:
        nonlocal last
        last.result()
        last = begun(call, *arguments)

    try:
        yield begin
    finally:
        wait([last])
    last.result()


def interruptible(connection: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call that queries a connection; an exception that a signal raises meanwhile stops it.

    DuckDB itself looks for signals between some of its steps only, and may not for minutes. So the call runs in a
    thread of its own, and here is waited for.
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
