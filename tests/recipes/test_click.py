"""Our own recipe: 0.9 for the right click or the right refusal, 0.1 for an answer that can be read."""

from dataclasses import replace

import pytest

import grounding_rewards as gr
from grounding_rewards.parsing import AUTO

CLICK = gr.recipe("click", response_space="pixel")
BOX, NOTHING = {"bbox": [10, 10, 20, 20]}, {"refusal": True}
CALL = '<tool_call>{{"name": "computer_use", "arguments": {{"action": "{}", "coordinate": [15, 15]}}}}</tool_call>'


@pytest.mark.parametrize(
    ("response", "target", "total", "acc", "reason"),
    [
        ("(15, 15)", BOX, 1.0, 1, "OK"),
        ("(10, 20)", BOX, 1.0, 1, "OK"),
        ("(9, 15)", BOX, 0.1, 0, "OK"),
        ("refusal", BOX, 0.1, 0, "REFUSED"),
        ("refusal", NOTHING, 1.0, 1, "REFUSED"),
        ("[-1, -1]", NOTHING, 1.0, 1, "REFUSED"),
        ("(15, 15)", NOTHING, 0.1, 0, "OK"),
        ("there is none", NOTHING, 0.0, 0, "NO_ANSWER"),
        ("", NOTHING, 0.0, 0, "EMPTY"),
        ("", BOX, 0.0, 0, "EMPTY"),
        ("(15, 15) (16, 16)", BOX, 0.0, 0, "SEVERAL_ANSWERS"),
        ("(15, 15", BOX, 0.0, 0, "MALFORMED"),
        ("<think>(15, 15)", BOX, 0.0, 0, "UNFINISHED"),
        ("<think>(1, 1)</think>(15, 15)", BOX, 1.0, 1, "OK"),
        ('{"point_2d": [15, 15]}', BOX, 1.0, 1, "OK"),
        ('{"bbox_2d": [14, 14, 16, 16]}', BOX, 1.0, 1, "OK"),
        (CALL.format("left_click"), BOX, 1.0, 1, "OK"),
        (CALL.format("double_click"), BOX, 1.0, 1, "OK"),
        (CALL.format("mouse_move"), BOX, 0.1, 0, "OK"),
        (CALL.format("left_click_drag"), BOX, 0.0, 0, "MALFORMED"),
        (CALL.format("notclick"), BOX, 0.0, 0, "UNKNOWN_ACTION"),
        ("(15, 15)", {**BOX, "action": "click"}, 1.0, 1, "OK"),
    ],
)
def test_literal_scores(response, target, total, acc, reason):
    scores = CLICK.score(response, target)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([total], [acc])
    assert gr.Reason(scores.reason[0]).name == reason


@pytest.mark.parametrize("weight", [0, 0.3, 1])
def test_the_format_weight_mixes(weight):
    scores = gr.recipe("click", response_space="pixel", format_weight=weight).score(
        ["(15, 15)", "(1, 1)", "x"], [BOX] * 3
    )
    assert scores.total.tolist() == pytest.approx([1, weight, 0])
    assert scores.acc.tolist() == [1, 0, 0]


def test_a_point_target_needs_a_radius():
    near = gr.recipe("click", response_space="pixel", point_radius=5)
    assert near.score(["(53, 54)", "(54, 54)"], [{"point": [50, 50]}] * 2).acc.tolist() == [1, 0]
    with pytest.raises(gr.TargetError, match="field 'point'"):
        CLICK.score("(50, 50)", {"point": [50, 50]})


def test_the_radius_is_in_pixels_of_the_original_image():
    near = gr.recipe("click", response_space="unit", point_radius=5)
    target = {"point": [0.5, 0.5], "space": "unit", "image_size": [200, 1000]}
    assert near.score(["(0.52, 0.5)", "(0.53, 0.5)", "(0.5, 0.505)", "(0.5, 0.506)"], [target] * 4).acc.tolist() == [
        1,
        0,
        1,
        0,
    ]


def test_a_circle_stays_round_on_the_original_image():
    # A circle of 10 model pixels on an image twice as wide and four times as high: an ellipse of 20 by 40.
    target = {"circle": [50, 50, 10], "space": "model_pixel"}
    sizes = {"image_sizes": (200, 400), "model_image_sizes": (100, 100)}
    responses = ["(120, 200)", "(121, 200)", "(100, 240)", "(100, 241)", "(115, 235)"]
    assert CLICK.score(responses, [target] * 5, **sizes).acc.tolist() == [1, 0, 1, 0, 0]


def test_every_response_space_finds_the_same_place():
    target = {"bbox": [480, 270, 500, 280], "image_size": [1920, 1080], "model_image_size": [960, 540]}
    answers = {
        "pixel": "(490, 275)",
        "model_pixel": "(245, 137)",
        "unit": "(0.255, 0.255)",
        "thousandths": "(255, 255)",
    }
    for space, response in answers.items():
        assert gr.recipe("click", response_space=space).score(response, target).acc.tolist() == [1], space
        wrong = [other for other in answers if other != space]
        assert [gr.recipe("click", response_space=other).score(response, target).acc[0] for other in wrong] == [0] * 3


