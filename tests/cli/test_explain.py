"""``grounding-rewards explain`` beside its session: rows of files, their groups, pages and screenshots."""

from __future__ import annotations

import io
import re
import sys

import PIL.Image
import pytest

from grounding_rewards.explain.plot import page
from grounding_rewards.plugins.registry import collect
from tests.cli.command import result_of, write_rows

TARGET = "[0.1, 0.1, 0.3, 0.2]"
GUI_RCPO = ("gui-rcpo", "--response-space", "pixel")
STEP = '<think>p</think>\n<action>{{"action": "{}", "coordinate": [120, 300]}}</action>'
PLACE = {"bbox": [200, 560, 280, 640], "action": "click", "trajectory": "t1", "num_steps": 2}
SIZES = {"image_size": [1000, 2000], "model_image_size": [500, 1000]}


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


def shown(run, *words):
    result = run("explain", "--recipe", *words)
    assert (result.code, result.err) == (0, ""), result
    return "\n".join(lines(result.out)) + "\n"


def as_json(run, *words):
    return result_of(shown(run, *words, "--json"))


@pytest.fixture
def table(tmp_path):
    rows = [
        {"sample_id": "a", "response": STEP.format("click"), "target": {**PLACE, "step": 0}, **SIZES},
        {"sample_id": "b", "response": "?", "target": {"refusal": True}},
        {"sample_id": "a", "response": STEP.format("wait"), "target": {**PLACE, "step": 1}, **SIZES},
        {"sample_id": "c", "response": 5, "target": {"bbox": [1, 2]}},
    ]
    return write_rows(tmp_path / "in.jsonl", *rows)


@pytest.mark.parametrize("name", collect([]).recipes)
def test_every_example_fits_into_80_columns(run, name):
    found = lines(shown(run, name))
    assert max(map(len, found)) <= 80
    assert {"Response", "Read", "Target", "Reward", "Parts", "acc", "Formulas"} <= set(found)


def test_long_responses_are_clipped(run):
    words = (
        "--response-space", "pixel", "--response", "x" * 900 + "\x1b[31m(300, 60)", "--target",
        '{"bbox": [1, 2, 3, 4]}',
    )  # fmt: skip
    found = shown(run, "click", *words, "--target", '{"bbox": [1, 2, 3, 4]}')
    assert "(114 more characters)" in found
    assert "\\x1b[31m(300" in found.replace("\n  ", "")


def test_stdin(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("(200, 150)"))
    assert as_json(run, "gelato", "--response", "-", "--target", TARGET)["response"] == "(200, 150)"


def test_side_by_side(run):
    words = ("gelato", "--option", "format_weight=0.1", "--response", "(200, 150)", "--target", TARGET)
    found = shown(run, *words, "--compare", "gelato-pixel,ui-ins", "--model-image-size", "1000,1000")
    assert "Compared: the same text, and the same target\n" in found
    assert "  ui-ins does not take format_weight: left out\n" in found


def test_a_row_of_a_file(run, table):
    found = as_json(run, "ui-s1", table, "--row", "2")
    assert (found["response"], found["read"]["action"], found["together"]) == (STEP.format("wait"), "wait", None)
    assert found["extents"][1]["origin"] == "column image_size of the file"
    found = as_json(run, "ui-s1", "--option", "returns=true", table, "--row", "2")
    assert [(row["row"], row["step"]) for row in found["together"]["rows"]] == [(0, 0), (2, 1)]
    assert found["response"] == STEP.format("wait")


