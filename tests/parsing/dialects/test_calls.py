"""Calls: pyautogui, bare ones, and those of UI-TARS and Doubao."""

from grounding_rewards.parsing import CLICK_CALL, KEYWORD_CALL, PYAUTOGUI, UI_TARS
from tests.cases import cases
from tests.parsing.reading import read, read_action, read_all, read_box


@cases(
    ("text", "point", "action"),
    [
        ("pyautogui.click(x=0.797, y=0.219)", [0.797, 0.219], "click"),
        ("pyautogui.click(960, 540)", [960, 540], "click"),
        ("pyautogui.click( x = 960 ,\n y = 540 )", [960, 540], "click"),
        ("```python\nimport pyautogui\npyautogui.doubleClick(x=1, y=2)\n```", [1, 2], "doubleClick"),
        ("pyautogui.rightClick(1,2)", [1, 2], "rightClick"),
        ("pyautogui.moveTo(1, 2, duration=0.5)", [1, 2], "moveTo"),
        ("pyautogui.click(x=1, y=2, clicks=2, button='left')", [1, 2], "click"),
        ("pyautogui.click(clicks=2, button='left', x=1, y=2)", [1, 2], "click"),
        ("pyautogui.scroll(-5, x=1, y=2)", [1, 2], "scroll"),
        ("pyautogui.click(-1, -.5)", [-1, -0.5], "click"),
        ("pyautogui.click(y=540, x=960)", [960, 540], "click"),
        ("pyautogui.moveTo( y = .5 ,\n x = 12. )", [12, 0.5], "moveTo"),
        ("pyautogui.click(button='left', y=2, x=1, clicks=2)", [1, 2], "click"),
        ("pyautogui.click(x=1, button='left', clicks=2, y=2)", [1, 2], "click"),
        ("pyautogui.scroll(-5, y=2, x=1)", [1, 2], "scroll"),
        ("pyautogui.click(960, y=540)", [960, 540], "click"),
        ("pyautogui.click(x=960, 540)", [960, 540], "click"),
    ],
)
def test_reads_pyautogui(text, point, action):
    assert read(text, PYAUTOGUI) == (point, "OK")
    assert read_action(text, PYAUTOGUI) == action


@cases(
    "text",
    [
        "pyautogui.click()", "pyautogui.click(x, y)", "pyautogui.click(x=x1, y=y1)", "pyautogui.scroll(-5)",
        "pyautogui.write('1, 2')", "pyautogui.click(x=1, y=2", "pyautogui.click(x=1, y=2e3)", "pyautogui.click(1",
        "pyautogui.click(y=1)", "pyautogui.click(y=1, 2)", "pyautogui.click(y=1, x=2", "pyautogui.click(y=1, x=x)",
        "pyautogui.click(x=1, x=2)", "pyautogui.click(y=1, y=2)", "pyautogui.click(x=1, y=2px)",
        "pyautogui.click(x=1, a=1, b=1, c=1, y=2)", "pyautogui.click(x=1)\npyautogui.moveTo(y=2)",
        "pyautogui.click(<|pointer_start|><|pointer_pad|><|pointer_end|>)", "pyautogui.hotkey('ctrl', 'c')",
    ],
)  # fmt: skip
def test_calls_without_a_place_are_malformed(text):
    assert read(text, PYAUTOGUI) == (None, "MALFORMED")


def test_several_calls():
    text = "pyautogui.moveTo(1, 2)\npyautogui.click(3, 4)"
    assert read(text, PYAUTOGUI) == (None, "SEVERAL_ANSWERS")
    assert (read(text, PYAUTOGUI, "first"), read_action(text, PYAUTOGUI, "first")) == (([1, 2], "OK"), "moveTo")
    assert (read(text, PYAUTOGUI, "last"), read_action(text, PYAUTOGUI, "last")) == (([3, 4], "OK"), "click")


