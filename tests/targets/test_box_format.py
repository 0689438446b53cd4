"""Boxes as x y w h or cx cy w h: read where that is declared, and named where numbers cannot be x1 y1 x2 y2."""

import json
import pickle
import random
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.targets.box_format import as_box_format
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.suspects import described, merged, suspect_targets

CLICK = gr.recipe("click", response_space="pixel")
GELATO = gr.recipe("gelato")
SAY = '--box-format xywh where files are read or converted (or cxcywh, yxyx, xxyy, yyxx), box_format="xywh" in Python'
WIRE = 'write {"bbox": [x, y, w, h]} with '


def lines(*parts, recipe=CLICK, box_format=None):
    """Describe the suspect targets of a file that is read in several parts."""
    several = []
    for part in parts:
        read = recipe.read_targets(part, bad_target="abstain", warn=False, box_format=box_format)
        several += suspect_targets(
            recipe.prepare([None] * len(part), read, bad_target="abstain").targets, recipe.requirements, partly=True
        )
    return described(several)


def boxes(values, **more):
    return Targets.from_list(values, **more).regions.box.tolist()


@pytest.mark.parametrize(
    "target",
    [[30, 40, 10, 20], {"bbox": [30, 40, 10, 20]}, '{"bbox": [30, 40, 10, 20]}', {"bbox": np.array([30, 40, 10, 20])},
     {"regions": [[30, 40, 10, 20]]}, {"bbox": [[30, 40], [10, 20]]}],
)  # fmt: skip
def test_three_formats_of_a_box(target):
    assert boxes([target], box_format="xywh") == [[30, 40, 40, 60]]
    assert boxes([target], box_format="cxcywh") == [[25, 30, 35, 50]]
    with pytest.raises(gr.TargetError, match="--box-format xywh"):
        boxes([target], box_format="xyxy")


@pytest.mark.parametrize(
    ("box_format", "numbers", "least"),
    [
        ("yxyx", [2, 1, 4, 3], "y1 x1 y2 x2"),
        ("xxyy", [1, 3, 2, 4], "x1 x2 y1 y2"),
        ("yyxx", [2, 4, 1, 3], "y1 y2 x1 x2"),
    ],
)
def test_corners_in_another_order(box_format, numbers, least):
    assert boxes([numbers], box_format=box_format) == [[1, 2, 3, 4]]
    with pytest.raises(gr.TargetError, match=f"expected 4 numbers {least} with x1 <= x2 and y1 <= y2, the declared"):
        boxes([numbers[::-1]], box_format=box_format)


def test_pairs_are_in_the_declared_order_and_named_corners_are_corners():
    # Pairs were corners x1 y1 and x2 y2 whatever was declared, so that those of yxyx had x for y.
    assert boxes([{"bbox": [[2, 1], [4, 3]]}], box_format="yxyx") == [[1, 2, 3, 4]]
    assert boxes([{"bbox": [[1, 2], [3, 4]]}], box_format="xywh") == [[1, 2, 4, 6]]
    for box_format in ("xyxy", "xywh", "yxyx"):
        assert boxes([{"bbox": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}], box_format=box_format) == [[1, 2, 3, 4]]


def test_other_places_stay():
    places = [{"polygon": [0, 0, 9, 0, 9, 9]}, {"circle": [5, 5, 2]}, {"point": [3, 4]}, {"refusal": True}]
    assert boxes(places, box_format="xywh") == boxes(places)


def test_the_box_at_which_a_drag_ends_is_a_box():
    target = {"bbox": [5, 5, 2, 2], "action": {"name": "drag", "to": [30, 40, 10, 20]}}
    [row] = Targets.from_list([target], box_format="xywh").rows
    assert row.action.to == (30, 40, 40, 60)


def test_a_point_beside_a_box_is_inside_the_box_as_declared():
    target = {"bbox": [30, 40, 10, 20], "point": [35, 55]}
    assert Targets.from_list([target], box_format="xywh").regions.point.tolist() == [[35, 55]]
    with pytest.raises(gr.TargetError, match="a point inside the bbox"):
        Targets.from_list([{"bbox": [30, 40, 10, 20], "point": [45, 55]}], box_format="xywh")


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=2), st.lists(st.integers(0, 1000), min_size=2, max_size=2)
)
def test_the_same_box_in_all_formats(corner, size):
    (x, y), (w, h) = corner, size
    same = [[x, y, x + w, y + h]]
    assert boxes(same) == boxes([[x, y, w, h]], box_format="xywh") == same
    assert boxes([[x + w / 2, y + h / 2, w, h]], box_format="cxcywh") == same


def test_a_recipe_scores_what_is_declared():
    targets = CLICK.read_targets([[30, 40, 10, 20]] * 2, box_format="xywh")
    assert CLICK.score(["(39, 59)", "(29, 41)"], targets).acc.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["xyhw", "", 3, ["xywh"], "XYWH"])
