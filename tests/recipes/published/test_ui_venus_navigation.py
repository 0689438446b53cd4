"""UI-Venus navigation: type, coordinates in steps, scrolls by what is right of them, and content; 0.1 for the form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.recipes.published.ui_venus import is_formed
from grounding_rewards.testing import hostile_responses

RECIPE = gr.recipe("ui-venus-navigation")
PLAIN = gr.recipe("ui-venus-navigation", format_weight=0)
SIZES = {"image_sizes": (1000, 500), "model_image_sizes": (500, 250)}
POINT = {"point": [500, 250], "action": "click"}
BOX = {"bbox": [100, 100, 300, 200], "action": "click"}


def answer(call):
    return f"<think>so</think>\n<action>{call}</action>\n<conclusion>done</conclusion>"


def score(call, target, recipe=PLAIN):
    scores = recipe.score(answer(call), target, **SIZES)
    return scores.total.item(), scores.acc.item()


SCROLL = {"bbox": [480, 230, 520, 270], "action": {"name": "scroll", "direction": "down", "to": [500, 50]}}


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


TARGETS = [POINT, BOX, SCROLL, {"action": "back"}, {"action": {"name": "type", "text": "a b"}},
           {"action": {"name": "scroll", "direction": "up"}}, {"regions": [BOX, {"action": "wait"}]},
           {"point": [5, 5], "action": {"name": "drag", "to": [50, 50]}}]  # fmt: skip
RESPONSES = [answer(call) for call in (
    "Click(box=(250, 125))", "Click(box=(50, 60))", "Scroll(start=(250, 125), end=(250, 25), direction='down')",
    "Scroll(direction='up')", "Drag(start=(2, 2), end=(25, 25))", "Type(content='b a')", "PressBack()", "Wait()",
    "Click(box=(9999999999999999, -1))", "Scroll(start=(1, 1), end=(1, 1))", "Fly(box=(1, 1))",
)] + ["", "x", "<think>"]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(RESPONSES), st.sampled_from(TARGETS)), min_size=1, max_size=5))
def test_a_row_alone_scores_as_among_others(rows):
    texts, targets = map(list, zip(*rows, strict=True))
    together = RECIPE.score(texts * 15, targets * 15, **SIZES)
    alone = [RECIPE.score(text, target, **SIZES) for text, target in rows]
    assert together.total.tolist() == [each.total.item() for each in alone] * 15
    assert together.acc.tolist() == [each.acc.item() for each in alone] * 15
    assert ((together.total >= RECIPE.low) & (together.total <= RECIPE.high)).all()


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_responses_are_finite_and_no_success(target):
    scores = RECIPE.score(hostile := hostile_responses(length=5000), [target] * len(hostile), **SIZES)
    assert ((scores.total >= 0) & (scores.total <= RECIPE.high)).all()
    assert scores.acc.tolist() == [0] * len(hostile)


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


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_what_is_formed_is_the_same_for_many(texts):
    parts = RECIPE.score(texts * 60, [{"action": "wait"}] * len(texts) * 60).parts
    assert parts["format"].tolist() == [float(is_formed(text)) for text in texts] * 60
