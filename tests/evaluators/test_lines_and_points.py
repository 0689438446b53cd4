"""Rules of OS-Atlas, GUI-Odyssey, GUI-R1, AITW and OmniACT, by what their evaluators were seen to do."""

from __future__ import annotations

from math import exp, hypot, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.judging import step_rule
from grounding_rewards.evaluators.rule import Step
from tests.evaluators.marks import SIZE, marks

SHARE = st.floats(0.0, 1.0)


CLICK = "CLICK <point>[[500,500]]</point>"


@pytest.mark.parametrize(
    ("line", "gold", "android_control", "gui_odyssey", "omniact"),
    [
        ("CLICK [[640,500]]", CLICK, "111", "111", "111"),
        ("CLICK [[641,500]]", CLICK, "100", "100", "100"),
        ("CLICK [[-500,500]]", CLICK, "111", "111", "111"),
        ("CLICK [[500,500,900,900]]", CLICK, "111", "100", "100"),
        ("CLICK [[500]]", CLICK, "100", "100", "100"),
        (f"CLICK [[{'9' * 400},500]]", CLICK, "---", "---", "---"),
        ("CLICK", "CLICK", "100", "100", "100"),
        ("", CLICK, "---", "0-0", "0-0"),
        ("", "WAIT", "---", "0-0", "0-0"),
        ("TYPE [red shop]", "TYPE [red hat]", "1-1", "1-1", "1-1"),
        ("TYPE [red shop now]", "TYPE [red hat]", "1-1", "1-1", "1-1"),
        ("TYPE [rat", "TYPE [rat hat here]", "1-1", "1-1", "1-1"),
        ("TYPE [red", "TYPE [red hat here]", "1-0", "1-0", "1-0"),  # e and d are letters of the end
        ("TYPE  [red hat]", "TYPE [red hat]", "1-1", "1-1", "1-1"),
        ("TYPE", "TYPE []", "---", "1-1", "---"),
        ("OPEN_APP [google chrome]", "OPEN_APP [Google Maps]", "1-1", "1-1", "1-0"),
        ("SCROLL [UP] ", "SCROLL [UP]", "1-0", "1-1", "1-1"),
        ("SCROLL [up]", "SCROLL [UP]", "1-0", "1-0", "1-0"),
        ("SCROLL", "SCROLL [UP]", "1-0", "1-0", "---"),
        ("PRESS_HOME [now]", "PRESS_HOME", "1-0", "1-1", "1-0"),
        ("COMPLETE<|im_end|>", "COMPLETE", "1-1", "1-1", "1-1"),
        ("CLICK [[500,500]]\nWAIT", f"{CLICK}\nCOMPLETE", "111", "111", "010"),
        ("CLICK [[500,500]]", f"{CLICK}\nCOMPLETE", "111", "111", "111"),
    ],
)
def test_os_atlas(line: str, gold: str, android_control: str, gui_odyssey: str, omniact: str) -> None:
    response = f"thoughts:\nx\nactions:\n{line}"
    assert marks("androidcontrol", "os-atlas", response, gold) == android_control
    assert marks("gui-odyssey", "os-atlas", response, gold) == gui_odyssey
    assert marks("omniact", "os-atlas", response, gold) == omniact


@pytest.mark.parametrize("benchmark", ["androidcontrol", "gui-odyssey", "omniact"])
def test_os_atlas_reads_no_action_without_its_heading(benchmark: str) -> None:
    assert marks(benchmark, "os-atlas", CLICK, CLICK) == marks(benchmark, "os-atlas", "", "WAIT") == "0-0"


BOX = [700, 700, 900, 760]


@pytest.mark.parametrize(
    ("response", "answer", "box", "right"),
    [
        ("CLICK: 500", "CLICK: (500, 500)", None, "111"),
        ("CLICK: (500, 500, 500)", "CLICK: (500, 500)", None, "100"),
        ("CLICK: (5e2, 640)", "CLICK: (500, 500)", None, "111"),
        ("CLICK: (250 * 2, 500)", "CLICK: (500, 500)", None, "100"),  # code is not run
        ("CLICK: (500, 1e999)", "CLICK: (500, 500)", None, "100"),
        (f"CLICK: (500, {'9' * 400})", "CLICK: (500, 500)", None, "100"),
        ("CLICK: ('500', 500)", "CLICK: (500, 500)", None, "100"),
        ("CLICK: (900, 760)", "CLICK: (500, 500)", BOX, "111"),
        ("CLICK: (901, 760)", "CLICK: (500, 500)", BOX, "100"),
        ("CLICK: (500, 640)", "CLICK: (500, 500)", BOX, "111"),
        ("CLICK: (500, 500)", "CLICK: (500, 500)", [], "100"),
        ("TYPE: 7:30", "TYPE: 7:45", None, "1-1"),
        ("TYPE: ", "TYPE: red", None, "1-1"),
        ("TYPE: abcdexxxxx", "TYPE: abcdefghij", None, "1-1"),
        ("TYPE: abcdxxxxxx", "TYPE: abcdefghij", None, "1-0"),
        ("TYPE: RED", "TYPE: red", None, "1-0"),
        ("SCROLL: up ", "SCROLL: UP", [], "1-1"),
        ("SCROLL:", "SCROLL: UP", [], "1-0"),
        ("COMPLETE: done", "COMPLETE", [], "1-1"),
        ("INCOMPLETE", "IMPOSSIBLE", [], "0-0"),
    ],
)
def test_gui_odyssey(response: str, answer: str, box: Any, right: str) -> None:
    assert marks("gui-odyssey", "gui-odyssey", response, {"answer": answer, "sam2_bbox": box}) == right


