"""``grounding-rewards recipes``: the list of rewards, and the description of one."""

from __future__ import annotations

from typing import Annotated

import typer

from grounding_rewards import catalogue
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import recipes as show_recipes
from grounding_rewards.errors import RecipeError
from grounding_rewards.explain import describe


def list_recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help=f"One recipe; else all in a table. {options.NAMED}", autocompletion=options.RECIPES
        ),
    ] = None,
    *,
    chosen: options.RecipeOptions,
    as_json: options.AsJson = False,
) -> None:
    """List the recipes, or show one: formula, parts, options, source, deviations, exploits and a scored example.

    A recipe that cannot be built without options is shown with some, which the output names.

    Example: `grounding-rewards recipes gelato --option format_weight=0.1`
    """
    if name is not None:
        facts = describe.recipe(name, chosen)
        terminal.print_json(facts) if as_json else show_recipes.one(facts)
        return
    if chosen:
        raise RecipeError(f"recipes: got {', '.join(chosen)} without a NAME; expected the recipe that takes them")
    listed = [describe.entry(each) for each in catalogue.list_recipes()]
    terminal.print_json({"recipes": listed}) if as_json else show_recipes.table(listed)
    for each in listed:
        if "error" in each:
            terminal.warn(f"{each['name']} is not shown: {each['error']}")
