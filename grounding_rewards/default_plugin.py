"""The dialects, verifiers and recipes that come with the package, as a plugin like any other."""

from __future__ import annotations

from grounding_rewards import parsing, verifiers
from grounding_rewards.hookspecs import Register, hookimpl
from grounding_rewards.recipes import click, gelato, gta1


@hookimpl
def register_parsers(register: Register) -> None:
    for dialect in (
        parsing.AUTO, parsing.BARE_TUPLE, parsing.BARE_TUPLE_WHOLE, parsing.JSON_2D, parsing.REFUSAL, parsing.TOOL_CALL,
    ):  # fmt: skip
        register(dialect.name, dialect)


@hookimpl
def register_verifiers(register: Register) -> None:
    register("hit", verifiers.Hit)
    register("inside_distance", verifiers.InsideDistance)
    register("format", verifiers.Format)
    register("correct_refusal", verifiers.CorrectRefusal)


@hookimpl
def register_recipes(register: Register) -> None:
    register("click", click.click)
    register("gelato", gelato.gelato)
    register("gelato-pixel", gelato.gelato_pixel)
    register("gta1", gta1.gta1)
