"""AgentCPM-GUI's reward by hand: keys, values and fences; what its formula rewards in a miss."""

import difflib
import json
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.recipes.published.agentcpm_gui import forms_of
from grounding_rewards.verifiers.match import MOST_COMPARED

RECIPE = gr.recipe("agentcpm-gui")
SCREEN = [1080, 2400]
BOX = {"POINT": [546, 252], "bbox": [[567, 568], [612, 642]], "image_size": SCREEN}
INVALID = {"type": -1.0, "args": -1.0}


def parts(response, target, **options):
    scores = RECIPE.score(response, target, **options)
    return {name: float(column[0]) for name, column in scores.parts.items()}


def args(response, target):
    return parts(response, target)["args"]


def point(x, y, **more):
    return json.dumps({"POINT": [x, y], **more})


@pytest.mark.parametrize(
    ("response", "worth", "acc"),
    [
        (point(545, 252), 0.95 + 0.05 * (1 - 1.5 / 1000) ** 3, 1),  # the centre is 589.5, 605; 588.6 is cut to 588
        (point(525, 252), 0.95 + 0.05 * (1 - 22.5 / 1000) ** 3, 1),  # 567 is the left edge
        (point(567, 237), 0.95 + 0.05 * (1 - 37 / 1000) ** 3, 1),  # 612.36 is cut to 612, the right edge
        (point(524, 252), 1 - 0.022 / 2, 0), (point(568, 252), 1 - 0.022 / 2, 0), (point(546, 268), 1 - 0.016 / 2, 0),
        (point(215, 103), 1 - (0.331 + 0.149) / 2, 0), (point(0, 1000), 1 - (0.546 + 0.748) / 2, 0),
    ],
)  # fmt: skip
def test_a_point_in_a_box_and_out_of_it(response, worth, acc):
    scores = RECIPE.score(response, BOX)
    assert scores.parts["args"][0] == pytest.approx(worth, abs=1e-12)
    assert (scores.parts["type"].tolist(), scores.acc.tolist()) == ([1.0], [acc])
    assert scores.total[0] == pytest.approx(1 + worth, abs=1e-12)


def test_a_point_without_a_box_is_right_within_a_hundredth():
    target = {"POINT": [205, 155]}
    for response, worth, acc in (
        (point(200, 150), 1, 1), (point(215, 145), 1, 1), (point(216, 155), 1 - 0.011 / 2, 0), (point(0, 0), 0.82, 0),
        (point(195, 166), 1 - 0.021 / 2, 0),
    ):  # fmt: skip
        scores = RECIPE.score(response, target)
        assert scores.parts["args"][0] == pytest.approx(worth, abs=1e-12)
        assert scores.acc.tolist() == [acc]


def test_near_is_no_hit_where_there_is_a_box():
    assert RECIPE.score(point(560, 269), {**BOX, "POINT": [560, 267]}).acc.tolist() == [0.0]


