"""UI-AGILE's rewards by hand: the action, how near a click is to the middle of the box, the format, the parameter."""

import json
import math

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.verifiers.distance import SHAPES

AGILE = gr.recipe("ui-agile")
SIZES = {"image_sizes": (2000, 1000), "model_image_sizes": (1000, 500)}
SAME = {"image_sizes": (2000, 1000), "model_image_sizes": (2000, 1000)}
BOX = "<answer>[{'action': 'click' ,'coordinate': [100, 100, 300, 200] }]</answer>"
LONG_PRESS = "<answer>[{{'action': 'long_press' ,'coordinate': [{}] }}]</answer>"


def solution(action, parameter=""):
    text = f"<answer>[{{'action': '{action}' ,'coordinate': [0, 0, 0, 0] }}]</answer>"
    return {"solution": text, "parameter": parameter}


def click(place, name="click"):
    return f"<think>-</think>\n<answer>[{{'action': '{name}', 'coordinate': {place}}}]</answer>"


def test_a_solution_beside_its_parameter_as_json():
    target = solution("type", "Save")
    texts = [json.dumps(target), json.dumps(target, indent=1), f" {json.dumps(target)}"]
    assert {AGILE.read_targets([each]).rows[0].action.text for each in (target, *texts)} == {"Save"}


def columns(response, target=BOX, recipe=AGILE, sizes=SAME):
    scores = recipe.score([response], [target], **sizes)
    return {"total": scores.total[0], "acc": scores.acc[0], **{name: part[0] for name, part in scores.parts.items()}}


@pytest.mark.parametrize(
    ("place", "grounding"),
    [
        ([200, 150], 2.0), ([250, 150], 1 + math.exp(-1)), ([200, 125], 1 + math.exp(-1)),
        ([250, 125], 1 + math.exp(-1)),
        ([100, 150], 1 + math.exp(-4)), ([300, 200], 1 + math.exp(-4)), ([300.9, 200.9], 1 + math.exp(-4)),
        ([301, 150], 0.0), ([99.9, 150], 0.0), ([0, 0], 0.0), ([10**30, 150], 0.0),
    ],
)  # fmt: skip
def test_a_click(place, grounding):
    found = columns(click(place))
    assert found["grounding"] == pytest.approx(grounding, abs=1e-15)
    assert (found["action"], found["format"], found["parameter"]) == (1.0, 1.0, 0.0)
    assert found["total"] == 2.0 + found["grounding"]
    assert found["acc"] == float(grounding > 0)


def test_clicks_are_scaled_and_then_cut_to_whole_pixels_of_the_original_image():
    # Twice (150.4, 75): (300.8, 150) counts as (300, 150), on the border; (150.5, 75) is (301, 150), outside.
    assert columns(click([150.4, 75]), sizes=SIZES)["grounding"] == 1 + np.exp(-4.0)
    assert columns(click([150.5, 75]), sizes=SIZES)["grounding"] == 0.0
    assert columns(click([100, 75]), sizes=SIZES)["grounding"] == 2.0


def test_targets_are_cut_to_whole_pixels_too():
    assert columns(click([200, 150]), BOX.replace("00,", "00.5,").replace("200 ]", "200.5 ]"))["grounding"] == 2.0


@pytest.mark.parametrize(
    ("box", "grounding", "acc"),
    [
        ([100, 100, 300, 200], 2.0, 1), ([100, 100, 200, 200], 1.0, 1), ([300, 100, 400, 200], 0.0, 0),
        ([200, 150, 200, 150], 0.0, 1), ([0, 0, 400, 300], 2 * 20000 / 120000, 1),
        ([101, 100, 500, 200], 2 * 199 / 400, 0),
    ],
)  # fmt: skip
def test_an_answered_box_scores_twice_its_overlap_and_no_format(box, grounding, acc):
    found = columns(click(box))
    assert found["grounding"] == pytest.approx(grounding, abs=1e-15)
    assert (found["format"], found["acc"]) == (0.0, acc)


