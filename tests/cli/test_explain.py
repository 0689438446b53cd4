"""``grounding-rewards explain``: one score in words and as JSON."""

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
GELATO = """\
recipe('gelato', format_weight=0.1)
  total 0.859128 · acc 1 · OK

Response
  (235, 150)

Read
  reason    OK: an answer was read, and it does not lie outside the image
  dialect   bare_tuple_whole
  answer    (235, 150) in thousandths
  thinking  is read like the rest

Target
  place  bbox 0.1, 0.1, 0.3, 0.2 in unit
  form   that of the recipe's source

Conversions
  answer       thousandths -> unit
               x: 235 / 1000 = 0.235
               y: 150 / 1000 = 0.15
  target       unit, the space of the formula: not converted
  unit         both sides are 1
  thousandths  both sides are 1000
  pixel        1920 x 1080, --image-size

On the screen
  answer    (451.2, 162), in px of the original image
  target    192, 108, 576, 216
  so it is  inside

Reward
  total = (1 - format_weight) · distance + format_weight · format
  distance = 1 - ||p - c|| / diagonal inside, 0 outside

  total = 0.9 · distance + 0.1 · format = 0.9 · 0.843475 + 0.1 · 1 = 0.859128

Parts
  part           score  range       adds  enters
  ─────────────────────────────────────────────────
  total       0.859128  0 to 1  0.859128
    distance  0.843475  0 to 1  0.759128  times 0.9
    format           1  0 to 1       0.1  times 0.1
"""
SEVERAL = """\
recipe('click', response_space='thousandths')
  total 0 · acc 0 · SEVERAL_ANSWERS

Response
  (635, 310) or (1, 2)

Read
  reason   SEVERAL_ANSWERS: there is more than one answer, and only a single one
           counts
  dialect  bare_tuple, of 27 that were tried in order
  answer   none
  found    (635, 310), (1, 2); of several, only a single one counts

Target
  place  bbox 1000, 300, 1200, 400 in pixel

Conversions
  target  pixel, the space of the formula: not converted

Reward
  total = (1 - format_weight) · outcome + format_weight · format
  outcome = max(hit, refusal)

  total   = 0.9 · outcome + 0.1 · format = 0.9 · 0 + 0.1 · 0 = 0
  outcome = max(hit, refusal) = max(0, 0) = 0

Parts
  part         score  range   adds  enters
  ─────────────────────────────────────────────
  total            0  0 to 1     0
    outcome        0  0 to 1     0  times 0.9
      hit          0  0 to 1     0  the largest
      refusal      0  0 to 1     0  the largest
    format         0  0 to 1     0  times 0.1

acc
  0: 1 where best(hit, refusal) is above 0
  acc = max(hit, refusal) = max(0, 0) = 0
"""
BAD = """\
gelato
  not scored · BAD_TARGET

Response
  (200, 150)

Read
  reason    OK: an answer was read, and it does not lie outside the image
  dialect   bare_tuple_whole
  answer    (200, 150) in thousandths
  thinking  is read like the rest

The target cannot be used
  field 'bbox': got [1, 2]; expected 4 numbers x1 y1 x2 y2
"""
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


def test_a_hit(run):
    words = ("gelato", "--option", "format_weight=0.1", "--response", "(235, 150)", "--target", TARGET)
    assert shown(run, *words, "--image-size", "1920,1080").startswith(GELATO)


def test_several_answers(run):
    target = '{"bbox": [1000, 300, 1200, 400]}'
    words = ("click", "--response-space", "thousandths", "--response", "(635, 310) or (1, 2)", "--target", target)
    assert shown(run, *words, "--image-size", "1920x1080").startswith(SEVERAL)


def test_a_bad_target_is_explained_too(run):
    words = ("explain", "--recipe", "gelato", "--response", "(200, 150)", "--target", '{"bbox": [1, 2]}')
    result = run(*words)
    warning = "gelato: the target cannot be used, so that the response is not scored"
    assert (result.code, result.err, lines(result.out)) == (0, f"warning: {warning}\n", BAD.splitlines())
    strict = run(*words, "--strict", "--json")
    assert (strict.code, result_of(strict.out)["warnings"]) == (1, [warning])


