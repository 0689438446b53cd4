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
    """Callbacks for notes, warnings and progress; by default nothing is shown."""

    note: Callable[[str], None] = lambda text: None  # takes a remark
    warn: Callable[[str], None] = lambda text: None  # takes a sign of trouble
    # takes the name of the work, and gives a context whose value takes the share that is done
    progress: Callable[[str], AbstractContextManager[Advance]] = _silent


SILENT = Reporting()
