"""The verbs of a command line, each imported when it is needed: all of them take longer than most do their work."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer

from grounding_rewards.cli.terminal import warned

GROUP = "build"
"""The function of a group of commands, each of which has options of its own."""

Strict = Annotated[bool, typer.Option("--strict", help="End with exit status 1 after a warning, all output written.")]


def verbs(package: str, known: Mapping[str, str], words: Sequence[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of verbs by their names.

    Args:
        package: where their modules lie.
        known: of each verb ``module:function``.
        words: of a command line. Where they begin with a verb, it is the only one.

    >>> known = {"score": "score:score", "recipes": "recipes:list_recipes"}
    >>> [(name, function.__name__) for name, function in verbs("grounding_rewards.cli", known, ["recipes", "gelato"])]
    [('recipes', 'list_recipes')]
    """
    for name in [words[0]] if words and words[0] in known else known:
        module, _, function = known[name].partition(":")
        found = getattr(import_module(f"{package}.{module}"), function)
        yield name, found if function == GROUP else strict(found)


def strict(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with ``--strict``: exit status 1 where it warned, once it has done its work.

    >>> import inspect
    >>> list(inspect.signature(strict(lambda *, out: None)).parameters)
    ['out', 'strict']
    """

    @wraps(command)
    def run(*args: Any, strict: bool, **given: Any) -> None:
        with warned() as found:
            command(*args, **given)
        if strict and found:
            raise typer.Exit(1)

    own = inspect.signature(command, eval_str=True)
    run.__annotations__ = {**inspect.get_annotations(command, eval_str=True), "strict": Strict}
    option = inspect.Parameter("strict", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Strict)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
    return run
