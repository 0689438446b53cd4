"""Our own recipe for actions: 0.9 for the right action or refusal, 0.1 for an answer that can be read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.testing import hostile_responses

ACTION = gr.recipe("action", response_space="pixel")
BOX = {"bbox": [10, 10, 20, 20]}


def call(action, **arguments):
    fields = "".join(f', "{key}": {value}' for key, value in arguments.items())
    return f'<tool_call>{{"name": "computer_use", "arguments": {{"action": "{action}"{fields}}}}}</tool_call>'


CLICK = call("left_click", coordinate=[15, 15])


CLICK_AND_TYPE = "click(15, 15)\ntype(content='red hat')"
TYPE_ENTER = "pyautogui.write('red hat')\npyautogui.press('enter')"
TYPE = {"name": "type", "text": "red hat"}


@pytest.mark.parametrize(
    ("response", "target", "total", "reason"),
    [
        (CLICK_AND_TYPE, {**BOX, "action": ["click", TYPE]}, 1.0, "OK"),
        (CLICK_AND_TYPE, {**BOX, "action": TYPE}, 1.0, "OK"),
        (CLICK_AND_TYPE, {"regions": [{**BOX, "action": ["tap", TYPE]}, {"action": "wait"}]}, 1.0, "OK"),
        (CLICK_AND_TYPE.replace("15", "5"), {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        (CLICK_AND_TYPE.replace("red", "blue"), {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        ("click(15, 15)", {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        ("type(content='red hat')", {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        (CLICK_AND_TYPE, {**BOX, "action": "click"}, 0.0, "SEVERAL_ANSWERS"),
        (CLICK_AND_TYPE, {"action": TYPE}, 0.0, "SEVERAL_ANSWERS"),
        (f"{CLICK_AND_TYPE}\nwait()", {**BOX, "action": ["click", TYPE]}, 0.0, "SEVERAL_ANSWERS"),
        (TYPE_ENTER, {"action": [TYPE, {"name": "key", "keys": ["enter"]}]}, 1.0, "OK"),
        (f"pyautogui.click(15, 15)\n{TYPE_ENTER}", {**BOX, "action": ["click", TYPE, "enter"]}, 1.0, "OK"),
    ],
)
@pytest.mark.parametrize("rows", [1, 60])
def test_actions_in_order_are_one_step_where_the_target_asks_for_them(response, target, total, reason, rows):
    scores = ACTION.score([response, CLICK] * rows, [target, {**BOX, "action": "click"}] * rows)
    assert scores.total.tolist() == [total, 1.0] * rows
    assert (scores[0].reason, scores[1].reason) == (reason, "OK")


@pytest.mark.parametrize(
    ("response", "target", "total", "reason"),
    [
        (CLICK, BOX, 1.0, "OK"),
        (CLICK, {**BOX, "action": "tap"}, 1.0, "OK"),
        ("(15, 15)", {**BOX, "action": "click"}, 1.0, "OK"),
        ("<think>or (1, 1)?</think>(15, 15)", BOX, 1.0, "OK"),
        ("click(start_box='(15,15)')", BOX, 1.0, "OK"),
        (call("left_click", coordinate=[9, 15]), BOX, 0.1, "OK"),
        (call("double_click", coordinate=[15, 15]), BOX, 0.1, "OK"),
        (call("double_click", coordinate=[15, 15]), {**BOX, "action": "left_double"}, 1.0, "OK"),
        (call("teleport", coordinate=[15, 15]), BOX, 0.0, "UNKNOWN_ACTION"),
        (call("type", text='"Hello "'), {"action": {"name": "type", "text": "hello"}}, 1.0, "OK"),
        (call("type", text='"Hell"'), {"action": {"name": "type", "text": "hello"}}, 0.1, "OK"),
        (call("type", text='""'), {"action": {"name": "type", "text": "hello"}}, 0.1, "OK"),
        (call("key", keys='["ctrl", "c"]'), {"action": {"name": "hotkey", "keys": ["c", "ctrl"]}}, 1.0, "OK"),
        (call("system_button", button='"Back"'), {"action": "back"}, 1.0, "OK"),
        (call("open", text='"Clock"'), {"action": {"name": "open_app", "app": "clock"}}, 1.0, "OK"),
        (call("wait", time=2), {"action": "wait"}, 1.0, "OK"),
        (call("swipe", coordinate=[5, 90], coordinate2=[5, 10]),
         {"action": {"name": "scroll", "direction": "down"}}, 1.0, "OK"),
        (call("swipe", coordinate=[5, 10], coordinate2=[5, 90]),
         {"action": {"name": "scroll", "direction": "down"}}, 0.1, "OK"),
        (call("terminate", status='"success"'), {"action": "finished"}, 1.0, "OK"),
        (call("terminate", status='"failure"'), {"action": "finished"}, 0.1, "OK"),
        (call("terminate", status='"failure"'), {"refusal": True}, 1.0, "OK"),
        (call("terminate", status='"success"'), {"refusal": True}, 0.1, "OK"),
        ("refusal", {"refusal": True}, 1.0, "REFUSED"),
        ("[-1, -1]", {"refusal": True}, 1.0, "REFUSED"),
        ("refusal", BOX, 0.1, "REFUSED"),
        (CLICK, {"refusal": True}, 0.1, "OK"),
        ("there is none", {"refusal": True}, 0.0, "NO_ANSWER"),
        ("", BOX, 0.0, "EMPTY"),
        (CLICK + CLICK, BOX, 1.0, "OK"),
        (CLICK + CLICK.replace("15", "16"), BOX, 0.0, "SEVERAL_ANSWERS"),
        ("<think>" + CLICK, BOX, 0.0, "UNFINISHED"),
    ],
)  # fmt: skip
def test_literal_scores(response, target, total, reason):
    scores = ACTION.score(response, target)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([total], [float(total == 1)])
    assert gr.Reason(scores.reason[0]).name == reason


@pytest.mark.parametrize(("form", "kind"), [(0, 0), (0.2, 0), (0, 0.25), (0.2, 0.25), (1, 0.5), (0.5, 1)])
def test_type_and_format_have_weights(form, kind):
    recipe = gr.recipe("action", response_space="pixel", format_weight=form, type_weight=kind)
    responses = [CLICK, call("left_click", coordinate=[99, 99]), call("wait"), "x", "refusal"]
    scores = recipe.score(responses, [BOX] * 4 + [{"refusal": True}])
    assert scores.total.tolist() == pytest.approx([1, form + (1 - form) * kind, form, 0, 1])
    assert scores.acc.tolist() == [1, 0, 0, 0, 1]
    assert (recipe.low, recipe.high) == (0, 1)


def test_the_parts_say_what_was_right():
    scores = ACTION.score([CLICK, call("left_click", coordinate=[99, 99]), "refusal"], [BOX, BOX, {"refusal": True}])
    assert {name: part.tolist() for name, part in scores.parts.items()} == {
        "match": [1, 0, 1], "kind": [1, 1, 0], "refusal": [0, 0, 1], "type": [1, 1, 1], "outcome": [1, 0, 1],
        "format": [1, 1, 1],
    }  # fmt: skip


def test_any_of_several_alternatives_counts_in_full():
    target = {"regions": [
        BOX, {"bbox": [40, 40, 50, 50], "action": "long_press"}, {"action": {"name": "type", "text": "a"}},
        {"action": "back"},
    ]}  # fmt: skip
    responses = [CLICK, call("long_press", coordinate=[45, 45]), call("type", text='"a"'), call("back"),
                 call("long_press", coordinate=[15, 15]), call("type", text='"b"')]  # fmt: skip
    assert ACTION.score(responses, [target] * 6).acc.tolist() == [1, 1, 1, 1, 0, 0]


def test_points_and_ends_need_a_reach():
    drag = {"point": [15, 15], "action": {"name": "drag", "to": [50, 50]}}
    response = call("left_click_drag", start_coordinate=[18, 19], end_coordinate=[53, 54])
    with pytest.raises(gr.TargetError, match="field 'point'"):
        ACTION.score(response, drag)
    for reach, acc in (({"point_radius": 5}, 1), ({"point_radius": 4}, 0), ({"point_share": 0.0625}, 1)):
        recipe = gr.recipe("action", response_space="pixel", **reach)
        assert recipe.score(response, drag, image_sizes=(128, 128)).acc.tolist() == [acc], reach


def test_a_share_of_the_screen_needs_its_size_where_there_is_a_place():
    near = gr.recipe("action", response_space="pixel", point_share=0.14)
    with pytest.raises(gr.TargetError, match="image_size"):
        near.score(CLICK, {"point": [15, 15]})
    scores = near.score([CLICK, call("back")], [{"point": [15, 15]}, {"action": "back"}], bad_target="abstain")
    assert (scores.acc.tolist(), scores.valid.tolist()) == ([0, 1], [0, 1])


def test_every_response_space_finds_the_same_places():
    target = {"bbox": [480, 270, 500, 280], "action": {"name": "drag", "to": [960, 540, 970, 550]},
              "image_size": [1920, 1080], "model_image_size": [960, 540]}  # fmt: skip
    answers = {
        "pixel": ([490, 275], [965, 545]), "model_pixel": ([245, 137], [482, 272]),
        "unit": ([0.255, 0.255], [0.502, 0.504]), "thousandths": ([255, 255], [502, 504]),
    }  # fmt: skip
    for space, (start, end) in answers.items():
        response = call("left_click_drag", start_coordinate=start, end_coordinate=end)
        for options in ({}, {"point_share": 0.1}):
            scored = {other: gr.recipe("action", response_space=other, **options).score(response, target).acc.item()
                      for other in answers}  # fmt: skip
            assert scored == {other: float(other == space) for other in answers}


@pytest.mark.parametrize(
    ("options", "response", "target"),
    [
        ({"enlarge": 1.2}, call("left_click", coordinate=[21, 15]), BOX),
        ({"text": "f1", "text_threshold": 0.5}, call("type", text='"red"'),
         {"action": {"name": "type", "text": "red hat"}}),
        ({"text": "contains"}, call("type", text='"r"'), {"action": {"name": "type", "text": "red hat"}}),
        ({"text": "ratio", "text_threshold": 0.9}, call("type", text='"red hat."'),
         {"action": {"name": "type", "text": "red hat"}}),
        ({"duration_tolerance": 1}, call("wait", time=3), {"action": {"name": "wait", "duration": 2}}),
        ({"duration_tolerance": None}, call("wait", time=9), {"action": {"name": "wait", "duration": 2}}),
        ({"target_scroll": "finger"}, call("scroll", direction='"up"'),
         {"action": {"name": "scroll", "direction": "down"}}),
        ({"response_scroll": "finger"}, call("scroll", direction='"up"'),
         {"action": {"name": "scroll", "direction": "down"}}),
        ({"scroll": "direction"}, call("scroll", direction='"up"'),
         {**BOX, "action": {"name": "scroll", "direction": "up"}}),
    ],
)  # fmt: skip
def test_what_is_strict_by_default_can_be_loosened(options, response, target):
    assert ACTION.score(response, target).total.tolist() == [0.1]
    loose = gr.recipe("action", response_space="pixel", **options)
    assert loose.score(response, target).total.tolist() == [1]
    assert gr.recipe(loose.to_dict()) == loose


def test_case_can_count():
    strict = gr.recipe("action", response_space="pixel", text_case=True)
    target = {"action": {"name": "type", "text": "Hello"}}
    assert strict.score([call("type", text='"Hello"'), call("type", text='"hello"')], [target] * 2).acc.tolist() == [
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["blind-format", "mentioned-call"]),
        ({"format_weight": 0, "type_weight": 0.25, "text": "contains"},
         ["type-alone", "mentioned-call", "single-letter"]),
        ({"text": "f1", "text_threshold": 0.5}, ["blind-format", "mentioned-call", "part-of-the-text"]),
        ({"text": "f1"}, ["blind-format", "mentioned-call"]),
        ({"text": "ratio", "text_threshold": 0.8}, ["blind-format", "mentioned-call", "part-of-the-text"]),
        ({"text": "ratio", "text_threshold": 0.99}, ["blind-format", "mentioned-call"]),
        ({"scroll": "direction", "format_weight": 0}, ["mentioned-call", "scroll-anywhere"]),
        ({"dialect": "action_json"}, ["blind-format"]),
        ({"dialect": "action_calls"}, ["blind-format", "mentioned-call"]),
        ({"dialect": "ui_venus", "format_weight": 0}, []),
    ],
)  # fmt: skip
def test_rewards_for_nothing_are_listed_as_exploits(options, names):
    recipe = gr.recipe("action", response_space="unit", **options)
    assert [exploit.name for exploit in recipe.exploits] == names


@pytest.mark.parametrize("space", ["pixel", "model_pixel", "unit", "thousandths"])
@pytest.mark.parametrize(
    "options",
    [
        {"type_weight": 0.3, "text": "contains", "point_share": 0.14},
        {"text": "f1", "text_threshold": 0.9},
        {"text": "f1", "text_threshold": 0.01},
        {"text": "ratio", "text_threshold": 0.5, "text_case": True},
        {"scroll": "direction"},
        {"scroll": "direction", "response_scroll": "finger", "format_weight": 0.5},
        {"scroll": "direction", "response_scroll": "finger", "target_scroll": "finger", "dialect": "action_json"},
    ],
)  # fmt: skip
def test_exploits_earn_what_they_say_in_every_space(space, options):
    recipe = gr.recipe("action", response_space=space, **options)
    for exploit in recipe.exploits:
        example = exploit.example
        scores = recipe.score(example.response, example.target, image_sizes=example.image_size,
                              model_image_sizes=example.model_image_size)  # fmt: skip
        assert scores.total.item() == pytest.approx(exploit.payoff), exploit.name


@pytest.mark.parametrize(
    ("options", "named", "advice"),
    [
        ({"text_threshold": 0.5}, "ActionMatch(text_threshold=): got 0.5", "expected None, or text f1 or ratio"),
        ({"text": "f1", "text_case": True}, "ActionMatch(text_case=): got True", "false, or text exact or ratio"),
        ({"dialect": "tool_call"}, "option dialect: tool_call does not share the vocabulary", "use auto_action"),
        ({"dialect": "ui_s1"}, "option dialect: ui_s1 does not share the vocabulary", "use auto_action"),
    ],
)  # fmt: skip
def test_options_that_would_be_passed_over_are_errors(options, named, advice):
    with pytest.raises(gr.RecipeError) as caught:
        gr.recipe("action", response_space="pixel", **options)
    assert named in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"format_weight": 2}, {"type_weight": -1}, {"text": "fuzzy"}, {"scroll": "any"}, {"enlarge": 0},
     {"point_radius": -1}, {"duration_tolerance": -1}, {"text_threshold": 0}, {"dialect": "no"}],
)  # fmt: skip
def test_wrong_options_are_errors(options):
    with pytest.raises(gr.RecipeError, match=next(iter(options))):
        gr.recipe("action", response_space="pixel", **options)
    with pytest.raises(gr.SpaceError, match="action needs response_space"):
        gr.recipe("action")


TARGETS = [BOX, {"refusal": True}, {"action": "back"}, {"action": {"name": "type", "text": "a"}},
           {"regions": [BOX, {"action": {"name": "scroll", "direction": "up"}}]},
           {**BOX, "action": {"name": "drag", "to": [40, 40, 60, 60]}}]  # fmt: skip
RESPONSES = [CLICK, "(15, 15)", "refusal", call("back"), call("type", text='"a"'), call("type", text='"\\ud800"'),
             call("scroll", direction='"up"'), call("teleport"), call("terminate", status='"failure"'), "", "x",
             "<think>", call("left_click_drag", start_coordinate=[15, 15], end_coordinate=[50, 50])]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(RESPONSES), st.sampled_from(TARGETS)), min_size=1, max_size=5))
def test_a_row_alone_scores_as_among_others(rows):
    texts, targets = map(list, zip(*rows, strict=True))
    together = ACTION.score(texts * 15, targets * 15)
    assert together.total.tolist() == [ACTION.score(*row).total.item() for row in rows] * 15
    assert together.reason.tolist() == [ACTION.score(*row).reason.item() for row in rows] * 15


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_responses_are_within_bounds(target):
    hostile = hostile_responses(length=5000)
    scores = ACTION.score(hostile, [target] * len(hostile))
    assert ((scores.total >= 0) & (scores.total <= 1)).all()
