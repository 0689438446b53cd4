"""UI-Venus: boxes in pixels of the image the model saw (1.0), points in thousandths and refusals (1.5)."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing import LIST_BOX, LIST_POINT_OR_REFUSAL
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.parsing.fragments import responses

BOXES, POINTS = gr.recipe("ui-venus"), gr.recipe("ui-venus", version=1.5)
TARGET = [100, 100, 300, 200]
SIZES = {"image_sizes": (1000, 500), "model_image_sizes": (500, 250)}
NOTHING = {"refusal": True}


@pytest.mark.parametrize(
    ("response", "total", "acc", "reason"),
    [
        ("[90,70,110,80]", 1.0, 1, "OK"),  # centre (100, 75), in pixels (200, 150)
        ("[90, 70],[110, 80]", 1.0, 1, "OK"),
        (" [ 90.5 , 70 , 109.5 , 80 ]\n", 1.0, 1, "OK"),
        ("[50,50,50,50]", 1.0, 1, "OK"),  # the corner of the target
        ("[49,50,50,50]", 0.1, 0, "OK"),  # centre (49.5, 50), in pixels (99, 100)
        ("[150,100,150,100]", 1.0, 1, "OK"),
        ("[151,100,151,100]", 0.1, 0, "OK"),
        ("[110,80,90,70]", 1.0, 1, "OK"),  # corners swapped: the same centre
        ("The box is [90,70,110,80].", 0.9, 1, "OK"),
        ("<think>[1,2,3,4]?</think>[90,70,110,80]", 1.0, 1, "OK"),
        ("<think>well</think>It is [90,70,110,80]", 0.9, 1, "OK"),
        ("[90,70,110,80] [90,70,110,80]", 0.0, 0, "SEVERAL_ANSWERS"),
        ("[600,70,620,80]", 0.1, 0, "OUT_OF_IMAGE"),
        ("[100,75]", 0.0, 0, "MALFORMED"),
        ("[90,70,110]", 0.0, 0, "MALFORMED"),
        ("(90,70,110,80)", 0.0, 0, "NO_ANSWER"),
        ("[90,70,110,80,1]", 0.0, 0, "MALFORMED"),
        ("[９０,70,110,80]", 0.0, 0, "MALFORMED"),
        ("", 0.0, 0, "EMPTY"),
    ],
)
def test_boxes(response, total, acc, reason):
    scores = BOXES.score(response, TARGET, **SIZES)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([total], [acc])
    assert gr.Reason(scores.reason[0]).name == reason


@pytest.mark.parametrize(
    ("response", "target", "total", "acc", "reason"),
    [
        ("[200,300]", TARGET, 1.0, 1, "OK"),
        ("[ 100 , 200 ]", TARGET, 1.0, 1, "OK"),
        ("[99,200]", TARGET, 0.1, 0, "OK"),
        ("at [200,300]", TARGET, 0.9, 1, "OK"),
        ("<think>[1,1]</think>[200,300]", TARGET, 1.0, 1, "OK"),
        ("[200,300,1]", TARGET, 0.0, 0, "MALFORMED"),
        ("[200,300] [200,300]", TARGET, 0.0, 0, "SEVERAL_ANSWERS"),
        ("[-1,-1]", TARGET, 0.1, 0, "REFUSED"),
        ("[-1,-1]", NOTHING, 1.0, 1, "REFUSED"),
        (" [ -1 , -1 ] ", NOTHING, 1.0, 1, "REFUSED"),
        ("<think>none</think>[-1,-1]", NOTHING, 1.0, 1, "REFUSED"),
        ("not there: [-1,-1]", NOTHING, 0.0, 0, "OUT_OF_IMAGE"),
        ("[200,300]", NOTHING, 0.1, 0, "OK"),
        ("refusal", NOTHING, 0.0, 0, "NO_ANSWER"),
        ("", NOTHING, 0.0, 0, "EMPTY"),
    ],
)
def test_points_and_refusals(response, target, total, acc, reason):
    scores = POINTS.score(response, target, **SIZES)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([total], [acc])
    assert gr.Reason(scores.reason[0]).name == reason


def test_the_weight_of_the_format():
    texts = ["[90,70,110,80]", "at [90,70,110,80]", "[1,1,1,1]", "?"]
    for weight, totals in ((0, [1, 1, 0, 0]), (0.25, [1, 0.75, 0.25, 0]), (1, [1, 0, 1, 0])):
        scores = gr.recipe("ui-venus", format_weight=weight).score(texts, [TARGET] * 4, **SIZES)
        assert scores.total.tolist() == pytest.approx(totals)
        assert scores.acc.tolist() == [1, 1, 0, 0]


def test_parts_bounds_and_kinds():
    assert (BOXES.parts, POINTS.parts) == (("hit", "format"), ("hit", "refusal", "outcome", "format"))
    assert (BOXES.low, BOXES.high, POINTS.low, POINTS.high) == (0, 1, 0, 1)
    assert "refusal" in POINTS.accepts
    with pytest.raises(gr.TargetError, match="field 'refusal'"):
        BOXES.score("[-1,-1]", NOTHING, **SIZES)


def test_the_dialects_have_names_that_click_knows():
    assert (BOXES.dialect, POINTS.dialect) == (LIST_BOX, LIST_POINT_OR_REFUSAL)
    boxes = gr.recipe("click", dialect="list_box", response_space="model_pixel")
    points = gr.recipe("click", dialect="list_point_or_refusal", response_space="thousandths")
    assert boxes.score(["[90,70,110,80]", "[100,75]"], [TARGET] * 2, **SIZES).acc.tolist() == [1, 0]
    answers = ["[200,300]", "[-1,-1]", "not there: [-1,-1]"]
    assert points.score(answers, [TARGET, NOTHING, NOTHING], **SIZES).acc.tolist() == [1, 1, 0]


def test_the_sizes_that_a_conversion_needs_are_asked_for():
    with pytest.raises(gr.TargetError, match="image_size"):
        BOXES.score("[90,70,110,80]", TARGET)
    same = gr.recipe("ui-venus", target_space="model_pixel", response_space="pixel")
    assert same.score("[190,140,210,160]", {"bbox": TARGET, "space": "pixel"}).acc.tolist() == [1]


@pytest.mark.parametrize("version", [2, 1.1, "1.5", None, True, [1.0], float("nan")])
def test_an_unknown_version_is_an_error(version):
    with pytest.raises(gr.RecipeError, match=r"option version: got .*; expected 1\.0 or 1\.5"):
        gr.recipe("ui-venus", version=version)


def test_a_version_as_a_whole_number_is_the_same_recipe():
    assert gr.recipe("ui-venus", version=1) == BOXES
    assert POINTS.to_dict() == {"name": "ui-venus", "version": 1.5}


numbers = st.sampled_from(["0", "-1", "200", "300", "0.5", ".5", "12.", "9" * 400, "-9", "1e5", "NaN", ""])
lists = st.lists(numbers, max_size=5).map(lambda items: f"[{','.join(items)}]")
texts = st.lists(st.one_of(responses, lists), min_size=1, max_size=4).map("".join)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from([BOXES, POINTS]), st.lists(texts, min_size=1, max_size=5))
def test_one_response_and_many_score_alike(recipe, answers):
    rows = len(answers)
    many = recipe.score(answers * VECTOR_ROWS, [TARGET] * rows * VECTOR_ROWS, **SIZES)
    assert np.isfinite(many.total).all()
    assert ((many.total >= 0) & (many.total <= 1)).all()
    for row, answer in enumerate(answers):
        one = recipe.score(answer, TARGET, **SIZES)
        assert one.total[0].tobytes() == many.total[row].tobytes()
        assert (one.acc[0], one.reason[0]) == (many.acc[row], many.reason[row])


@pytest.mark.parametrize("recipe", [BOXES, POINTS], ids=["1.0", "1.5"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 65536, "[1," * 20000, "[1,1,1,1]" * 7000, "[" + "9" * 65000 + ",1]", "[ " + " " * 65000,
        "</think>" * 8000, "</think>[1,1" * 5000, "[1,1,1,1" + " " * 65000, "</think>" + "[1,1,1,1],[" * 5000,
        ("</think>" + " " * 99) * 600, "[1,1],[1,1" + "1" * 60000,
    ],
    ids=range(11),
)  # fmt: skip
def test_long_texts_take_no_longer_than_their_length(recipe, text):
    start = time.perf_counter()
    recipe.score(text, TARGET, **SIZES)
    assert time.perf_counter() - start < 2.0