@pytest.mark.parametrize(
    ("response", "target", "type_", "worth"),
    [
        ('{"TYPE":"hello"}', {"TYPE": "hello world"}, 1, 0.625), ('{"TYPE":"hello"}', {"PRESS": "HOME"}, 0, -0.4),
        ('{"TYPE":"a"}', {"TYPE": "a"}, 1, 1), ('{"TYPE":""}', {"TYPE": ""}, 1, 1),
        ('{"TYPE":""}', {"TYPE": "a"}, 1, 0),
        ('{"PRESS":"BACK"}', {"PRESS": "HOME"}, 1, 0), ('{"PRESS":"HOME"}', {"PRESS": "HOME"}, 1, 1),
        ('{"STATUS":"finish"}', {"STATUS": "finish"}, 1, 1), ('{"STATUS":"continue"}', {"STATUS": "finish"}, 1, 0),
        (point(500, 500, to="down"), {"POINT": [500, 500], "to": "up"}, 1, 0.5),
        (point(500, 500, to="up"), {"POINT": [500, 500], "to": "up"}, 1, 1),
        (point(500, 500, to=[500, 100]), {"POINT": [500, 500], "to": "up"}, 1, 0.5),
        (point(500, 500, to=[500, 100]), {"POINT": [500, 500], "to": [500, 100]}, 1, 1),
        (point(500, 500, to=[500, 101]), {"POINT": [500, 500], "to": [500, 100]}, 1, 0.5),
        (point(500, 500, to="up"), {"POINT": [500, 500], "to": [500, 100]}, 1, 0.5),
        (point(500, 500), {"POINT": [500, 500], "to": "up"}, 0, 0.2),
        (point(500, 500, to="up"), {"POINT": [500, 500]}, 0, 0.9),
        (point(500, 500, to="down"), {"POINT": [500, 500], "duration": 1000}, 0, 0.1),
        ('{"TYPE":"hello"}', {"POINT": [500, 500], "to": "up"}, 0, -0.7),
        ("```json\n" + point(500, 500) + "\n```", {"POINT": [500, 500]}, 1, 0.95),
        ("```json\n" + point(500, 500) + "\n```", {"PRESS": "HOME"}, 0, -0.45),
        ("/*c*/{POINT:[500,500]}", {"POINT": [500, 500]}, 1, 1), ("{'POINT':[200., 150]}", {"POINT": [200, 150]}, 1, 1),
        ('{"thought":"t","PRESS":"HOME"}', {"PRESS": "HOME", "thought": "other"}, 1, 1),
        ('{"POINT":[1,2],"PRESS":"HOME"}', {"TYPE": "a", "STATUS": "finish", "duration": 500, "to": "up"}, 0, -1.4),
    ],
)  # fmt: skip
def test_keys_and_values(response, target, type_, worth):
    found = parts(response, target)
    assert (found["type"], found["args"]) == (type_, pytest.approx(worth, abs=1e-12))
    assert RECIPE.score(response, target).acc.tolist() == [float(type_ == 1 and worth >= 0.95)]


@pytest.mark.parametrize(("duration", "worth"), [(0, 0), (150, 0), (151, 1), (5000, 1), (5001, 0), (10**400, 0)])
def test_a_duration_is_right_from_151_to_5000_whatever_the_targets(duration, worth):
    for wanted in (10, 1000, 9999):
        assert args(f'{{"duration":{duration}}}', {"duration": wanted}) == worth


@pytest.mark.parametrize(
    ("response", "schema"),
    [
        ("", 0), ("\n", 0), ("null", 0.3), ("[]", 0.3), ("5", 0.3), ('"a"', 0.3), ("()", 0), ("{}", 1),
        ("```json {}```", 0.5),
        ('{"thought":"t"}', 1), ('{"CLEAR":true}', 0.3), (point(200.5, 1), 0.3), (point(-1, 1), 0.3), ("[" * 50, 0),
        ('{"POINT":[1,1],"POINT":[1,1]}', 0), ("I cannot find it.", 0), (point(1, 1) + point(1, 1), 0),
        ("```\n" + point(1, 1) + "\n```", 0), ("```json\n[]\n```", 0.3), (f'{{"POINT":[{"9" * 400},1]}}', 0.3),
        (f'{{"POINT":[{"9" * 5000},1]}}', 0), ('{"POINT":[NaN,Infinity]}', 0.3),
    ],
)  # fmt: skip
def test_what_is_no_action_costs_one_of_each(response, schema):
    assert parts(response, BOX) == {**INVALID, "schema": schema}
    assert RECIPE.score([response] * 60, [BOX] * 60).total.tolist() == [-2.0] * 60


def test_the_schema_can_be_weighed_in():
    recipe = gr.recipe("agentcpm-gui", format_weight=0.3)
    fenced = "```json\n" + point(1, 1) + "\n```"
    totals = recipe.score([point(1, 1), fenced, "null", ""], [{"POINT": [1, 1]}] * 4).total
    assert totals.tolist() == pytest.approx([2.3, 2.1, -1.91, -2.0], abs=1e-12)
    assert (recipe.low, recipe.high) == (pytest.approx(-2.65), pytest.approx(2.3))


