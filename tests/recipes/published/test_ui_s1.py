"""UI-S1's step reward by hand: a tenth for the format, the rest for the action, and returns over a trajectory."""

import json

import pytest

import grounding_rewards as gr
from grounding_rewards.testing import check_recipe
from tests.golden import harness

UI_S1 = gr.recipe("ui-s1")
# The model saw the screen at half its size.
SIZES = {"image_sizes": (1000, 2000), "model_image_sizes": (500, 1000)}
BOX = {"action": "click", "coordinate": [240, 600], "candidate_bbox": [200, 560, 280, 640]}
POINT = {"action": "click", "coordinate": [500, 1000]}
TYPE = {"action": "type", "text": "hello"}
WAIT = {"action": "wait"}


def native(wanted, **more):
    return {"check_options": wanted, "num_steps": 4, **more}


def answer(thought="plan", **said):
    return f"<think>{thought}</think>\n<action>{json.dumps(said)}</action>"


def click(x, y, action="click"):
    return answer(action=action, coordinate=[x, y])


def swipe(x1, y1, x2, y2):
    return answer(action="swipe", coordinate=[x1, y1], coordinate2=[x2, y2])


def scored(response, wanted, recipe=UI_S1):
    return recipe.score(response, wanted if "check_options" in wanted else native(wanted), **SIZES)


def parts(response, wanted):
    """kind, match, action, format, and the total."""
    scores = scored(response, wanted)
    return [float(scores.parts[name][0]) for name in ("kind", "match", "action", "format")] + [float(scores.total[0])]


RIGHT, SAME = [0.5, 1, 1, 1, 1.0], [0.5, 0, 0.5, 1, pytest.approx(0.55)]
OTHER, NOTHING = [0.1, 0, 0.1, 1, pytest.approx(0.19)], [0, 0, 0, 1, 0.1]


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        (120, 300, RIGHT),  # the coordinate itself, in the model's pixels
        (100, 280, RIGHT), (140, 320, RIGHT),  # corners of the box
        (97, 277, RIGHT), (143, 323, RIGHT),  # inside the box of 1.2 times its size: 192 to 288 by 552 to 648
        (95, 300, SAME), (145, 300, SAME), (120, 275, RIGHT),  # 0.05, 0.05 and 0.025 of the screen off the coordinate
        (120, 355, SAME), (-120, 300, SAME), (1e300, 300, SAME),
    ],
)  # fmt: skip
def test_a_click_in_the_enlarged_box_or_near_the_coordinate(x, y, found):
    assert parts(click(x, y), BOX) == found


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [(250, 500, RIGHT), (269.5, 500, RIGHT), (270, 500, SAME), (250, 539.5, RIGHT), (250, 540, SAME), (0, 0, SAME)],
)
@pytest.mark.parametrize("action", ["click", "long_press"])
def test_a_coordinate_alone_has_a_reach_of_4_percent_of_the_screen(action, x, y, found):
    # 0.54 - 0.5 is a little more than 0.04.
    assert parts(click(x, y, action), {**POINT, "action": action}) == found


def test_a_coordinate_outside_its_box_counts_beside_it():
    apart = {**BOX, "coordinate": [700, 1500]}
    assert [parts(click(*xy), apart) for xy in ((120, 300), (350, 750), (250, 500))] == [RIGHT, RIGHT, SAME]


def test_several_boxes_and_none():
    several = {**BOX, "candidate_bbox": [[200, 560, 280, 640], [700, 560, 780, 640]]}
    assert [parts(click(*xy), several) for xy in ((120, 300), (370, 300), (250, 300))] == [RIGHT, RIGHT, SAME]
    assert parts(click(120, 300), {**BOX, "candidate_bbox": []}) == RIGHT
    assert parts(click(120, 300), {**BOX, "candidate_bbox": None}) == RIGHT


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"text": "hello"}, RIGHT), ({"text": " HELLO "}, RIGHT), ({"text": "say hello"}, RIGHT),
        ({"text": "e"}, RIGHT), ({"text": ""}, RIGHT),  # weakness 19: listed under exploits
        ({"text": "hi"}, SAME), ({}, NOTHING), ({"text": 5}, NOTHING), ({"text": None}, NOTHING),
    ],
)  # fmt: skip
def test_typed_text_is_right_where_one_contains_the_other(said, found):
    assert parts(answer(action="type", **said), TYPE) == found
    assert parts(answer(action="open", **said), {**TYPE, "action": "open"}) == found


@pytest.mark.parametrize(
    ("button", "found"), [("Back", RIGHT), (" back ", RIGHT), ("Home", SAME), ("", SAME), (None, NOTHING)]
)
def test_buttons(button, found):
    assert parts(answer(action="system_button", button=button), {"action": "system_button", "button": "back "}) == found