def test_a_size_that_is_missing_is_named_with_its_option(run, tmp_path):
    words = (
        "gelato",
        "--response",
        "(200, 150)",
        "--target",
        "[0.1, 0.1, 0.3, 0.2]",
        "--compare",
        "gelato-pixel,gui-g1",
    )
    model, image = (each["error"] for each in as_json(run, *words)["compared"][1:])
    assert model == (
        "field 'model_image_size': got nothing; expected [width, height], because the recipe brings targets in unit "
        "into model_pixel; give --model-image-size W,H, or --pipeline and --image-size"
    )
    assert image.endswith("brings targets in unit into pixel; give --image-size W,H")
    file = write_rows(tmp_path / "in.jsonl", {"response": "(200, 150)", "target": [0.1, 0.1, 0.3, 0.2]})
    words = ("gelato", file, "--row", 0, "--compare", "gelato-pixel,gui-g1")
    model, image = (each["error"] for each in as_json(run, *words)["compared"][1:])
    assert model.endswith("; give --model-image-size-column NAME, or --pipeline and --image-size-column")
    assert image.endswith("; give --image-size-column NAME")


@pytest.mark.parametrize("name", collect([]).recipes)
def test_every_example_fits_into_80_columns(run, name):
    found = lines(shown(run, name))
    assert max(map(len, found)) <= 80
    assert {"Response", "Read", "Target", "Reward", "Parts", "acc", "Formulas"} <= set(found)


def test_words_around_the_numbers(run):
    words = ("action", "--response-space", "pixel", "--response", '{"action": "type", "text": "hats"}')
    found = shown(run, *words, "--target", '{"action": {"name": "type", "text": "hat", "to": [1, 2]}}')
    assert '  answer   type\n  says     text="hats"\n' in found
    assert '  action  type text="hat", to=[1, 2]\n' in found
    found = shown(run, "click", "--response-space", "pixel", "--response", "refusal", "--target", '{"refusal": true}')
    assert "  answer   a refusal\n" in found
    assert "  refusal  nothing on the screen fits\n" in found
    found = shown(
        run, "gui-g1", "--response", '[{"bbox_2d": [1, 2, 3, 4]}]', "--target", "[1,2,5,4]", "--image-size", "[10, 10]"
    )
    assert "  answer    box 1, 2, 3, 4, its centre (2, 3), in pixel\n" in found
    assert "answer    box 1, 2, 3, 4, its centre (2, 3), in px of the original image\n" in found


@pytest.mark.parametrize(
    ("name", "response", "target", "words"),
    [
        ("gelato", "(300, 150)", '{"polygon": [0.1, 0.1, 0.3, 0.1, 0.3, 0.2, 0.1, 0.2]}', "on its border"),
        ("gta1", "(100.5, 50)", '{"bbox": [10, 10, 100.9, 100], "space": "model_pixel"}', "inside"),
        ("ui-r1", "<think>-</think>\n<answer>[{'action': 'click', 'coordinate': [100.5, 75]}]</answer>",
         '{"bbox": [0, 0, 100, 100]}', "0.5 px right of it"),
    ],
)  # fmt: skip
def test_where_the_recipe_has_its_own_rule_for_borders_that_is_said(run, name, response, target, words):
    sizes = ("--image-size", "1000,1000", "--model-image-size", "1000,1000") if name == "ui-r1" else ()
    found = shown(run, name, "--response", response, "--target", target, *sizes)
    assert f"so it is  {words}\n" in found
    assert "the recipe's own rule decides, of borders or of more" in found


def test_long_polygons_and_responses_are_clipped(run):
    polygon = '{"polygon": [100, 100, 200, 100, 150, 200], "space": "thousandths", "image_size": [2000, 500]}'
    words = ("--response-space", "pixel", "--response", "x" * 900 + "\x1b[31m(300, 60)", "--target", polygon)
    found = shown(run, "click", *words)
    assert "x1: 100 · (2000 / 1000) = 200\n" in found
    assert "and so on: 200, 50, 400, 50, 300, 100\n" in found
    assert "(114 more characters)" in found
    assert "\\x1b[31m(300" in found.replace("\n  ", "")


def test_json_is_the_explanation(run):
    found = as_json(run, "gelato", "--response", "(200, 150)", "--target", TARGET)
    assert (found["total"], found["acc"], found["reason"]) == (pytest.approx(1.0), 1.0, "OK")
    assert found["read"]["point"] == [200, 150]
    assert found["reward"]["parts"][0]["name"] == "distance"
    assert "compared" not in found


