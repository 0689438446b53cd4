"""Actions as objects: tool calls, tagged dicts in either quote, ``<action>`` JSON, and their many keys."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing import ACTION_JSON
from grounding_rewards.parsing.objects import read_objects
from grounding_rewards.parsing.texts import compiled
from tests.cases import cases
from tests.parsing.acts import act
from tests.parsing.fragments import NUMERALS, SPACES
from tests.parsing.reading import read


def call(name="computer_use", **arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


READ = [
    # computer_use
    (call(action="left_click", coordinate=[512, 384]), ("click", [512, 384], {})),
    (call(action="right_click", coordinate=[512.5, 384]), ("right_click", [512.5, 384], {})),
    (call(action="triple_click", coordinate=[1, 2]), ("triple_click", [1, 2], {})),
    (call(action="left_click"), ("click", None, {})),
    (call(action="mouse_move", coordinate=[1, 2]), ("hover", [1, 2], {})),
    (call(action="left_click_drag", coordinate=[1, 2]), ("drag", None, {"to": [1, 2]})),
    (call(action="left_click_drag", start_coordinate=[1, 2], coordinate=[3, 4]), ("drag", [1, 2], {"to": [3, 4]})),
    (call(action="left_click_drag", start_coordinate=[1, 2], end_coordinate=[3, 4]), ("drag", [1, 2], {"to": [3, 4]})),
    (call(action="left_click_drag", start_coordinate=[1, 2]), ("drag", [1, 2], {})),
    (call(action="type", text="it's \"so\""), ("type", None, {"text": 'it\'s "so"'})),
    (call(action="type", text=""), ("type", None, {"text": ""})),
    (call(action="type", text=2024), ("type", None, {"text": "2024"})),
    (call(action="type"), ("type", None, {})),
    (call(action="key", keys=["ctrl", "C"]), ("key", None, {"keys": ("ctrl", "c")})),
    (call(action="key", keys="ctrl+c"), ("key", None, {"keys": ("ctrl", "c")})),
    (call(action="key", keys=["Return"]), ("enter", None, {})),
    (call(action="scroll", pixels=-300), ("scroll", None, {"direction": "down"})),
    (call(action="scroll", coordinate=[1, 2], pixels=300), ("scroll", [1, 2], {"direction": "up"})),
    (call(action="hscroll", pixels=3), ("scroll", None, {"direction": "right"})),
    (call(action="scroll", coordinate=[1, 2], scroll_direction="down", scroll_amount=3),
     ("scroll", [1, 2], {"direction": "down"})),
    (call(action="wait", time=2), ("wait", None, {"duration": 2})),
    (call(action="terminate", status="success"), ("finished", None, {"status": "success"})),
    (call(action="answer", text="42"), ("answer", None, {"text": "42"})),
    (call(action="screenshot"), ("screenshot", None, {})),
    (call(action="left_mouse_down"), ("mouse_down", None, {})),
    # mobile_use
    (call("mobile_use", action="long_press", coordinate=[1, 2], time=2), ("long_press", [1, 2], {"duration": 2})),
    (call("mobile_use", action="swipe", coordinate=[500, 900], coordinate2=[510, 100]),
     ("scroll", [500, 900], {"to": [510, 100]})),
    (call("mobile_use", action="system_button", button="Back"), ("back", None, {})),
    (call("mobile_use", action="system_button", button="Enter"), ("enter", None, {})),
    (call("mobile_use", action="open", text="Clock"), ("open_app", None, {"app": "Clock"})),
    (call("mobile_use", action="key", text="volume_up"), ("key", None, {"keys": ("volume_up",)})),
    # other calls
    (call("grounding", action="click", coordinate=[1, 2]), ("click", [1, 2], {})),
    (call("click", coordinate=[1, 2]), ("click", [1, 2], {})),
    (call("teleport", action="teleport", coordinate=[1, 2]), ("teleport", [1, 2], {})),
    ('{"name": "open_app", "parameters": {"app_name": "Clock"}}', ("open_app", None, {"app": "Clock"})),
    ('{"type": "function", "function": {"name": "x", "arguments": "{\\"action\\": \\"wait\\", \\"time\\": 5}"}}',
     ("wait", None, {"duration": 5})),
    # tagged Python and JSON
    ("<think>a</think><answer>[{'action': 'click', 'coordinate': [5, 6]}]</answer>", ("click", [5, 6], {})),
    ("<think>a</think><answer>[{\"action\": \"click\", \"coordinate\": [5, 6]}]</answer>", ("click", [5, 6], {})),
    ("<answer>[{'action': 'click', 'coordinate': (5, 6)}]</answer>", ("click", [5, 6], {})),
    ("<answer>[{'action': 'click', 'point': [5, 6], 'input_text': 'no input text'}]</answer>", ("click", [5, 6], {})),
    ("[{'action': 'type', 'point': [-100, -100], 'input_text': \"it's\"}]", ("type", None, {"text": "it's"})),
    ("[{'action': 'scroll', 'point': [-100, -100], 'input_text': 'DOWN'}]", ("scroll", None, {"direction": "down"})),
    ("[{'action': 'press_back', 'point': [-100, -100], 'input_text': 'no input text'}]", ("back", None, {})),
    ("[{'action': 'open_app', 'point': [-100, -100], 'input_text': 'Clock'}]", ("open_app", None, {"app": "Clock"})),
    ("[{'action': 'scroll', 'direction': 'up'}]", ("scroll", None, {"direction": "up"})),
    ("[{'action': 'input_text', 'input_text': 'up'}]", ("type", None, {"text": "up"})),
    ("[{'action': 'open_app', 'app': 'Clock'}]", ("open_app", None, {"app": "Clock"})),
    ("{'action': 'CLICK', 'value': None, 'position': [0.49, 0.42]}", ("click", [0.49, 0.42], {})),
    ("{'action':'click','mean':[10,20],'variance':[3,4]}", ("click", [10, 20], {})),
    ('<action>{"action":"click","coordinate":[540,1200]}</action>', ("click", [540, 1200], {})),
    ('<action>{"action": "system_button", "button": "back "}</action>', ("back", None, {})),
    ('{"action": "click", "point_2d": [5, 6], "label": "save"}', ("click", [5, 6], {})),
    ('{"action": "click", "bbox_2d": [0, 0, 10, 20], "point_2d": [5, 6]}', ("click", [5, 6], {})),
    ('{"action": "click", "bbox_2d": [0, 0, 10, 20]}', ("click", [5, 10], {})),
    ('{"action": "click", "coordinate": [[0, 0], [10, 20]]}', ("click", [5, 10], {})),
    ('{"action": "click", "coordinate": {"x": 5, "y": 6}}', ("click", [5, 6], {})),
    ('{"action": "drag", "coordinate": [[1, 2], [3, 4]]}', ("drag", [1, 2], {"to": [3, 4]})),
    ('{"action": "drag", "start_box": [0, 0, 2, 4], "end_box": [2, 2, 4, 6]}', ("drag", [1, 2], {"to": [3, 4]})),
    ('{"action": "click", "coordinate": null}', ("click", None, {})),
    ('{"action": "click", "coordinate": [], "text": null}', ("click", None, {})),
    ('{"action": "click", "coordinate": [99999999999999, -9e99]}', ("click", [1e12, -1e12], {})),
    # AndroidControl and AndroidWorld
    ('{"action_type": "click", "x": 5, "y": 6}', ("click", [5, 6], {})),
    ('{"action_type": "input_text", "text": "hello"}', ("type", None, {"text": "hello"})),
    ('{"action_type": "open_app", "app_name": "Clock"}', ("open_app", None, {"app": "Clock"})),
    ('{"action_type": "navigate_home"}', ("home", None, {})),
    ('{"action_type": "keyboard_enter"}', ("enter", None, {})),
    ('{"action_type": "status", "goal_status": "Infeasible"}', ("finished", None, {"status": "Infeasible"})),
    # OpenAI
    ('{"type":"click","button":"left","x":5,"y":6}', ("click", [5, 6], {})),
    ('{"type":"click","button":"right","x":5,"y":6}', ("right_click", [5, 6], {})),
    ('{"type":"scroll","x":5,"y":6,"scroll_x":0,"scroll_y":100}', ("scroll", [5, 6], {"direction": "down"})),
    ('{"type":"scroll","x":5,"y":6,"scroll_x":-100,"scroll_y":50}', ("scroll", [5, 6], {"direction": "left"})),
    ('{"type":"drag","path":[{"x":1,"y":2},{"x":9,"y":9},{"x":3,"y":4}]}', ("drag", [1, 2], {"to": [3, 4]})),
    ('{"type":"keypress","keys":["CTRL","a"]}', ("key", None, {"keys": ("ctrl", "a")})),
    ('{"type":"computer_call","action":{"type":"wait"},"call_id":"a"}', ("wait", None, {})),
    ('{"type":"type","text":"hello"}', ("type", None, {"text": "hello"})),
    # BTL-UI's, and an object in an object
    ('[{"Plan": "p", "Action": {"function": "Swipe", "direction": "up"}}]',
     ("scroll", None, {"direction": "down", "swiped": True})),
    ('{"thought": "x", "action": {"name": "x", "arguments": {"action": "wait"}}}', ("wait", None, {})),
    ('{"action": "click", "args": {"coordinate": [1, 2]}}', ("click", [1, 2], {})),
    # names and places
    ('{"type": "input", "point_2d": [5, 6], "action": "tap"}', ("click", [5, 6], {})),
    ('{"action": {"type": "long_press", "coordinate": [5, 6]}}', ("long_press", [5, 6], {})),
    ('{"action":"swipe","startCoordinate":[5,9],"endCoordinate":[5,1]}',
     ("scroll", [5, 9], {"to": [5, 1]})),
    ('{"action":"drag","from":[1,2],"to":[3,4]}', ("drag", [1, 2], {"to": [3, 4]})),
    ('{"action":"type","text":"a","from":"b"}', ("type", None, {"text": "a"})),
    ('{"action":"scroll","pixels":"-500"}', ("scroll", None, {"direction": "down"})),
    ('{"action":"press_back","point":"none"}', ("back", None, {})),
    ('{"action":"wait","coordinate":[null,null]}', ("wait", None, {})),
    ('{"action":"type","coordinate":["1","2"],"text":"a"}', ("type", [1, 2], {"text": "a"})),
    ('{"action":"hotkey","hotkey":"ctrl c"}', ("key", None, {"keys": ("ctrl", "c")})),
    ('{"action":"double_click","button":"left","coordinate":[5,6]}', ("double_click", [5, 6], {})),
    ('{"action":"double_click","button":"right","coordinate":[5,6]}', ("right_double_click", [5, 6], {})),
    # slips
    ("[{'action': 'type', 'input_text': 'it's'}]", ("type", None, {"text": "it's"})),
    ("{'action': 'type', 'text': 'it's Ann's', 'reason': \"don't\"}", ("type", None, {"text": "it's Ann's"})),
    ('{"action": "type", "text": "a\nb"}', ("type", None, {"text": "a\nb"})),
    ("{'action': 'type', 'text': 'a\nb'}", ("type", None, {"text": "a\nb"})),
    ('{"action": "click", "coordinate": [5, 6],}', ("click", [5, 6], {})),
    ('{"name": "a", "arguments": {"action": "click", "coordinate": [5, 6]}', ("click", [5, 6], {})),
    ('{"action": " click ", "coordinate": [5, 6]}', ("click", [5, 6], {})),
]  # fmt: skip


@cases(("text", "expected"), READ)
def test_what_is_read(text, expected):
    assert act(text, ACTION_JSON) == expected


@cases(
    "text",
    [
        '{"action": "click", "coordinate": [1]}', '{"action": "click", "coordinate": [1, 2, 3]}',
        '{"action": "click", "coordinate": ["1", "b"]}',
        '{"action": "click", "coordinate": [true, 2]}', '{"action": "click", "coordinate": [NaN, 2]}',
        '{"action": "click", "coordinate": [1e999, 2]}', '{"action": "click", "x": 1}', '{"action": 7}',
        '{"action": "click", "coordinate": [' + "9" * 5000 + ", 1]}", '{"action": null}', '{"type": "object"}',
        '{"action": "drag", "start_coordinate": [1, 2], "end_coordinate": [3]}', '{"arguments": {}}',
        "{'action': open('x', 'w')}", '{"action": "click"', '{"action"}',
        '{"action": "hover", "point": "none"}',
        '{"action": "swipe", "coordinate": [null, null]}', '{"action": "mouse_down", "point": "none"}',
        '{"type": "input", "point_2d": [5, 6]}', '{"type": "menu"}',
        "{'action': 'type', 'text': 'it's}", "{'action': 'type', 'text': it's}",
        '{"type": "drag", "path": [{"x": 1}]}', '{"action": []}', '{"action": {}}',
        '{"action": {"action": {"action": {"action": {"action": {"action": "wait"}}}}}}',
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_malformed(text):
    assert act(text, ACTION_JSON) == "MALFORMED"


@cases("text", ['{"point_2d": [1, 2]}', '{"coordinate": [1, 2]}', "act!", '{"name": "Back", "bbox_2d": [1, 2, 3, 4]}'])
def test_without_an_action_nothing_was_begun(text):
    assert act(text, ACTION_JSON) == "NO_ANSWER"


def test_several_actions():
    for text in (
        "[{'action': 'click', 'coordinate': [1, 2]}, {'action': 'type', 'text': 'a'}]",
        '{"actions": [{"action": "click", "coordinate": [1, 2]}, {"type": "type", "text": "a"}]}',
        call(action="left_click", coordinate=[1, 2]) + "\n" + call(action="type", text="a"),
    ):
        assert act(text, ACTION_JSON) == "SEVERAL_ANSWERS"
        assert act(text, ACTION_JSON, "first") == act(text, ACTION_JSON, "all") == ("click", [1, 2], {})
        assert act(text, ACTION_JSON, "last") == ("type", None, {"text": "a"})


def test_a_place_beside_an_action_is_another_answer():
    assert act('{"action": "wait"} or {"point_2d": [1, 2]}', ACTION_JSON) == "SEVERAL_ANSWERS"
    assert act('{"action": "click", "coordinate": ["a"]} {"action": "wait"}', ACTION_JSON) == ("wait", None, {})


def test_unknown_names_are_kept_and_reported():
    assert read('{"action": "Teleport", "coordinate": [1, 2]}', ACTION_JSON) == ([1, 2], "UNKNOWN_ACTION")
    assert act('{"action": "Teleport", "text": "a"}', ACTION_JSON) == ("Teleport", None, {"text": "a"})


def test_too_many():
    assert act('{"action": "wait"}' * 300, ACTION_JSON) == "TOO_MANY"
    assert act('{"action": "wait"}' * 3000 + '{"action": "type", "text": "a"}', ACTION_JSON, "last")[0] == "type"


QUOTES = st.sampled_from(["'", '"'])
WORDS = st.sampled_from(["click", "left_click", "type", "hover", "tap", "drag", "scroll", "", "Click", "wait"])
TEXT = st.text("ab'\"\\{}[ \n\té\ud800", max_size=6) | st.sampled_from(["no input text", "down", "\x7f", "\u2028"])
GAP = st.sampled_from(["", " ", "\n", *SPACES])
NUMBER = st.sampled_from(["5", "6.25", "-1", "-100", "0", *NUMERALS])


@st.composite
def objects(draw):
    quote = draw(QUOTES)
    q = lambda: draw(st.sampled_from([quote] * 9 + ["'"]))  # noqa: E731
    gap = lambda: draw(st.sampled_from(["", " ", " ", draw(GAP)]))  # noqa: E731
    action = f"{q()}action{q()}:{gap()}{q()}{draw(WORDS)}{q()}"
    key = draw(st.sampled_from(["coordinate", "point", "point_2d"]))
    place = f"{q()}{key}{q()}:{gap()}[{draw(NUMBER)},{gap()}{draw(NUMBER)}]"
    typed = f"{q()}{draw(st.sampled_from(['text', 'input_text']))}{q()}:{gap()}{q()}{draw(TEXT)}{q()}"
    fields = draw(st.sampled_from([[action, place], [action, typed], [action, place, typed], [place, action]]))
    body = "{" + f",{gap()}".join(fields) + "}"
    if draw(st.booleans()):
        body = f"{{{q()}name{q()}:{gap()}{q()}computer_use{q()},{gap()}{q()}arguments{q()}:{gap()}{body}}}"
    return draw(st.sampled_from(["", "<answer>[", "<tool_call>\n", "I {", "'", draw(TEXT)])) + body + draw(TEXT)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(objects())
def test_a_usual_form_is_what_the_function_reads(text):
    for pattern in ACTION_JSON.usual:
        found = compiled(pattern).search(text)
        if found:
            acts = read_objects(text)
            assert len(acts) == 1
            groups = found.groupdict()
            assert acts[0].name == groups["action"]
            assert acts[0].place == tuple(float(groups[key]) for key in "xy" if key in groups)
            assert acts[0].arguments == ({"text": groups["text"]} if "text" in groups else {})


def test_the_usual_forms_are_taken():
    usual = [
        call(action="left_click", coordinate=[512, 384]), call(action="type", text="hello"), READ[36][0], READ[39][0],
        '<action>{"action":"click","coordinate":[540,1200]}</action>', '{"action": "type", "text": "hello"}',
        "<answer>[{'action': 'type', 'text': 'hello'}]</answer>",
        "<answer>[{'action': 'click', 'coordinate': [5, 6]}]</answer>",
    ]  # fmt: skip
    for text in usual:
        assert any(compiled(pattern).search(text) for pattern in ACTION_JSON.usual), text


def test_a_numeral_after_rare_white_space_is_read():
    assert act('{"action":"wait","duration":"\\u001c5"}', ACTION_JSON) == ("wait", None, {"duration": 5.0})