def test_actions_that_need_nothing():
    assert parts(answer(action="wait"), WAIT) == RIGHT
    assert parts(answer(action="terminate", status="failure"), {"action": "terminate"}) == RIGHT
    assert parts(answer(action="Wait"), WAIT) == OTHER
    assert parts(answer(action="wait"), {"action": "terminate"}) == OTHER


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"action": "click", "coordinate": [120, 300]}, {**BOX, "text": ""}),
        ({"action": "click", "coordinate": [120, 300]}, {**BOX, "button": "Back"}),
        ({"action": "wait"}, {"action": "wait", "coordinate": [200, 150], "candidate_bbox": [100, 100, 300, 200]}),
        ({"action": "type", "text": "hi"}, {"action": "type", "text": "hi", "coordinate": [200, 150]}),
        ({"action": "terminate"}, {"action": "terminate", "text": "done", "button": None, "coordinate": None}),
    ],
)
def test_of_the_target_only_what_its_action_takes_is_asked_for(said, wanted):
    assert parts(answer(**said), wanted) == RIGHT


def test_white_space_is_part_of_a_text():
    assert parts(answer(action="type", text=" hello"), {"action": "type", "text": "hello world"}) == SAME
    assert parts(answer(action="type", text="hello "), {"action": "type", "text": "hello world"}) == RIGHT
    assert parts(answer(action="type", text="hello"), {"action": "type", "text": " hello"}) == RIGHT
    assert parts(answer(action="key", text=" enter"), {"action": "key", "text": "enter key"}) == SAME


@pytest.mark.parametrize("name", ["", None, 5, True, ["click"], {}])
def test_an_action_that_has_no_name_is_another_one(name):
    assert parts(answer(action=name, coordinate=[120, 300]), BOX) == OTHER
    assert parts(answer(action=name), {**WAIT, "annotation": "HARMFUL"}) == [0.1, 0, 0.9, 1, pytest.approx(0.91)]
    many = UI_S1.score([answer(action=name), answer(name=5)] * 30, [native(BOX)] * 60, **SIZES)
    assert many.parts["kind"].tolist() == [0.1, 0.0] * 30


@pytest.mark.parametrize(
    "said", ["[1]", '["action"]', '"action"', "null", '{"Action": "click"}', "{}", '{"action": "click"', ""]
)
def test_an_object_without_an_action_is_none(said):
    assert parts(f"<think>plan</think><action>{said}</action>", BOX)[0] == 0.0


def line(said, wanted, thought="plan"):
    extra = {"width": 1000, "height": 2000, "resized_width": 1000, "resized_height": 2000}
    response = f"<think>{thought}</think>\n<action>{said}</action>"
    return {"response": response, "ground_truth": native(wanted), "extra": extra}


SWIPE = {"action": "swipe", "coordinate": [500, 200], "coordinate2": [500, 800]}
FROM = '{{"action": "swipe", "coordinate": {}, "coordinate2": [500, 800]}}'


@pytest.mark.parametrize(
    ("said", "wanted", "thought", "name", "total"),
    [
        (FROM.format("[NaN, 200]"), SWIPE, "plan", "no-numbers", 0.1),
        (FROM.format("[true, 200]"), SWIPE, "plan", "no-numbers", 0.1),
        (FROM.format("[500, 200]"), SWIPE, "plan", "flipped-swipe", 1.0),
        (FROM.format("[500, 200]"), SWIPE, "</think><think>a", "flipped-swipe", 0.9),
        (FROM.format("[500, 1e13]"), SWIPE, "plan", "flipped-swipe", 0.55),
        (FROM.format("[500, 1" + "0" * 400 + "]"), SWIPE, "plan", None, 0.1),
        ('{"action": "click", "coordinate": [200, 150], "coordinate2": [NaN, 1]}',
         {"action": "click", "coordinate": [200, 150]}, "plan", None, 1.0),
        ('{"action": "key", "text": "ENTER"}', {"action": "key", "text": "enter"}, "plan", "key-and-answer", 1.0),
        ('{"action": "key", "text": "ENTER"}', {"action": "key", "text": "enter"}, "", "key-and-answer", 0.9),
        ('{"action": "key", "text": " enter"}', {"action": "key", "text": "enter it"}, "", "key-and-answer", 0.45),
        ('{"action": "key", "text": "enter"}', {"action": "key"}, "plan", "bad-target", 0.0),
        ('{"action": "type", "text": ""}', {"action": "key", "text": "enter"}, "plan", "key-and-answer", 0.55),
        ('{"action": "type", "text": "it"}', {"action": "answer", "text": "It is 42"}, "", "key-and-answer", 0.45),
        ('{"action": "type", "text": "tab"}', {"action": "key", "text": "enter"}, "plan", None, 0.55),
        ('{"action": "type"}', {"action": "key", "text": "enter"}, "plan", None, 0.1),
    ],
)  # fmt: skip
def test_what_a_deviation_states_is_what_is_scored(said, wanted, thought, name, total):
    given = line(said, wanted, thought)
    found = harness.deviation("uis1", given)
    scores = harness.score("uis1", UI_S1, given)
    assert (found.name if found else None, scores["total"]) == (name, pytest.approx(total, abs=1e-12))
    stated = harness.stated("uis1", UI_S1, found, given) if found else {}
    assert {key: scores[key] for key in stated} == pytest.approx(dict(stated), abs=1e-12)