@pytest.mark.parametrize("target_space", ["unit", "thousandths"])
@pytest.mark.parametrize("response_space", ["unit", "thousandths"])
def test_shares_of_the_image_need_no_size(response_space, target_space):
    click = gr.recipe("click", response_space=response_space, target_space=target_space)
    box = [0.1, 0.2, 0.405, 0.3] if target_space == "unit" else [100, 200, 405, 300]
    responses = ["(0.405, 0.3)", "(0.406, 0.3)"] if response_space == "unit" else ["(405, 300)", "(406, 300)"]
    assert click.score(responses, [box] * 2).acc.tolist() == [1.0, 0.0]
    assert click.score(responses, [{"bbox": box}] * 2, image_sizes=(1919, 1081)).acc.tolist() == [1.0, 0.0]
    in_pixels = {"bbox": [100, 100, 300, 200], "space": "pixel", "image_size": [1000, 500]}
    assert click.score(["(0.3, 0.4)" if response_space == "unit" else "(300, 400)"], [in_pixels]).acc == [1.0]
    assert click.score(click.example.response, click.example.target, image_sizes=click.example.image_size).acc == [1.0]


def test_a_reach_in_pixels_needs_the_size_of_shares():
    click = gr.recipe("click", response_space="thousandths", target_space="unit", point_radius=10)
    with pytest.raises(gr.TargetError, match=r"'image_size': got nothing.* targets in unit into pixel$"):
        click.score("(500, 500)", {"point": [0.5, 0.5]})
    assert click.score(["(500, 500)"], [{"point": [0.505, 0.5]}], image_sizes=(1000, 1000)).acc == [1.0]


@pytest.mark.parametrize("action", ['"scroll"', '"scroll down"', '"type2"', '"drag-to"', '"点击"', "null", "5"])
def test_a_tool_call_of_another_action_is_no_click(action):
    response = f'{{"name": "computer_use", "arguments": {{"action": {action}, "coordinate": [50, 50]}}}}'
    scores = CLICK.score([response] * 60, [{"bbox": [0, 0, 100, 100]}] * 60)
    assert scores.acc.tolist() == [0.0] * 60
    assert CLICK.score(response, {"bbox": [0, 0, 100, 100]}).total.tolist() == [
        0.1 * (action in ('"scroll"', '"drag-to"'))
    ]


@pytest.mark.parametrize("action", ["click", "left_click", "LEFT_CLICK", "double_click", "right_click", "tap"])
def test_a_tool_call_of_a_click_of_any_kind_is_one(action):
    response = f'{{"arguments": {{"coordinate": [50, 50], "action": "{action}"}}}}'
    assert CLICK.score(response, {"bbox": [0, 0, 100, 100], "action": action}).acc.tolist() == [1.0]


@pytest.mark.parametrize(
    "response",
    [
        "Click(15, 15)", "click(x=15, y=15)", "pyautogui.doubleClick(15, 15)", "left_double(start_box='(15,15)')",
        "right_single(point='<point>15 15</point>')", "CLICK(box=[[14,14,16,16]])", "[15, 15]", "(14,14),(16,16)",
        '{"POINT": [15, 15]}', "{'action': 'CLICK', 'position': [15, 15]}", '{"type": "click", "x": 15, "y": 15}',
    ],
)  # fmt: skip
def test_a_click_in_any_dialect_is_one(response):
    assert CLICK.score(response, BOX).acc.tolist() == [1.0]


@pytest.mark.parametrize(
    "response",
    [
        "pyautogui.moveTo(15, 15)", "scroll(15, 15)", "drag(start_box='(15,15)', end_box='(1,1)')",
        '{"POINT": [15, 15], "to": "up"}', '{"type": "drag", "path": [{"x": 15, "y": 15}, {"x": 1, "y": 1}]}',
    ],
)  # fmt: skip
def test_another_action_at_the_same_place_is_none(response):
    scores = CLICK.score(response, BOX)
    assert (scores.acc.tolist(), scores.predictions.xy.tolist()) == ([0.0], [[15, 15]])


def test_one_dialect_can_be_named():
    json_only = gr.recipe("click", response_space="pixel", dialect="json_2d")
    answers = ['{"point_2d": [15, 15]}', "(15, 15)", "refusal"]
    assert json_only.score(answers, [BOX] * 3).acc.tolist() == [1.0, 0.0, 0.0]
    assert gr.recipe(json_only.to_dict()) == json_only
    with pytest.raises(
        gr.RecipeError, match=r"^option dialect: unknown dialect 'json'; did you mean 'json_xy'\? There"
    ):
        gr.recipe("click", response_space="pixel", dialect="json")


