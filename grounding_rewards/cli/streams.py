"""Stdout and stderr that outlive their readers, and that the caller may have closed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any


@contextmanager
def standard_streams() -> Iterator[None]:
    """Replace stdout and stderr by streams that outlive their readers.

    A reader that has gone is no error on stdout; on stderr nothing is, since remarks are no result. Everything else, as
    a full disk, is an OSError that names the stream.
    """
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
