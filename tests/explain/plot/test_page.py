"""The page of an explanation: response and scores, outlines, marks and maps, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.errors import PictureError
from grounding_rewards.explain import Case, explain
from grounding_rewards.explain.plot import page as pages
from grounding_rewards.explain.plot.page import draw, page_of, scale
from grounding_rewards.explain.plot.picture import picture
from grounding_rewards.viewer.page import page
from tests.cli.command import names
from tests.viewer.reading import built, needs_node

CLICK = gr.recipe("click", response_space="pixel")
STRICT = gr.recipe("click", response_space="pixel", format_weight=0.0)
SCREEN = ((1000, 500),)
LARGE, SMALL = {"bbox": [100, 100, 500, 300]}, {"bbox": [100, 100, 140, 120]}
BOX = {"bbox": [10, 10, 50, 30]}
CASE = Case(("(20, 15)",), (BOX,))


def data(case, *recipes, image=None, cells=200):
    """Return a page's data, coarse to be quick."""
    recipes = recipes or (CLICK,)
    return page_of(explain(recipes[0], case), [picture(each, case, cells=cells) for each in recipes], case, image)


def screens(response, target, *recipes, **more):
    case = Case((response,), (target,), image_sizes=SCREEN, model_image_sizes=SCREEN)
    return data(case, *recipes, **more)["sections"][1]["blocks"]


def looks(block):
    """Return outlines and marks by their looks, in pixels of the screen."""
    found = {}
    for each in block["shapes"] + block["marks"]:
        at = np.array(each.get("corners", each.get("at"))) * block["size"]
        found.setdefault(each["look"], []).append(at.round(6).tolist())
    return found


def test_the_whole_screen_with_target_and_answer():
    (block,) = screens("(200, 150)", LARGE)
    assert looks(block) == {"target": [[[100, 100], [500, 100], [500, 300], [100, 300]]], "answer": [[200, 150]]}
    assert (block["title"], block["scale"]) == ("click: total 1, acc 1, OK", [0.1, 1.0, "total for a click there"])
    (view,) = block["views"]
    assert (view["window"], view["title"]) == ([0, 0, 1, 1], "")
    cells = np.array(view["cells"])
    assert cells.shape == (10, 20)
    assert np.flatnonzero(cells[:, 5] == 1.0).tolist() == [2, 3, 4, 5]
    assert block["notes"] == ["The recipe's totals lie between 0 and 1."]


def test_a_small_target_gets_a_second_view():
    (block,) = screens("(120, 110)", SMALL)
    _, closer = block["views"]
    assert closer["window"] == [0.02, 0.02, 0.22, 0.42]
    assert closer["title"] == "1: a closer view"


def test_a_box_is_an_outline_and_places_that_are_no_boxes_too():
    (block,) = screens("[100,120,300,200]", LARGE, gr.recipe("gui-g2"))
    assert looks(block)["answer"] == [[[100, 120], [300, 120], [300, 200], [100, 200]]]
    (block,) = screens("(1, 1)", {"polygon": [0, 0, 500, 0, 0, 400]})
    assert looks(block)["target"] == [[[0, 0], [500, 0], [0, 400]]]
    (block,) = screens("(1, 1)", {"regions": [LARGE, {"circle": [700, 300, 150]}]})
    assert [len(each) for each in looks(block)["target"]] == [4, 72]
    (block,) = screens("(1, 1)", {"point": [5, 6]}, gr.recipe("click", response_space="pixel", point_radius=9))
    assert looks(block) == {"point": [[5, 6]], "answer": [[1, 1]]}


def test_the_rest_of_the_group_is_marked():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    case = Case(("(200, 150)", "(210, 155)", "(700, 400)"), (None,) * 3, image_sizes=SCREEN * 3, groups=(0,) * 3)
    (block,) = data(case, recipe, cells=100)["sections"][1]["blocks"]
    assert looks(block) == {
        "agreed": [[[185, 130], [225, 130], [225, 175], [185, 175]]],
        "other": [[210, 155], [700, 400]],
        "answer": [[200, 150]],
    }
    assert np.round(np.array(block["views"][1]["window"]) * 1000).tolist() == [138, 170, 272, 440]


