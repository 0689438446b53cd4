"""``grounding-rewards gallery``: the page in docs/ is what the recipes say, and the pictures are there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from PIL import Image

import grounding_rewards as gr
from docs.gallery import make as gallery
from docs.gallery import page as gallery_page
from grounding_rewards import plugins
from grounding_rewards.plugins import collect
from tests.cli.command import names

DOCS = Path(__file__).parents[2] / "docs"
NAMES = list(collect([]).recipes)
GELATO = gr.recipe("gelato")


@pytest.fixture
def quick(monkeypatch):
    """Maps of few cells."""
    fine = gallery.shown
    monkeypatch.setattr(gallery, "shown", lambda name: fine(name, 60))


@pytest.fixture
def own(monkeypatch):
    """Further recipes: a function that adds them."""

    def add(**recipes):
        known = plugins.registry()
        extended = replace(known, recipes=MappingProxyType({**known.recipes, **recipes}))
        monkeypatch.setattr("grounding_rewards.catalogue.registry", lambda: extended)

    return add


def test_the_page_in_docs_is_up_to_date():
    made = gallery.page([gallery.shown(name, 40) for name in NAMES])
    assert (DOCS / "recipes.md").read_text("utf-8") == made, "run `make docs`"


def test_the_page_in_docs_has_a_section_and_a_picture_for_every_recipe():
    text = (DOCS / "recipes.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == NAMES
    assert re.findall(r"!\[.*\]\((.*)\)", text) == [f"pictures/{name}.png" for name in ("overview", *NAMES)]
    assert "No picture" not in text
    assert "Cannot be shown" not in text


def test_the_table_says_which_options_must_be_given():
    told = {name: gallery.described.recipe(name, {}) for name in ("gelato", "click", "composite")}
    lines = {name: gallery_page.page([facts], {}, {name: ""}, None, []).splitlines() for name, facts in told.items()}
    rows = {name: next(line for line in page if line.startswith(f"| [{name}]")) for name, page in lines.items()}
    assert rows["gelato"].startswith("| [gelato](#gelato) | 0 to 1 | thousandths | nothing more |")
    assert "| the space given; here pixel | option `response_space` |" in rows["click"]
    assert "| option `response_space`, option `parts` |" in rows["composite"]
    assert "- **needs**: option `response_space`" in lines["click"]


def test_the_pictures_in_docs_are_there_and_show_something():
    assert names(DOCS / "pictures") == sorted(f"{name}.png" for name in ("overview", *NAMES)), "run `make docs`"
    sizes = []
    for path in (DOCS / "pictures").iterdir():
        pixels = np.asarray(Image.open(path).convert("L"))
        assert 300 <= pixels.shape[0] <= 900, path
        assert 550 <= pixels.shape[1] <= 920, path
        assert np.unique(pixels).size > 30, path
        sizes.append(path.stat().st_size)
    assert sum(sizes) < 1_500_000


@pytest.mark.usefixtures("quick")
def test_it_writes_a_page_and_pictures(run, tmp_path):
    out = tmp_path / "new" / "gallery"
    result = run("gallery", "gelato", "se-gui", "gelato", "--out", out)
    assert (result.code, result.out) == (0, "")
    assert result.err == f"note: 2 recipes written to {out}/recipes.md, 2 of them with a picture\n"
    assert names(out) == ["pictures", "recipes.md"]
    assert names(out / "pictures") == ["gelato.png", "overview.png", "se-gui.png"]
    first = {path: path.read_bytes() for path in out.rglob("*.*")}
    again = run("gallery", "gelato", "se-gui", "--out", out, "--json")
    assert json.loads(again.out) == {"page": f"{out}/recipes.md", "drawn": ["gelato", "se-gui"], "not_drawn": {}}
    assert {path: path.read_bytes() for path in out.rglob("*.*")} == first


@pytest.mark.usefixtures("quick")
def test_recipes_that_cannot_be_drawn_or_built_are_said(run, own, tmp_path):
    def broken():
        raise gr.RecipeError("there is <nothing> here")

    own(**{"lab/bare": lambda: replace(GELATO, example=None), "lab/broken": broken, "lab-bare": lambda: GELATO})
    result = run("gallery", "lab/bare", "lab/broken", "lab-bare", "--out", tmp_path)
    assert result.code == 0
    assert result.err.startswith("warning: there is <nothing> here\nnote: lab/bare has no example to draw\n")
    assert run("gallery", "lab/bare", "lab/broken", "--out", tmp_path / "again", "--strict").code == 1
    assert run("gallery", "lab/bare", "--out", tmp_path / "again", "--strict").code == 0
    text = (tmp_path / "recipes.md").read_text("utf-8")
    assert "## lab/bare\n\nNo picture: lab/bare has no example to draw\n" in text
    assert "## lab/broken\n\nCannot be shown: there is \\<nothing\\> here\n" in text
    assert "[lab/bare](#labbare)" in text
    assert names(tmp_path / "pictures") == ["lab-bare-2.png", "overview.png"]
    assert "(pictures/lab-bare-2.png)" in text


def test_a_name_that_there_is_not_is_an_error_before_anything_is_written(run, tmp_path):
    out = tmp_path / "new"
    assert run.error("gallery", "gelato", "gelatto", "--out", out).startswith("unknown recipe 'gelatto'; did you mean")
    assert not out.exists()
    out.write_text("")
    assert run.error("gallery", "gelato", "--out", out) == f"{out}: is no directory"


def test_code_and_prose_show_what_they_hold():
    facts = gallery.described.recipe("ui-r1-e", {})
    facts |= {
        "formula": "a ```` b",
        "with": {"words": "a`b|c"},
        "exploits": [{"name": "x_y", "what": "<b>", "payoff": 1}],
    }
    text = gallery_page.page([facts], {}, {"ui-r1-e": "so"}, None, ["other"])
    assert "`````text\na ```` b\n`````" in text
    assert "- **shown with**: ``words=a`b|c``" in text
    assert "- **x\\_y**: pays 1: \\<b\\>" in text
    assert "Not in this picture, because they do not judge this target: `other`." in text
