"""``grounding-rewards gallery``: a page on every recipe, with a picture of what it pays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import typer

from docs.gallery import page as gallery_page
from docs.gallery.overview import overview, same_target
from grounding_rewards import catalogue
from grounding_rewards.cli import described, options, pictures, terminal
from grounding_rewards.errors import GroundingRewardsError, PictureError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.picture import Picture, picture
from grounding_rewards.explain.plot import figures, plot
from grounding_rewards.explain.reward_map import CELLS
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.atomic import atomic_files, made_directory

PAGE, FOLDER, OVERVIEW = "recipes.md", "pictures", "overview"
_SMALL = CELLS // 2


@dataclass(frozen=True)
class Shown:
    """What there is to show of a recipe: facts, its picture, and one on the target that all recipes share.

    ``missing`` says why a picture cannot be drawn.
    """

    facts: dict[str, Any]
    own: Picture | None = None
    shared: Picture | None = None
    missing: str = ""


def make_gallery(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help=f"Where to write {PAGE} and {FOLDER}/; is made if need be.")
    ],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The recipes; without them all that there are.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON on stdout.")] = False,
) -> None:
    """Write a page on recipes: what each pays for an answer at every place, formula, source, exploits and an example.

    The same command writes the same page and the same pictures.

    Example: `grounding-rewards gallery gelato se-gui --out gallery`
    """
    figures()
    names = list(dict.fromkeys(names or catalogue.list_recipes()))
    files = _files(names)
    for name in names:
        catalogue.own_options(name)  # complains about names that there are not, before anything is written
    if out.exists() and not out.is_dir():
        raise PictureError(f"{out}: is no directory")
    found = []
    with made_directory(out / FOLDER), atomic_files() as opened:
        text = opened.open(out / PAGE)
        with terminal.progress("drawing") as advance:
            for number, name in enumerate(names):
                found.append(shown(name))
                if (drawn := found[-1].own) is not None:
                    pictures.save(plot([drawn]), opened.open(out / FOLDER / f"{files[name]}.png"), ".png")
                advance((number + 1) / len(names))
        small = [each.shared for each in found if each.shared]
        if small:
            pictures.save(overview(small), opened.open(out / FOLDER / f"{OVERVIEW}.png"), ".png")
        text.write(page(found).encode("utf-8", "backslashreplace"))
    _tell(out, found, as_json)


def shown(name: str, cells: int = CELLS) -> Shown:
    """All there is to show of a recipe, with about so many cells in its picture.

    Raises:
        RecipeError: there is no such recipe.
    """
    given = catalogue.shown_with(name)
    try:
        recipe = options.built(name, given)
        facts = described.facts(name, recipe, given)
    except GroundingRewardsError as error:
        return Shown({"name": name, "error": str(error)})
    if recipe.example is None:
        return Shown(facts, missing=f"{name} has no example to draw")
    try:
        own = picture(recipe, Case.of(recipe.example), cells=cells)
    except GroundingRewardsError as error:
        return Shown(facts, missing=str(error))
    return Shown(facts, own, _on_shared(recipe, min(cells, _SMALL)))


def _on_shared(recipe: Recipe, cells: int) -> Picture | None:
    try:
        found = picture(recipe, same_target(recipe), cells=cells)
    except GroundingRewardsError:
        return None  # its own picture shows it
    return replace(found, views=found.views[:1])


def page(found: Sequence[Shown]) -> str:
    """The page's text."""
    files = _files([each.facts["name"] for each in found])
    paths = {
        each.facts["name"]: f"{FOLDER}/{files[each.facts['name']]}.png" for each in found if each.own is not None
    }  # fmt: skip
    at_a_glance = f"{FOLDER}/{OVERVIEW}.png" if any(each.shared for each in found) else None
    left_out = [each.facts["name"] for each in found if each.own and not each.shared]
    return gallery_page.page(
        [each.facts for each in found], paths, {each.facts["name"]: each.missing for each in found}, at_a_glance,
        left_out,
    )  # fmt: skip


def _files(names: Sequence[str]) -> dict[str, str]:
    """A file's name for each recipe: its own, as far as every file system takes it."""
    found: dict[str, str] = {}
    taken = {OVERVIEW}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "recipe"
        free = (each for each in chain([plain], (f"{plain}-{number}" for number in count(2))) if each not in taken)
        found[name] = next(free)
        taken.add(found[name])
    return found


def _tell(out: Path, found: Sequence[Shown], as_json: bool) -> None:
    missing = {each.facts["name"]: each.missing or each.facts.get("error", "") for each in found if each.own is None}
    for each in found:
        if "error" in each.facts:
            terminal.warn(each.facts["error"])
    if as_json:
        drawn = [each.facts["name"] for each in found if each.own is not None]
        terminal.print_json({"page": str(out / PAGE), "drawn": drawn, "not_drawn": missing})
        return
    for each in found:
        if each.missing:
            terminal.note(each.missing)
    terminal.note(f"{len(found)} recipes written to {out / PAGE}, {len(found) - len(missing)} of them with a picture")
