"""Signals that end a command: one exception, one line, and 128 plus the signal's number as the exit code."""

from __future__ import annotations

import signal
import sys
from types import TracebackType
from typing import Any

AGAIN = 3.0
"""Seconds after which a command that still runs is stopped again."""


class Stopped(KeyboardInterrupt):
    """A signal; a class of its own, since Python kills itself where a bare KeyboardInterrupt has ended any `exec`."""


class Stopping:
    """While it lasts, Ctrl-C, SIGTERM and SIGHUP raise Stopped, and the first of them is remembered.

    The code that the exception hits may replace it (DuckDB raises "Query interrupted") or drop it (Python does where a
    destructor runs). So `number`, not the exception, says that a command was stopped, and what still runs after
    `AGAIN` seconds is stopped again. Signals in between are ignored: they would end the removal of temporary files.
    A signal that was ignored before, as ``nohup`` does, stays ignored.

    Args:
        last: the program ends behind it: further signals are ignored, since how it ended is decided.

    Attributes:
        number: the signal that stopped the command; 0 for none.
        over: no signal raises any more; set as the last step of the work, in the block that this manages.
    """

    def __init__(self, *, last: bool) -> None:
        self.number, self.over, self._last = 0, False, last

    def __enter__(self) -> Stopping:
        """Handle the signals."""
        self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        ends = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        handled = [number for number in ends if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._stop) for number in handled}
        if hasattr(signal, "SIGALRM"):
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._again)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Handle them as before, or not at all any more; what a stopped command raised is of no interest."""
        self.over = True
        if not self.number and kind is not None and issubclass(kind, KeyboardInterrupt):
            self.number = signal.SIGINT
        if hasattr(signal, "SIGALRM"):
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
        if hasattr(signal, "SIGALRM"):
            signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise Stopped

    def _again(self, number: int, frame: Any) -> None:
        if not self.over:
            raise Stopped

    def _dropped(self, unraisable: sys.UnraisableHookArgs) -> None:
        if not (self.number and isinstance(unraisable.exc_value, Stopped)):
            self._hook(unraisable)
