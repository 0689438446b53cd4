"""Callbacks by which long operations on files say what they do; they print nothing themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

Advance = Callable[[float], None]
"""Takes the share that is done, 0 to 1."""


@contextmanager
def _silent(what: str) -> Iterator[Advance]:
    yield lambda done: None


@dataclass(frozen=True)
class Reporting:
    """Callbacks for notes, warnings and progress; by default nothing is shown.

    Attributes:
        note: takes a remark.
        warn: takes a sign of trouble.
        progress: takes the name of the work, and gives a context whose value takes the share that is done.
    """

    note: Callable[[str], None] = lambda text: None
    warn: Callable[[str], None] = lambda text: None
    progress: Callable[[str], AbstractContextManager[Advance]] = _silent


SILENT = Reporting()