@cases(
    ("text", "point", "action"),
    [
        ("click(x=960, y=540)", [960, 540], "click"),
        ("<action>click( x = 0.5 , y = .25 )</action>", [0.5, 0.25], "click"),
        ("computer.triple_click(x=1, y=2)", [1, 2], "triple_click"),
        ("click(button='left', x=1, y=2)", [1, 2], "click"),
        ("Type(x=1, y=2, text='(3, 4)')", [1, 2], "Type"),
        ("click(y=540, x=960)", [960, 540], "click"),
        ("agent.tap( y = .25 , x = 0.5 )", [0.5, 0.25], "tap"),
        ("click(y=2, button='left', x=1)", [1, 2], "click"),
        ("click(dx=7, dy=8, y=2, x=1)", [1, 2], "click"),
    ],
)
def test_reads_calls_with_named_coordinates(text, point, action):
    assert read(text, KEYWORD_CALL) == (point, "OK")
    assert read_action(text, KEYWORD_CALL) == action


@cases(
    "text",
    [
        "click(x=x, y=y)",
        "click(960, 540)",
        "click(y=1, 2)",
        "click(y=1, x=2",
        "click(x=1, x=2)",
        "click(ax=1, y=2)",
        "(y=2, x=1)",
        "(x=1, y=2)",
        "click(x=1)",
        "click(x=1, y=2",
        "a1(x=1,y=2)",
    ],
)
def test_other_calls_have_no_named_coordinates(text):
    assert read(text, KEYWORD_CALL) == (None, "MALFORMED")


@cases(
    ("text", "point", "action"),
    [
        ("Click(352, 348)", [352, 348], "Click"),
        ("click( 0.5 ,\n.25 )", [0.5, 0.25], "click"),
        ("I will left_click(1, 2).", [1, 2], "left_click"),
        ("agent.doubleClick(1, 2, 'fast')", [1, 2], "doubleClick"),
        ("scroll(1, 2, 'down')", [1, 2], "scroll"),
        ("drag(1, 2, 3, 4)", [1, 2], "drag"),
        ("tap(-1, -2)", [-1, -2], "tap"),
    ],
)
def test_reads_calls_known_to_have_a_place(text, point, action):
    assert read(text, CLICK_CALL) == (point, "OK")
    assert read_action(text, CLICK_CALL) == action


@cases(
    "text",
    ["Point(1, 2)", "(1, 2)", "type(1, 2)", "click(x, y)", "click(1)", "click(1, 2", "CLICKED(1, 2)"],
)
def test_other_names_are_no_calls(text):
    assert read(text, CLICK_CALL) == (None, "MALFORMED")


@cases(("dialect", "first", "second"), [
    (KEYWORD_CALL, "click(x=1, y=2)", "tap(x=3, y=4)"), (KEYWORD_CALL, "click(y=2, x=1)", "tap(x=3, y=4)"),
    (PYAUTOGUI, "pyautogui.click(y=2, x=1)", "pyautogui.tap(3, 4)"), (CLICK_CALL, "click(1, 2)", "tap(3, 4)"),
])  # fmt: skip
def test_several_bare_calls(dialect, first, second):
    for text in (f"{first}\n{second}", f"{first} {second}", f"{first};{second}", f"[{first}, {second}]"):
        assert read(text, dialect) == (None, "SEVERAL_ANSWERS")
        assert (read(text, dialect, "first"), read_action(text, dialect, "first")) == (([1, 2], "OK"), "click")
        assert (read(text, dialect, "last"), read_action(text, dialect, "last")) == (([3, 4], "OK"), "tap")


def test_without_a_parenthesis_nothing_was_begun():
    assert read("click x=1 y=2", KEYWORD_CALL) == (None, "NO_ANSWER")
    assert read("Click 1, 2", CLICK_CALL) == (None, "NO_ANSWER")
    assert read("click(1, 2)", PYAUTOGUI) == (None, "NO_ANSWER")


