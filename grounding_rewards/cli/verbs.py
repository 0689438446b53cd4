"""The verbs of a command line, each imported when it is needed: all of them take longer than most do their work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any


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
        yield name, getattr(import_module(f"{package}.{module}"), function)
