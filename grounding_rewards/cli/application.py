"""The application: the verbs of the command line, each imported when it is needed, and the program's own options."""

from __future__ import annotations

import gc
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
import typer.completion

from grounding_rewards._version import __version__
from grounding_rewards.cli.completion import COMPLETE

NAME = "grounding-rewards"
PACKAGE = "grounding_rewards.cli"


def build(words: Sequence[str] | None = None) -> typer.Typer:
    """Build the typer application, one command a verb; of others than a line begins with, the help alone."""
    app = typer.Typer(
        name=NAME,
        help="Rewards and verifiers for models that point at things on a screen.",
        rich_markup_mode="markdown",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name, function in verbs(PACKAGE, _VERBS, words):
        if function.__name__ == GROUP:
            app.add_typer(function(words and words[1:]), name=name)
        else:
            app.command(name)(function)
    return app


_VERBS = {
    "init": "init:init",
    "score": "score:score",
    "eval": "eval:evaluate_files",
    "compare": "compare:compare",
    "suggest": "suggest:suggest_recipes",
    "explain": "explain:explain_score",
    "view": "view:view",
    "rollout": "rollout:rollout",
    "convert": "convert:convert",
    "mix": "mix:mix",
    "check": "check:build",
    "recipes": "listing:list_recipes",
    "families": "listing:list_families",
    "plugins": "listing:list_plugins",
    "where": "listing:where",
    "pool": "pool:build",
}
"""Modules and functions of the verbs."""

_GROUPS: tuple[list[str], ...] = ([], ["pool"], ["check"])
"""Command lines that name no command: they get the help."""


GROUP = "build"  # the function of a group of commands, each of which has options of its own

_FLAG = r"(?<![\w-])--[a-z][a-z-]*[a-z]"

Strict = Annotated[bool, typer.Option("--strict", help="End with exit status 1 after a warning, all output written.")]


def reading_plainly(command: Any) -> Any:
    """Return a command that reads plain values itself: for them typer imports pydantic, for a tenth of a second."""
    listed = command.get_params

    def params(context: Any) -> list[Any]:
        found: list[Any] = listed(context)
        for each in found:
            if hasattr(each, "type_descriptor"):  # typer 0.29 or newer
                vars(each)["process_value"] = partial(_processed, each)
        return found

    vars(command)["get_params"] = params
    for inside in getattr(command, "commands", {}).values():
        reading_plainly(inside)
    return command


def _processed(parameter: Any, context: Any, value: Any) -> Any:
    """Return the value of an option as its callback leaves it; what is not plain typer reads, or says what is wrong."""
    try:
        plain = _plain(value, parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info)
        if parameter.required and not plain:
            raise ValueError
    except (TypeError, ValueError):
        return type(parameter).process_value(parameter, context, value)
    with with_place(context):
        return parameter.callback(context, parameter, plain) if parameter.callback else plain


def _plain(value: Any, kind: Any, said: Any) -> Any:
    """Return the value of an option as its type has it; raises ``ValueError`` where this is not plain."""
    if get_origin(kind) is list:
        return [_plain(each, get_args(kind)[0], said) for each in value or ()]
    if value is None or isinstance(value, kind):
        return value
    if issubclass(kind, Enum) or (kind is Path and (os.access(value, os.R_OK) or not os.path.exists(value))):
        return kind(value)
    if kind is int and value.isascii() and value.isdigit() and said.min is said.max is None:
        return int(value)
    raise ValueError


def verbs(
    package: str, known: Mapping[str, str], words: Sequence[str] | None
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield verbs of a package by name: the one that a line begins with, else the help of each; without words all."""
    begun = [name for name in (words or ())[:1] if name in known]  # most take longer to import than to run
    for name in begun or known:
        module, _, function = known[name].partition(":")
        if words is not None and not begun:
            yield name, _named(package, module, function)
            continue
        command = getattr(import_module(f"{package}.{module}"), function)
        yield name, command if function == GROUP else strict(command)


def _named(package: str, module: str, function: str) -> Callable[[], None]:
    """Return a command that does nothing, with the help of one that is not imported."""

    def named() -> None: ...

    place = Path(str(import_module(package).__file__)).parent / module
    source = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(encoding="utf-8")
    start = 0 if function == GROUP else source.index(f"\ndef {function}(")
    named.__doc__ = source[start:].split('"""')[1]  # parsing two dozen modules takes a fifth of the help's time
    return named


def strict(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with ``--strict``, and ``--settings`` where files can hold options of it."""
    # An argument whose annotation holds a function, such as ``options.FileColumns``, stands for the function's options.
    parameters, makers = list[inspect.Parameter](), dict[str, Callable[..., Any]]()
    for name, own in inspect.signature(command, eval_str=True).parameters.items():
        maker = next(filter(inspect.isfunction, getattr(own.annotation, "__metadata__", ())), None)
        if maker:
            makers[name] = maker
        parameters += inspect.signature(maker, eval_str=True).parameters.values() if maker else [own]
    filed = settings_option(each.name for each in parameters)
    parameters += filed
    parameters.append(inspect.Parameter("strict", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Strict))
    # By keyword alone, because one without a default may follow one with a default.
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    parameters.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @wraps(command)
    def run(*, context: typer.Context, strict: bool, **options: Any) -> None:
        from grounding_rewards.cli import terminal
        from grounding_rewards.errors import GroundingRewardsError

        if options.pop("settings", None) and "option" in options:
            options["option"] = with_options(context.meta["settings"], options)
        with terminal.command(context) as said, with_place(context):
            context.params.update(copies := _copies(options))
            options.update(copies)
            for name, maker in makers.items():
                options[name] = maker(**{each: options.pop(each) for each in inspect.signature(maker).parameters})
            try:
                command(**options)
            except GroundingRewardsError as error:
                error.add_note(lacking(str(error), context))
                raise
        if strict and said.warnings:
            raise typer.Exit(1)

    run.__annotations__ = {each.name: each.annotation for each in parameters}  # typer reads these, and the signature
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _copies(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that name files, with local copies of what lies in object stores."""
    from grounding_rewards.tables.object_stores import local

    listed = {name: value if isinstance(value, list) else [value] for name, value in options.items()}
    paths = {name: each for name, each in listed.items() if each and all(isinstance(one, Path) for one in each)}
    copies = {name: [local(one, output=name == "out") for one in each] for name, each in paths.items()}
    return {name: each if isinstance(options[name], list) else each[0] for name, each in copies.items()}


def lacking(text: str, context: typer.Context) -> str:
    """Return which flags that an error names the command has not, and the commands that have them; "" for none."""
    # Rooms below do not know which command runs. A whole command between backticks may be another one.
    own = {flag for each in context.command.params for flag in each.opts}
    named = dict.fromkeys(re.findall(_FLAG, re.sub("`[^`]*`", "", text)))
    said = []
    for flag in named.keys() - own:
        if others := [name for name, flags in flags_of_all().items() if flag in flags]:
            said.append(
                f"{context.command_path.removeprefix(NAME).strip()} has no {flag}, which {', '.join(others)} take"
            )
    return f" ({'; '.join(said)})" if said else ""


@contextmanager
def with_place(context: typer.Context) -> Iterator[None]:
    """Note on an error the lines of settings files that hold what it names by its flag, or by its path."""
    try:
        yield
    except Exception as error:
        if not (files := context.meta.get("files")):
            raise
        from grounding_rewards.settings.reading import place_of

        flags, held = {*re.findall(_FLAG, str(error))}, context.default_map or {}
        for name, opts in {each.name: each.opts for each in context.command.params if each.name in held}.items():
            values = held[name] if isinstance(held[name], list) else [held[name]]
            named = {*opts} & flags or any(str(each) in str(error) for each in values if os.path.isabs(str(each)))
            if named and str(context.get_parameter_source(name)).endswith("DEFAULT_MAP"):
                error.add_note(f" ({place})" if (place := place_of(name, files)) else "")
        raise


def flags_of_all() -> dict[str, set[str]]:
    """Return the flags of every command, by its name; all of them are imported."""
    top: Any = typer.main.get_command(build())
    inside = {name: getattr(each, "commands", {"": each}) for name, each in top.commands.items()}
    return {
        f"{name} {last}".strip(): {flag for each in command.params for flag in each.opts if flag.startswith("--")}
        for name, group in inside.items()
        for last, command in group.items()
    }


def settings_option(names: Iterable[str]) -> list[inspect.Parameter]:
    """Return the option ``--settings`` of a command that takes what its files hold, in a list; else none."""
    from grounding_rewards.settings.reading import RECIPE, TABLES, known, read_settings

    held = {RECIPE, *(name for table in TABLES for name in known(table))} & {*names}
    if "option" not in names and not {"target_column", "image_root"} & held:
        return []

    def read(context: typer.Context, paths: list[Path] | None) -> list[Path] | None:
        if not paths:
            return None
        settings = context.meta["settings"] = read_settings(*paths)
        context.meta["files"] = paths
        flat = {**settings.answers, **settings.data, **settings.images, RECIPE: settings.recipe.get("name")}
        context.default_map = {name: value for name, value in flat.items() if name in held and value is not None}
        return paths

    option = typer.Option(
        "--settings", metavar="FILE", callback=read, is_eager=True,
        help="Settings of a file (.toml, .yaml, .json), or the recipe of a directory that `rollout` or `pool score` "
        "wrote. May be given several times: later ones override earlier ones, and options override all. "
        "It may name code to run.",
    )  # fmt: skip
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("settings", kind, default=None, annotation=Annotated[list[Path] | None, option])]


def with_options(settings: Any, options: Mapping[str, Any]) -> list[str]:
    """Return the values of ``--option`` with those of the files in front, of their own recipe alone."""
    given = list(options.get("option") or ())
    name, own = settings.recipe.get("name"), {each.partition("=")[0] for each in given}
    filed = settings.recipe if options.get("recipe", name) == name else {}
    return [*(f"{key}={json.dumps(value)}" for key, value in filed.items() if key != "name" and key not in own), *given]


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
    """Run a command; return its exit code. Unlike typer's own `main` it says where a reader has gone."""
    words = [*(words[1:] if words[:1] == ["--"] else words)]
    asked = os.environ.get(COMPLETE)
    if asked is not None:
        words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()[1:]
    command = reading_plainly(typer.main.get_command(build(words)))
    if asked is not None:
        return typer.completion.shell_complete(command, {}, NAME, COMPLETE, asked)
    words = [*words, "--help"] if words in _GROUPS else words
    if not gc.isenabled():  # `main` of a process of its own
        gc.freeze()  # what was imported stays
        gc.set_threshold(50_000, 20)  # rows make many objects and no cycles: looked at often, they cost a quarter more
        gc.enable()
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
    text = str(error.format_message()).replace(": Value error, ", ": ")  # as newer versions of typer begin it
    return f"{' '.join(line.strip() for line in text.splitlines()).rstrip('. ')}; see {path} --help"
