"""The pages in docs/ are what the recipes say, and the pictures are there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import grounding_rewards as gr
from docs.gallery.make import DOCS, make, shown, texts
from docs.gallery.overview import overview, same_target
from docs.gallery.page import page
from grounding_rewards import catalogue
from grounding_rewards.explain import describe
from grounding_rewards.explain.plot.picture import CELLS, picture
from grounding_rewards.plugins.registry import collect
from tests.cli.command import names

NAMES = list(collect([]).recipes)
PLACED = [name for name in NAMES if gr.recipe(name, **catalogue.shown_with(name)).judges_places]


def test_the_pages_in_docs_are_up_to_date():
    made = texts([shown(name, 40) for name in NAMES])
    assert sorted(made) == names(DOCS / "recipes"), "run `make docs`"
    for name, text in made.items():
        assert (DOCS / "recipes" / name).read_text("utf-8") == text, "run `make docs`"


def test_every_recipe_has_a_page_with_its_picture_options_and_example():
    for name in NAMES:
        written = (DOCS / "recipes" / f"{name}.md").read_text("utf-8")
        assert re.findall(r"^# (.*)$", written, re.MULTILINE) == [name]
        assert re.findall(r"!\[.*\]\((.*)\)", written) == [f"../pictures/{name}.png"] * (name in PLACED)
        assert re.findall(r"^\| `(\w+)` \|", written, re.MULTILINE) == [*catalogue.own_options(name)]
        assert "## Example" in written


def test_the_table_says_which_options_must_be_given():
    lines = page("recipes", recipes=[describe.recipe(name, {}) for name in NAMES], left_out=[]).splitlines()
    rows = {name: next(line for line in lines if line.startswith(f"| [{name}]")) for name in NAMES}
    assert rows["gelato"].startswith("| [gelato](gelato.md) | 0 to 1 | thousandths | nothing more |")
    assert "| the space given; here pixel | option `response_space` |" in rows["click"]
    assert "| option `response_space`, option `parts` |" in rows["composite"]


def test_formulas_are_typeset():
    written = (DOCS / "recipes" / "gui-g2.md").read_text("utf-8").partition("```math\n")[2].partition("```")[0]
    assert written.splitlines() == [
        r"\begin{aligned}",
        r"\text{total}&=\text{point}+\text{coverage}+\text{format}\_\text{weight}\cdot \text{format} \\",
        r"\text{point}&= \exp(-\tfrac{1}{2} [(d_{x} / \sigma_{x})^2 + (d_{y} / \sigma_{y})^2]), "
        r"\sigma =\text{alpha}\cdot (\text{width},\text{ height})\text{ of the target} \\",
        r"\text{coverage}&=\text{Bhattacharyya coefficient of such Gaussians about both boxes}",
        r"\end{aligned}",
    ]


def test_formulas_of_methods_and_advantages_are_typeset():
    for path in (DOCS / "methods").glob("*.md"):
        written = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert re.findall(r"^    \S.* = .*", written, re.MULTILINE) == [], path
    forms = re.split("^## In trainers", (DOCS / "advantages.md").read_text("utf-8"), flags=re.MULTILINE)[0].split(
        "\n## "
    )[1:]
    assert [form.partition("\n")[0] for form in forms if "\n\n```math\n" not in form] == []
    assert len(forms) == 6
    verifiers = (DOCS / "reference" / "verifiers.md").read_text("utf-8")
    assert verifiers.count("```math\n") == 12
    assert (
        "\n\n```math\n\\begin{aligned}\n&1 - (d / d_{\\text{max}})^2\n\\end{aligned}\n```\n\ninside the target"
        in verifiers
    )


def test_the_pictures_in_docs_are_there_and_show_something():
    assert names(DOCS / "pictures") == sorted(f"{name}.png" for name in ("overview", *PLACED)), "run `make docs`"
    sizes = []
    for path in (DOCS / "pictures").iterdir():
        pixels = np.asarray(Image.open(path).convert("L"))
        assert 300 <= pixels.shape[0] <= (1200 if path.stem == "overview" else 900), path
        assert 550 <= pixels.shape[1] <= 920, path
        assert np.unique(pixels).size > 30, path
        sizes.append(path.stat().st_size)
    assert sum(sizes) < 1_500_000


def test_it_writes_a_page_and_the_same_pictures_again(tmp_path: Path):
    out = tmp_path / "new" / "gallery"
    make(out, ["gelato", "se-gui"], 60)
    assert names(out) == ["pictures", "recipes"]
    assert names(out / "recipes") == ["README.md", "gelato.md", "se-gui.md"]
    assert names(out / "pictures") == ["gelato.png", "overview.png", "se-gui.png"]
    first = {path: path.read_bytes() for path in out.rglob("*.*")}
    make(out, ["gelato", "se-gui"], 60)
    assert {path: path.read_bytes() for path in out.rglob("*.*")} == first


def test_code_and_prose_show_what_they_hold():
    facts = describe.recipe("ui-r1-e", {}) | {
        "options": [],
        "with": {"words": "a`b|c"},
        "exploits": [{"name": "x_y", "what": "<b>", "payoff": 1}],
    }
    facts["example"]["response"] = "a ```` b"
    written = page("recipe", facts=facts)
    assert "`````text\na ```` b\n`````" in written
    assert "- **shown with**: ``words=a`b|c``" in written
    assert "- **x\\_y**: scores 1: \\<b\\>" in written
    index = page("recipes", recipes=[facts], left_out=["other"])
    assert "Not in this picture, because they do not judge this target: `other`." in index


def test_the_overview_has_a_panel_for_each_recipe_on_one_scale():
    chosen = [gr.recipe(name) for name in ("gelato", "gui-g2", "ui-r1", "infigui-g1", "gta1", "ui-venus")]
    pictures = [picture(each, same_target(each), cells=600) for each in chosen]
    assert [each.acc for each in pictures] == [1.0] * 6
    figure = overview(pictures)
    highest = [f"{each.views[0].total.max():.3g}" for each in pictures]
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title("left") for axes in panels] == [each.name for each in pictures]
    assert [axes.texts[0].get_text() for axes in panels[:2]] == [f"0 to {highest[0]}", f"1.01 to {highest[1]}"]
    assert [axes.images[0].get_clim() for axes in panels[2:4]] == [(0.0, 3.0), (0.0, 2.0)]


@pytest.mark.parametrize("name", PLACED)
def test_a_map_holds_the_total_of_its_example(name: str):
    drawn = shown(name, 200)
    for each in filter(None, (drawn.own, drawn.shared)):
        assert [view.total.max() >= each.total for view in each.views] == [True] * len(each.views)


def test_the_same_target_can_have_the_highest_total():
    highest = {name: shown(name, 200).shared.views[0].total.max() for name in ("btl-ui", "ui-agile", "gelato")}
    assert highest == {"btl-ui": 1.0, "ui-agile": 5.0, "gelato": 1.0}


def test_a_box_beside_the_answer_moves_with_the_target():
    assert '"bbox_2d": [360, 200, 600, 340]' in same_target(gr.recipe("btl-ui")).response
    assert same_target(gr.recipe("ui-agile")).target["action"] == {"name": "click", "text": "Save"}


def test_the_overview_has_small_panels_whatever_the_size_of_a_recipes_own_picture():
    drawn = shown("gelato", CELLS)
    assert drawn.own.views[0].total.size == CELLS
    assert CELLS // 2 - 200 < drawn.shared.views[0].total.size <= CELLS // 2


def test_the_overview_moves_the_whole_group():
    case = same_target(gr.recipe("gui-rcpo", response_space="pixel"))
    assert case.responses == ("(480, 270)", "(456, 256)", "(502, 286)", "(750, 420)")
    with pytest.raises(gr.RecipeError, match="click: has no example to draw"):
        same_target(replace(gr.recipe("click", response_space="pixel"), example=None))