def test_a_page_is_drawn_of_all_recipes_with_targets_in_the_wire_form(run, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(page, "draw", lambda *words: drawn.append(words) or [])
    PIL.Image.new("L", (8, 6)).save(tmp_path / "i.png")
    words = ("gelato", "--response", "(200, 150)", "--target", TARGET, "--out", tmp_path / "o.html")
    found = as_json(run, *words, "--compare", "click", "--response-space", "thousandths", "--image", tmp_path / "i.png")
    assert [each["total"] for each in found["compared"]] == [pytest.approx(1.0), 1.0]
    assert found["extents"][-1]["origin"] == f"the size of {tmp_path / 'i.png'}"
    ((recipes, case, out, image, _),) = drawn
    assert ([each.name for each in recipes], case.target["space"]) == (["gelato", "click"], "unit")
    assert (out, image.shape) == (tmp_path / "o.html", (6, 8, 3))
    shown(run, *words)
    assert drawn[1][1].target == [0.1, 0.1, 0.3, 0.2]


def test_a_row_is_drawn_over_its_own_screenshot(run, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(page, "draw", lambda *words: drawn.append(words) or [])
    (tmp_path / "shots").mkdir()
    PIL.Image.new("RGB", (80, 60), (9, 90, 200)).save(tmp_path / "shots" / "i.png")
    box = {"bbox": [1, 2, 30, 40], "response": "(3, 4)"}
    rows = [{**box, "image": "i.png"}, {**box, "image": "no.png"}, {**box, "image": "i.png", "image_size": [90, 90]},
            {**box, "image": "i.png", "image_size": [160, 120]}]  # fmt: skip
    file = write_rows(tmp_path / "in.jsonl", *rows)
    words = ("explain", "--recipe", "click", "--response-space", "pixel", file, "--image-root", tmp_path / "shots")

    def noted(row):
        result = run(*words, "--row", row, "--out", tmp_path / "o.html")
        assert result.code == 0
        return [line for line in result.err.splitlines() if "screenshot" in line]

    missing = f"image: cannot read 'no.png' in {tmp_path}/shots (No such file or directory)"
    missing += "; name the folder of relative paths by --image-root"
    assert [noted(row) for row in range(4)] == [
        [],
        [f"note: the page has no screenshot: {missing}"],
        ["note: the page has no screenshot: the row's image is 80 x 60, its screen 90 x 90"],
        [],
    ]
    images = [image for _, _, _, image, _ in drawn]
    assert [image is None for image in images] == [False, True, True, False]
    assert (images[0].shape, images[0][0, 0].tolist()) == ((60, 80, 3), [9, 90, 200])
    assert drawn[0][1].image_sizes == ((80.0, 60.0),)


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n"])
def test_a_screenshot_that_cannot_be_read_is_one_line(run, tmp_path, content):
    (tmp_path / "screen.png").write_bytes(content)
    words = ("explain", "--recipe", "gelato", "--out", tmp_path / "a.html", "--image")
    assert re.match(r".*cannot read '.*screen\.png' \(is (empty|no image)", run.error(*words, tmp_path / "screen.png"))
    assert re.match(r".*cannot read '.*none\.png' \(No such file", run.error(*words, tmp_path / "none.png"))
    assert [path.name for path in tmp_path.iterdir()] == ["screen.png"]


def test_a_recipe_of_ones_own(run, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import grounding_rewards as gr\n\ndef mine():\n    return gr.recipe('gelato')\n")
    found = as_json(run, f"{file}:mine", "--response", "(200, 150)", "--target", TARGET)
    assert found["name"] == f"{file}:mine"


def test_the_explained_row_is_shown_however_many_there_are(run, tmp_path):
    rows = [{"sample_id": "a", "response": f"({row}, 5)", "target": None} for row in range(20)]
    found = shown(run, *GUI_RCPO, write_rows(tmp_path / "in.jsonl", *rows), "--row", "18")
    table = found.partition("The group\n")[2].partition("\nFormulas")[0].splitlines()[2:]
    assert [line.split()[0] for line in table[:11]] == [str(row) for row in range(11)]
    assert table[11].startswith("  > 18  ")
    assert table[12].split() == ["...", "8", "more"]


def test_others_are_compared_with_the_group_that_they_need_and_with_what_they_must_be_given(run, tmp_path):
    said = (("a", "(100, 100)"), ("b", "(400, 9)"), ("a", "(100, 100)"))
    rows = [{"sample_id": name, "response": text, "target": {"bbox": [90, 90, 120, 120]}} for name, text in said]
    rows.append({"sample_id": "a", "response": "(100, 100)", "target": "a mate's junk"})
    file = write_rows(tmp_path / "in.jsonl", *rows)
    words = ("click", "--response-space", "pixel", file, "--row", "2", "--compare", "gui-rcpo,composite")
    found = as_json(run, *words)
    assert [(each["name"], each["total"], each["error"]) for each in found["compared"]] == [
        ("click", 1.0, None), ("gui-rcpo", 1.0, None), ("composite", 1.0, None),
    ]  # fmt: skip
    assert found["together"] is None


@pytest.mark.parametrize("target", [{"bbox": [1, 2]}, None])
def test_the_explanation_is_printed_before_a_picture_fails(run, tmp_path, target):
    file = write_rows(tmp_path / "in.jsonl", {"response": "(1, 2)", "target": target})
    result = run("explain", *GUI_RCPO[1:], "--recipe", "click", file, "--row", "0", "--out", tmp_path / "o.html")
    assert result.code == 2
    assert "not scored · BAD_TARGET" in result.out
    warning, error = result.err.splitlines()
    assert warning == "warning: click: the target cannot be used, so that the response is not scored"
    assert error.startswith("error: target of row 0, field ")
    assert not (tmp_path / "o.html").exists()


def test_a_recipe_that_cannot_be_drawn_is_a_note(run, tmp_path):
    words = ("gelato", "--response", "(200, 150)", "--target", "[0.1, 0.1, 0.3, 0.2]", "--compare", "gta1")
    result = run("explain", "--recipe", *words, "--out", tmp_path / "o.html")
    assert result.code == 0
    assert result.err.startswith("note: gta1 is left out of the picture: ")
    assert (tmp_path / "o.html").exists()
