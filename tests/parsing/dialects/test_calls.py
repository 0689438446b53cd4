"""``pyautogui.click(x=0.797, y=0.219)``, ``click(x=960, y=540)`` and ``Click(352, 348)``."""

import pytest

from grounding_rewards.parsing import CLICK_CALL, KEYWORD_CALL, PYAUTOGUI
from tests.parsing.reading import read, read_action


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "text",
    ["Point(1, 2)", "(1, 2)", "type(1, 2)", "click(x, y)", "click(1)", "click(1, 2", "CLICKED(1, 2)"],
)
def test_other_names_are_no_calls(text):
    assert read(text, CLICK_CALL) == (None, "MALFORMED")


@pytest.mark.parametrize(("dialect", "first", "second"), [
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
