"""Actions as calls: UI-TARS, pyautogui, UI-Venus, Holo, CogAgent."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import ACTION_CALLS, AUTO_ACTION, parse
from grounding_rewards.parsing.calls import arguments_of, read_calls
from grounding_rewards.parsing.responses import MAX_LENGTH
from grounding_rewards.parsing.texts import compiled
from tests.cases import cases
from tests.parsing.acts import act
from tests.parsing.fragments import NUMERALS, SPACES
from tests.parsing.reading import read

READ = [
    # UI-TARS and Doubao
    ("click(start_box='(512,384)')", ("click", [512, 384], {})),
    ("Thought: Save (now).\nAction: click(start_box='<|box_start|>(512,384)<|box_end|>')", ("click", [512, 384], {})),
    ("Thought: Save it.\nAction: click(point='<point>512 384</point>')", ("click", [512, 384], {})),
    ("left_double(point='<point>512 384</point>')", ("double_click", [512, 384], {})),
    ("right_single(start_box=\"(512, 384)\")", ("right_click", [512, 384], {})),
    ("click(start_box='[500, 370, 524, 398]')", ("click", [512, 384], {})),
    ("click(start_box=(512,384))", ("click", [512, 384], {})),
    ("click(start_box=<|box_start|>(512,384)<|box_end|>)", ("click", [512, 384], {})),
    ("click(point='512 384')", ("click", [512, 384], {})),
    ("drag(start_box='<|box_start|>(1,2)<|box_end|>', end_box='<|box_start|>(3,4)<|box_end|>')",
     ("drag", [1, 2], {"to": [3, 4]})),
    ("drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')", ("drag", [1, 2], {"to": [3, 4]})),
    ("hotkey(key='ctrl c')", ("key", None, {"keys": ("ctrl", "c")})),
    ("hotkey(key='enter')", ("enter", None, {})),
    ("type(content='hello')", ("type", None, {"text": "hello"})),
    (r"type(content='it\'s \"so\" \\ \n')", ("type", None, {"text": 'it\'s "so" \\ \n'})),
    ("type(content='it's (1, 2), ok')", ("type", None, {"text": "it's (1, 2), ok"})),
    ('type(content="a), b")', ("type", None, {"text": "a), b"})),
    ("type(content='')", ("type", None, {"text": ""})),
    ("type(content='\\d \u4f60')", ("type", None, {"text": "\\d \u4f60"})),
    ("scroll(point='<point>1 2</point>', direction='down')", ("scroll", [1, 2], {"direction": "down"})),
    ("scroll(start_box='(1,2)', direction='left')", ("scroll", [1, 2], {"direction": "left"})),
    ("scroll(direction=down)", ("scroll", None, {"direction": "down"})),
    ("wait()", ("wait", None, {})),
    ("wait( )", ("wait", None, {})),
    ("finished(content='Done (all), yes.')", ("finished", None, {"text": "Done (all), yes."})),
    ("finished()", ("finished", None, {})),
    ("call_user()", ("call_user", None, {})),
    ("long_press(start_box='(1,2)', time='2')", ("long_press", [1, 2], {"duration": 2})),
    ("press_home()", ("home", None, {})),
    ("press_back()", ("back", None, {})),
    ("open_app(app_name='Clock')", ("open_app", None, {"app": "Clock"})),
    ("<answer>click(start_box='<|box_start|>(200,150)<|box_end|>')</answer>", ("click", [200, 150], {})),
    # pyautogui
    ("pyautogui.click(x=0.797, y=0.219)", ("click", [0.797, 0.219], {})),
    ("pyautogui.click(y=540, x=960)", ("click", [960, 540], {})),
    ("pyautogui.click(960, 540)", ("click", [960, 540], {})),
    ("pyautogui.click((960, 540))", ("click", [960, 540], {})),
    ("pyautogui.click()", ("click", None, {})),
    ("pyautogui.click(x=1, y=2, clicks=2, button='left')", ("double_click", [1, 2], {})),
    ("pyautogui.click(x=1, y=2, button='right')", ("right_click", [1, 2], {})),
    ("pyautogui.click(1, 2, 3)", ("triple_click", [1, 2], {})),
    ("```python\nimport pyautogui\npyautogui.doubleClick(x=1, y=2)\n```", ("double_click", [1, 2], {})),
    ("pyautogui.rightClick(1,2)", ("right_click", [1, 2], {})),
    ("pyautogui.moveTo(1, 2, duration=0.5)", ("hover", [1, 2], {"duration": 0.5})),
    ("pyautogui.dragTo(1, 2, duration=0.5)", ("drag", None, {"to": [1, 2], "duration": 0.5})),
    ("pyautogui.write('hello (x)', interval=0.1)", ("type", None, {"text": "hello (x)"})),
    ("pyautogui.typewrite(message='hello')", ("type", None, {"text": "hello"})),
    ("pyautogui.press('enter')", ("enter", None, {})),
    ("pyautogui.press('a')", ("key", None, {"keys": ("a",)})),
    ("pyautogui.press(['a'])", ("key", None, {"keys": ("a",)})),
    ("pyautogui.press('tab', presses=1)", ("key", None, {"keys": ("tab",)})),
    ("pyautogui.press('\\n')", ("enter", None, {})),
    ("pyautogui.press('\\t')", ("key", None, {"keys": ("tab",)})),
    ("hotkey(hotkey='ctrl c')", ("key", None, {"keys": ("ctrl", "c")})),
    ("pyautogui.doubleClick(x=1, y=2, button='right')", ("right_double_click", [1, 2], {})),
    ("pyautogui.doubleClick(1, 2, 0.1, 'right')", ("right_double_click", [1, 2], {})),
    ("pyautogui.doubleClick(x=1, y=2, button='left')", ("double_click", [1, 2], {})),
    ("pyautogui.click(x=1, y=2, clicks=2, button='right')", ("right_double_click", [1, 2], {})),
    ("press_back(point='none')", ("back", None, {})),
    ("type(content='a', point='<point>1</point>')", ("type", None, {"text": "a"})),
    # pyautogui's programs
    ("import time\npyautogui.click(1, 2)\ntime.sleep(1)", ("click", [1, 2], {})),
    ("pyautogui.sleep(1)\npyautogui.click(1, 2)\ncomputer.wait(2)", ("click", [1, 2], {})),
    ("pyautogui.moveTo(1, 2)\npyautogui.click()", ("click", [1, 2], {})),
    ("pyautogui.moveTo(1, 2)\ntime.sleep(1)\npyautogui.rightClick()", ("right_click", [1, 2], {})),
    ("pyautogui.moveTo(1, 2)\npyautogui.click(clicks=2)", ("double_click", [1, 2], {})),
    ("pyautogui.moveTo(1, 2)\npyautogui.scroll(-5)", ("scroll", [1, 2], {"direction": "down"})),
    ("pyautogui.moveTo(1, 2)\npyautogui.dragTo(3, 4, button='left')",
     ("drag", [1, 2], {"to": [3, 4], "button": "left"})),
    ("pyautogui.mouseDown(1, 2)\npyautogui.moveTo(3, 4)\npyautogui.mouseUp()", ("drag", [1, 2], {"to": [3, 4]})),
    ("pyautogui.moveTo(1, 2); pyautogui.mouseDown(); pyautogui.moveTo(9, 9); pyautogui.moveTo(3, 4); "
     "pyautogui.mouseUp()", ("drag", [1, 2], {"to": [3, 4]})),
    ("pyautogui.mouseDown(1, 2)\npyautogui.mouseUp(3, 4)", ("drag", [1, 2], {"to": [3, 4]})),
    ("pyautogui.keyDown('ctrl')\npyautogui.press('c')\npyautogui.keyUp('ctrl')",
     ("key", None, {"keys": ("ctrl", "c")})),
    ("pyautogui.keyDown('ctrl'); pyautogui.keyDown('alt'); pyautogui.press('c'); pyautogui.keyUp('ctrl'); "
     "pyautogui.keyUp('alt')", ("key", None, {"keys": ("ctrl", "alt", "c")})),
    ("pyautogui.hotkey('ctrl', 'c')", ("key", None, {"keys": ("ctrl", "c")})),
    ("pyautogui.keyDown('ctrl')", ("key_down", None, {"keys": ("ctrl",)})),
    ("pyautogui.scroll(-5)", ("scroll", None, {"direction": "down"})),
    ("pyautogui.scroll(5, x=1, y=2)", ("scroll", [1, 2], {"direction": "up"})),
    ("pyautogui.scroll(clicks=-5, x=1, y=2)", ("scroll", [1, 2], {"direction": "down"})),
    ("pyautogui.scroll(-5, 1, 2)", ("scroll", [1, 2], {"direction": "down"})),
    ("pyautogui.hscroll(-5)", ("scroll", None, {"direction": "left"})),
    ("pyautogui.teleport(1, 2)", ("teleport", [1, 2], {})),
    ("time.sleep(2)", ("wait", None, {"duration": 2})),
    # others
    ("<action>\nclick(x=512, y=384)\n</action>", ("click", [512, 384], {})),
    ("Click(352, 348)", ("click", [352, 348], {})),
    ("computer.triple_click(x=1, y=2)", ("triple_click", [1, 2], {})),
    ("computer.terminate(status='success')", ("finished", None, {"status": "success"})),
    ("response(answer='42')", ("answer", None, {"text": "42"})),
    ("swipe(from_coord=[1, 20], to_coord=[1, 5])",
     ("scroll", [1, 20], {"to": [1, 5]})),
    ("swipe(1, 20, 1, 5)", ("scroll", [1, 20], {"to": [1, 5]})),
    ("swipe('up')", ("scroll", None, {"direction": "down", "swiped": True})),
    ("drag((1, 2), (3, 4))", ("drag", [1, 2], {"to": [3, 4]})),
    ("scroll(1, 2, 'down')", ("scroll", [1, 2], {"direction": "down"})),
    ("CLICK(box=[[102,034,120,050]], element_info='x')", ("click", [111, 42], {})),
    ("<action>Scroll(start=(512, 900), end=(512, 100), direction='down')</action>",
     ("scroll", [512, 900], {"direction": "down", "to": [512, 100]})),
    ("<action>Click(box=(1,2))</action>", ("click", [1, 2], {})),
    ("<action>Launch(app='Clock')</action>", ("open_app", None, {"app": "Clock"})),
    ("PressBack()", ("back", None, {})),
    ("teleport(a=1)", ("teleport", None, {})),
    ("Action: teleport()", ("teleport", None, {})),
    ("select(ed) the button(s): click(1, 2)", ("click", [1, 2], {})),
    ("print(click(1, 2))", ("click", [1, 2], {})),
]  # fmt: skip


@cases(("text", "expected"), READ)
def test_what_is_read(text, expected):
    assert act(text, ACTION_CALLS) == expected


@cases(
    "text",
    [
        "click(start_box='')", "click(start_box='(512,3", "click(start_box='<|box_start|>(x1,y1)<|box_end|>')",
        "click(point='<point>512</point>')", "click(x=1)", "click(x=x, y=y)", "click(x=1, y=2", "click(1)", "click(s)",
        "drag(start_point='<point>1 2</point>', end_point='')", "type(s)", "home(page)", "back(1)", "wait('a')",
        "teleport()", "os.system('x')", "click(x=1, y=2]", "pyautogui.write(text)",
        "pyautogui.click(<|pointer_start|><|pointer_pad|><|pointer_end|>)", "(1, 2)", "click (1, 2)",
        "click(x=1, y=NaN)",
        "click(start_box='(1e3,2)')", "type(content='a", "press(1)", "click(1, 2, maybe)", "scroll(x=1, y=down)",
        "Action: the button(s)", "click('a')", "f(lambda: (1))", "click(((((((1, 2)))))))", "type(content=click(1, 2))",
        "click(], x=1, y=2)",
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_malformed(text):
    assert act(text, ACTION_CALLS) == "MALFORMED"


def test_without_a_parenthesis_nothing_was_begun():
    assert act("click 1, 2", ACTION_CALLS) == "NO_ANSWER"


def test_several_calls_are_several_actions():
    for text in (
        "pyautogui.moveTo(1, 2)\npyautogui.write('a')", "Action: hover(point='1 2')\n\ntype(content='a')",
        "hover(x=1, y=2); type(content='a')",
    ):  # fmt: skip
        assert act(text, ACTION_CALLS) == "SEVERAL_ANSWERS"
        assert act(text, ACTION_CALLS, "first") == act(text, ACTION_CALLS, "all") == ("hover", [1, 2], {})
        assert act(text, ACTION_CALLS, "last") == ("type", None, {"text": "a"})
    assert act("wait()" * 300, ACTION_CALLS) == "TOO_MANY"


@cases(
    "text",
    [
        "pyautogui.press(['ctrl', 'c'])", "pyautogui.press('tab', presses=3)", "press(keys=['a', 'b'])",
        "pyautogui.press('a', presses=99999999999999)", "click(1, 2)\nwait()",
        "pyautogui.moveTo(1, 2)\npyautogui.click(3, 4)",
        "pyautogui.moveTo(1, 2)\npyautogui.moveTo(3, 4)", "pyautogui.moveRel(1, 2)\npyautogui.click()",
        "moveTo(1, 2)\nclick()", "pyautogui.click(1, 2)\npyautogui.click(1, 2)\ntime.sleep(1)",
        "pyautogui.mouseDown(1, 2, button='right')\npyautogui.moveTo(3, 4)\npyautogui.mouseUp()",
        "pyautogui.mouseDown(1, 2)\npyautogui.mouseUp()", "pyautogui.mouseDown(1, 2)\npyautogui.mouseUp(1, 2)",
        "pyautogui.keyDown('ctrl')\npyautogui.press('c')\npyautogui.keyUp('alt')",
        "pyautogui.keyDown('ctrl')\npyautogui.press('c')", "time.sleep(1)\ntime.sleep(1)",
        "pyautogui.keyDown('ctrl')\npyautogui.click(1, 2)\npyautogui.keyUp('ctrl')", "pyautogui.mouseUp()" * 17,
    ],
)  # fmt: skip
def test_what_is_several_actions(text):
    assert act(text, ACTION_CALLS) == "SEVERAL_ANSWERS"


def test_the_answer_begins_behind_the_first_action():
    assert act("click(1, 2)?\nAction: wait()", ACTION_CALLS) == ("wait", None, {})
    assert act("Action: click(1, 2)\nAction: wait()", ACTION_CALLS) == "SEVERAL_ANSWERS"
    assert act("The Action: click(1, 2)", ACTION_CALLS) == ("click", [1, 2], {})
    assert act("wait()\nAction:", ACTION_CALLS) == "MALFORMED"


def test_unknown_names_are_reported():
    assert read("pyautogui.teleport(1, 2)", ACTION_CALLS) == ([1, 2], "UNKNOWN_ACTION")


@cases(
    ("text", "position", "found"),
    [
        ("f()", 2, ([], 3)), ("f(,)", 2, ([("", "", False)], 4)), ("f( a = 1 )", 2, ([("a", "1", False)], 10)),
        ("f('a', b='c')", 2, ([("", "a", True), ("b", "c", True)], 13)), ("f([1, (2)], 'a')", 2,
         ([("", "[1, (2)]", False), ("", "a", True)], 16)), ("f(a", 2, (None, 3)), ("f(g(1))", 2, (None, 2)),
        ("f(1, g(1))", 2, (None, 5)), ("f(1]", 2, (None, 4)), ("f('a", 2, (None, 4)),
        ("f(it's)", 2, ([("", "it's", False)], 7)),
    ],
)  # fmt: skip
def test_the_arguments_of_a_call(text, position, found):
    assert arguments_of(text, position) == found


NAMES = st.sampled_from(["click", "left_double", "type", "scroll", "hover", "drag", "Click", "teleport", "long_press"])
NUMBER = st.sampled_from(["5", "6.25", "-1", "-100", "0", *NUMERALS])
GAP = st.sampled_from(["", " ", " ", *SPACES])
PLACES = st.builds("{}{}{}{}{}".format, st.sampled_from(["(", "<point>", "<|box_start|>(", "[", ""]), NUMBER,
                   st.sampled_from([",", ", ", " ", *SPACES]), NUMBER,
                   st.sampled_from([")", "</point>", ")<|box_end|>", "]", ""]))  # fmt: skip
TEXT = st.text("ab'\"\\()[, \n\u00e9\ud800", max_size=6)
QUOTED = st.builds("{0}{1}{0}".format, st.sampled_from(["'", "'", '"', ""]), PLACES | TEXT | st.sampled_from(["down"]))
KEY = st.sampled_from(["start_box=", "point=", "content=", "direction=", "x=", "y=", "end_box=", "", "key="])
ARGUMENT = st.builds("{}{}{}".format, GAP, KEY, QUOTED | NUMBER)
CALLS = st.one_of(
    st.builds("{}({})".format, NAMES, st.lists(ARGUMENT, max_size=3).map(",".join)),
    st.builds("{}({}='{}')".format, NAMES, st.sampled_from(["start_box", "point"]), PLACES),
    st.builds("{}(point='{}',{}direction='{}')".format, NAMES, PLACES, GAP, st.sampled_from(["up", "down", "UP"])),
    st.builds("type(content='{}')".format, TEXT),
    st.builds("pyautogui.{}(x={},{}y={})".format, NAMES, NUMBER, GAP, NUMBER),
    st.builds("pyautogui.{}({},{}{})".format, NAMES, NUMBER, GAP, NUMBER),
)
TEXTS = st.builds(
    "{}{}{}".format, st.sampled_from(["", "", "Action: ", "Thought: a\nAction: ", "Thought: a (\nAction:", "(", "a"]),
    CALLS, st.sampled_from(["", "", "\n", "`", "\nAction:", ")", "(", " wait()", "\n\ntype(content='a')"]),
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_a_usual_form_is_what_the_function_reads(text):
    for pattern in ACTION_CALLS.usual:
        found = compiled(pattern).search(text)
        if found:
            groups = found.groupdict()
            acts = read_calls(text)
            assert [each.name for each in acts] == [groups["action"]]
            assert acts[0].place == tuple(float(groups[key]) for key in "xy" if key in groups)
            assert acts[0].arguments == {key: groups[key] for key in ("text", "direction") if key in groups}


def test_the_usual_forms_are_taken():
    for index in (0, 2, 3, 13, 19, 20, 32, 34):
        assert any(compiled(pattern).search(READ[index][0]) for pattern in ACTION_CALLS.usual), READ[index][0]


UNITS = [
    "(", "a(", "a('", "click(", "click('", "click((", "click(1,", "click(a='", "a ", "click(a=1,", "Action:", "\n ",
    "\nAction:", "click(),", "'", "click('a' ", "click('a\\'", "click(x=1)", "a(a=,", "[", "click([", "a=(", "click( ",
    "click(a\u3000", "' ", "('", "click(a='1 ", "click(point='1,",
]  # fmt: skip


@pytest.mark.slow
@cases("unit", UNITS)
@cases("before", ["", "click(", "click('", "click(point='"])
def test_64_ki_take_linear_time(unit, before):
    # A quadratic reader takes seconds.
    text = before + unit * (MAX_LENGTH // len(unit))
    start = time.thread_time()
    read_calls(text)
    read_calls(text + ")')")
    assert time.thread_time() - start < 1.0


@cases("text", ["type(content='a\nAction: b')", "pyautogui.click(x=1, 2)", "pyautogui.click(1, y=2)"])
def test_unusual_calls_read_alike_alone_and_among_many(text):
    alone, many = (parse([text] * rows, AUTO_ACTION, space=CoordSpace.PIXEL) for rows in (1, 60))
    assert (alone.actions[0], alone.reason[0], alone.dialect[0]) == (
        many.actions[-1],
        many.reason[-1],
        many.dialect[-1],
    )