@pytest.mark.parametrize(
    ("said", "wanted", "worth"),
    [
        ("", "abc", RIGHT), ("abc", "", RIGHT), ("", "", RIGHT), (" ", "abc", SAME), (" ", "a c", RIGHT),
        ("b", "ABC", RIGHT), ("x", "abc", SAME), (None, "abc", NOTHING), (5, "abc", NOTHING), ([""], "abc", NOTHING),
    ],
)  # fmt: skip
def test_texts_of_every_action_that_takes_one(said, wanted, worth):
    # Nothing typed is part of every text: the exploit empty-text.
    for name in ("type", "open", "answer", "key"):
        assert parts(answer(action=name, text=said), {"action": name, "text": wanted}) == worth
    assert parts(answer(action="type", text=said), {"action": "open", "text": wanted}) == OTHER
    assert parts(answer(action="terminate", text=said), {"action": "terminate"}) == RIGHT
    assert parts(answer(action="type"), {"action": "type", "text": wanted}) == NOTHING


@pytest.mark.parametrize("missing", [[], [200], ["200", "150"], [None, 1], None, "200, 150", [True, False]])
def test_a_click_without_a_coordinate_is_worth_less_than_another_action(missing):
    response = answer(action="click", coordinate=missing)
    assert parts(response, BOX) == NOTHING
    assert parts(response, {**BOX, "action": "long_press"}) == OTHER


UP, DOWN, LEFT, RIGHTWARDS = (250, 400, 250, 100), (250, 100, 260, 400), (400, 250, 100, 250), (100, 250, 400, 200)


@pytest.mark.parametrize(
    ("direction", "ends"), [("down", UP), ("up", DOWN), ("left", LEFT), ("right", RIGHTWARDS)]
)  # fmt: skip
def test_a_swipe_by_the_direction_that_the_data_gives(direction, ends):
    wanted = {"action": "swipe", "direction": direction, "coordinate": [0, 0], "coordinate2": [0, 0]}
    for way in (UP, DOWN, LEFT, RIGHTWARDS):
        assert parts(swipe(*way), wanted) == (RIGHT if way == ends else SAME)


@pytest.mark.parametrize("ends", [UP, DOWN, LEFT, RIGHTWARDS])
def test_a_swipe_by_the_points_of_the_target_goes_the_same_way(ends):
    # Weakness 30: the source turns one of two upright swipes around.
    wanted = {"action": "swipe", "coordinate": list(ends[:2]), "coordinate2": list(ends[2:])}
    for way in (UP, DOWN, LEFT, RIGHTWARDS):
        assert parts(swipe(*way), wanted) == (RIGHT if way == ends else SAME)


def test_swipes_without_ends_or_direction():
    wanted = {"action": "swipe", "direction": "down"}
    assert parts(swipe(250, 100, 250, 100), wanted) == SAME
    assert parts(answer(action="swipe", coordinate=[250, 100]), wanted) == NOTHING
    assert parts(answer(action="swipe", coordinate2=[250, 100]), wanted) == NOTHING
    assert parts(answer(action="swipe", direction="down"), wanted) == NOTHING
    assert parts(answer(action="wait"), wanted) == OTHER


def test_a_swipe_is_judged_without_the_size_of_the_screen():
    scores = UI_S1.score(swipe(*UP), native({"action": "swipe", "direction": "down"}))
    assert scores.total.tolist() == [1.0]


@pytest.mark.parametrize("name", ["key", "answer"])
def test_keys_and_answers_can_be_matched(name):
    # Weakness 30: the source compares their names with "type".
    wanted = {"action": name, "text": "enter"}
    assert parts(answer(action=name, text="Enter"), wanted) == RIGHT
    assert parts(answer(action=name, text="tab"), wanted) == SAME
    assert parts(answer(action=name), wanted) == NOTHING
    assert parts(answer(action="type", text="enter"), wanted) == SAME
    assert parts(answer(action="key" if name == "answer" else "answer", text="enter"), wanted) == OTHER


