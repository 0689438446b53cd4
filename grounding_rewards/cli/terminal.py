"""Output on the terminal: a progress bar, notes, warnings, JSON, and text that is safe to print."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from grounding_rewards.checks.finding import Finding, Severity
from grounding_rewards.errors import printable as printable
from grounding_rewards.tables.reporting import Reporting


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr, on terminals only, while the work lasts.

    Yields what takes the share done, 0 to 1, and a text to show behind the bar.
    """
    if not sys.stderr.isatty():  # before anything is imported for a bar that nobody sees
        yield lambda done, text="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(what), total=1.0, text="")
        yield lambda done, text="": bar.update(task, completed=done, text=text)


def say(*lines: str) -> None:
    """Print lines on stderr."""
    sys.stderr.writelines(f"{printable(line)}\n" for line in lines)


def note(text: str) -> None:
    """Print a remark on stderr."""
    say(f"note: {text}")


def note_once() -> Callable[[str], None]:
    """Return what prints remarks, each of them once, however many files they are about."""
    return cache(note)


def warn(text: str) -> None:
    """Print a sign of trouble on stderr; under ``--strict`` the command ends with exit status 1."""
    say(f"warning: {text}")
    if (texts := _WARNED.get()) is not None:
        texts.append(text)


def report(findings: Iterable[Finding], file: str = "") -> list[dict[str, Any]]:
    """Print findings, notes as notes and others as warnings, and return their plain values for JSON.

    ``file`` names the file, of several, in texts that do not.
    """
    plain = []
    for finding in findings:
        text = str(finding)
        output = note if finding.severity is Severity.NOTE else warn
        output(text if file in text else f"{file}: {text}")
        plain.append(finding.to_dict())
    return plain


@contextmanager
def warned(context: Any = None) -> Iterator[list[str]]:
    """Collect the warnings of one command, as they come; those that rooms log are warnings as others."""
    texts: list[str] = []
    token, handler = _WARNED.set(texts), _Warner(logging.WARNING)
    running = _CONTEXT.set(context)
    _LOG.addHandler(handler)
    try:
        yield texts
    finally:
        _LOG.removeHandler(handler)
        _WARNED.reset(token)
        _CONTEXT.reset(running)


_LOG = logging.getLogger("grounding_rewards")


class _Warner(logging.Handler):
    """Print what is logged as ``warn`` does."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        warn(record.getMessage())


def warnings() -> list[str]:
    """Return the warnings of the command so far, for its JSON."""
    return list(_WARNED.get() or ())


_WARNED: ContextVar[list[str] | None] = ContextVar("warned", default=None)


REPORTING = Reporting(note, warn, progress)


def context() -> Any:
    """Return the context of the command that runs."""
    return _CONTEXT.get()


_CONTEXT: ContextVar[Any] = ContextVar("context", default=None)


def print_json(value: Any) -> None:
    """Print JSON on stdout, in ASCII so that every terminal takes it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
