"""Pages as Markdown: templates, filled with ``describe.facts`` and others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from docs.gallery.typeset import latex, split
from grounding_rewards.cli.listing import settings
from grounding_rewards.cli.render.tables import as_written, bounds_of
from grounding_rewards.plugins.registry import BUILT_IN

Facts = dict[str, Any]


def page(template: str, **facts: Any) -> str:
    """Return a page by the name of its template."""
    return environment().get_template(f"{template}.md.jinja").render(**facts)


def environment() -> Environment:
    """Return the templates' environment, with the filters of all pages."""
    made = Environment(  # Markdown: `plain`, `code` and `fenced` escape
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    filters = (bounds_of, cell, code, fenced, inputs, latex, needs, paper, plain, scores, settings, space, split)
    made.filters |= {each.__name__: each for each in filters}
    return made


def space(facts: Facts) -> str:
    """Return the space that a recipe's answers are in."""
    name = str(facts["response_space"])
    return f"the space given; here {name}" if "response_space" in facts["with"] else name


def needs(facts: Facts) -> str:
    """Return a recipe's needs beside responses and targets, and the options that it cannot be built without."""
    return ", ".join([*facts["needs"], *(f"option {code(name)}" for name in facts["with"])])


def paper(facts: Facts) -> str:
    """Return the source of a recipe."""
    return "this package" if facts["paper"] == BUILT_IN else str(facts["paper"])


def inputs(example: Facts) -> str:
    """Return target and sizes of an example."""
    names = [name for name in ("target", "image_size", "model_image_size") if example[name] is not None]
    return ", ".join(f"{name} {code(as_written(example[name]))}" for name in names)


def scores(example: Facts) -> str:
    """Return an example's parts, total and acc."""
    values = {**example["parts"], "total": example["total"], "acc": example["acc"]}
    return ", ".join(f"{name} {score:.6g}" for name, score in values.items())


def plain(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> print(plain("<think> *and* [x]"))
    \<think\> \*and\* \[x\]
    """
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Return text as code within a line."""
    text, ticks = " ".join(text.split()), _ticks(text)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def cell(text: str) -> str:
    r"""Return text for a cell of a table, in which a bar ends the cell.

    >>> print(cell(code("a|b")))
    `a\|b`
    """
    return text.replace("|", r"\|")


def fenced(text: str) -> str:
    """Return text as a block of code."""
    fence = _ticks(text).rjust(3, "`")
    return f"{fence}text\n{text}\n{fence}"


def _ticks(text: str) -> str:
    """Return one backtick more than stand in a row anywhere in the text."""
    return "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
