"""Methods that options name, by name or as JSON with their arguments, and how rollouts are read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from grounding_rewards.cli import options, terminal
from grounding_rewards.errors import PoolError


def _counting(rounds: options.Rounds = None, by: options.By = "source") -> dict[str, Any]:
    return {"rounds": None if rounds is None else sorted(set(rounds)), "by": by}


def _reading(
    rounds: options.Rounds = None,
    by: options.By = "source",
    target_space: options.TargetSpace = None,
    recipe: options.TargetRecipe = None,
) -> dict[str, Any]:
    return {**_counting(rounds, by), "target_space": target_space, "recipe": options.target_recipe(recipe)}


Counting = Annotated[dict[str, Any], _counting]
"""The rounds that count, and the column that samples are counted by, as one argument; see ``options.FileColumns``."""

Reading = Annotated[dict[str, Any], _reading]
"""The same, and the form of targets: keywords of ``pool.command.source``."""


@contextmanager
def options_named() -> Iterator[None]:
    """Turn the name of an argument at the beginning of an error into that of the command's option."""
    try:
        yield
    except PoolError as error:
        name, colon, rest = str(error).partition(":")
        known = {each.name: each.opts[0] for each in terminal.context().command.params}
        raise PoolError(known.get(name, name) + colon + rest) from error


def read_spec(option: str, text: str) -> str | dict[str, Any]:
    """Read a method's name, or a JSON object with ``name`` and arguments."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        spec: dict[str, Any] = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        expected = 'a name, or JSON with finite numbers, such as {"name": "spread"}'
        raise PoolError(f"{option}: got {text!r:.80}; expected {expected}") from None
    return spec


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number