@cases(
    ("text", "point", "action"),
    [
        ("click(start_box='(512,384)')", [512, 384], "click"),
        ("click(start_box='<|box_start|>(512,384)<|box_end|>')", [512, 384], "click"),
        ("Thought: Save it (now).\nAction: click(point='<point>512 384</point>')", [512, 384], "click"),
        ("Thought: Save it.\nAction: left_double(point='<point>512 384</point>')", [512, 384], "left_double"),
        ("right_single(start_box=\"(512, 384)\")", [512, 384], "right_single"),
        ("click( start_box= '( 0.5 ,\n .25 )' )", [0.5, 0.25], "click"),
        ("click(start_box=(512,384))", [512, 384], "click"),
        ("click(point='512 384')", [512, 384], "click"),
        ("click(start_box='<bbox>500 370 524 398</bbox>')", [512, 384], "click"),
        ("click(start_box='[500, 370, 524, 398]')", [512, 384], "click"),
        ("drag(start_box='(1,2)', end_box='(3,4)')", [1, 2], "drag"),
        (
            "drag(start_box='<|box_start|>(1,2)<|box_end|>', end_box='<|box_start|>(3,4)<|box_end|>')",
            [1, 2], "drag",
        ),
        ("drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')", [1, 2], "drag"),
        ("scroll(point='<point>1 2</point>', direction='down')", [1, 2], "scroll"),
        ("scroll(direction='down', point='<point>1 2</point>')", [1, 2], "scroll"),
        ("long_press(start_box='(-1,-2)', time='2')", [-1, -2], "long_press"),
    ],
)  # fmt: skip
def test_reads_the_place_and_the_action_of_ui_tars(text, point, action):
    assert read(text, UI_TARS) == (point, "OK")
    assert read_action(text, UI_TARS) == action


def test_a_box_of_ui_tars_is_kept():
    assert read_box("click(start_box='(500,370,524,398)')", UI_TARS) == [500, 370, 524, 398]
    assert read_box("click(start_box='<|box_start|>(500,370),(524,398)<|box_end|>')", UI_TARS) == [500, 370, 524, 398]


@cases(
    "text",
    [
        "click(start_box='<|box_start|>(x1,y1)<|box_end|>')", "click(point='<point>x1 y1</point>')",
        "drag(start_point='<point>x1 y1</point>', end_point='<point>x2 y2</point>')", "click(start_box='')",
        "click(start_box='(512,3", "click(point='<point>512 384", "click(start_box='(512)')", "start_box='(512,384)'",
        "click(start_box='(1,2,3)')", "click(start_box='(1e3,2)')", "click(end_point='(1,2)', point=)",
    ],
)  # fmt: skip
def test_echoes_and_cut_off_calls_are_malformed(text):
    assert read(text, UI_TARS) == (None, "MALFORMED")


@cases("text", ["finished(content='(1, 2)')", "wait()", "hotkey(key='ctrl c')", "click(1, 2)"])
def test_actions_without_a_place_are_no_answer(text):
    assert read(text, UI_TARS) == (None, "NO_ANSWER")


def test_several_actions_of_ui_tars():
    text = "click(start_box='(1,2)')\nleft_double(start_box='(3,4)')"
    assert read(text, UI_TARS) == (None, "SEVERAL_ANSWERS")
    assert (read(text, UI_TARS, "first"), read_action(text, UI_TARS, "first")) == (([1, 2], "OK"), "click")
    assert (read(text, UI_TARS, "last"), read_action(text, UI_TARS, "last")) == (([3, 4], "OK"), "left_double")
    assert read_all(text, UI_TARS) == [[1, 2], [3, 4]]


def test_the_thought_may_hold_another_call():
    text = "Thought: click(start_box='(1,2)') was wrong.\nAction: click(start_box='(3,4)')"
    assert read(text, UI_TARS) == (None, "SEVERAL_ANSWERS")
    assert read(text, UI_TARS, "last") == ([3, 4], "OK")
