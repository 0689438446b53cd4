"""The application: the verbs of the command line, each imported when it is needed, and the program's own options."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer

from grounding_rewards._version import __version__
from grounding_rewards.cli.terminal import warned

NAME = "grounding-rewards"
PACKAGE = "grounding_rewards.cli"


def build(words: Sequence[str] = ()) -> typer.Typer:
    """Build the typer application, one command a verb: that alone with which the line begins, for imports take time."""
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
    "rollout": "rollout:rollout",
    "convert": "convert:convert",
    "recipes": "recipes:list_recipes",
    "plugins": "plugins:list_plugins",
    "where": "where:where",
    "pool": "pool:build",
}
"""Modules and functions of the verbs."""

_GROUPS: tuple[list[str], ...] = ([], ["pool"])
"""Command lines that name no command: they get the help."""


GROUP = "build"
"""The function of a group of commands, each of which has options of its own."""

Strict = Annotated[bool, typer.Option("--strict", help="End with exit status 1 after a warning, all output written.")]


def verbs(package: str, known: Mapping[str, str], words: Sequence[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Import the functions of verbs, ``module:function`` of a package by name; where a line begins with one, it alone.

    Most take longer to import than to run.

    >>> known = {"score": "score:score", "recipes": "recipes:list_recipes"}
    >>> [(name, function.__name__) for name, function in verbs(PACKAGE, known, ["recipes", "gelato"])]
    [('recipes', 'list_recipes')]
    """
    for name in [words[0]] if words and words[0] in known else known:
        module, _, function = known[name].partition(":")
        command = getattr(import_module(f"{package}.{module}"), function)
        yield name, command if function == GROUP else strict(command)


def strict(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with ``--strict``: exit status 1 where it warned, once it has done its work.

    An argument whose annotation holds a function, such as ``options.FileColumns``, stands for the function's options.

    >>> import inspect
    >>> list(inspect.signature(strict(lambda *, out: None)).parameters)
    ['out', 'strict']
    """
    parameters, makers = list[inspect.Parameter](), dict[str, Callable[..., Any]]()
    for name, own in inspect.signature(command, eval_str=True).parameters.items():
        maker = next(filter(inspect.isfunction, getattr(own.annotation, "__metadata__", ())), None)
        if maker:
            makers[name] = maker
        parameters += inspect.signature(maker, eval_str=True).parameters.values() if maker else [own]
    parameters.append(inspect.Parameter("strict", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Strict))
    # By keyword alone, because one without a default may follow one with a default.
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]

    @wraps(command)
    def run(*, strict: bool, **options: Any) -> None:
        with warned() as warnings:
            for name, maker in makers.items():
                options[name] = maker(**{each: options.pop(each) for each in inspect.signature(maker).parameters})
            command(**options)
        if strict and warnings:
            raise typer.Exit(1)

    run.__annotations__ = {each.name: each.annotation for each in parameters}  # typer reads these, and the signature
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


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

    As typer's own `main`, but for its handling of errors, which hides a reader that has gone.
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
