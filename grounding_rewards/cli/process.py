"""A command as a process: signals that end it, and stdout and stderr that outlive their readers.

A signal is one exception, one line, and 128 plus its number as the exit code.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import TracebackType
from typing import Any

AGAIN = 3.0  # seconds after which a command that still runs is stopped again


class Stopped(KeyboardInterrupt):
    """A signal; a class of its own, since Python kills itself where a bare KeyboardInterrupt has ended any `exec`."""


class Stopping:
    """While it lasts, Ctrl-C, SIGTERM and SIGHUP raise Stopped, and ``number`` is the first of them, 0 for none."""

    # The code that the exception hits may replace it (DuckDB raises "Query interrupted") or drop it (Python does where
    # a destructor runs), so what still runs after `AGAIN` seconds is stopped again. Signals in between are ignored:
    # they would end the removal of temporary files. One that was ignored before, as ``nohup`` does, stays ignored.
    def __init__(self, *, last: bool) -> None:  # the program ends behind it, and how it ended is decided
        self.number, self.over, self._last = 0, False, last

    def __enter__(self) -> Stopping:
        """Handle the signals."""
        self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        handled = [number for number in ends if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._stop) for number in handled}
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._again)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Handle them as before, or not at all any more; what a stopped command raised is of no interest."""
        self.over = True
        if not self.number and kind is not None and issubclass(kind, KeyboardInterrupt):
            self.number = signal.SIGINT
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._last else handler)
        if not self._last:
            sys.unraisablehook = self._hook
        return bool(self.number)

    @property
    def line(self) -> str:
        """Line for a command that was stopped."""
        return f"stopped by {'Ctrl-C' if self.number == signal.SIGINT else signal.Signals(self.number).name}"

    def _stop(self, number: int, frame: Any) -> None:
        if self.number or self.over:
            return
        self.number = number
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise Stopped

    def _again(self, number: int, frame: Any) -> None:
        if not self.over:
            raise Stopped

    def _dropped(self, unraisable: sys.UnraisableHookArgs) -> None:
        if not (self.number and isinstance(unraisable.exc_value, Stopped)):
            self._hook(unraisable)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Replace stdout and stderr by streams that outlive readers; a full disk is an OSError that names one."""
    _fill()
    out = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 (stays open, as stdout does)
    err = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(out, io.TextIOWrapper):
        # A terminal that lacks a character of somebody's file name must not end the command.
        out.reconfigure(errors="backslashreplace")
    with redirect_stdout(_Stream(out, BrokenPipeError)), redirect_stderr(_Stream(err, OSError)):
        yield


def _fill() -> None:
    """Open the standard file numbers that the caller closed: the next file opened, an output maybe, would take them."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


class _Stream:
    """A text stream that goes on as a stream to nowhere when writing fails; those ``survived`` are no errors."""

    def __init__(self, stream: Any, survived: type[OSError]) -> None:
        self._stream, self._survived = stream, survived

    def write(self, text: str) -> int:
        """Write text."""
        self._try(self._stream.write, text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, which end as they are to end."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Flush the stream."""
        self._try(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except OSError as error:
            # Text that still waits in the stream goes nowhere too: Python would complain of it at exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            if not isinstance(error, self._survived):
                raise OSError(error.errno, error.strerror, self._stream.name) from error