def r1(action: str, place: Any = (0, 0), text: str = "no input text") -> tuple[str, Any, str]:
    return action, place, text


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (r1("click", [691.1, 1200]), r1("click", [540, 1200]), "111"),
        (r1("click", [691.2, 1200]), r1("click", [540, 1200]), "100"),  # .14 is not below .14
        (r1("wait", [540, 1200]), r1("click", [540, 1200]), "011"),
        (r1("click", [890, 1290]), r1("click", [500, 1100, 900, 1300]), "100"),
        (r1("click", []), r1("click", [540, 1200]), "---"),
        (r1("wait", text="[red] shop"), r1("type", text="red hat"), "0-1"),
        (r1("scroll", text="u"), r1("scroll", text="up"), "1-1"),
        (r1("scroll", text="up"), r1("scroll", text="u"), "1-1"),
        (r1("type", text=""), r1("type", text=""), "1-0"),
        (r1("type", text="red red"), r1("type", text="re"), "1-1"),
        (r1("press_back"), r1("press_back"), "1--"),
        (r1("PRESS_BACK"), r1("press_back"), "0--"),
    ],
)
def test_gui_r1(answer: tuple[Any, ...], gold: tuple[Any, ...], right: str) -> None:
    response = dict(zip(("pred_action", "pred_coord", "pred_input_text"), answer, strict=True))
    wanted = dict(zip(("gt_action", "gt_bbox", "gt_input_text"), gold, strict=True))
    assert marks("androidcontrol", "gui-r1-omni", response, wanted) == right
    assert marks("gui-odyssey", "gui-r1", response, wanted) == right


NODE = (0.4, 0.3, 0.05, 0.2)  # y, x, height, width


def aitw(kind: int, text: str = "click", touch: Any = (0.5, 0.5), lift: Any = None, boxes: Any = (0, 0, 0, 0)) -> Any:
    return {"action_type_id": kind, "action_type_text": text, "touch": touch, "lift": lift or touch,
            "annot_position": boxes}  # fmt: skip


@pytest.mark.parametrize(
    ("response", "gold", "right"),
    [
        ("{'action_type': 4, 'click_point': (0.64, 0.5)}", aitw(4), "111"),
        ("{'action_type': 4, 'click_point': (0.6401, 0.5)}", aitw(4), "100"),
        ("{'action_type': 4.0, 'click_point': [0.5, 0.5, 9]}", aitw(4), "111"),
        # a box of .2 x .05 is one of .48 x .12, to its borders
        ("{'action_type': 4, 'click_point': (0.639, 0.484)}", aitw(4, touch=(0.17, 0.366), boxes=NODE), "111"),
        ("{'action_type': 4, 'click_point': (0.641, 0.484)}", aitw(4, touch=(0.17, 0.366), boxes=NODE), "100"),
        ("{'action_type': 4, 'click_point': (0.5, 0.5)}", aitw(4, boxes=()), "---"),
        ("{'action_type': 4, 'click_point': (0.5, 0.5)}", aitw(4, boxes=(0, 0, 1)), "---"),
        ("{'action_type': 5}", aitw(5, boxes=()), "---"),
        ("{'action_type': 4, 'click_point': (0.5, 0.5)}", aitw(4, lift=(0.54, 0.5)), "100"),
        ("{'action_type': 4, 'click_point': (0.5, 0.5)}", aitw(4, lift=(0.46, 0.5)), "111"),
        ("{'action_type': 4, 'click_point': (1e999, 0.5)}", aitw(4), "100"),
        ("{'action_type': 4, 'click_point': ('0.5', 0.5)}", aitw(4), "---"),
        ("{'action_type': 0}", aitw(4, "scroll up"), "1-1"),
        ("{'action_type': 8}", aitw(4, "scroll up"), "1-0"),
        ("{'action_type': 9}", aitw(4), "100"),
        ("{'action_type': '5'}", aitw(5), "---"),
        ("{'action_type': 3, 'typed_text': 'blue'}", {**aitw(3), "type_text": "red"}, "1-1"),
        ("{'action_type': 10}", aitw(11), "0-0"),
        ("{}", aitw(4), "---"),
        ("press back", aitw(5), "---"),
    ],
)  # fmt: skip
def test_seeclick_of_aitw(response: str, gold: Any, right: str) -> None:
    assert marks("aitw", "seeclick", response, gold) == right


