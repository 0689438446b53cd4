"""``grounding-rewards compare``: two recipes, or functions of your own, on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.two_recipes import CAUSES, Agreement, compare_recipes
from grounding_rewards.checks.finding import flags
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.viewer import blocks
from grounding_rewards.viewer.page import check_page, write_page
from grounding_rewards.wording import percent, plural


def compare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=options.ROWS)],
    recipe: options.RecipeName,
    other: Annotated[str, options.recipe_option("The recipe to compare it with, named likewise.", "--with")],
    *,
    chosen: options.RecipeOptions,
    as_json: options.AsJson = False,
    html: Annotated[
        Path | None, typer.Option(metavar="PAGE.html", help="A page to write, with ten rows of each cause.")
    ] = None,
    shown: Annotated[int, typer.Option("--rows", metavar="N", min=0, max=10, help="Rows of each cause to show.")] = 2,
    box_format: options.BoxFormats = None,
    rows: options.Rows,
) -> None:
    """Compare two recipes, or reward functions of your own, on the same rows: OLD is --recipe, NEW --with.

    Prints how far totals and success agree, which groups of rollouts change their order or lose their signal, the
    causes of the differences with rows of each, and the time that each recipe takes. A cause is what makes both agree
    when it is changed: blanks, what stands around the answer, the space that places are read in.

    Options of recipes are for both; `A,B` as a space is one for each. They differ where a warning says so, and --strict
    then ends with exit status 1.

    Example: `grounding-rewards compare rollouts.jsonl --recipe mine.py:reward --with click --response-space pixel`
    """
    rows.join.check([file])
    if html is not None:
        check_page(html, [file])
    table = rows.join.open(file, rows.split, rows.columns)
    scorers = [
        rows.scorer(catalogue.recipe(name, **own), "abstain", box_format, terminal.note_once())
        for name, own in zip((recipe, other), options.of_each(chosen, 2), strict=True)
    ]
    with terminal.progress(f"comparing on {table.path.name}") as advance:
        found = compare_recipes(table, *scorers, clock=perf_counter, advance=advance)
    if html is not None:
        write_page(html, _page(found, file.name))
    if as_json:
        terminal.print_json({"file": str(table.path), **found.to_dict()})
    else:
        _show(found, shown)
    if found.differing:
        terminal.warn(f"{' and '.join(found.recipes)} differ on {found.differing:,} of {plural(found.rows, 'row')}")


def _show(found: Agreement, shown: int) -> None:
    on = layout.console()
    on.print(layout.table(["", "value"], ["value"], _facts(found)))
    causes = [(cause, f"{count:,}", CAUSES[cause]) for cause, count in found.causes.items()]
    layout.section(on, "Causes of differences", layout.table(["cause", "rows", "meaning"], ["cause"], causes))
    rows = [(cause, *each) for cause in found.causes for each in _rows(found, cause, 60)[:shown]]
    layout.section(on, "Rows", layout.table(["cause", "row", "response", "OLD", "NEW"], ["cause"], rows))


def _page(found: Agreement, file: str) -> blocks.Block:
    """Return the data of a page."""
    causes = [
        blocks.section(
            cause.replace(" ", "-"), f"{cause}: {plural(count, 'row')}", CAUSES[cause],
            [blocks.table("the first of them", ["row", "response", "OLD", "NEW"], _rows(found, cause, 2000))],
        )
        for cause, count in found.causes.items()
    ]  # fmt: skip
    figures = blocks.facts([("OLD", found.recipes[0]), ("NEW", found.recipes[1]), *_facts(found)])
    return {
        "title": f"{found.recipes[0]} and {found.recipes[1]} on {file}", "made_by": "grounding-rewards compare",
        "sections": [blocks.section("agreement", "Agreement", "", [figures]), *causes],
    }  # fmt: skip


def _facts(found: Agreement) -> list[tuple[str, str]]:
    n = max(found.rows, 1)
    (both_wrong, new_alone), (old_alone, both_right) = found.success
    correlation = "-" if found.correlation != found.correlation else f"{found.correlation:.4f}"
    facts = {
        "rows": f"{found.rows:,}",
        "same total": percent(found.alike / n),
        "same success": percent((both_wrong + both_right) / n),
        "correlation of totals": correlation,
        "right by both, OLD alone, NEW alone, neither": f"{both_right:,}, {old_alone:,}, {new_alone:,}, {both_wrong:,}",
        "rows a second, OLD and NEW": ", ".join(f"{found.rows / max(each, 1e-9):,.0f}" for each in found.seconds),
    }
    if found.groups:
        facts["samples with several rollouts"] = f"{found.groups:,}"
        facts["... reordered, without signal by NEW alone, by OLD alone"] = (
            f"{found.reordered:,}, {found.lost:,}, {found.gained:,}"
        )
    return list(facts.items())


def _rows(found: Agreement, cause: str, length: int) -> list[tuple[str, ...]]:
    """Return the rows of a cause: place, response and what each of the two says."""
    return [
        (each.place, layout.clipped(each.response, length), *map(_judged, each.totals, each.right, each.said))
        for each in found.examples[cause]
    ]


def _judged(total: float, right: bool, said: str) -> str:
    return f"{total:g}, {'right' if right else 'wrong'}{said and f': {layout.clipped(said, 80)}'}"


def command_line_of(file: Path, recipe: str, other: str, options: Mapping[str, Any]) -> str:
    """Return the command that compares a recipe with another one, which has options."""
    names = f"--recipe {quote(recipe)} --with {other} {flags(options)}".rstrip()
    return f"grounding-rewards compare {quote(str(file))} {names}"
