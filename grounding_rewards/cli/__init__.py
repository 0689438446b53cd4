"""The command line: one verb a file. Whatever is wrong with the input is one line on stderr and exit code 2."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from grounding_rewards import __version__
from grounding_rewards.cli import pool
from grounding_rewards.cli.convert import convert
from grounding_rewards.cli.eval import evaluate_files
from grounding_rewards.cli.explain import explain_score
from grounding_rewards.cli.gallery import make_gallery
from grounding_rewards.cli.plugins import list_plugins
from grounding_rewards.cli.recipes import list_recipes
from grounding_rewards.cli.score import score
from grounding_rewards.cli.terminal import printable
from grounding_rewards.cli.where import where
from grounding_rewards.errors import GroundingRewardsError

NAME = "grounding-rewards"
INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code: 0, 2 for an error, 130 after Ctrl-C, 129 or 143 ended by a signal.

    Args:
        args: the words after the program's name; None takes them from the command line.

    Raises:
        SystemExit: always.
    """
    previous = {number: signal.signal(number, _terminated) for number in _ending()}
    try:
        code = _run(args)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    sys.exit(code)


def build() -> typer.Typer:
    """The typer application, one command a verb."""
    app = typer.Typer(
        name=NAME,
        help="Rewards and verifiers for models that point at things on a screen.",
        rich_markup_mode="markdown",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    app.command("score")(score)
    app.command("eval")(evaluate_files)
    app.command("explain")(explain_score)
    app.command("convert")(convert)
    app.command("recipes")(list_recipes)
    app.command("gallery")(make_gallery)
    app.command("plugins")(list_plugins)
    app.command("where")(where)
    app.add_typer(pool.build(), name="pool")
    return app


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{NAME} {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself; the only one acts on its own."""


def _run(args: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character of somebody's file name must not end the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    command = typer.main.get_command(build())
    words = list(sys.argv[1:] if args is None else args)
    try:
        code = _invoke(command, words or ["--help"])
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; without this Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (GroundingRewardsError, OSError) as error:
        return _fail(str(error))
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _fail(_usage(error))
    return code


def _invoke(command: Any, words: list[str]) -> int:
    """What typer's own `main` does, but for its handling of errors, which hides a reader that has gone."""
    try:
        with command.make_context(NAME, words) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def _usage(error: Any) -> str:
    """A mistake in the command line itself, with where to read more."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else NAME
    return f"{str(error.format_message()).rstrip('. ')}; see {path} --help"


def _fail(message: str) -> int:
    sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")
    return 2


def _terminated(number: int, frame: Any) -> None:
    """End through the clean-up that an error takes, so that no half-written file stays."""
    raise SystemExit(128 + number)


def _ending() -> list[int]:
    """The signals by which systems and terminals end a program, but for those that ``nohup`` and the like ignore."""
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
