"""The command line: one verb a file. Whatever is wrong with the input is one line on stderr and exit code 2."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from grounding_rewards import __version__
from grounding_rewards.cli.terminal import printable
from grounding_rewards.cli.verbs import verbs
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


def build(words: Sequence[str] = ()) -> typer.Typer:
    """The typer application, one command a verb.

    Args:
        words: of a command line. Where they begin with a verb, it alone is there: others cost time to import.
    """
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
    for name, function in verbs(__name__, _VERBS, words):
        if name == "pool":
            app.add_typer(function(words[1:]), name=name)
        else:
            app.command(name)(function)
    return app


_VERBS = {
    "score": "score:score",
    "eval": "eval:evaluate_files",
    "explain": "explain:explain_score",
    "convert": "convert:convert",
    "recipes": "recipes:list_recipes",
    "gallery": "gallery:make_gallery",
    "plugins": "plugins:list_plugins",
    "where": "where:where",
    "pool": "pool:build",
}
"""Of each verb its module, and the function in it."""

_GROUPS: tuple[list[str], ...] = ([], ["pool"])
"""What says nothing to do, and is answered with what there is."""


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
    words = list(sys.argv[1:] if args is None else args)
    command = typer.main.get_command(build(words))
    try:
        code = _invoke(command, [*words, "--help"] if words in _GROUPS else words)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; without this Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except GroundingRewardsError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(refused(error))
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


def refused(error: OSError) -> str:
    """What the system refused, of which file, and what to do about it.

    >>> refused(OSError(errno.ENOSPC, "No space left on device", "pool.parquet"))
    'pool.parquet: no space is left on the disk; free some, or write elsewhere'
    """
    if error.errno is None:
        return str(error)
    said = _REFUSED.get(error.errno, str(error.strerror))
    return said if error.filename is None else f"{error.filename}: {said}"


_FULL = "no space is left on the disk; free some, or write elsewhere"
_FORBIDDEN = "you are not allowed to; change who may read and write there, or name another file"
_REFUSED = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "would be larger than files may be here; raise the limit (`ulimit -f`), or write elsewhere",
    errno.EROFS: "the disk can only be read; write elsewhere",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOENT: "no such file or directory; name one that is there",
    errno.EISDIR: "is a directory; expected a file",
    errno.ENOTDIR: "a part of this path is no directory; name another file",
    errno.ELOOP: "symbolic links lead round in a circle; name the file itself",
    errno.ENAMETOOLONG: "a name in this path is longer than the disk takes; give a shorter one",
}
"""What is wrong, and how to mend it."""


def _usage(error: Any) -> str:
    """A mistake in the command line itself, with where to read more."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else NAME
    return f"{str(error.format_message()).rstrip('. ')}; see {path} --help"


def _fail(message: str) -> int:
    sys.stderr.write(f"error: {printable(message.strip())}\n")
    return 2


def _terminated(number: int, frame: Any) -> None:
    """End through the clean-up that an error takes, so that no half-written file stays."""
    raise SystemExit(128 + number)


def _ending() -> list[int]:
    """The signals by which systems and terminals end a program, but for those that ``nohup`` and the like ignore."""
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
