"""GUI-G2's reward by hand: two Gaussians and a format, each at most 1, the first two to 3 decimals."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, matches
from grounding_rewards.recipes.published.gui_g2 import _WHOLE_BOX
from tests.parsing.fragments import SPACES

GUI_G2 = gr.recipe("gui-g2")
TARGET = [100, 100, 300, 200]
EXACT = "[100,100,300,200]"


def parts(response, target=TARGET, recipe=GUI_G2):
    scores = recipe.score([response], [target])
    return tuple(float(scores.parts[name][0]) for name in ("point", "coverage", "format"))


@pytest.mark.parametrize(
    ("response", "point", "coverage", "well_formed", "acc"),
    [
        (EXACT, 1.0, 1.0, 1, 1),
        ("[200,100,400,200]", 0.607, 0.882, 1, 1),  # half a width off: exp(-1/2), exp(-1/8)
        ("[200,150,400,250]", 0.368, 0.779, 1, 1),  # the centre on the corner: exp(-1), exp(-1/4)
        ("[201,150,401,250]", 0.364, 0.777, 1, 0),
        ("[300,100,500,200]", 0.135, 0.607, 1, 0),  # touching: exp(-2), exp(-1/2)
        ("[0,50,400,250]", 1.0, 0.8, 1, 1),  # twice as wide and high
        ("[150,125,250,175]", 1.0, 0.8, 1, 1),
        ("[300,200,100,100]", 1.0, 1.0, 1, 1),  # inverted
        ("[200,150,200,150]", 1.0, 0.0, 1, 1),  # a point
        ("[1000,700,1200,800]", 0.0, 0.0, 1, 0),
        ("[100.0, 100.0, 300.0, 200.0]", 1.0, 1.0, 0, 1),
        ("[-100, 100, 500, 200]", 1.0, 0.775, 0, 1),  # √0.6
        (f"The box is {EXACT}.", 1.0, 1.0, 0, 1),
        (f"{EXACT} {EXACT}", 1.0, 1.0, 0, 1),
        ("", 0.0, 0.0, 0, 0),
        (None, 0.0, 0.0, 0, 0),
        ("(100, 100, 300, 200)", 0.0, 0.0, 0, 0),
        ("[100, 100, 300, 200, 9]", 0.0, 0.0, 0, 0),
    ],
)
def test_parts_and_total(response, point, coverage, well_formed, acc):
    scores = GUI_G2.score([response], [TARGET])
    assert parts(response) == (point, coverage, well_formed)
    assert scores.total.tolist() == pytest.approx([point + coverage + well_formed], abs=1e-12)
    assert (scores.acc.tolist(), scores.valid.tolist()) == ([acc], [1])


@pytest.mark.parametrize(
    "response",
    [
        f"{EXACT}\n", f" {EXACT}", f"\t{EXACT} \r\n", "[ 100 ,\n100, 300, 200 ]", f"where? assistant\n{EXACT}",
        f"[0,0,1,1]assistant\n\n{EXACT}\n", f"assistant\nassistant\n{EXACT}", "[0100, 0100, 0300, 0200]",
    ],
)  # fmt: skip
def test_white_space_and_what_stands_before_the_last_turn_cost_nothing(response):
    # Stated deviation: the source gives no format for a line feed at the end.
    assert parts(response) == (1, 1, 1)


def test_the_first_box_after_the_last_turn_counts():
    assert parts(f"{EXACT} [0,0,1,1]")[:2] == (1, 1)
    assert parts(f"[0,0,1,1] {EXACT}")[:2] == (0.002, 0.001)
    assert parts(f"{EXACT}assistant\n[0,0,1,1]") == (0.002, 0.001, 1)
    assert parts(f"{EXACT}assistant\n") == (0, 0, 0)


def test_digits_are_ascii():
    assert parts("[１００, １００, ３００, ２００]") == (0, 0, 0)
    assert parts(f"[１００, １００, ３００, ２００] {EXACT}") == (1, 1, 0)


def test_options():
    wide = gr.recipe("gui-g2", alpha=1.0, format_weight=0.5)
    assert (wide.low, wide.high, wide.parts) == (0.0, 2.5, ("point", "coverage", "format"))
    assert parts("[200,150,400,250]", recipe=wide) == (0.779, 0.939, 1)  # exp(-1/4), exp(-1/16)
    assert wide.score("[200,150,400,250]", TARGET).total.tolist() == pytest.approx([0.779 + 0.939 + 0.5])
    assert [exploit.name for exploit in gr.recipe("gui-g2", format_weight=0).exploits] == [
        "giant-box", "whole-screen", "inverted-box",
    ]  # fmt: skip


@pytest.mark.parametrize("target", [
    tuple(TARGET), "[100, 100, 300, 200]", np.array(TARGET), ["100", "100", "300", "200"], {"bbox": TARGET},
    {"bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit", "image_size": [1000, 1000]},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert parts("[200,150,400,250]", target) == (0.368, 0.779, 1)


@pytest.mark.parametrize("target", [
    [300, 200, 100, 100], [1, 2, 3], [], None, ["a", "100", "300", "200"], [0.1, 0.1, 0.12, 0.11], [math.inf] * 4,
    {"polygon": [0, 0, 9, 0, 9, 9]}, {"point": [1, 2]}, {"refusal": True}, ["1", 2, 3, 4],
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_other_targets_are_errors(target):
    with pytest.raises(gr.TargetError):
        GUI_G2.score(EXACT, target)
    abstained = GUI_G2.score(EXACT, target, bad_target="abstain")
    assert (abstained.total.tolist(), abstained.valid.tolist()) == ([0], [0])


@pytest.mark.parametrize(
    ("response", "target", "point", "coverage"),
    [
        # The source gives infinity, infinity, 0 for the point, and what is not a number.
        ("[200,150,200,150]", [200, 150, 200, 150], 1.0, 1.0),
        ("[200,150,200,150]", [100, 150, 300, 150], 1.0, 0.0),
        ("[100,150,300,150]", [100, 150, 300, 150], 1.0, 1.0),
        ("[100,149,300,149]", [100, 150, 300, 150], 0.0, 0.0),
        ("[0.10,0.10,0.12,0.11]", [0, 0, 1, 1], 0.54, 0.021),
        (f"[{'9' * 400}, 0, 50, 20]", [10, 10, 60, 40], 0.0, 0.0),
        (f"[-{'9' * 400}, 10, {'9' * 400}, 40]", [0, 10, 60, 40], 0.607, 0.0),
        ("[1000000000000,1000000000000,1000000000000,1000000000000]", TARGET, 0.0, 0.0),
    ],
)
def test_boxes_without_size_and_beyond_all_bounds_score_between_0_and_1(response, target, point, coverage):
    assert parts(response, target)[:2] == (point, coverage)


def test_boxes_in_unit_space_are_an_error_unless_they_say_so():
    # The source gives an exact answer 200.
    response, target = "[0.10,0.10,0.12,0.11]", [0.1, 0.1, 0.12, 0.11]
    with pytest.raises(gr.TargetError, match="these look like unit"):
        GUI_G2.score(response, target)
    unit = gr.recipe("gui-g2", target_space="unit", response_space="unit")
    scores = unit.score(response, target, image_sizes=(1920, 1080))
    assert scores.total.tolist() == [2]


def test_the_size_of_a_box_is_free_for_the_point():
    # Listed exploit: a box far larger than the screen about the target's centre.
    scores = GUI_G2.score("[-9800,-9850,10200,10150]", TARGET)
    assert {name: part.tolist() for name, part in scores.parts.items()} == {
        "point": [1], "coverage": [0.014], "format": [0],
    }  # fmt: skip
    assert scores.acc.tolist() == [1]


@settings(max_examples=150, deadline=None)
@given(st.tuples(*[st.floats(-3000, 3000).map("{:.3f}".format) | st.integers(-(10**30), 10**30).map(str)] * 4))
def test_any_box_is_finite_within_bounds_and_rounded(box):
    point, coverage, well_formed = parts(f"[{','.join(box)}]")
    for score in (point, coverage):
        assert 0 <= score <= 1
        assert score == round(score, 3)
    assert well_formed == all(number.isdigit() for number in box)


gaps = st.sampled_from(["", " ", *SPACES])
answers = st.builds("{}[{}1{},2,{}03,4{}]{}".format, gaps, gaps, gaps, gaps, gaps, gaps)
lines = st.lists(answers | st.sampled_from(["assistant\n", "x", "assistant", "\n"]), max_size=4).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(lines, min_size=1, max_size=5))
@example(["assistant\n[1,2,3,4]\n"])
def test_the_format_pattern_judges_alike_over_many_and_few(texts):
    many = matches(Texts(texts * VECTOR_ROWS), _WHOLE_BOX)
    assert many[: len(texts)].tolist() == [bool(matches(Texts([text]), _WHOLE_BOX)[0]) for text in texts]