@pytest.mark.parametrize(
    ("response", "title", "note"),
    [
        ("nothing", "click: total 0, acc 0, NO_ANSWER",
         "The response answers with no place: the map is of the recipe's own example."),
        ("(2000, 0)", "click: total 0.1, acc 0, OUT_OF_IMAGE", "The answer lies outside of the picture."),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_seen_is_not_marked(response, title, note):
    (block,) = screens(response, LARGE)
    assert (block["title"], block["notes"][1]) == (title, note)
    assert set(looks(block)) == {"target"}


def test_cells_that_are_finer_than_answers_and_a_screen_of_unknown_size_are_said():
    target = {"bbox": [100, 100, 110, 105], "space": "pixel"}
    case = Case(("(30, 55)",), (target,), image_sizes=((4000, 2000),))
    (block,) = data(case, gr.recipe("gelato"))["sections"][1]["blocks"]
    assert block["notes"][1] == "Answers come in steps of 4 x 2 in pixel."
    (block,) = data(CASE, cells=100)["sections"][1]["blocks"]
    assert block["notes"][1] == "The size of the screen is not known."


def test_a_target_that_is_a_text_is_shown_as_it_stands():
    def shown(target):
        (block, *_) = data(Case(("(20, 15)",), (target,)))["sections"][0]["blocks"]
        return dict(block["facts"])["target"]

    text = '{"bbox": [10, 10, 30, 20]}'
    assert shown(text) == text
    assert shown(json.loads(text)) == text


def test_several_recipes_share_one_scale():
    pixel = {"response_space": "pixel", "target_space": "pixel"}
    blocks = screens("(120, 110)", SMALL, CLICK, gr.recipe("gelato", **pixel), gr.recipe("infigui-g1", **pixel))
    assert [block["title"].partition(":")[0] for block in blocks] == ["click", "gelato", "infigui-g1"]
    # infigui-g1's total for a text that it cannot read is -1
    assert {tuple(block["scale"]) for block in blocks} == {(-1.0, 2.0, "total for a click there")}


def test_the_scale_runs_over_the_totals_of_the_maps():
    case = Case(("(200, 150)",), (LARGE,), image_sizes=SCREEN)
    assert scale([picture(CLICK, case, cells=50)]) == (0.1, 1.0)
    flat = Case(("(200, 150)",), ({"refusal": True},), image_sizes=SCREEN)
    assert scale([picture(STRICT, flat, cells=50)]) == (0.0, 1.0)
    assert scale([picture(CLICK, flat, cells=50)]) == (0.1, 1.0)
    unread = Case(("nothing",), (LARGE,), image_sizes=SCREEN)
    assert scale([picture(CLICK, unread, cells=50)]) == (0.0, 1.0)  # the answer's total is on it, too
    constant = picture(CLICK, flat, cells=50)
    views = tuple(replace(each, low=0.1, high=0.1) for each in constant.views)
    assert scale([replace(constant, views=views)]) == (0.1, 1.1)


@needs_node
def test_the_page_has_the_response_its_reason_and_its_parts(tmp_path):
    case = Case(("Here:\x1b[31m\n(600, 150) \u202e",), (LARGE,), image_sizes=SCREEN)
    found = built(page(data(case, image=np.full((50, 100, 3), 200, np.uint8))), tmp_path)
    said = dict(zip(found.said("dt"), found.said("dd"), strict=True))
    assert said["response"] == "Here:\\x1b[31m\n(600, 150) \\u202e"
    assert said["reason"] == "OK: an answer was read, and it does not lie outside the image"
    assert (said["total"], said["acc"], said["the answer is"]) == ("0.1", "0", "100 px right of it")
    assert [row for row in found.said("th") if row in ("outcome", "hit", "refusal", "format")] == [
        "outcome", "hit", "refusal", "format",
    ]  # fmt: skip
    (image,) = found.of("img")
    assert image["src"].startswith("data:image/webp;base64,")


@pytest.fixture
def coarse(monkeypatch):
    """Maps of few cells, which are quick."""
    monkeypatch.setattr(pages, "picture", lambda *given, **more: picture(*given, **more, cells=100))


@pytest.mark.usefixtures("coarse")
def test_a_page_that_cannot_be_drawn_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes(b"old")
    with pytest.raises(gr.TargetError):
        draw([CLICK], Case(("(1, 2)",), ({"bbox": [3, 1]},)), path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.html"]
    assert draw([CLICK], CASE, path) == []
    first = path.read_bytes()
    draw([CLICK], CASE, path)
    assert path.read_bytes() == first


@pytest.mark.usefixtures("coarse")
def test_recipes_that_cannot_be_drawn_are_left_out_and_said(tmp_path):
    gelato, gta1 = gr.recipe("gelato", target_space="pixel"), gr.recipe("gta1")
    assert draw([gta1, CLICK, gelato], CASE, tmp_path / "a.html") == [
        "gta1 is left out of the picture: target of row 0, field 'model_image_size': got nothing; expected [width, "
        "height], because the recipe brings targets in thousandths into model_pixel",
        "gelato is left out of the picture: target of row 0, field 'image_size': got nothing; expected [width, "
        "height], because the recipe brings responses in thousandths, targets in pixel into unit",
    ]
    with pytest.raises(gr.TargetError, match="brings targets in thousandths into model_pixel"):
        draw([gta1, gelato], CASE, tmp_path / "b.html")
    assert names(tmp_path) == ["a.html"]


@pytest.mark.usefixtures("coarse")
def test_a_screenshot_needs_a_screen_and_others_are_drawn_over_it(tmp_path):
    sized = replace(CASE, image_sizes=((200, 100),))
    image = np.zeros((5, 10, 3), np.uint8)
    (note,) = draw([CLICK, gr.recipe("gelato-pixel")], sized, tmp_path / "a.html", image)
    assert note.startswith("gelato-pixel is left out of the picture: gelato-pixel: a screenshot cannot be drawn below")
    with pytest.raises(PictureError, match=r"gelato-pixel: a screenshot cannot .* give the target's model_image_size"):
        draw([gr.recipe("gelato-pixel")], Case(("(2, 3)",), ([1, 2, 30, 40],)), tmp_path / "b.html", image)


@pytest.mark.usefixtures("coarse")
def test_a_mate_whose_target_cannot_be_used_is_drawn_with_the_rest(tmp_path):
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    bad = Case(("(20, 15)", "(21, 15)"), ({"image_size": [100, 50]}, {"image_size": 7}), groups=(0, 0))
    assert draw([recipe], bad, tmp_path / "a.html") == []
    with pytest.raises(gr.TargetError, match="'image_size': got 7"):
        draw([recipe], replace(bad, row=1), tmp_path / "b.html")


@pytest.mark.usefixtures("coarse")
def test_the_share_that_is_done(tmp_path):
    shares = []
    draw([CLICK, CLICK], replace(CASE, image_sizes=((1000, 500),)), tmp_path / "a.html", advance=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]  # of either recipe the whole and a closer view


@pytest.mark.parametrize(
    ("case", "came"),
    [
        (Case(("(20, 15)",), ({**BOX, "image_size": [300, 100]},)), "300 x 100"),
        (Case(("(20, 15)",), (BOX,), image_sizes=((100, 200),)), "100 x 200"),
    ],
)
def test_a_size_that_is_not_the_screenshots_is_an_error(case, came):
    with pytest.raises(gr.TargetError, match=rf"'image_size': got '{came}'; expected 200 x 100, the size of .*screen"):
        case.sized(CLICK, (200, 100), "screen.png")
    same = Case(("(20, 15)",), ({**BOX, "image_size": [200, 100]},))
    assert same.sized(CLICK, (200, 100), "screen.png") is same
    group = Case(("(20, 15)", "(9, 9)", "(8, 8)"), (BOX,) * 3, groups=("a", "a", "b"))
    assert group.sized(CLICK, (200, 100), "screen.png").image_sizes == ((200, 100), (200, 100), None)


@pytest.mark.slow
def test_the_page_is_written_though_the_reader_of_the_words_has_gone(tmp_path):
    words = [
        sys.executable, "-m", "grounding_rewards", "explain", "--recipe", "gelato", "--out", str(tmp_path / "why.html"),
    ]  # fmt: skip
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ran = subprocess.run(words, stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Reward over the screen" in (tmp_path / "why.html").read_text("utf-8")
