"""Runs commands that are killed at a chosen step: a server that forks, so that nothing is imported twice."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

STEPS = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir")
"""Audit events that may change files: opening one for writing, and the system's calls of these names."""

PRELOADED = (
    "grounding_rewards.cli", "grounding_rewards.pool.command", "grounding_rewards.batch",
    "grounding_rewards.cli.render.next", "grounding_rewards.pool.curriculum.command",
    "grounding_rewards.pool.aggregate",
    "grounding_rewards.pool.selection", "grounding_rewards.pool.stats_table", "grounding_rewards.tables.writing",
    "grounding_rewards.tables.trainer_logs.trl", "rich.progress",
)  # fmt: skip


class Ended(NamedTuple):
    """End of a command that may have been killed.

    Attributes:
        killed: whether it was killed.
        code: its exit code.
        steps: how many steps it took.
    """

    killed: bool
    code: int
    steps: int


class Server:
    """A process that runs ``grounding-rewards`` in forks of itself."""

    def __init__(self, folder: Path) -> None:
        words = [sys.executable, "-c", "from tests.cli.pool.killing import serve; serve()", str(folder)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words: Any, at: int = 0) -> Ended:
        """Run a command; kill it right before step ``at``, counted from 1."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([at, *map(str, words)]) + "\n")
        self.process.stdin.flush()
        return Ended(*json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def serve() -> None:
    """Read commands from stdin, a line each."""
    _warm_up()
    for line in sys.stdin:
        at, *words = json.loads(line)
        sys.stdout.write(json.dumps(_forked(sys.argv[1], at, words)) + "\n")
        sys.stdout.flush()


def _warm_up() -> None:
    """Have everything imported and built that takes long, but no thread started, which forks would lack."""
    for name in PRELOADED:
        __import__(name)
    import typer

    from grounding_rewards import cli
    from grounding_rewards.cli import application

    command = typer.main.get_command(application.build())
    typer.main.get_command = lambda app: command
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        cli.main(["recipes", "gelato", "--json"])


def _forked(folder: str, at: int, words: list[str]) -> tuple[bool, int, int]:
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        _run(folder, at, words, sink)
    os.close(sink)
    _, status = os.waitpid(child, 0)
    with os.fdopen(source) as pipe:
        steps = pipe.read()
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return killed, -1 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), int(steps or 0)


def _run(folder: str, at: int, words: list[str], sink: int) -> None:
    signal.alarm(60)
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(quiet, number)
    taken = 0

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal taken
        if event in STEPS and _changes(event, given, folder):
            taken += 1
            if taken == at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    code = 1
    try:
        from grounding_rewards.cli import main

        main(words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        os.write(sink, str(taken).encode())
        os._exit(code)


def _changes(event: str, given: tuple[Any, ...], folder: str) -> bool:
    """Return True where a step changes files in a folder; a relative path is in a directory that is held open."""
    path = os.fspath(given[0]) if isinstance(given[0], str | os.PathLike) else ""
    if not path or (os.path.isabs(path) and not path.startswith(folder)):
        return False
    return event != "open" or bool((given[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