def test_an_unknown_format_is_an_error(name):
    with pytest.raises(gr.RecipeError, match=r"box_format: got .*; expected one of xyxy, xywh, cxcywh"):
        Targets.from_list([], box_format=name)
    assert as_box_format(None) is None


def test_a_near_name_is_suggested():
    with pytest.raises(gr.RecipeError, match=r"did you mean 'xywh'\?$"):
        as_box_format("xyhw")


@pytest.mark.parametrize(
    ("box", "written", "why"),
    [
        ([1, 2, -3, 4], "xywh", "4 numbers x y w h with w and h from 0, the declared box format"),
        ([1, 2, 3, -4], "cxcywh", "4 numbers cx cy w h with w and h from 0, the declared box format"),
        ([1, 2, 3], "xywh", "4 numbers x y w h"),
        ([1, 2, 3, "4"], "cxcywh", "4 numbers cx cy w h, as numbers .'4' is of type str"),
        ([1e12, 0, 1e12, 5], "xywh", r"a box within ±1e\+12"),
        ([0, 0, float("nan"), 5], "xywh", "all of them finite"),
    ],
)
def test_a_box_that_does_not_fit_the_declared_format(box, written, why):
    with pytest.raises(gr.TargetError, match=why) as failed:
        Targets.from_list([{"bbox": box, "id": "a7"}], box_format=written)
    assert (failed.value.sample, failed.value.field) == ("a7", "bbox")
    assert repr(failed.value.came) == repr(box)


def test_the_error_of_an_inverted_box_names_the_format():
    with pytest.raises(gr.TargetError) as failed:
        CLICK.score(["(1, 2)"], [{"bbox": [860, 540, 30, 20]}])
    assert str(failed.value) == (
        "target of row 0, field 'bbox': got [860, 540, 30, 20]; expected x1 <= x2 and y1 <= y2 (not x y w h; for that "
        f"{SAY}); if two corners are swapped: [30.0, 20.0, 860.0, 540.0]"
    )


def test_an_inverted_box_is_known_as_one_in_another_process():
    with pytest.raises(gr.TargetError) as failed:
        Targets.from_list([[860, 540, 30, 20]])
    again = pickle.loads(pickle.dumps(failed.value))
    assert (again.inverted, again.own_form, str(again)) == (True, False, str(failed.value))
    assert not gr.TargetError(0, "bbox", [1], "4 numbers").inverted


def test_a_form_of_a_recipes_own_ignores_the_format_and_says_so():
    with pytest.raises(gr.TargetError) as failed:
        GELATO.read_targets([[0.8, 0.5, 0.1, 0.1]], box_format="xywh")
    assert f"(not x y w h; for that {WIRE}{SAY})" in str(failed.value)
    with pytest.warns(gr.TargetWarning) as warned:
        read = GELATO.read_targets([[0.1, 0.2, 0.3, 0.4], {"bbox": [0.8, 0.5, 0.1, 0.1]}], box_format="xywh")
    assert read.regions.box.round(6).tolist() == [[0.1, 0.2, 0.3, 0.4], [0.8, 0.5, 0.9, 0.6]]
    assert [str(each.message) for each in warned] == [
        "1 target (first: row 0): bbox [0.1, 0.2, 0.3, 0.4] is in the recipe's own form, which ignores the box format "
        'xywh; write it as {"bbox": [...]}, or leave the box format out'
    ]
    assert lines([[0.1, 0.2, 0.3, 0.4]], recipe=GELATO, box_format="xyxy") == []
    quietly = GELATO.read_targets([[0.1, 0.2, 0.3, 0.4]], box_format="xywh", warn=False)
    with pytest.warns(gr.TargetWarning, match="in the recipe's own form, which ignores the box format xywh"):
        GELATO.score(["(200, 300)"], quietly)


def test_inverted_boxes_are_one_line_that_names_the_format():
    rows = [[10, 10, 30, 20], {"bbox": [300, 40, 30, 20], "id": "a7"}, [40, 300, 60, 20]]
    assert lines(rows) == [
        "2 targets (first: sample 'a7'): bbox [300, 40, 30, 20] has no area as x1 y1 x2 y2; if boxes are x y w h: "
        f"{SAY}"
    ]
    assert lines(rows, box_format="xywh") == lines(rows, box_format="xyxy") == lines(rows, box_format="cxcywh") == []
    with pytest.warns(gr.TargetWarning, match="2 targets .*--box-format xywh"):
        CLICK.score(["(1, 2)"] * 3, rows, bad_target="abstain")


def test_a_point_written_as_a_box_is_one_on_purpose():
    assert lines([[40, 40, 40, 40], [0, 0, 0, 0], [0, 5, 0, 9]]) == []


