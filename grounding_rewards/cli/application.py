"""The application: the verbs of the command line, and the program's own options."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from grounding_rewards._version import __version__
from grounding_rewards.cli.verbs import verbs

NAME = "grounding-rewards"
PACKAGE = "grounding_rewards.cli"


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
    for name, function in verbs(PACKAGE, _VERBS, words):
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
    "plugins": "plugins:list_plugins",
    "where": "where:where",
    "pool": "pool:build",
}
"""Modules and functions of the verbs."""

_GROUPS: tuple[list[str], ...] = ([], ["pool"])
"""Command lines that name no command: they get the help."""


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


def run(words: Sequence[str]) -> int:
    """Run a command; return its exit code.

    What typer's own `main` does, but for its handling of errors, which hides a reader that has gone.
    """
    command = typer.main.get_command(build(words))
    words = [*words, "--help"] if list(words) in _GROUPS else list(words)
    try:
        with command.make_context(NAME, words) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def usage(error: Any) -> str:
    """Return the line for a mistake in the command line itself, with where to read more."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else NAME
    return f"{str(error.format_message()).rstrip('. ')}; see {path} --help"