def test_a_free_text_is_compared_with_the_whole_response():
    for response in ('{"TYPE":"hello world"}', '{"PRESS":"HOME"}', "free", "", "```json\nfree text\n```", "FREE TEXT"):
        ratio = difflib.SequenceMatcher(None, response, "free text").ratio()
        found = parts(response, "free text")
        assert (found["type"], found["args"]) == (ratio, ratio)
    assert RECIPE.score(["free text", "free text "], ["free text"] * 2).acc.tolist() == [1.0, 0.0]
    assert RECIPE.score("free text", {"action": {"name": "answer", "text": "free text"}}).total.tolist() == [2.0]


def test_long_texts_are_compared_as_far_as_usual_ones_reach():
    usual, other = "go to the station " * 11, "went to a station " * 12
    assert len(usual) < MOST_COMPARED
    expected = difflib.SequenceMatcher(None, usual, other).ratio()
    assert args(json.dumps({"TYPE": usual}), {"TYPE": other}) == expected
    start = time.process_time()
    args(json.dumps({"TYPE": "ab" * 30_000}), {"TYPE": "ba" * 30_000})
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("target", "response"),
    [
        ({"bbox": [567, 568, 612, 642], "image_size": SCREEN}, point(546, 252)),
        ({"bbox": [567, 568, 612, 642], "action": "click", "image_size": SCREEN}, point(546, 252)),
        (json.dumps(BOX), point(546, 252)), ({**BOX, "bbox": [567, 568, 612, 642]}, point(546, 252)),
        ({"POINT": np.array([546, 252]), "bbox": None, "TYPE": None}, point(546, 252)),
        ({"POINT": [546, 252]}, point(546, 252)), ({"point": [589.5, 605], "image_size": SCREEN}, point(546, 252)),
        ({"action": {"name": "scroll", "direction": "down"}}, point(7, 8, to="up")),
        ({"action": {"name": "swipe", "direction": "up"}}, point(7, 8, to="up")),
        ({"point": [108, 240], "action": {"name": "drag", "to": [540, 240]}, "image_size": SCREEN},
         point(100, 100, to=[500, 100])),
        ({"point": [108, 240], "action": "long_press", "image_size": SCREEN}, point(100, 100, duration=1000)),
        ({"action": {"name": "type", "text": "hi"}}, '{"TYPE":"hi"}'), ({"action": "wait"}, '{"duration":500}'),
        ({"action": {"name": "system_button", "button": "Back"}}, '{"PRESS":"BACK"}'),
        ({"action": "enter"}, '{"PRESS":"ENTER"}'), ({"action": "finished"}, '{"STATUS":"finish"}'),
        ({"action": {"name": "terminate", "status": "infeasible"}}, '{"STATUS":"impossible"}'),
        ({"regions": [{"bbox": [0, 0, 9, 9]}, {"action": "home"}], "image_size": SCREEN}, '{"PRESS":"HOME"}'),
        ({"regions": [{"bbox": [0, 0, 9, 9]}, {"bbox": [567, 568, 612, 642]}], "image_size": SCREEN}, point(546, 252)),
    ],
)  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target, response):
    scores = RECIPE.score([response, "{}"], [target] * 2)
    assert scores.acc.tolist() == [1.0, 0.0]
    assert scores.total[0] > 1.99


def test_an_action_that_the_source_has_no_word_for_is_matched_by_nothing():
    scores = RECIPE.score(['{"TYPE":"Clock"}', '{"PRESS":"HOME"}'], [{"action": "open_app"}] * 2)
    assert scores.total.tolist() == pytest.approx([-0.4, -0.4])


