"""UI-Venus: boxes in pixels of the image the model saw (1.0), points in thousandths (1.5), and calls of navigation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.recipes.published.ui_venus import is_formed

BOXES, POINTS = gr.recipe("ui-venus"), gr.recipe("ui-venus", version=1.5)
NAVIGATION = gr.recipe("ui-venus-navigation")
SIZES = {"image_sizes": (1000, 500), "model_image_sizes": (500, 250)}


def test_a_version_as_a_whole_number_is_the_same_recipe():
    assert gr.recipe("ui-venus", version=1) == BOXES
    assert POINTS.to_dict() == {"name": "ui-venus", "version": 1.5}


def answer(call):
    return f"<think>so</think>\n<action>{call}</action>\n<conclusion>done</conclusion>"


@pytest.mark.parametrize(
    ("text", "formed"),
    [
        (answer("Wait()"), True), ("<think>a</think><action>Wait()</action>", True),
        (" <think></think> <action> Wait() </action> \n", True), ("<action>Wait()</action>", False),
        ("a</think><action>Wait()</action>", False), ("<think>a</think>Wait()", False),
        ("<think>a</think><action>Fly()</action>", False), ("<think>a</think><action>wait()</action>", False),
        ("<think>a</think><action>Click(box=1)</action>", False), (answer("Wait()") + "x", False),
        ("<think>a</think>x<action>Wait()</action>", False), (answer("Wait()") * 2, False), ("", False),
        (answer("Type(content='a<b')"), True), ("<think>a</think><action>Wait()", False),
        ("<think>a</think><action>Wait()</action><conclusion><action></conclusion>", False),
        ("<think>a</think><action>Wait()</action><conclusion>so", False), (answer("Wait()") + "</think>", False),
        ("<think>a</think><action>Wait()</action><action>Wait()</action>", False),
    ],
)  # fmt: skip
def test_what_is_formed(text, formed):
    assert is_formed(text) is formed


THOUGHTS = st.sampled_from(
    ["<think>so</think>", "<think></think>\n", " <think>a</think>", "<think><b</think>", "a</think>"]
)
CALLS = st.sampled_from([
    "Click(box=(1, 2))", "LongPress(box=(1.5,-2))", "Click(box=( 1, 2))", "Wait()", "PressHome()", "Wait(1)", "Fly()",
    "Scroll(start=(1, 2), end=(3, 4), direction='up')", "Scroll(start=(1, 2), end=(3, 4), direction='')",
    "Drag(start=(1, 2), end=(3, 4))", "Type(content='a b')", "Type(content='it's')", "Type(content='a')')",
    "Type(content='a\\')", "Launch(app='x')", "Launch(content='x')", "Finished(content='')", "Click(box=(1., .2))",
])  # fmt: skip
ENDS = st.sampled_from(["", "\n", "<conclusion>a</conclusion>", "\n<conclusion>\n</conclusion>\n", "<conclusion>", "x"])
TEXTS = st.builds(lambda thought, call, end: f"{thought}<action>{call}</action>{end}", THOUGHTS, CALLS, ENDS)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_what_is_formed_is_the_same_for_many(texts):
    parts = NAVIGATION.score(texts * VECTOR_ROWS, [{"action": "wait"}] * len(texts) * VECTOR_ROWS, **SIZES).parts
    assert parts["format"].tolist() == [float(is_formed(text)) for text in texts] * VECTOR_ROWS


def test_the_point_marked_in_a_box_counts_whatever_other_targets_are():
    # 11 and 17 pixels from the marked point, 31 and 27 from the centre; among boxes alone the centre counted.
    box = {"bbox": [403, 267, 463, 307], "point": [413, 277], "action": "click"}
    point = {"point": [900, 400], "action": "click"}
    for others in ([], [point]):
        parts = NAVIGATION.score([answer("Click(box=(201, 130))")] * (1 + len(others)), [box, *others], **SIZES).parts
        assert parts["coord"][0] == 1.0
