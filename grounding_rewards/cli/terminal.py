"""Output on the terminal: a progress bar, notes, warnings, JSON, and text that is safe to print."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from grounding_rewards._version import __version__
from grounding_rewards.checks.finding import Finding, Severity
from grounding_rewards.errors import printable as printable
from grounding_rewards.tables.object_stores import shown
from grounding_rewards.tables.reporting import Reporting
from grounding_rewards.wording import percent

_PLAIN: Mapping[str, Any] = {"code": None, "severity": "warning"}
"""A warning that is no finding of a kind."""

_CALLED = {"hit_rate": "accuracy"}  # figures of manifests by their names in results
_SAID_BESIDE = ("findings", "warnings")  # parts of results that stand beside them
_HOW = ("as_json", "strict", "settings")  # options that change nothing of a result


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr, on terminals only; yields what takes the share done, 0 to 1, and a text behind the bar."""
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
    sys.stderr.writelines(f"{printable(shown(line))}\n" for line in lines)


def share_named(summary: Mapping[str, Any]) -> str:
    """Return what the share of rows with ``acc`` is called: of a recipe that looks at no target, nobody is right."""
    return "mean acc" if summary.get("label_free") else "accuracy"


def scores_in_words(summary: Mapping[str, Any]) -> str:
    """Return the figures of scored rows; ``hit_rate`` is what manifests call the accuracy."""
    mean = "-" if summary["mean_total"] is None else f"{summary['mean_total']:.4f}"
    share = percent(summary["accuracy"] if "accuracy" in summary else summary["hit_rate"])
    return f"mean total {mean}, {share_named(summary)} {share}, parse rate {percent(summary['parse_rate'])}"


def say_made(line: str, pieces: Mapping[str, int], out: Any, what: str) -> None:
    """Print what a run in pieces made, and how many of these were there."""
    kept = f", {pieces['found']} of {pieces['found'] + pieces['made']} {what} were there" if pieces["found"] else ""
    say(f"{line}; written to {out}{kept}" if pieces["made"] else f"{line}; nothing to do, all is in {out}")


def note(text: str) -> None:
    """Print a remark on stderr."""
    say(f"note: {text}")
    _SAID.get().notes.append(text)


def note_once() -> Callable[[str], None]:
    """Return what prints remarks, each of them once, however many files they are about."""
    return cache(note)


def warn(text: str, finding: Mapping[str, Any] = _PLAIN) -> None:
    """Print a sign of trouble on stderr; under ``--strict`` the command ends with exit status 1."""
    say(f"warning: {text}")
    said = _SAID.get()
    said.warnings.append(text)
    said.findings.append({"message": text, **finding})


def report(findings: Sequence[Finding], file: str = "") -> None:
    """Print findings, notes as notes and others as warnings; ``file`` names the file, of several."""
    for finding in findings:
        text = str(finding) if file in str(finding) else f"{file}: {finding}"
        own = finding.to_dict() | ({"file": file} if file else {})
        if finding.severity is Severity.NOTE:
            note(text)
            _SAID.get().findings.append(own)
        else:
            warn(text, own)


@contextmanager
def command(context: Any) -> Iterator[Said]:
    """Collect what a command says and rooms log, and print its result at the end where it gave one for scripts."""
    said = Said(context, results=sys.stdout)
    token, handler = _SAID.set(said), _Warner(logging.WARNING)
    _LOG.addHandler(handler)
    try:
        with redirect_stdout(sys.stderr):  # what code of users prints is no result
            yield said
    finally:
        _LOG.removeHandler(handler)
        said.print()
        _SAID.reset(token)


@dataclass
class Said:
    """Notes, warnings and findings of a command, and its result."""

    context: Any = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    result: Mapping[str, Any] | None = None
    results: Any = None  # stdout, where results go

    def print(self) -> None:
        """Print the result, if there is one, in ASCII so that every terminal takes it."""
        if self.result is not None:
            results().write(shown(json.dumps(self.whole(), indent=2, allow_nan=False)) + "\n")
            self.result = None

    def whole(self) -> dict[str, Any]:
        """Return the one object of ``--json``; see result.schema.json."""
        from grounding_rewards.settings.reading import by_table

        context, result = self.context, dict(self.result or {})
        given = {
            name: value
            for name, value in context.params.items()
            if value is not None and context.get_parameter_source(name).name in ("COMMANDLINE", "DEFAULT_MAP")
        }
        arguments = [each.name for each in context.command.params if each.param_type_name == "argument"]
        inputs = [given.pop(name) for name in arguments if name in given]
        more = [each for each in result.get("findings", ()) if each not in self.findings]  # of a manifest
        texts = {"; ".join(filter(None, (each["message"], each["fix"]))) for each in more}  # which were said, too
        said = [each for each in self.findings if each["code"] or each["message"] not in texts]
        return {
            "command": context.command_path.partition(" ")[2],
            "version": __version__,
            "settings": by_table({name: plain(value) for name, value in given.items() if name not in _HOW}),
            "inputs": [plain(path) for each in inputs for path in (each if isinstance(each, list | tuple) else [each])],
            "result": {_CALLED.get(name, name): result[name] for name in result if name not in _SAID_BESIDE},
            "notes": self.notes,
            "findings": [*said, *more],
        }


def plain(value: Any) -> Any:
    """Return the value of an option for JSON."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if isinstance(value, bool | int | float) else str(value)


_LOG = logging.getLogger("grounding_rewards")


class _Warner(logging.Handler):
    """Print what is logged as ``warn`` does."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        warn(record.getMessage())


def warnings() -> list[str]:
    """Return the warnings of the command so far."""
    return list(_SAID.get().warnings)


REPORTING = Reporting(note, warn, progress)


def results() -> Any:
    """Return the stream of results: stdout, also where prints of code of one's own go to stderr."""
    return _SAID.get().results or sys.stdout


def context() -> Any:
    """Return the context of the command that runs."""
    return _SAID.get().context


def print_json(result: Mapping[str, Any], *, now: bool = False) -> None:
    """Print the result of the command as JSON on stdout, once all is said, or ``now``."""
    said = _SAID.get()
    said.result = result
    if now:
        said.print()


_SAID: ContextVar[Said] = ContextVar("said", default=Said())  # noqa: B039 (outside of commands, for tests)