@pytest.mark.parametrize(("kind", "far"), [("diou", 0.0), ("ciou", 0.0)])
def test_other_overlaps_score_from_0(kind, far):
    recipe = gr.recipe("ui-agile", overlap=kind)
    assert columns(click([100, 100, 300, 200]), recipe=recipe)["grounding"] == 2.0
    assert columns(click([900, 900, 950, 950]), recipe=recipe)["grounding"] == far
    diou = 0.5 - 50**2 / (200**2 + 100**2)
    assert columns(click([100, 100, 200, 200]), recipe=recipe)["grounding"] <= 2 * diou + 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes_add_to_the_hit(shape):
    recipe = gr.recipe("ui-agile", shape=shape)
    f = SHAPES[shape](np.array([0.0, 0.5, 1.0]))
    assert [
        columns(click(place), recipe=recipe)["grounding"] for place in ([200, 150], [250, 150], [300, 150])
    ] == list(1 + f)
    assert columns(click([301, 150]), recipe=recipe)["grounding"] == 0.0


def test_binary_scores_the_hit_alone():
    recipe = gr.recipe("ui-agile", shape="binary")
    places = [[200, 150], [300, 200], [301, 200], [0, 0, 400, 300]]
    assert [columns(click(place), recipe=recipe)["grounding"] for place in places] == [1.0, 1.0, 0.0, 1.0]
    assert recipe.high == 4.0


