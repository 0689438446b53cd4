"""UI-Ins' reward by hand: 1 inside the box, its edges first cut to whole pixels; several lists are a miss."""

import json

import numpy as np
import pytest
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.parsing.fragments import responses

UI_INS = gr.recipe("ui-ins")
# A 1920 x 1080 image: edges 192, 108, 576, 216 in pixels.
TARGET = [100, 100, 300, 200, 1.08, 1.92]
CALL = '<tool_call>\n{{"name": "grounding", "arguments": {{"action": "click", "coordinate": {}}}}}\n</tool_call>'


@pytest.mark.parametrize(
    ("response", "hit", "reason"),
    [
        ("[192,108]", 1, "OK"),
        ("[576,216]", 1, "OK"),
        ("[191,108]", 0, "OK"),
        ("[577,216]", 0, "OK"),
        ("[300,217]", 0, "OK"),
        ("[300, 150]", 1, "OK"),  # stated deviation: the source wants no space
        ("[ 300 ,\n150 ]", 1, "OK"),
        ("The button is at [300,150].", 1, "OK"),
        ("(5, 5)[300,150]", 1, "OK"),
        (f"<think>The blue one.</think>\n{CALL.format('[300,150]')}", 1, "OK"),
        (f"<think>The blue one.</think>\n{CALL.format('[300, 150]')}", 1, "OK"),
        (CALL.format("[300,150]")[:-9], 1, "OK"),
        ("<think>[300,150]", 1, "OK"),
        (f"<think>[300,150]</think>\n{CALL.format('[300,150]')}", 0, "SEVERAL_ANSWERS"),
        ("[300,150] [300,150]", 0, "SEVERAL_ANSWERS"),
        ("[300,150]\n[1, 1]", 0, "SEVERAL_ANSWERS"),
        ("[300.0, 150.0]", 0, "MALFORMED"),
        ("[-300, 150]", 0, "MALFORMED"),
        ("[300, 150, 7]", 0, "MALFORMED"),
        ("[３００,１５０]", 0, "MALFORMED"),
        (f"[{'9' * 400}, 150]", 0, "OK"),
        (f"[{'9' * 5000}, 150]", 0, "OK"),
        ("300,150", 0, "NO_ANSWER"),
        ("", 0, "EMPTY"),
    ],
)
@pytest.mark.parametrize("copies", [1, VECTOR_ROWS])
def test_one_box(response, hit, reason, copies):
    scores = UI_INS.score([response] * copies, [TARGET] * copies)
    for column in (scores.total, scores.acc, scores.parts["hit"]):
        assert column.tolist() == [hit] * copies
    assert {gr.Reason(code).name for code in scores.reason} == {reason}


def test_edges_are_cut_to_whole_pixels():
    # 300.9 counts as 300, and 100.9 as 100: the box loses on the right and gains on the left.
    target = [100.9, 0, 300.9, 50, 1.0, 1.0]
    responses = ["[300,5]", "[301,5]", "[100,5]", "[99,5]"]
    assert UI_INS.score(responses, [target] * 4).acc.tolist() == [1, 0, 1, 0]


def test_several_lists_are_a_miss_even_where_a_box_holds_minus_one():
    # Stated deviation: the source reads them as (-1, -1).
    target = [-5, -5, 5, 5, 1.0, 1.0]
    assert UI_INS.score(["[1,1] [2,2]", "[1,1]"], [target] * 2).acc.tolist() == [0, 1]


@pytest.mark.parametrize("target", [
    json.dumps(TARGET), tuple(TARGET), np.array(TARGET), {"bbox": [192, 108, 576, 216], "space": "model_pixel"},
    {"bbox": [100, 100, 300, 200], "model_image_size": [1920, 1080]},
    [[0, 0, 5, 5], [100, 100, 300, 200], [1, 1, 2, 2], [3, 3, 4, 4], 1.08, 1.92],
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert UI_INS.score(["[576,216]", "[577,216]"], [target] * 2).acc.tolist() == [1, 0]


@pytest.mark.parametrize(
    "target", [[100, 100, 300, 200], [], [300, 200, 100, 100, 1.0, 1.0], [[100, 100, 300, 200], 1.08, 1.92],
               [100, 100, 300, 200, 0, 1.92], ["100", "100", "300", "200", 1.08, 1.92]],
)  # fmt: skip
def test_a_target_that_does_not_fit_is_an_error_and_no_silent_zero(target):
    with pytest.raises(gr.TargetError, match=r"field 'target'.*x1, y1, x2, y2, height / 1000, width / 1000"):
        UI_INS.score("[200,150]", target)
    scores = UI_INS.score("[200,150]", target, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0], [0])


def test_it_has_no_options_and_no_exploits():
    assert (UI_INS.to_dict(), UI_INS.exploits, UI_INS.parts) == ({"name": "ui-ins"}, (), ("hit",))
    assert (UI_INS.low, UI_INS.high) == (0, 1)


pairs = st.sampled_from(["[300,150]", "[300, 150]", "[1,1]", "[９,9]", "[1.5,1]", "[", "]", "[,]"])
texts = st.lists(st.one_of(pairs, responses), min_size=1, max_size=4).map("".join)