@pytest.mark.parametrize(
    ("answer", "right", "marked"),
    [
        (((0.5, 0.5), (0.2, 0.2)), ((0.5, 0.5), (0.8, 0.5)), "1-1"),  # y is first, and of a tie the axis
        (((0.5, 0.5), (0.2, 0.2)), ((0.5, 0.5), (0.5, 0.8)), "1-0"),
        (((0.5, 0.5), (0.5, 0.5)), ((0.5, 0.5), (0.5, 0.8)), "1-0"),
        (((0.5, 0.5, 0.5), (0.5, 0.5)), ((0.5, 0.5), (0.5, 0.5)), "---"),
        ((0.5, 0.5), ((0.5, 0.5), (0.5, 0.5)), "---"),
    ],
)
def test_auto_gui(answer: Any, right: Any, marked: str) -> None:
    said, wanted = (
        f'"action_type": "DUAL_POINT", "touch_point": "{touch}", "lift_point": "{lift}", "typed_text": ""'
        for touch, lift in (answer, right)
    )
    assert marks("aitw", "auto-gui", said, {"target": wanted, "annotations": [[0, 0, 0, 0]]}) == marked
    assert marks("aitw", "auto-gui", said, {"target": wanted, "annotations": []}) == "---"


@pytest.mark.parametrize("rule", ["seeclick", "auto-gui"])
@given(SHARE, SHARE, SHARE, SHARE)
def test_taps_of_aitw_are_right_within_a_distance_whatever_the_axis(
    rule: str, x: float, y: float, right: float, down: float
) -> None:
    own, apart = step_rule("aitw", rule), hypot(x - right, y - down)
    verdict = own.judge(own.answer(Act("click", (x, y)), SIZE), own.gold(Step(Act("click", (right, down)))), SIZE, {})
    if abs(apart - 0.14) > 1e-5:
        assert verdict.step is (apart < 0.14)


BOXES = {"0": {"top_left": [100, 200], "bottom_right": [300, 260]}}


@pytest.mark.parametrize(
    ("response", "script", "penalty"),
    [
        ("click(300, 260)", "click(200,230)", 0),
        ("click(400,230)", "click(200,230)", 1 - hypot(200, 60) / (100 + hypot(200, 60))),
        ("click(x=200, y=230)", "click(200,230)", 1 - hypot(200, 60) / (hypot(100, 200) + hypot(200, 60))),  # 0, 0
        ("click(9,9)", "click(201,230)", 0),  # no box has that centre
        ("rightClick(9,9)", "rightClick(200,230)", 0),
        ('write("red")', 'write("red hat")', 1 - exp(1 - 7 / 3)),
        ('write("Red Hat")', 'write("Red Hat")', 1 - sqrt(5 / 7 * 3 / 6)),
        ('write("a")', 'write("a")', 1),
        ('write("")', 'write("")', 1),
        ("write('red hat', interval=0.1)", 'write("red hat")', 0),
        ("press(' enter ')", 'press("Enter")', 0),
        ('press("Enter")', 'press("Enter")', 1),
        ('hotkey("c", "ctrl")', 'hotkey("ctrl","c")', 0),
        ("scroll(3)", "scroll(-3)", 0),
    ],
)
def test_uground_of_omniact(response: str, script: str, penalty: float) -> None:
    rule = step_rule("omniact", "uground")
    gold = {"script": f"pyautogui.{script}", "boxes": BOXES, "sequence_matches": True}
    verdict = rule.judge(f"pyautogui.{response}", gold, None, {})
    assert verdict.score == pytest.approx(1 - penalty)
    assert verdict.step is (penalty == 0)
    two = {**gold, "script": f"{gold['script']}\npyautogui.scroll(1)"}
    half = rule.judge(f"pyautogui.{response}\npyautogui.scroll(1)\nmore", two, None, {})
    assert half.score == pytest.approx(1 - penalty / 2)
    assert rule.judge(f"pyautogui.{response}", two, None, {}).read is False  # a line is missing
    other = rule.judge(f"pyautogui.{response}", {**gold, "sequence_matches": False}, None, {})
    assert (other.score, other.step) == (0, False)
    unsaid = rule.judge("pyautogui.wait()", {"script": gold["script"], "boxes": BOXES}, None, {})
    assert unsaid.score == 0  # names differ