def test_stdin_and_a_group(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("(200, 150)"))
    assert as_json(run, "gelato", "--response", "-", "--target", TARGET)["response"] == "(200, 150)"
    words = ("gui-rcpo", "--response-space", "pixel", "--response", "(1, 2)")
    found = as_json(run, *words, "--group", "(3, 4)", "--group", "?")
    assert [row["point"] for row in found["together"]["rows"]] == [[1, 2], [3, 4], None]


def test_side_by_side(run):
    words = ("gelato", "--option", "format_weight=0.1", "--response", "(200, 150)", "--target", TARGET)
    found = as_json(run, *words, "--compare", "gelato-pixel, ui-ins", "--image-size", "1000,1000")["compared"]
    assert [(each["name"], each["total"], each["left_out"]) for each in found] == [
        ("gelato", pytest.approx(1.0), []),
        ("gelato-pixel", None, []),
        ("ui-ins", None, ["format_weight"]),
    ]
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gelato", "--response", "x"], "--target: got nothing; expected the target of --response"),
        (["gelato", "--target", TARGET], "--target: got it without --response; a row of a file and an example bring"),
        (["gelato", "--group", "x"], "--group: got it without --response"),
        (["gelato", "--row", "1"], "FILE: got nothing; expected FILE and --row together"),
        (["gelato", "x.jsonl"], "--row: got nothing; expected FILE and --row together"),
        (["gelato", "--response", "x", "f"], "--response and FILE: got both; expected one of them"),
        (["gelato", "--image", "x.png"], "--image: got it without --out"),
        (["gelato", "--response", "x", "--target", TARGET, "--image-size", "big"], "--image-size: got 'big'; expected"),
        (["gelato", "--target", ""], "--target: got it without --response"),
        (["gelato", "--image-size", ""], "--image-size: got it without --response"),
        (["gelato", "--response", "x", "--target", TARGET, "--image-size", ""], "--image-size: got ''; expected W,H"),
        (["gelato", "--response-column", "x"], "--response-column: got it without FILE and --row"),
        (["gelato", "--compare", " ,"], "--compare: got ' ,'; expected recipes other than gelato, each named once"),
        (["gelato", "--compare", "gta1,gta1"], "--compare: got 'gta1,gta1'; expected recipes other than gelato"),
        (["gelato", "--compare", "gelato"], "--compare: got 'gelato'; expected recipes other than gelato"),
        (["gelato", "--out", "x.gif"], "x.gif: a page ends in .html"),
        (["gelatto"], "unknown recipe 'gelatto'; did you mean 'gelato'?"),
        (["gelato", "--compare", "gelatto"], "unknown recipe 'gelatto'"),
        (["click", "--response", "x", "--target", TARGET], "click needs response_space"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(run, words, message):
    assert run.error("explain", "--recipe", *words).startswith(message)


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n"])
def test_a_screenshot_that_cannot_be_read_is_one_line(run, tmp_path, content):
    (tmp_path / "screen.png").write_bytes(content)
    words = ("explain", "--recipe", "gelato", "--out", tmp_path / "a.html", "--image")
    assert re.match(r".*cannot read '.*screen\.png' \(is (empty|no image)", run.error(*words, tmp_path / "screen.png"))
    assert re.match(r".*cannot read '.*none\.png' \(No such file", run.error(*words, tmp_path / "none.png"))
    assert [path.name for path in tmp_path.iterdir()] == ["screen.png"]


def test_a_file_that_does_not_fit_is_one_line(run, table):
    assert (
        run.error("explain", "--recipe", "ui-s1", table, "--row", "4")
        == f"{table}: --row: got 4; expected one from 0 to 3"
    )
    assert run.error("explain", "--recipe", "ui-s1", table, "--row", "-1").endswith("got -1; expected one from 0 to 3")
    message = run.error("explain", "--recipe", "ui-s1", table, "--row", "3")
    assert message == f"{table}, row 3 (line 4): response: got int 5; expected a string or null"


def test_a_recipe_of_ones_own(run, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import grounding_rewards as gr\n\ndef mine():\n    return gr.recipe('gelato')\n")
    found = as_json(run, f"{file}:mine", "--response", "(200, 150)", "--target", TARGET)
    assert found["name"] == f"{file}:mine"
