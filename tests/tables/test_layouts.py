"""Layouts of benchmarks: recognised by their fields, read as they are meant, and left alone where they are others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.batch.table_scorer import Scoring
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import TableError, TargetError
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.layouts import (
    CLAWGUI,
    LAYOUTS,
    MMBENCH_GUI,
    OSWORLD_G,
    SCREENSPOT,
    SCREENSPOT_V2_HUB,
    SHOWDOWN,
    layout_of,
)
from grounding_rewards.tables.opening import open_table
from grounding_rewards.targets.box_format import BoxFormat
from tests.cli.command import write_rows

SPOT = {
    "img_filename": "pc_1.png", "bbox": [700, 60, 40, 30], "instruction": "shut this panel", "data_type": "icon",
    "data_source": "windows",
}  # fmt: skip
HUB = {"file_name": "pc_1.png", "bbox": [0.5, 0.25, 0.6, 0.5], "data_type": "text", "data_source": "ios"}
PRO = {
    "img_filename": "word_mac/1.png", "bbox": [1200, 300, 1260, 340], "instruction": "open styles",
    "id": "word_macos_0", "application": "word", "platform": "macos", "img_size": [3840, 2160], "ui_type": "icon",
    "group": "Office",
}  # fmt: skip
WORLD = {
    "id": "A-0", "image_path": "A.png", "image_size": [1920, 1080], "instruction": "Show the ruler.",
    "box_type": "bbox", "box_coordinates": [1200.5, 310, 24.25, 30], "GUI_types": ["Button", "Icon"],
}  # fmt: skip
POLYGON = {**WORLD, "id": "A-1", "box_type": "polygon", "box_coordinates": [100, 100, 300, 100, 200, 300]}
VISION = {
    "image_path": "element_grounding/a.png", "image_size": [1920, 1080], "prompt_to_evaluate": "flip layer",
    "bbox": [130.25, 0.0, 100.5, 36.0], "platform": "GIMP", "category": "Button", "element_type": "icon",
}  # fmt: skip
L2 = {
    "index": 0, "image_path": "a.png", "instruction": "Opens the menu.", "bbox": [0.25, 0, 0.2625, 0.1402],
    "image_size": [2560, 1440], "data_type": "icon", "platform": "os_windows", "app_name": "notes",
    "grounding_type": "basic",
}  # fmt: skip
SHOW = {
    "id": "0a", "image": "frames/A/1.webp", "instruction": "open", "x1": 60, "y1": 200.5, "x2": 180, "y2": 240,
    "width": 1440, "height": 900,
}  # fmt: skip
REFUSAL = {**WORLD, "id": "A-2", "box_type": "refusal", "box_coordinates": [0, 0, 0, 0]}


def scored(tmp_path: Path, *rows: dict[str, Any], space: str = "pixel", **settings: Any) -> tuple[list[float], str]:
    """Return the verdicts of rows, and the first note."""
    notes: list[str] = []
    options = settings.pop("options", {})
    table = open_table(write_rows(tmp_path / "in.jsonl", *rows))
    columns = settings.pop("columns", Columns())
    recipe = gr.recipe(settings.pop("recipe", "click"), response_space=space, **options)
    scorer = Scoring(recipe, columns, on_note=notes.append, **settings).of(table)
    (batch,) = scorer.batches(whole=False)
    return scorer.score(batch).scores.acc.tolist(), notes[0] if notes else ""


@pytest.mark.parametrize(
    ("rows", "answers", "space", "verdicts", "note"),
    [
        (
            [SPOT] * 3, ["(739, 89)", "(741, 61)", "(700, 60)"], "pixel", [1.0, 0.0, 1.0],
            "rows as in ScreenSpot: bbox is x y w h in pixels; --box-format names another",
        ),
        (
            [HUB] * 2, ["(0.55, 0.4)", "(0.7, 0.4)"], "unit", [1.0, 0.0],
            "rows as in ScreenSpot on the Hugging Face hub: bbox is x1 y1 x2 y2 in shares of the image, 0 to 1; "
            "--box-format names another",
        ),
        (
            [PRO] * 2, ["(320, 148)", "(330, 148)"], "thousandths", [1.0, 0.0],
            "rows as in ScreenSpot-Pro: bbox is x1 y1 x2 y2 in pixels; --box-format names another",
        ),
        (
            [WORLD, WORLD, POLYGON, POLYGON, REFUSAL, REFUSAL],
            ["(1224, 320)", "(1230, 320)", "(200, 200)", "(110, 290)", "(-1, -1)", "(0, 0)"], "pixel",
            [1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
            "rows as in OSWorld-G: box_coordinates is x y w h in pixels, or a polygon's corners, or a refusal, as "
            "box_type says; --box-format names another",
        ),
        (
            [VISION] * 3, ["(100.5, 36)", "(100, 20)", "(130.25, 0)"], "pixel", [1.0, 0.0, 1.0],
            "rows as in UI-Vision: bbox is x1 y1 x2 y2 in pixels, its corners in any order",
        ),
        (
            [L2, L2, {**L2, "bbox": [640, -1, 700, 200]}], ["(640, 0)", "(640, 202)", "(700, 200)"], "pixel",
            [1.0, 0.0, 1.0],
            "rows as in MMBench-GUI L2: bbox is x1 y1 x2 y2 in shares of the image, 0 to 1 (in pixels where not all 4 "
            "lie there; -1 is 0)",
        ),
    ],
)  # fmt: skip
def test_rows_are_read_as_the_benchmark_means_them(tmp_path, rows, answers, space, verdicts, note):
    sizes = {"image_size": [1000, 500]} if rows[0] is HUB else {}
    made = [{**row, **sizes, "response": answer} for row, answer in zip(rows, answers, strict=True)]
    assert scored(tmp_path, *made, space=space) == (verdicts, note)


def test_a_recipe_with_a_form_of_its_own_reads_them_alike(tmp_path):
    for name in ("gelato", "gta1"):
        row = {**PRO, "response": "(320, 148)", "model_image_size": [3840, 2160]}
        assert scored(tmp_path, row, space="thousandths", recipe=name)[0] == [1.0]


def test_flags_win(tmp_path):
    row = {**SPOT, "bbox": [700, 60, 740, 90], "response": "(735, 85)", "truth": [0, 0, 9, 9]}
    verdicts, note = scored(tmp_path, row, box_format=BoxFormat.XYXY)
    assert (verdicts, note) == ([1.0], "rows as in ScreenSpot: bbox is x1 y1 x2 y2 in pixels")
    assert scored(tmp_path, {**row, "response": "(5, 5)"}, columns=Columns(target="truth")) == ([1.0], "")
    row = {**SPOT, "bbox": [0.7, 0.1, 0.1, 0.1], "response": "(750, 90)", "image_size": [1000, 500]}
    verdicts, note = scored(tmp_path, row, options={"target_space": "unit"})
    assert verdicts == [1.0]
    assert "x y w h in shares of the image" in note


def test_a_flag_that_names_the_column_of_places_does_not_say_how_boxes_are_written(tmp_path):
    row = {**SPOT, "response": "(735, 85)"}
    assert scored(tmp_path, row, columns=Columns(target="bbox"))[0] == [1.0]
    with pytest.raises(TableError, match="which are they"):
        scored(tmp_path, {**row, "bbox": [1, 2, 30, 40]}, columns=Columns(target="bbox"))


def test_a_flag_that_names_the_places_of_another_layout_is_no_layout(tmp_path):
    row = {**WORLD, "bbox": [0, 0, 9, 9], "response": "(5, 5)"}
    verdicts, note = scored(tmp_path, row, columns=Columns(target="bbox"))
    assert (verdicts, note.startswith("rows as in")) == ([1.0], False)


def test_a_target_of_its_own_name_is_no_layout(tmp_path):
    row = {**SPOT, "target": [0, 0, 9, 9], "response": "(5, 5)"}
    assert scored(tmp_path, row) == ([1.0], "")


def test_a_benchmark_in_csv_in_the_form_of_pro(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "img_filename,bbox,data_type,data_source,img_size,ui_type,response\n"
        'a.png,"[700, 60, 740, 90]",icon,ios,"[1000, 500]",icon,"(735, 175)"\n'
        'a.png,"[700, 60, 740, 90]",icon,ios,"[1000, 500]",icon,"(745, 175)"\n'
    )
    table = open_table(path)
    scorer = Scoring(gr.recipe("click", response_space="thousandths"), Columns()).of(table)
    (batch,) = scorer.batches(whole=False)
    assert scorer.score(batch).scores.acc.tolist() == [1.0, 0.0]
    assert scorer.used() == {"response": "response", "target": "bbox", "image_size": "img_size"}


@pytest.mark.parametrize(("clear", "words"), [(0, "all"), (2, "all but 2")])
def test_boxes_that_could_be_corners_are_a_question(clear, words):
    rows = [{**SPOT, "bbox": [place, place, place + 9, place + 9]} for place in range(10 - clear)]
    rows += [SPOT] * clear
    with pytest.raises(TableError) as caught:
        layout_of(rows, [*SPOT])
    assert str(caught.value) == (
        f"rows have the fields of ScreenSpot, whose boxes are x y w h, and {words} of the first 10 could be x1 y1 x2 "
        "y2, as in converted copies: which are they? Give --box-format xywh or xyxy"
    )
    assert layout_of(rows, [*SPOT], BoxFormat.XYXY) is SCREENSPOT
    assert layout_of([*rows, SPOT, SPOT, SPOT], [*SPOT]) is SCREENSPOT or clear == 0


def test_pixels_on_the_hub_are_no_shares():
    assert layout_of([{**HUB, "bbox": [1, 2, 30, 40]}], [*HUB]) is None
    assert layout_of([], [*HUB]) is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**WORLD, "box_type": "circle"}, "'A-0', field 'box_type': got 'circle'; expected bbox, polygon or refusal"),
        ({**WORLD, "box_type": None}, "'A-0', field 'box_type': got nothing; expected bbox, polygon or refusal"),
        ({**WORLD, "box_coordinates": "x"}, "field 'box_coordinates': got 'x'; expected a list of numbers"),
        ({**WORLD, "box_coordinates": [1, 2, 3]}, "field 'bbox': got [1, 2, 3]; expected 4 numbers x y w h"),
        ({**WORLD, "box_coordinates": [1, 2, -3, 4]}, "with w and h from 0, the declared box format"),
        ({**WORLD, "box_coordinates": [1, 2, "3", 4]}, "field 'bbox'"),
        ({**WORLD, "box_coordinates": None}, "field 'box_coordinates': got nothing; expected a list of numbers"),
        ({**POLYGON, "box_coordinates": [1, 2, 3, 4]}, "field 'polygon': got [1, 2, 3, 4]; expected an even count"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_with_its_field(tmp_path, row, message):
    rows = [{**WORLD, "response": "(1, 2)"}, {**row, "response": "(1, 2)"}]
    with pytest.raises(TableError) as caught:
        scored(tmp_path, *rows)
    assert str(caught.value).startswith(f"{tmp_path / 'in.jsonl'}, row 1 (line 2): target of sample ")
    assert message in str(caught.value)
    assert str(caught.value).endswith("; rows were read as in OSWorld-G; --target-column names another target")
    assert scored(tmp_path, *rows, bad_target="abstain")[0] == [0.0, 0.0]


ONE = st.none() | st.booleans() | st.integers() | st.floats() | st.text("a1.-\n", max_size=5)
ANY = ONE | st.lists(ONE | st.lists(ONE, max_size=3), max_size=5)


@given(
    st.sampled_from([*LAYOUTS, SHOWDOWN, SCREENSPOT_V2_HUB]),
    st.dictionaries(st.sampled_from(["bbox", "box_type", "box_coordinates"]), ANY),
)
def test_any_row_is_a_target_or_an_error_of_it(layout, row):
    assert isinstance(layout.wire(row, CoordSpace.PIXEL), dict | TargetError)
    layout_of([row], ["bbox", "data_type", "data_source", "file_name", "img_filename"], BoxFormat.XYWH)


@pytest.mark.parametrize("row", [VISION, L2])
def test_places_in_another_format_are_no_such_layout(row):
    assert layout_of([row], [*row]) in LAYOUTS
    assert layout_of([row], [*row], BoxFormat.XYXY) in LAYOUTS
    assert layout_of([row], [*row], BoxFormat.XYWH) is None


def test_layouts_of_benchmarks_that_must_be_named():
    assert layout_of([SHOW], [*SHOW]) is None
    assert layout_of([SHOW], [*SHOW], layouts=[SHOWDOWN]) is SHOWDOWN
    assert SHOWDOWN.wire(SHOW, CoordSpace.PIXEL) == {"bbox": [60, 200.5, 180, 240], "space": "pixel"}
    assert SCREENSPOT_V2_HUB.wire(HUB, CoordSpace.UNIT) == {"bbox": [0.5, 0.25, 0.6, 0.5], "space": "unit"}
    pixels = SCREENSPOT_V2_HUB.wire({**HUB, "bbox": [0, 1, 30, 40]}, CoordSpace.UNIT)
    assert pixels == {"bbox": [0, 1, 30, 40], "space": "pixel"}


def test_a_box_of_mmbench_with_minus_one_is_in_pixels_as_not_all_of_it_lies_in_0_to_1():
    pixels = MMBENCH_GUI.wire({**L2, "bbox": [-1, 0.1, 0.5, 0.5]}, CoordSpace.UNIT)
    assert pixels == {"bbox": [0, 0.1, 0.5, 0.5], "space": "pixel"}
    assert MMBENCH_GUI.wire(L2, CoordSpace.UNIT) == {"bbox": L2["bbox"], "space": "unit"}


def test_numbers_that_mmbench_refuses():
    error = MMBENCH_GUI.wire({**L2, "bbox": [0.5, -0.1, 0.6, 0.2]}, CoordSpace.UNIT)
    assert str(error) == (
        "target of row 0, field 'bbox': got [0.5, -0.1, 0.6, 0.2]; expected numbers from 0, or -1 for an edge that "
        "lies at 0"
    )


def test_fields_of_layouts():
    assert OSWORLD_G.reads == {"box_type", "box_coordinates"}
    assert SCREENSPOT.reads == {"bbox"}


@pytest.mark.parametrize(("answer", "name"), [([1, 2, 3, 4], "ClawGUI-Eval"), ("(83, 10)", None), (None, None)])
def test_answers_of_clawgui_eval_are_lists(answer, name):
    found = layout_of([{"answer": answer}], ["answer", "image_size", "task_type", "box_type"])
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("kind", "answer", "place"),
    [
        ("bbox", [30, 40, 10, 20], {"bbox": [10, 20, 30, 40]}),
        (None, [30, 40, 10, 20], {"bbox": [10, 20, 30, 40]}),
        ("polygon", [10, 20, 30, 20, 30, 40], {"polygon": [10, 20, 30, 20, 30, 40]}),
        ("refusal", [0, 0, 0, 0], {"refusal": True}),
        ("circle", [1, 2, 3], "field 'box_type': got 'circle'; expected bbox, polygon or refusal"),
        ("bbox", "x", "field 'answer': got 'x'; expected a list of numbers"),
        ("polygon", None, "field 'answer': got nothing; expected a list of numbers"),
    ],
)
def test_places_of_clawgui_eval_are_as_box_type_says(kind, answer, place):
    found = CLAWGUI.wire({"box_type": kind, "answer": answer}, None)
    assert (found == place) if isinstance(place, dict) else str(found).endswith(place)