def test_a_target_without_width_or_height_is_worth_nothing_as_in_the_source():
    flat = BOX.replace("300, 200", "100, 200")
    found = columns(click([100, 150]), flat)
    assert (found["grounding"], found["acc"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("response", "target", "action", "grounding", "format_part", "parameter", "acc"),
    [
        ("{'action': 'scroll', 'direction': 'up'}", solution("scroll", "up"), 1, 1, 1, 1, 1),
        ("{'action': 'scroll', 'direction': 'UP'}", solution("scroll", "up"), 1, 1, 1, 1, 1),
        ("{'action': 'scroll', 'direction': 'down'}", solution("scroll", "up"), 1, 1, 1, 0, 0),
        ("{'action': 'scroll', 'direction': ''}", solution("scroll", "up"), 1, 1, 1, 0, 0),
        ("{'action': 'scroll'}", solution("scroll", "up"), 1, 1, 1, 0, 0),
        ("{'action': 'scroll'}", solution("scroll"), 1, 1, 1, 0, 1),
        ("{'action': 'open_app', 'app': 'Chrome'}", solution("open_app", "Chrome"), 1, 1, 1, 1, 1),
        ("{'action': 'input_text', 'input_text': 'a'}", solution("input_text", "restaurants"), 1, 1, 1, 1, 0),
        ("{'action': 'input_text', 'input_text': 'RESTAURANTS'}", solution("input_text", "restaurants"), 1, 1, 1, 1, 1),
        ("{'action': 'open_app', 'app': 'c'}", solution("open_app", "Chrome"), 1, 1, 1, 1, 0),
        ("{'action': 'open_app_wait', 'app': 'chrome'}", solution("open_app", "Chrome"), 1, 1, 1, 1, 0),
        ("{'action': 'input_text', 'input_text': 'restaurants near me'}", solution("input_text", "restaurants"), 1, 1,
        1, 0, 0),
        ("{'action': 'wait'}", solution("navigate_back"), 0, 0, 1, 0, 0),
        ("{'action': 'click', 'coordinate': [1, 2]}", solution("wait"), 0, 0, 1, 0, 0),
        ("{'action': 'click'}", solution("wait"), 0, 0, 0, 0, 0),
        ("{'action': 'scroll', 'direction': 'up'}", BOX, 0, 0, 1, 0, 0),
        ("{'action': 'input_text', 'input_text': 'up'}", solution("scroll", "up"), 0, 0, 1, 1, 0),
    ],
)  # fmt: skip
def test_other_actions(response, target, action, grounding, format_part, parameter, acc):
    found = columns(f"<think>t</think><answer>[{response}]</answer>", target)
    assert (found["action"], found["grounding"], found["format"]) == (action, grounding, format_part)
    assert (found["parameter"], found["acc"]) == (parameter, acc)


def test_a_click_with_a_parameter_needs_both():
    target = {"solution": BOX, "parameter": "left"}
    right = "<think>t</think><answer>[{'action': 'click', 'coordinate': [200, 150], 'button': 'left'}]</answer>"
    assert columns(right, target)["total"] == 5.0
    assert columns(click([200, 150]), target)["acc"] == 0.0


@pytest.mark.parametrize(
    ("response", "format_part"),
    [
        (click([1, 2]), 1), (click([1, 2]) + "\n", 1), (" \t" + click([1, 2]), 1),
        (click([1, 2]) + "\n" + click([3, 4]), 1),
        (click([1, 2]) + "(5, 5)", 0), ("x" + click([1, 2]), 0), (click([1, 2])[:-1], 0), (click([1, 2, 3, 4]), 0),
        (click("[x, y]"), 0), (click("[-1, 2]"), 0),
        ("<answer>[{'action': 'click', 'coordinate': [1, 2]}]</answer>", 0),
        ("<think>a</think>x<answer>[{'action': 'click', 'coordinate': [1, 2]}]</answer>", 0),
        ("<think>a</think> \n <answer>(1, 2)</answer>", 1), ("<think>a</think><answer></answer>", 0),
        ("<think>a</think><answer>wait</answer>", 0), ("", 0),
    ],
)  # fmt: skip
def test_the_format(response, format_part):
    assert columns(response)["format"] == format_part
    assert (
        columns(response, recipe=gr.recipe("ui-agile", format_weight=0))["total"]
        == columns(response)["total"] - format_part
    )


def test_the_first_answer_counts():
    assert columns(click([200, 150]) + "\n" + click([1, 1]))["acc"] == 1.0
    assert columns(click([1, 1]) + "\n" + click([200, 150]))["acc"] == 0.0


@pytest.mark.parametrize("response", [
    "Thought: x\nAction: click(start_box='(200,150)')", "Action: click(point='<point>200 150</point>')",
    '<answer>[{"action": "click", "coordinate": [200.0, 150.0]}]</answer>',
    "<answer>[{'action':'click','coordinate':(200,150)}]</answer>",
])  # fmt: skip
def test_other_notations_are_hits_without_the_format(response):
    assert columns(response) == {
        "total": 3.0,
        "acc": 1.0,
        "action": 1.0,
        "grounding": 2.0,
        "format": 0.0,
        "parameter": 0.0,
    }


@pytest.mark.parametrize("response", [
    "<|box_start|>(200,150)<|box_end|>", "pyautogui.click(x=200, y=150)", "[200, 150]", "<THINK>-</THINK>[200, 150]",
])  # fmt: skip
def test_a_place_without_an_action_is_no_click(response):
    assert columns(response)["total"] == 0.0


def test_names_are_compared_by_containment():
    every = "<answer>{'action': 'click_scroll_input_text_open_app_navigate_back_wait'}</answer>"
    assert columns(click([200, 150], "notclick"))["total"] == 4.0
    assert columns(click([200, 150], "notclick"))["acc"] == 0.0
    assert [columns(every, solution("wait"))[name] for name in ("action", "grounding", "acc")] == [1, 1, 0]
    assert columns(click([200, 150], "CLICK"))["action"] == 0.0
    assert columns(click([200, 150], "clic"))["action"] == 0.0


@pytest.mark.parametrize("form", ["simple", "plain"])
def test_thinking_counts_where_grounding_does(form):
    recipe = gr.recipe("ui-agile", thinking_length=form, length_weight=0.5)
    best = "<think>" + "a" * (149 if form == "simple" else 120) + ".</think><answer>[{'action': 'click', 'coordinate': "
    right, wrong = (
        columns(best + "[200, 150]}]</answer>", recipe=recipe),
        columns(best + "[1, 1]}]</answer>", recipe=recipe),
    )
    assert (right["thinking"], right["total"]) == (1.0, 4.5)
    assert (wrong["thinking"], wrong["thought"], wrong["total"]) == (0.0, 1.0, 2.0)
    assert recipe.parts == ("action", "grounding", "format", "parameter", "grounded", "thought", "thinking")
    assert (recipe.low, recipe.high) == (0.0, 5.5)


def test_an_answered_box_that_shares_nothing_earns_nothing_for_thinking():
    recipe = gr.recipe("ui-agile", thinking_length="simple")
    assert columns(click([200, 150, 200, 150]), recipe=recipe)["thinking"] == 0.0


@pytest.mark.parametrize(
    "target",
    [
        BOX, {"solution": BOX}, {"solution": BOX, "parameter": None}, {"solution": BOX, "parameter": ""},
        {"bbox": [100, 100, 300, 200]}, '{"bbox": [100, 100, 300, 200], "action": "click"}',
        {"bbox": [0.05, 0.1, 0.15, 0.2], "space": "unit"}, {"bbox": [100, 100, 300, 200], "action": {"name": "click"}},
        BOX.replace("'", '"'), BOX.replace(" ,", ",").replace(" }", "}"),
        {"regions": [[100, 100, 300, 200], {"action": "wait"}]},
    ],
)  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert columns(click([200, 150]), target)["total"] == 4.0
    assert columns(click([301, 150]), target)["total"] == 2.0


@pytest.mark.parametrize(
    ("place", "box", "acc"),
    [
        ([200, 150], "100, 100, 300, 200", 1), ([300, 200], "100, 100, 300, 200", 1),
        ([900, 700], "100, 100, 300, 200", 0), ("none", "100, 100, 300, 200", 0), ([900, 700], "0, 0, 0, 0", 1),
        ([900, 700], "0.0, 0, 0, 0.0", 1), ([900, 700], "300, 200, 100, 100", 1), ([900, 700], "100, 100", 1),
        ([900, 700], "a, b, c, d", 1),
    ],
)  # fmt: skip
def test_the_place_of_another_action_than_a_click_counts_for_success_alone(place, box, acc):
    found = columns(click(place, "long_press"), LONG_PRESS.format(box))
    assert (found["total"], found["acc"]) == (3.0, acc)


def test_places_of_other_actions_in_the_wire_form():
    wire = {"bbox": [100, 100, 300, 200], "action": "long_press"}
    found = [columns(click(place, "long_press"), wire) for place in ([900, 700], [200, 150])]
    assert [(each["total"], each["acc"]) for each in found] == [(3.0, 0.0), (3.0, 1.0)]


def test_a_text_that_is_empty_asks_for_none():
    """In the wire form, where it is there and not left out."""
    typed = "<think>t</think><answer>[{'action': 'input_text'}]</answer>"
    for text, acc in (("", 1.0), ("Save", 0.0)):
        assert columns(typed, {"action": {"name": "input_text", "text": text}})["acc"] == acc


def test_any_alternative_will_do():
    target = {"regions": [[0, 0, 50, 50], [100, 100, 300, 200], {"action": {"name": "scroll", "direction": "up"}}]}
    scroll = "<think>t</think><answer>[{'action': 'scroll', 'direction': 'up'}]</answer>"
    assert [columns(text, target)["acc"] for text in (click([200, 150]), click([25, 25]), click([60, 60]), scroll)] == [
        1,
        1,
        0,
        1,
    ]
    assert columns(scroll, target)["total"] == 4.0


@pytest.mark.parametrize("target", [
    BOX.replace("100, 100, 300, 200", "300, 200, 100, 100"), BOX.replace("100, 100, 300, 200", "1, 2"), "click", None,
    7,
    BOX.replace("[100, 100, 300, 200]", "x"), BOX.replace("300", "three"), {"solution": BOX, "parameter": 3},
    {"solution": None},
    {"bbox": [0, 0, 9, 9], "parameter": "up"}, {"point": [1, 2]}, {"refusal": True}, "<answer>[]</answer>",
    [1, 2, 3, 4],
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_bad_targets(target):
    with pytest.raises(gr.TargetError):
        AGILE.score([click([200, 150])], [target], **SAME)
    assert AGILE.score([click([200, 150])], [target], **SAME, bad_target="abstain").total.tolist() == [0.0]


def test_sizes_are_needed():
    with pytest.raises(gr.TargetError, match="image_size"):
        AGILE.score([click([200, 150])], [BOX])


@pytest.mark.parametrize("options", [
    {"shape": "linear"}, {"shape": "binary"}, {"thinking_length": "simple"},
    {"thinking_length": "plain", "length_weight": 0.5},
    {"shape": "exponential", "format_weight": 0.5, "thinking_length": "simple", "length_weight": 2.0,
    "overlap": "ciou"},
])  # fmt: skip
def test_exploits_earn_what_they_say_under_all_options(options):
    recipe = gr.recipe("ui-agile", **options)
    assert gr.recipe(recipe.to_dict()) == recipe
    for exploit in recipe.exploits:
        example = exploit.example
        found = columns(example.response, example.target, recipe,
                        {"image_sizes": example.image_size, "model_image_sizes": example.model_image_size})  # fmt: skip
        assert found["total"] == pytest.approx(exploit.payoff, abs=1e-12), exploit.name
