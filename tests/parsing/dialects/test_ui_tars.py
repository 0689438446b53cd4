"""UI-TARS and Doubao: ``click(start_box='(512,384)')`` and its many spellings."""

import pytest

from grounding_rewards.parsing import UI_TARS
from tests.parsing.reading import read, read_action, read_all, read_box


@pytest.mark.parametrize(
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
def test_reads_the_place_and_the_action(text, point, action):
    assert read(text, UI_TARS) == (point, "OK")
    assert read_action(text, UI_TARS) == action


def test_a_box_is_kept():
    assert read_box("click(start_box='(500,370,524,398)')", UI_TARS) == [500, 370, 524, 398]
    assert read_box("click(start_box='<|box_start|>(500,370),(524,398)<|box_end|>')", UI_TARS) == [500, 370, 524, 398]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["finished(content='(1, 2)')", "wait()", "hotkey(key='ctrl c')", "click(1, 2)"])
def test_actions_without_a_place_are_no_answer(text):
    assert read(text, UI_TARS) == (None, "NO_ANSWER")


def test_several_actions():
    text = "click(start_box='(1,2)')\nleft_double(start_box='(3,4)')"
    assert read(text, UI_TARS) == (None, "SEVERAL_ANSWERS")
    assert (read(text, UI_TARS, "first"), read_action(text, UI_TARS, "first")) == (([1, 2], "OK"), "click")
    assert (read(text, UI_TARS, "last"), read_action(text, UI_TARS, "last")) == (([3, 4], "OK"), "left_double")
    assert read_all(text, UI_TARS) == [[1, 2], [3, 4]]


def test_the_thought_may_hold_another_call():
    text = "Thought: click(start_box='(1,2)') was wrong.\nAction: click(start_box='(3,4)')"
    assert read(text, UI_TARS) == (None, "SEVERAL_ANSWERS")
    assert read(text, UI_TARS, "last") == ([3, 4], "OK")