OWN = r"""
from types import SimpleNamespace
from grounding_rewards.parsing import PatternDialect
DIGITS = PatternDialect("digits", r"@(?P<x>\d+):(?P<y>\d+)")
SIGNS = PatternDialect("signs", "@(?P<x>[0-9]):(?P<y>[0-9])", signs="@")
NAMELESS = SimpleNamespace(names=("a",), find=len)
"""


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("DIGITS", r"^option dialect: .*own.py:DIGITS: dialect digits: got the pattern .* without \\d: write a set of"),
        ("SIGNS", "dialect signs: signs: got '@'; expected texts, such as"),
        ("NAMELESS", "NAMELESS is namespace.*; expected a dialect with name, names and one"),
        ("PatternDialect", "PatternDialect is <class .*; expected a dialect"),
    ],
)
def test_a_dialect_of_ones_own_is_checked_when_the_recipe_is_built(tmp_path, attribute, message):
    (tmp_path / "own.py").write_text(OWN)
    with pytest.raises(gr.RecipeError, match=message):
        gr.recipe("click", response_space="pixel", dialect=f"{tmp_path}/own.py:{attribute}")


def test_a_point_target_can_have_a_share_of_the_screen_instead():
    near = gr.recipe("click", response_space="pixel", point_share=0.0625)
    target = {"point": [500, 1024], "image_size": [1024, 2048]}
    responses = ["(564, 1024)", "(565, 1024)", "(500, 1152)", "(500, 1153)", "refusal"]
    assert near.score(responses, [target] * 5).acc.tolist() == [1, 0, 1, 0, 0]
    assert near.score("(10, 20)", {**BOX, "image_size": [1024, 2048]}).total.tolist() == [1]
    circle = {"circle": [100, 100, 10], "image_size": [200, 400]}
    assert near.score(["(106, 107)", "(107, 108)", "(100, 109)"], [circle] * 3).acc.tolist() == [1, 0, 1]
    assert gr.recipe(near.to_dict()) == near


def test_a_share_of_the_screen_needs_its_size():
    near = gr.recipe("click", response_space="pixel", point_share=0.04)
    with pytest.raises(gr.TargetError, match="field 'image_size': got nothing"):
        near.score("(50, 50)", {"point": [50, 50]})
    scores = near.score(["(50, 50)"] * 2, [{"point": [50, 50]}, {"point": [50, 50], "image_size": [100, 100]}],
                        bad_target="abstain")  # fmt: skip
    assert (scores.acc.tolist(), scores.valid.tolist()) == ([0, 1], [0, 1])


@pytest.mark.parametrize("option", [{"point_share": -1}, {"point_share": "x"}, {"point_share": 0.1, "point_radius": 3}])
def test_a_reach_is_one_length(option):
    with pytest.raises(gr.RecipeError, match="point_share"):
        gr.recipe("click", response_space="pixel", **option)


WIDE = [10, 20, 40, 30]
MOVED = '{"action": "mouse_move", "coordinate": [30, 25]}'


def test_further_actions_count_as_clicks_where_the_caller_says_so():
    moves = [MOVED, "pyautogui.moveTo(30, 25)", "drag(30, 25, 5, 5)"]
    asked = gr.recipe("click", response_space="pixel", actions="hover")
    assert asked.score(moves, [WIDE] * 3).acc.tolist() == [1, 1, 0]
    assert gr.recipe("click", response_space="pixel").score(moves, [WIDE] * 3).acc.tolist() == [0, 0, 0]
    as_written = gr.recipe("click", response_space="pixel", actions=["mouse_move"], dialect="tool_call")
    call = f'<tool_call>{{"name": "computer_use", "arguments": {MOVED}}}</tool_call>'
    assert as_written.score(call, WIDE).acc.tolist() == [1]


@pytest.mark.parametrize("name", ["click", "action"])
def test_calls_of_tools_that_the_caller_names_are_no_answers(name):
    call = '{"name": "inspect_region", "arguments": {"point": [30, 25]}}'
    named = gr.recipe(name, response_space="pixel", tools=["Inspect_"])
    assert named.score(call, WIDE).total.tolist() == [0.0]
    assert named.score(f"{call}</tool_response>(30, 25)", WIDE).total.tolist() == [1.0]
    assert named.score(f"{call}\n(30, 25)", WIDE).acc.tolist() == [1.0]


LOOKING = replace(AUTO, tools=("peek",))


def test_tools_of_ones_own_dialect_stay_beside_those_that_the_caller_names():
    both = gr.recipe("click", response_space="pixel", dialect=f"{__name__}:LOOKING", tools="inspect")
    call = '{{"name": "{}_region", "arguments": {{"point": [30, 25]}}}}'
    answers = [call.format(tool) + "\n(30, 25)" for tool in ("peek", "inspect", "see")]
    assert both.score(answers, [WIDE] * 3).acc.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"actions": "teleport"}, r"^option actions: got 'teleport'\. Expected names such as hover or mouse_move$"),
        ({"actions": "hovr"}, r"^option actions: got 'hovr'; did you mean 'hover'\? Expected names"),
        ({"actions": [""]}, r"^option actions: got \(''?,\); expected a name, or several as a list$"),
        ({"tools": 5}, r"^option tools: got 5; expected a name, or several as a list$"),
        (
            {"tools": "look", "dialect": "bare_tuple"},
            r"^option tools: got 'look', and dialect bare_tuple does not tell",
        ),
    ],
)
def test_names_that_do_not_fit_are_errors(options, message):
    with pytest.raises(gr.RecipeError, match=message):
        gr.recipe("click", response_space="pixel", **options)