def test_the_box_stays_as_it_was_and_further_fields_are_kept():
    target = {**BOX, "id": "a7", "extra": {"kept": 1}}
    read = RECIPE.read_targets([target])
    assert read.rows[0].id == "a7"
    assert read.rows[0].extra["kept"] == 1
    assert forms_of(read) == [{"POINT": [546, 252]}]
    for width, height in ((1080, 2400), (333, 777), (1919, 1079)):
        box = [width // 3, height // 3, width // 3 + 40, height // 3 + 40]
        hits = [
            (x, y) for x in range(300, 480, 7) for y in range(300, 480, 7)
            if RECIPE.score(point(x, y), {"POINT": [1, 1], "bbox": box}, image_sizes=[width, height]).acc[0]
        ]  # fmt: skip
        assert hits == [
            (x, y) for x in range(300, 480, 7) for y in range(300, 480, 7)
            if box[0] <= int(x / 1000 * width) <= box[2] and box[1] <= int(y / 1000 * height) <= box[3]
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"POINT": [1, 2, 3]}, "point"), ({"POINT": ["1", "2"]}, "point"), ({"POINT": [1, 9999]}, "point"),
        ({"POINT": "no", "bbox": [1, 2, 3, 4]}, "point"),
        ({"POINT": [1, 2], "bbox": [1, 2, 3]}, "bbox"), ({"POINT": [1, 2], "bbox": [[3, 4], [1, 2]]}, "bbox"),
        ({"POINT": [1, 2], "bbox": [[1, 2], [3, 4]]}, "image_size"),
        ({"POINT": [1, 2], "to": "UP"}, "action.direction"),
        ({"TYPE": 5}, "action.text"), ({"PRESS": 5}, "action.button"), ({"duration": "5"}, "action.duration"),
        ({"POINT": [1, 2], "CLEAR": True}, "CLEAR"), ({"refusal": True}, "refusal"), ("(1, 2)", "target"),
        ("null", "target"), ('{"POINT": [1', "target"), ([1, 2, 3, 4], "target"), ("", "target"),
    ],
)  # fmt: skip
def test_a_target_that_does_not_fit_is_an_error(target, field):
    with pytest.raises(gr.TargetError, match=rf"field '{field}'"):
        RECIPE.score(point(1, 2), target)


def test_a_miss_can_earn_more_than_a_hit():
    # A weakness of the source: the nearest misses lose less than a hit far from the centre of a large box.
    small = {"POINT": [546, 252], "bbox": [[585, 600], [594, 609]], "image_size": SCREEN}
    large = {"POINT": [500, 500], "bbox": [[30, 900], [1050, 1500]], "image_size": SCREEN}
    scores = RECIPE.score([point(546, 259), point(944, 500)], [small, large])
    assert scores.acc.tolist() == [0.0, 1.0]
    assert scores.parts["args"].tolist() == pytest.approx([0.9965, 0.95 + 0.05 * 0.521**3], abs=1e-12)
    assert args(point(46, 252), BOX) == pytest.approx(0.75)
    assert args(point(1000, 1000), {"POINT": [137, 138]}) == pytest.approx(0.1375)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 900), st.integers(0, 2000), st.integers(1, 4000))
@example(1000, 1000, 0, 0, 4000)
def test_points_follow_the_formula_and_stay_within_bounds(x, y, left, top, side):
    size = [2 * side + 1000, 3 * side + 2100]
    box = [left, top, left + side // 2, top + side]
    target = {"POINT": [400, 300], "bbox": box, "image_size": size}
    across, down = int(x / 1000 * size[0]), int(y / 1000 * size[1])
    worth = 1 - (abs(x - 400) + abs(y - 300)) / 2000
    if box[0] <= across <= box[2] and box[1] <= down <= box[3]:
        delta = max(abs(across - (box[0] + box[2]) / 2), abs(down - (box[1] + box[3]) / 2))
        worth = max(0.0, 0.95 + 0.05 * (1 - delta / 1000) ** 3)
    assert args(point(x, y), target) == pytest.approx(worth, abs=1e-9)


@pytest.mark.parametrize("kept", [5, {}, {"POINT": "x"}, {"POINT": [1]}, {"other": 1}, None])
def test_what_users_keep_under_the_name_of_the_source_is_not_taken_for_its_object(kept):
    target = {"action": "wait", "extra": {"agentcpm": kept}}
    scores = RECIPE.score(['{"POINT": [1, 2]}', '{"duration": 200}'], [target] * 2)
    assert scores.acc[0] == 0
    assert scores.total[0] < scores.total[1]
