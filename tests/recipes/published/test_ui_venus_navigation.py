"""UI-Venus navigation: type, coordinates in steps, scrolls by what is right of them, and content; 0.1 for the form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.recipes.published.ui_venus_navigation import is_formed
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


@pytest.mark.parametrize(
    ("call", "total", "acc"),
    [
        ("Click(box=(250, 125))", 2, 1), ("Click(box=(269, 125))", 2, 1), ("Click(box=(271, 125))", 1.5, 0),
        ("Click(box=(319, 125))", 1.5, 0), ("Click(box=(321, 125))", 1, 0), ("Click(box=(250, 159))", 1.5, 0),
        ("Click(box=(250, 161))", 1, 0), ("LongPress(box=(250, 125))", 0, 0), ("Wait()", 0, 0), ("Fly()", 0, 0),
        ("Click(box=(x, y))", 0, 0), ("Click()", 1, 0),
    ],
)  # fmt: skip
def test_a_click_scores_in_steps_of_the_distance(call, total, acc):
    assert score(call, POINT) == (total, acc)


def test_a_click_in_a_box_is_right_wherever_it_is():
    assert score("Click(box=(149, 99))", BOX) == (2, 1)
    assert score("Click(box=(50, 50))", BOX) == (2, 1), "the corner is 0.14 of the screen away"
    assert score("Click(box=(151, 75))", BOX) == (1.5, 0)
    assert score("LongPress(box=(100, 75))", {**BOX, "action": "long_press"}) == (2, 1)


SCROLL = {"bbox": [480, 230, 520, 270], "action": {"name": "scroll", "direction": "down", "to": [500, 50]}}


@pytest.mark.parametrize(
    ("call", "total", "acc"),
    [
        ("Scroll(start=(250, 125), end=(250, 25), direction='down')", 2.5, 1),
        ("Scroll(start=(250, 125), end=(250, 25))", 2.5, 1),
        ("Scroll(start=(250, 125), end=(250, 124), direction='down')", 2, 0),
        ("Scroll(start=(250, 125), direction='down')", 2, 0),
        ("Scroll(start=(250, 125), end=(250, 25), direction='up')", 1.5, 0),
        ("Scroll(start=(1, 1), end=(250, 25), direction='down')", 1.5, 0),
        ("Scroll(direction='down')", 1.5, 0),
        ("Scroll(start=(1, 1), end=(250, 25), direction='left')", 1, 0),
        ("Drag(start=(250, 125), end=(250, 25))", 0, 0),
    ],
)
def test_a_scroll_scores_by_what_is_right_of_it(call, total, acc):
    assert score(call, SCROLL) == (total, acc)


def test_what_a_target_does_not_name_is_right_where_the_rest_is():
    bare = {"action": {"name": "scroll", "direction": "down"}}
    assert score("Scroll(start=(1, 1), end=(9, 9), direction='down')", bare) == (2.5, 1)
    assert score("Scroll(start=(1, 1), end=(9, 9), direction='up')", bare) == (1, 0)
    assert score("Scroll(direction='up')", {"action": "scroll"}) == (1, 1)
    placed = {"bbox": [480, 230, 520, 270], "action": {"name": "scroll", "direction": "down"}}
    assert score("Scroll(start=(250, 125), direction='down')", placed) == (2.5, 1)
    assert score("Scroll(start=(1, 1), direction='down')", placed) == (1.5, 0)


def test_a_swipe_of_the_target_is_a_scroll_the_other_way():
    swipe = {"point": [500, 250], "action": {"name": "swipe", "direction": "up", "to": [500, 50]}}
    assert score("Scroll(start=(250, 125), end=(250, 25), direction='down')", swipe) == (2.5, 1)


def test_a_drag_has_the_direction_of_its_ends():
    drag = {"point": [500, 250], "action": {"name": "drag", "to": [900, 260]}}
    assert score("Drag(start=(250, 125), end=(450, 130))", drag) == (2.5, 1)
    assert score("Drag(start=(250, 125), end=(350, 125))", drag) == (2, 0)
    assert score("Drag(start=(250, 125), end=(150, 125))", drag) == (1.5, 0)
    assert score("Drag(start=(10, 10), end=(90, 10))", drag) == (1.5, 0)
    assert score("Drag(start=(10, 10), end=(10, 90))", drag) == (1, 0)
    assert score("Drag(start=(10, 10), end=(10, 10))", drag) == (1, 0)


DIAGONAL = {"point": [861, 326], "action": {"name": "drag", "to": [814, 279]}}
NEARLY = "start=(401.58, 194.6), end=(361.57, 113.2)"


def test_a_diagonal_has_both_directions_whatever_its_last_bit():
    # 47 pixels both ways; as shares of the screen times its size they differ.
    assert score(f"Drag({NEARLY})", DIAGONAL) == (2.5, 1)
    assert score(f"Drag({NEARLY})", DIAGONAL, RECIPE) == (pytest.approx(2.35), 1)
    assert score("Drag(start=(430.5, 163), end=(400.5, 160))", DIAGONAL) == (2.5, 1)
    assert score("Drag(start=(430.5, 163), end=(433.5, 160))", DIAGONAL) == (2.5, 1)
    assert score("Drag(start=(430.5, 163), end=(434.5, 166))", DIAGONAL) == (1.5, 0)
    nearly = {"point": [861, 326], "action": {"name": "drag", "to": [814, 280]}}
    assert score(f"Drag({NEARLY})", nearly) == (1.5, 0)


@pytest.mark.parametrize(("direction", "total"), [("right", 2.5), ("down", 2.5), ("left", 1.5), ("up", 1.5)])
def test_a_diagonal_scroll_of_the_target_goes_either_way(direction, total):
    scroll = {"point": [861, 326], "action": {"name": "scroll", "to": [814, 279]}}
    assert score(f"Scroll({NEARLY}, direction='{direction}')", scroll)[0] == total


def test_directions_from_end_to_end_are_those_in_pixels():
    # 60 across and 40 down, though more of the height than of the width.
    scroll = {"point": [500, 250], "action": {"name": "scroll", "to": [560, 290]}}
    for target in (scroll, {"point": [500, 250], "action": {"name": "scroll", "direction": "left"}}):
        assert score("Scroll(start=(250, 125), end=(280, 145))", target) == (2.5, 1)
        assert score("Scroll(start=(250, 125), end=(280, 145), direction='up')", target) == (1.5, 0)


@pytest.mark.parametrize(
    ("call", "total", "acc"),
    [
        ("Type(content='red hat')", 2, 1), ("Type(content='Hat RED')", 2, 1), ("Type(content='red shoe')", 2, 1),
        ("Type(content='a red shoe now')", 1, 0), ("Type(content='')", 1, 0), ("Type()", 1, 0),
        ("Launch(app='red hat')", 0, 0), ("Finished(content='red hat')", 0, 0),
    ],
)  # fmt: skip
def test_content_scores_from_half_the_words_on(call, total, acc):
    assert score(call, {"action": {"name": "type", "text": "red hat"}}) == (total, acc)


def test_launch_call_user_and_finished_have_content():
    assert score("Launch(app='google chrome')", {"action": {"name": "open_app", "app": "Chrome"}}) == (2, 1)
    assert score("Launch(app='clock')", {"action": {"name": "open_app", "app": "Chrome"}}) == (1, 0)
    assert score("Finished(content='42')", {"action": {"name": "finished", "text": "42"}}) == (2, 1)
    assert score("CallUser(content='42')", {"action": {"name": "call_user", "text": "43"}}) == (1, 0)
    assert score("Finished(content='42')", {"action": {"name": "finished", "text": ""}}) == (1, 1)


@pytest.mark.parametrize(
    ("call", "name"),
    [("Wait()", "wait"), ("PressBack()", "back"), ("PressHome()", "home"), ("PressEnter()", "enter"),
     ("PressRecent()", "recent"), ("Finished(content='')", "finished")],
)  # fmt: skip
def test_the_other_calls_score_their_type(call, name):
    assert score(call, {"action": name}) == (1, 1)
    assert score(call, BOX) == (0, 0)


def test_any_alternative_counts():
    either = {"regions": [{"point": [500, 250], "action": "long_press"}, {"action": "back"}, {"bbox": [0, 0, 50, 50]}]}
    assert score("PressBack()", either) == (1, 1)
    assert score("Click(box=(10, 10))", either) == (2, 1)
    assert score("Click(box=(250, 125))", either) == (1, 0)


def test_the_form_has_a_weight():
    assert score("Click(box=(250, 125))", POINT, RECIPE) == (pytest.approx(1.9), 1)
    scores = RECIPE.score("<action>Click(box=(250, 125))</action>", POINT, **SIZES)
    assert scores.total.tolist() == pytest.approx([1.8])
    assert {name: part.item() for name, part in scores.parts.items()} == {
        "format": 0, "type": 1, "coord": 1, "content": 0,
    }  # fmt: skip


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


def test_constants_are_options():
    other = gr.recipe("ui-venus-navigation", format_weight=0, coord_weight=4, scroll_weight=2, content_weight=3,
                      near=0.1, far=0.2, least_f1=1.0)  # fmt: skip
    assert score("Click(box=(299, 125))", POINT, other) == (5, 1)
    assert score("Click(box=(349, 125))", POINT, other) == (3, 0)
    assert score("Scroll(start=(250, 125), end=(250, 25), direction='down')", SCROLL, other) == (4, 1)
    target = {"action": {"name": "type", "text": "red hat"}}
    assert score("Type(content='hat red')", target, other) == (4, 1)
    assert score("Type(content='red')", target, other) == (1, 0)
    assert (other.low, other.high, RECIPE.high) == (0, 8, pytest.approx(0.1 + 0.9 * 3.5))


def test_near_is_no_farther_than_far():
    with pytest.raises(gr.RecipeError, match=r"option near: got 0\.2; expected at most far, 0\.14"):
        gr.recipe("ui-venus-navigation", near=0.2)


@pytest.mark.parametrize(
    "options", [{}, {"near": 0.3, "far": 1}, {"coord_weight": 3, "scroll_weight": 2}, {"format_weight": 0, "near": 0}]
)
def test_exploits_earn_what_they_say(options):
    recipe = gr.recipe("ui-venus-navigation", **options)
    assert [exploit.name for exploit in recipe.exploits][-3:] == ["type-alone", "near-miss", "direction-alone"]
    for exploit in recipe.exploits:
        scores = recipe.score(exploit.example.response, exploit.example.target, **SIZES)
        assert (scores.total.item(), scores.acc.item()) == (pytest.approx(exploit.payoff), 0), exploit.name


def test_exploits_that_earn_nothing_are_not_listed():
    bare = gr.recipe("ui-venus-navigation", near=0.1, far=0.1, scroll_weight=0)
    assert [exploit.name for exploit in bare.exploits] == ["blind-format", "type-alone"]


def test_places_need_the_sizes_of_the_image_and_actions_alone_do_not():
    with pytest.raises(gr.TargetError, match="image_size"):
        PLAIN.score(answer("Click(box=(1, 2))"), POINT)
    assert PLAIN.score(answer("PressBack()"), {"action": "back"}).total.tolist() == [1]
    with pytest.raises(gr.TargetError, match="refusal"):
        PLAIN.score(answer("Wait()"), {"refusal": True}, **SIZES)


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