def test_a_box_without_width_is_named_unless_another_cannot_be_x_y_w_h():
    flat, clear = {"bbox": [40, 40, 40, 90]}, {"bbox": [700, 600, 800, 640], "image_size": [1000, 800]}
    [line] = lines([flat, [1, 1, 4, 4]])
    assert line.startswith("1 target (first: row 0): bbox [40.0, 40.0, 40.0, 90.0] has no area as x1 y1 x2 y2;")
    assert lines([flat, clear]) == []
    # Over the parts of a file, in any order.
    assert lines([flat], [clear]) == lines([clear], [flat]) == []
    with pytest.warns(gr.TargetWarning, match="has no area"):
        CLICK.score(["(1, 2)"], [flat])
    CLICK.score(["(1, 2)"] * 2, [flat, clear])  # warnings are errors here


def test_what_cannot_be_read_is_named_whatever_others_are():
    clear = {"bbox": [700, 600, 800, 640], "image_size": [1000, 800]}
    assert len(lines([[300, 40, 30, 20]], [clear])) == len(lines([clear], [[300, 40, 30, 20]])) == 1


def test_parts_add_up_and_the_first_is_shown():
    [line] = lines([[1, 1, 4, 4]], [[300, 40, 30, 20]] * 2, [[200, 40, 30, 20]])
    assert line.startswith("3 targets (first: row 0): bbox [300, 40, 30, 20] has no area")


def test_recipes_without_labels_judge_no_boxes():
    voting = gr.recipe("gui-rcpo", response_space="pixel")
    targets = voting.read_targets([[300, 40, 30, 20]], bad_target="abstain", warn=False)
    assert suspect_targets(targets, voting.requirements) == []


def test_suspects_of_a_whole_table_have_counts():
    targets = CLICK.read_targets([{"bbox": [700, 600, 800, 640], "image_size": [1000, 800]}], warn=False)
    assert suspect_targets(targets, CLICK.requirements) == []
    assert [each.count for each in merged(suspect_targets(targets, CLICK.requirements, partly=True))] == [0]


def test_outside_of_the_image_the_declared_format_is_named():
    far = {"bbox": [900, 700, 950, 760], "image_size": [1000, 800], "space": "pixel"}
    [error] = CLICK.prepare(
        ["(1, 2)"], CLICK.read_targets([{**far, "bbox": [900, 700, 1950, 760]}], box_format="xywh", warn=False),
        bad_target="abstain",
    ).targets.errors.values()  # fmt: skip
    assert str(error).endswith("by the option target_space; boxes were read as xywh, see --box-format")
    [line] = lines([far], box_format="xywh")
    assert line.endswith("check the space and the size of the image, or leave the target out; boxes were read as xywh")


def right_boxes(draw, width, height):
    """Boxes whose centre lies in the image; they may reach over its edge. As x y w h."""
    for _ in range(draw.choice([1, 2, 30])):
        w, h = draw.randint(1, width), draw.randint(1, height)
        yield draw.randint(-(w // 2), width - (w + 1) // 2), draw.randint(-(h // 2), height - (h + 1) // 2), w, h


def a_file(draw):
    """Right boxes as x y w h, and what stands beside each of them: sizes in some files; small images, too."""
    width, height = draw.choice([(1920, 1080), (1080, 2400), (40, 30), (12, 12)])
    beside = draw.choice([{}, {"image_size": [width, height]}])
    return list(right_boxes(draw, width, height)), beside


def shows(box):
    """Return True where x y w h cannot be x1 y1 x2 y2; equal on both axes it is a point on purpose."""
    x, y, w, h = box
    return w < x or h < y or (w == x) != (h == y)


def parts_of(draw, rows):
    cut = draw.randint(0, len(rows))
    return [part for part in (rows[:cut], rows[cut:]) if part]


def test_right_files_raise_no_alarm():
    draw = random.Random(17)
    for _ in range(250):
        values, beside = a_file(draw)
        rows = [{"bbox": [x, y, x + w, y + h], **beside} for x, y, w, h in values]
        assert lines(*parts_of(draw, rows)) == [], rows


def test_files_of_x_y_w_h_are_named():
    draw, named, one_side = random.Random(18), 0, 0
    while named < 250:
        values, beside = a_file(draw)
        if not any(shows(box) for box in values):
            continue
        rows = [{"bbox": list(box), **beside} for box in values]
        text = "\n".join(lines(*parts_of(draw, rows)))
        assert "--box-format xywh" in text, rows
        named, one_side = named + 1, one_side + (not any(w < x or h < y for x, y, w, h in values))
        rows = [json.dumps(row) for row in rows]
        assert lines(*parts_of(draw, rows), box_format="xywh") == []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spoken = ""
            try:
                CLICK.score([None] * len(rows), rows)
            except gr.TargetError as error:
                spoken = str(error)
        assert any("--box-format xywh" in text for text in [spoken, *(str(each.message) for each in caught)])
    assert one_side > 0  # files whose numbers tell by one box without width or height alone
