"""Names of settings, as users of the command line and of Python write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

from grounding_rewards.coords.resizing import RESIZING

BOX_FORMAT = "box_format"

_FLAGS = {"recipe", "response_space", "target_space", BOX_FORMAT, *RESIZING}
"""Settings with a flag of their own; others are options of the recipe."""

_CALLED = {"model": "pipeline"}
"""Flags that are not called as their settings: ``rollout --model`` is the model that runs."""


@dataclass(frozen=True)
class Naming:
    """Names of what users set."""

    # Makes a request of settings: "recipe", "box_format", and options of the recipe; None is to leave one out.
    use: Callable[[Mapping[str, Any]], str]
    responses: str  # where responses come from
    bounds: str = "max_pixels and min_pixels"  # the bounds of resizing


def in_python(settings: Mapping[str, Any]) -> str:
    """Return how to set something in Python.

    >>> in_python({"recipe": "click", "response_space": "unit"}), in_python({"box_format": "xywh"})
    ("build recipe('click', response_space='unit')", "read the targets with box_format='xywh'")
    """
    options = dict(settings)
    name, box_format = options.pop("recipe", None), options.pop(BOX_FORMAT, None)
    words = [f"{option}={_plain(value)!r}" for option, value in options.items() if value is not None]
    requests = []
    if name is not None:
        requests.append(f"build recipe({', '.join([repr(name), *words])})")
    elif words:
        requests.append(f"build it with {', '.join(words)}")
    if box_format is not None:
        requests.append(f"read the targets with box_format={str(box_format)!r}")
    return f"{' and '.join(requests)}{without(options)}"


def as_flags(settings: Mapping[str, Any]) -> str:
    """Return how to set something on the command line.

    >>> as_flags({"recipe": "click", "response_space": "unit", "target_space": "pixel"})
    'use --recipe click --response-space unit --target-space pixel'
    """
    words = [
        f"--{_CALLED.get(name, name).replace('_', '-')} {value}"
        if name in _FLAGS
        else f"--option {quote(f'{name}={_text(value)}')}"
        for name, value in settings.items()
        if value is not None
    ]
    return f"use {' '.join(words)}{without(settings)}"


def without(settings: Mapping[str, Any]) -> str:
    """Return the end of a request that says which settings to leave out; "" for none.

    >>> without({"model": "qwen3_vl", "max_pixels": None})
    ', without max_pixels'
    """
    gone = [name for name, value in settings.items() if value is None]
    return f", without {', '.join(gone)}" if gone else ""


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # no members of an enum


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


PYTHON = Naming(in_python, "the responses")


def command_line(column: str) -> Naming:
    """Return the names of a command that reads responses from a column of files."""
    return Naming(as_flags, f"column {column!r} (--response-column)", "--max-pixels and --min-pixels")
