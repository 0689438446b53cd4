"""The page stands alone, holds data as data, and its script shows all of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from grounding_rewards.errors import PictureError, TableError
from grounding_rewards.viewer.blocks import (
    bar,
    bars,
    facts,
    heat,
    lines,
    mark,
    matrix,
    screen,
    section,
    shape,
    table,
    text,
    view,
)
from grounding_rewards.viewer.page import check_page, page, picture, write_page
from tests.viewer.browser import chromium, serious, tab
from tests.viewer.reading import built, needs_node

__all__ = ["chromium", "tab"]

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> $data \u202e\x1b[31m\x07 \ud800"
BOX = np.array([[0.1, 0.1], [0.2, 0.1], [0.2, 0.3], [0.1, 0.3]])


def of(*blocks, **more):
    """Return a page of one section."""
    return page({"title": HOSTILE, "made_by": "a test", "sections": [section("one", "One", "", blocks)], **more})


def whole(said="x", image=None):
    """Return a block of every kind, which says this wherever texts go."""
    seen = screen(
        said, said, (200, 100), [view("", np.array([0, 0, 1, 1.0]), np.array([[0, 0.5], [1, 0.25]])),
                                 view(said, np.array([0.05, 0, 0.55, 1.0]))],
        [shape("target", BOX)], [mark("right", np.array([0.15, 0.2]), said), mark("wrong", np.array([0.9, 0.9]), said)],
        {"target": said, "right": said, "wrong": said}, image=image, scale=(0.0, 1.0, said),
    )  # fmt: skip
    return [
        text([said, said], said),
        facts([(said, said), (said, "")]),
        table(said, [said, said], [[said, said], [said, said * 30]]),
        bars(said, [(said, "#440154"), (said, "#fde725")], [bar(said, [0.25, 0.75], [said] * 2, said, 0.5)], mark=said),
        lines(said, [(said, said)] * 2, [(said, "#21918c", [(0.5, 0.25, 1.0, said), (None, None, None, "")])],
              [(0.0, said), (1.0, said)]),
        heat(said, said, [matrix(said, [said], [(said, [[said, said, 1.0]]), (said, [None])])]),
        seen,
    ]  # fmt: skip


def test_nothing_is_loaded_and_one_script_runs():
    html = of(*whole(HOSTILE))
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)">', html)
    assert re.sub(r"'sha256-[\w+/=]{44}'", "PIN", policy) == (
        "default-src 'none'; img-src data:; style-src PIN; script-src PIN"
    )
    assert re.findall(r"<script[^>]*>", html) == ['<script type="application/json" id="data">', "<script>"]
    assert not re.search(r"@import|url\(|(src|href)=[\"'](?!data:)", html.replace("http://www.w3.org/2000/svg", ""))


def test_texts_of_data_are_no_html_and_hold_no_control_characters():
    html = of(*whole(HOSTILE), remarks=[HOSTILE])
    assert "alert(1)</script>" not in html
    assert html.count("alert(1)") > 20
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", html)
    assert r"\\u202e\\x1b[31m\\x07 \\ud800" in html


def test_lines_and_tabs_of_texts_stay_and_other_control_characters_are_escaped():
    assert r'"lines": ["one\ttwo\nthree\\rfour"]' in of(text(["one\ttwo\nthree\rfour"]))


@needs_node
def test_the_script_shows_every_text_as_it_is(tmp_path):
    found = built(of(*whole(HOSTILE), remarks=[HOSTILE]), tmp_path)
    shown = HOSTILE[: HOSTILE.index("\u202e")] + r"\u202e\x1b[31m\x07 \ud800"
    assert [each for each in found.said() if "alert" in each and shown not in each] == []
    assert {tag for tag, each in found.texts if shown in each} == {
        "h1", "h3", "p", "li", "dt", "dd", "caption", "th", "td", "span", "small",
    }  # fmt: skip
    assert not found.of("script")
    assert all("alert" not in each.get("src", "") for each in found.of("img"))


@needs_node
def test_blocks_show_their_numbers(tmp_path):
    found = built(of(*whole()), tmp_path)
    assert found.said("li") == ["x", "x"]
    assert found.said("dt", "dd") == ["x", "x"]  # the second fact has no text
    assert [each.get("class") for each in found.of("td")] == ["long", "long", None, None, None]
    track = [each["style"] for each in found.of("span") if "flex" in each.get("style", "")]
    assert track == [
        "flex:0 0 25%;background-color:rgb(68,1,84);color:#fff",
        "flex:0 0 75%;background-color:rgb(253,231,37);color:#000",
    ]  # fmt: skip
    (line,), (rule, last, interval) = found.of("polyline"), found.of("line")
    assert line["points"] == "0.25,0.5"
    assert (rule["y1"], last["y1"], interval["y1"], interval["y2"]) == ("1", "0", "0.75", "0")
    cells = [each.get("style") for each in found.of("td")][2:]
    assert cells == [None, "background-color:rgb(253,231,37);color:#000", None]


@needs_node
def test_a_closer_view_shows_what_lies_in_it_and_a_map_its_totals(tmp_path):
    found = built(of(whole(image="data:image/webp;base64,AA==")[-1]), tmp_path)
    marks = [
        (each["class"], each.get("style")) for each in found.of("span") if each.get("class", "").startswith("mark")
    ]
    assert marks == [
        ("mark label", "left:5%;top:0%"), ("mark right", "left:15%;top:20%"), ("mark wrong", "left:90%;top:90%"),
        ("mark right", "left:20%;top:20%"), ("mark right", None), ("mark wrong", None),
    ]  # fmt: skip
    assert [each["style"] for each in found.of("div") if each.get("class") == "stage"] == [
        "aspect-ratio:2;max-width:1120px", "aspect-ratio:1;max-width:280px",
    ]  # fmt: skip
    assert [each["style"] for each in found.of("img")] == [
        "left:0%;top:0%;width:100%;height:100%", "left:-10%;top:0%;width:200%;height:100%",
    ]  # fmt: skip
    boxes = [each["viewbox"] for each in found.of("svg")]
    assert boxes == ["0 0 1 1", "0.05 0 0.5 1"]
    (canvas,) = found.of("canvas")
    pixels = np.array(canvas["pixels"].split(","), dtype=int).reshape(4, 4)
    assert pixels[:, 3].tolist() == [0, 45, 89, 22]  # over a screenshot the lowest total is clear
    assert "show it " in found.said("label")
    alone = built(of(whole()[-1]), tmp_path)
    pixels = np.array(alone.of("canvas")[0]["pixels"].split(","), dtype=int).reshape(4, 4)
    assert pixels.tolist() == [[68, 1, 84, 255], [33, 145, 140, 255], [253, 231, 37, 255], [59, 82, 139, 255]]
    assert not alone.of("label")


@needs_node
def test_a_page_of_several_sections_leads_to_them_and_lists_what_is_missing(tmp_path):
    held = [section(name, name, "lead", [text(["said"])]) for name in "abd"]
    data = {"title": "t", "made_by": "m", "sections": [*held, section("c", "c", "", [text(["no"])], "needs a file")]}
    found = built(page(data), tmp_path)
    assert [each["href"] for each in found.of("a")] == ["#a", "#b", "#d"]
    assert [each["id"] for each in found.of("h2")] == ["a", "b", "d", "missing"]
    assert found.said("dt", "dd") == ["c", "needs a file"]
    assert "no" not in found.said()


def test_a_screenshot_keeps_its_colours_and_is_written_the_same_again(tmp_path):
    image = np.full((40, 60, 3), (20, 180, 90), dtype=np.uint8)
    assert picture(image) == picture(image)
    assert picture(image).startswith("data:image/webp;base64,")
    for name in "ab":
        write_page(tmp_path / name, {"title": "t", "made_by": "m", "sections": []})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_path_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(PictureError, match=r"a\.png: a page ends in \.html"):
        check_page(tmp_path / "a.png")
    with pytest.raises(TableError, match="is no file"):
        check_page(tmp_path / "folder.html")
    with pytest.raises(TableError, match="there is no directory"):
        check_page(tmp_path / "no" / "a.html")
    with pytest.raises(TableError, match="lies in the input"):
        check_page(tmp_path / "a.html", [tmp_path])


@pytest.mark.xdist_group("chromium")
def test_a_browser_runs_the_script_under_the_policy_and_nothing_of_the_data(tmp_path, tab):
    image = picture(np.full((40, 60, 3), (20, 180, 90), dtype=np.uint8))
    (tmp_path / "page.html").write_text(of(*whole(HOSTILE, image)), "utf-8")
    tab.goto((tmp_path / "page.html").as_uri())
    assert (tab.locator("h2").count(), tab.locator("canvas").count(), tab.locator("img").count()) == (1, 1, 2)
    assert "</script><script>alert(1)" in tab.inner_text("h1")
    assert serious(tab) == []