@pytest.mark.parametrize(
    ("response", "formed", "total"),
    [
        (answer(action="wait"), 1, 1.0),
        (answer("a < b, a <i>b</i>", action="wait"), 1, 1.0),
        ("x <think>\n a</think> y <action>\n{\"action\": \"wait\"}\n</action> z", 1, 1.0),
        ('<action>{"action": "wait"}</action><think>late</think>', 1, 1.0),
        ('<think><action>{"action": "wait"}</action></think>', 1, 1.0),
        ('<action>{"action": "wait"}</action>', 0, 0.9),
        ('<think></think><action>{"action": "wait"}</action>', 0, 0.9),
        ('<think> \n\xa0</think><action>{"action": "wait"}</action>', 0, 0.9),
        ('<think></think><think>a</think><action>{"action": "wait"}</action>', 0, 0.9),
        ('<think>a<action>{"action": "wait"}</action>', 0, 0.9),
        ("<think>a</think><action>{}</action>", 1, 0.1),
        ("<think>a</think><action>[]</action>", 1, 0.1),
        ("<think>a</think><action>null</action>", 1, 0.1),
        ("<think>a</think><action>[wait]</action>", 0, 0.0),
        ("<think>a</think><action></action>", 0, 0.0),
        ('<think>a</think><action>{"action": "wait"}', 0, 0.0),
        ('<think>a</think>{"action": "wait"}', 0, 0.0),
        ('<think>a</think><action>x</action><action>{"action": "wait"}</action>', 0, 0.0),
        ("<think>a</think>" + answer(action="wait").upper(), 0, 0.0),
        ("", 0, 0.0),
        (None, 0, 0.0),
    ],
)  # fmt: skip
def test_thought_and_json_make_the_format(response, formed, total):
    scores = scored(response, WAIT)
    assert (scores.parts["format"].tolist(), scores.total.tolist()) == ([formed], [total])


@pytest.mark.parametrize(
    ("response", "annotation", "total", "acc"),
    [
        (answer(action="wait"), "GOOD", 1.0, 1), (answer(action="wait"), None, 1.0, 1),
        (answer(action="wait"), "HARMFUL", 0.1, 0), (answer(action="terminate"), "HARMFUL", 0.1 + 0.9 * 0.9, 1),
        (answer(action="wait"), "NEUTRAL", 0.55, 1), (answer(action="terminate"), "NEUTRAL", 0.55, 0),
        ("nothing", "HARMFUL", 0.0, 0), ("nothing", "NEUTRAL", 0.0, 0),
        ("<think>a</think><action>{}</action>", "HARMFUL", 0.1, 0), (answer(action="wait"), ["HARMFUL"], 1.0, 1),
    ],
)  # fmt: skip
def test_annotated_steps(response, annotation, total, acc):
    scores = scored(response, {**WAIT, "annotation": annotation})
    assert scores.total.tolist() == pytest.approx([total], abs=1e-12)
    assert scores.acc.tolist() == [acc]


@pytest.mark.parametrize(("steps", "share"), [(4, 0.25), (1, 1.0), (0, 1.0), (None, 1.0)])
def test_a_matched_step_is_its_share_of_the_trajectory(steps, share):
    target = native(WAIT)
    target["num_steps"] = steps
    scores = UI_S1.score([answer(action="wait"), answer(action="click")], [target] * 2)
    assert scores.parts["step_reward"].tolist() == [share, 0.0]


def test_the_format_weight_is_an_option():
    recipe = gr.recipe("ui-s1", format_weight=0.5)
    assert scored(answer(action="dance"), TYPE, recipe).total.tolist() == [0.5 + 0.5 * 0.1]
    assert scored('<action>{"action": "wait"}</action>', WAIT, recipe).total.tolist() == [0.5]


@pytest.mark.parametrize("options", [{}, {"format_weight": 0.0}, {"returns": True}, {"returns": True, "gamma": 0.9}])
def test_exploits_earn_what_is_said_and_bounds_hold(options):
    recipe = gr.recipe("ui-s1", **options)
    for exploit in recipe.exploits:
        example = exploit.example
        scores = recipe.score(
            example.response, example.target, image_sizes=example.image_size, model_image_sizes=example.model_image_size
        )
        assert scores.total[0] == pytest.approx(exploit.payoff, abs=1e-12), exploit.name
    assert gr.recipe(recipe.to_dict()) == recipe


@pytest.mark.slow
def test_it_keeps_what_every_recipe_promises():
    check_recipe(gr.recipe("ui-s1", returns=True))
