"""Write docs/recipes/, docs/pictures/, every recipe with a picture of its totals, docs/reference/, the tab key's table.

`make docs` runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from docs.gallery import reference, screens, tab, verifiers
from docs.gallery.figure import plot
from docs.gallery.overview import overview, same_target
from docs.gallery.page import page
from grounding_rewards import catalogue
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.explain import describe
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.plot.picture import CELLS, Picture, picture
from grounding_rewards.scoring import Recipe

DOCS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Shown:
    """A recipe's facts, its picture if it judges places, and one on the target that recipes share if it judges that."""

    facts: dict[str, Any]
    own: Picture | None
    shared: Picture | None


def make(out: Path, names: Iterable[str], cells: int = CELLS) -> None:
    """Write the pages and the pictures, the same bytes for the same recipes; ``cells`` are those of a picture."""
    drawn = [shown(name, cells) for name in names]
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    for each in drawn:
        if each.own:
            _save(plot(each.own), out, each.own.name)
    _save(overview([each.shared for each in drawn if each.shared]), out, "overview")
    (out / "recipes").mkdir(exist_ok=True)
    for name, text in texts(drawn).items():
        (out / "recipes" / name).write_text(text, "utf-8")


def make_reference(out: Path) -> None:
    """Write the generated pages of the reference, and its pictures."""
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    drawn = {"verifiers": verifiers.picture(), "verifiers-profile": verifiers.profile()}
    for name, figure in {**screens.pictures(), **drawn}.items():
        _save(figure, out, name)
    for name, facts in reference.PAGES.items():
        (out / f"{name}.md").write_text(page(name, **facts()), "utf-8")


def shown(name: str, cells: int = CELLS) -> Shown:
    """Describe and draw a recipe, with about so many cells in its picture."""
    options = catalogue.shown_with(name)
    recipe = catalogue.recipe(name, **options)
    case = Case.of(recipe.example)  # type: ignore[arg-type]  # each built-in recipe has one
    own = picture(recipe, case, cells=cells) if recipe.judges_places else None
    facts = describe.facts(name, recipe, options) | {"options": reference.own_options(name)}
    return Shown(facts, own, _on_shared(recipe, min(cells, CELLS // 2)))


def texts(drawn: Sequence[Shown]) -> dict[str, str]:
    """Return the text of each page, by the name of its file."""
    left_out = [each.facts["name"] for each in drawn if not each.shared]
    every = {"README.md": page("recipes", recipes=[each.facts for each in drawn], left_out=left_out)}
    return every | {f"{each.facts['name']}.md": page("recipe", facts=each.facts) for each in drawn}


def _on_shared(recipe: Recipe, cells: int) -> Picture | None:
    try:
        return picture(recipe, same_target(recipe), cells=cells)
    except GroundingRewardsError:
        return None


def _save(figure: Figure, out: Path, name: str) -> None:
    with (out / "pictures" / f"{name}.png").open("wb") as file:
        figure.savefig(file, format="png", metadata={"Software": None})  # the same bytes for the same figure


if __name__ == "__main__":
    make(DOCS, catalogue.list_recipes())
    make_reference(DOCS / "reference")
    tab.write()
