"""Rules of ClawGUI, OS-Atlas, UI-S1, UGround, OpenCUA and SeeClick, by what their evaluators were seen to do."""

from __future__ import annotations

import json
from math import exp, hypot, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from tests.evaluators.marks import SIZE, marks

SHARE = st.floats(0.0, 1.0, width=32)


def call(action: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'arguments': {'action': action, **arguments}})}</tool_call>"


def claw(action: str, boxes: Any = None, **arguments: Any) -> dict[str, Any]:
    return {"action": action, "arguments": arguments, "candidate_bbox": boxes}


POINT = claw("click", points=[[500, 500]])
MANY = [[100 * n, 0, 100 * n + 10, 10] for n in range(9)]


@pytest.mark.parametrize(
    ("response", "gold", "right"),
    [
        (call("click", coordinate=[841, 500]), POINT, "111"),  # 368 pixels of 1080 x 2400
        (call("click", coordinate=[842, 500]), POINT, "100"),
        (call("click", coordinate=[500, 653]), POINT, "111"),  # 367.2, cut off
        (call("click", coordinate=[500, 654]), POINT, "100"),
        (call("click", coordinate=[278, 95]), claw("click", [[100, 200, 300, 260]], points=[[900, 900]]), "111"),
        (call("click", coordinate=[279, 95]), claw("click", [[100, 200, 300, 260]], points=[[900, 900]]), "100"),
        (call("click", coordinate=[185, 109]), claw("click", [[100, 200, 300, 261]], points=[[900, 900]]), "111"),
        (call("click", coordinate=[20, 2]), claw("click", [[0, 0, 1080, 2400], *MANY], points=[[900, 900]]), "100"),
        (call("click", coordinate=[50, 900]), claw("click", [[0, 0, 1080, 2400], *MANY], points=[[900, 100]]), "111"),
        (call("click", coordinate=[500]), POINT, "100"),
        (call("long_press", coordinate=[500, 500]), POINT, "000"),
        (call("tap", coordinate=[500, 500]), POINT, "0-0"),
        (call("click", coordinate=[500, 500])[:-1], POINT, "0-0"),
        (call("open", text="Maps"), claw("open_app", app="Google Maps"), "0-0"),
        ('{"action": " open_app ", "arguments": {"text": "maps"}}', claw("open_app", app="Google Maps"), "1-1"),
        (call("type", text="red"), claw("type", text="red hat shop"), "1-0"),  # F1 of .5
        (call("type", text=""), claw("type", text=""), "1-1"),
        (call("swipe", coordinate=[5, 5], coordinate2=[5, 1]), claw("scroll", direction="DOWN"), "1-1"),
        (call("swipe", coordinate=[5, 5], coordinate2=[5, 5]), claw("scroll", direction="down"), "1-1"),
        (call("swipe", coordinate=[5, 5]), claw("scroll", direction="down"), "1-0"),
        (call("system_button", button="back"), claw("button_press", type="back"), "0-0"),
        ('{"action": "status"}', claw("status"), "0-0"),
    ],
)  # fmt: skip
def test_clawgui(response: str, gold: dict[str, Any], right: str) -> None:
    assert marks("androidcontrol", "clawgui", response, gold) == right


def test_clawgui_reads_pixels_and_opens_apps_for_one_model() -> None:
    gold, pixels = claw("open_app", app="Maps"), call("click", coordinate=[540, 1569])
    assert marks("androidcontrol", "clawgui", call("open", text="Maps"), gold, model="qwen25vl") == "1-1"
    assert marks("androidcontrol", "clawgui", pixels, POINT, model="qwen25vl") == "111"  # 653 thousandths, cut off


@pytest.mark.parametrize(
    ("benchmark", "line", "gold", "right"),
    [
        ("androidcontrol", " TYPE [red hat]", "TYPE [red shop]", "1-1"),  # words are parted by any white space
        ("androidcontrol", "TYPE  [blue]", "TYPE [red]", "1-0"),
        ("androidcontrol", "TYPE ", "TYPE [red]", "---"),
        ("androidcontrol", "PRESS_BACK\nCOMPLETE", "PRESS_BACK", "1-0"),
        ("gui-odyssey", "PRESS_BACK\nCOMPLETE", "PRESS_BACK", "1-1"),
        ("omniact", " SCROLL [DOWN]", "SCROLL [UP]", "1-0"),
        ("omniact", "SCROLL DOWN", "SCROLL [DOWN]", "1-1"),
        ("omniact", "SCROLL ", "SCROLL [DOWN]", "---"),
    ],
)
def test_os_atlas(benchmark: str, line: str, gold: str, right: str) -> None:
    assert marks(benchmark, "os-atlas", f"actions:\n{line}", gold) == right


def click(x: float, y: float, **more: Any) -> dict[str, Any]:
    return {"action": "click", "coordinate": [x, y], **more}


FAR = [[200, 400, 400, 500]]


@pytest.mark.parametrize(
    ("response", "gold", "evaluation", "reward"),
    [
        (click(582, 1200), click(540, 1200), "111", "111"),
        (click(584, 1200), click(540, 1200), "100", "100"),
        (click(300, 510), click(1000, 2300, candidate_bbox=FAR), "111", "100"),
        (click(300, 511), click(1000, 2300, candidate_bbox=FAR), "100", "100"),
        (click(300, 450), click(1000, 2300, candidate_bbox=FAR[0]), "---", "111"),
        (click(1000, 2300), click(1000, 2300, candidate_bbox=FAR * 4), "111", "---"),
        (click(1000, 50), click(9, 2300, candidate_bbox=[[0, 0, 90, 90]]), "100", "111"),
        ({"action": "click"}, click(540, 1200), "---", "---"),
        ({"action": "click"}, {**click(540, 1200), "action": "long_press"}, "0-0", "0-0"),
        (click(300, 450), {"action": "open", "text": "Maps", "candidate_bbox": FAR}, "1-1", "0-0"),
        (click(900, 450), {"action": "open", "text": "Maps", "candidate_bbox": FAR}, "1-0", "0-0"),
        (click(300, 450), {"action": "open", "text": "Maps"}, "0-0", "0-0"),
        ({"action": "open", "text": ""}, {"action": "open", "text": "Maps"}, "1-1", "1-1"),
        ({"action": "type", "text": "ENTER"}, {"action": "key", "text": "enter"}, "---", "1-1"),
        (click(588, 1200), click(540, 1200), "100", "100"),
        ({"action": "type", "text": " RED"}, {"action": "type", "text": "red hat"}, "1-1", "1-1"),
        ({"action": "type", "text": "hat red"}, {"action": "type", "text": "red hat"}, "1-0", "1-0"),
        ({"action": "type", "text": "4"}, {"action": "answer", "text": "42"}, "---", "1-1"),
        ({"action": "answer", "text": "42"}, {"action": "answer", "text": "42"}, "---", "0-0"),
        ({"action": "system_button", "button": " back"}, {"action": "system_button", "button": "Back "}, "1-1", "1-1"),
        ({"action": "terminate"}, {"action": "terminate", "status": "success"}, "---", "1-1"),
        ({"action": "wait"}, {"action": "wait", "time": 2}, "1-1", "1-1"),
        ({}, {"action": "wait"}, "---", "---"),
    ],
)  # fmt: skip
def test_ui_s1(response: dict[str, Any], gold: dict[str, Any], evaluation: str, reward: str) -> None:
    assert marks("androidcontrol", "ui-s1", response, gold) == evaluation
    assert marks("androidcontrol", "ui-s1-reward", response, gold) == reward


def test_ui_s1_reads_answers_in_the_size_that_the_model_saw_and_turns_a_gold_of_two_ends() -> None:
    size = {"answer_size": (1092, 2408)}
    assert marks("androidcontrol", "ui-s1", click(588, 1200), click(540, 1200), **size) == "111"
    up = {"action": "swipe", "coordinate": [540, 1800], "coordinate2": [540, 600]}
    down = {**up, "coordinate": [540, 600], "coordinate2": [540, 1800]}
    assert [marks("androidcontrol", "ui-s1-reward", up, gold) for gold in (up, down)] == ["1-0", "1-1"]


@given(
    start=st.tuples(SHARE, SHARE), end=st.tuples(SHARE, SHARE), label=st.sampled_from(["up", "down", "left", "right"])
)
def test_ui_s1_turns_up_and_down_alone(start: tuple[float, float], end: tuple[float, float], label: str) -> None:
    right, down = end[0] - start[0], end[1] - start[1]
    finger = ("left", "right")[right > 0] if abs(right) > abs(down) else ("up", "down")[down > 0]
    response = {"action": "swipe", "coordinate": start, "coordinate2": end}
    gold = {"action": "swipe", "direction": label}
    wanted = {"up": "down", "down": "up"}.get(label, label)
    for rule, step in (("ui-s1", True), ("ui-s1-reward", finger == wanted)):
        assert gr.judge_step("androidcontrol", rule, response=response, gold=gold).step == step


def node(box: tuple[int, ...], **said: Any) -> dict[str, Any]:
    return {"bbox_pixels": dict(zip(("x_min", "y_min", "x_max", "y_max"), box, strict=True)), **said}


TREE = [node((0, 0, 1080, 2400), text=""), node((100, 200, 300, 260), text="Clock"),
        [node((100, 200, 200, 230), text=None, content_description="go Back")]]  # fmt: skip


def plan(name: str, output: str = "(150, 215)", scale: float = 1.0, **said: Any) -> dict[str, Any]:
    return {"plan": {"action_type": name, **said}, "output": output, "scale": scale}


def right_plan(name: str, **said: Any) -> dict[str, Any]:
    return {"action_type": name, **said}


@pytest.mark.parametrize(
    ("response", "action", "right"),
    [
        (plan("click", "(300, 500)", 2.0), right_plan("click", x=250, y=250), "-11"),
        (plan("click", "(201, 230)"), right_plan("click", x=150, y=215), "-00"),  # the smaller of two nodes
        (plan("click", "200, 230"), right_plan("click", x=150, y=215), "-11"),
        (plan("click", "none"), right_plan("click", x=150, y=215), "---"),
        (plan("click"), right_plan("click", x=2000, y=215), "-00"),
        (plan("long_press"), right_plan("click", x=150, y=215), "--0"),
        (plan("type_text", text="red"), right_plan("type_text", x=150, y=215, text="red"), "-11"),
        (plan("type_text", text="RED"), right_plan("type_text", x=150, y=215, text="red"), "-00"),
        (plan("click"), right_plan("open_app", app_name="clo"), "-11"),
        (plan("click", "(900, 900)"), right_plan("open_app", app_name="clo"), "-00"),
        (plan("open_app", app_name="Maps"), right_plan("click", x=250, y=250), "--1"),
        (plan("open_app", app_name="clock"), right_plan("open_app", app_name="Clock"), "--0"),
        (plan("navigate_back"), right_plan("click", x=900, y=900), "-11"),
        (plan("wait", time=3), right_plan("wait"), "--1"),
        (plan("scroll", direction="Up"), right_plan("scroll", direction="up"), "--0"),
    ],
)  # fmt: skip
def test_uground_of_android_control(response: dict[str, Any], action: dict[str, Any], right: str) -> None:
    assert marks("androidcontrol", "uground", response, {"action": action, "nodes": TREE}) == right
    assert marks("androidcontrol", "uground", response, {"action": action, "nodes": "-"}, tree=TREE) == right
    assert marks("androidcontrol", "uground", response, {"action": action}, nodes=TREE) == right


@pytest.mark.parametrize(
    ("output", "action", "value", "right", "f1"),
    [
        ("(50, 60)", "TYPE", "hat RED !", "-11", 1.0),
        ("(75, 100, 9, 9)", "TYPE", "red", "-10", 0.8),
        ("(50, 60)", "TYPE", "None", "-10", 0.5),
        ("(49.9, 60)", "TYPE", "red hat", "-00", 1.0),
        ([60, 70], "TYPE", None, "-00", 0.5),
        ("(60,70)", "TYPE", "red hat", "---", None),
    ],
)
def test_uground_of_mind2web(output: Any, action: str, value: Any, right: str, f1: float | None) -> None:
    response = {"output": output, "gpt_action": action, "gpt_value": value}
    gold = {"operation": "TYPE", "value": "red hat", "bbox": [[0, 0, 1, 1], [100, 120, 50, 80]], "scale": 0.5}
    assert marks("mind2web", "uground", response, gold) == right
    assert gr.judge_step("mind2web", "uground", response=response, gold=gold).parts.get("op_f1") == f1


@pytest.mark.parametrize(
    ("response", "right", "f1"),
    [
        ('{"action_type": 3, "click_point": (0.5, 0.25), "value": "hat RED"}', "111", 1.0),
        ('{"action_type": 3, "click_point": [0.5, 0.25], "value": "red"}', "110", 0.8),
        ('{"action_type": 3, "click_point": (0.602, 0.25), "value": "red hat"}', "111", 1.0),  # 0.6019, rounded
        ('{"action_type": 3, "click_point": (0.6021, 0.25), "value": "red hat"}', "100", 1.0),
        ('{"action_type": 3, "click_point": (0.5, 0.25)}', "110", 0.0),
        ('{"action_type": 3, "value": "red hat"}', "100", 0.0),
        ('{"action_type": 4, "click_point": (0.5, 0.25)}', "010", 0.0),
        ('{"action_type": 3, "click_point": (0.5, 0.25), "value": null}', "000", 0.0),
        ("click", "000", 0.0),
    ],
)
def test_seeclick_of_mind2web(response: str, right: str, f1: float) -> None:
    gold = {"bbox": {"x": 540, "y": 600, "width": 110, "height": 24},
            "operation": {"original_op": "TYPE", "op": "TYPE", "value": "red hat"}}  # fmt: skip
    assert marks("multimodal-mind2web", "mind2web-seeclick", response, gold) == right
    verdict = gr.judge_step("mind2web", "seeclick", response=response, gold=gold, image_size=SIZE)
    assert verdict.parts == {"op_f1": f1}
    quoted = {**gold, "operation": {**gold["operation"], "value": 'red "hat"'}}
    assert marks("mind2web", "seeclick", response, quoted) == "---"


def act(name: str, **params: Any) -> dict[str, Any]:
    return {"type": name, "params": params}


def wanted(*actions: dict[str, Any], others: Any = ()) -> dict[str, Any]:
    return {"ground_truth_actions": list(actions), "alternative_options": list(others)}


AT = act("click", position={"x": 0.5, "y": 0.5})
TEXT, ENTER = act("write", text="red hat"), act("press", keys=["Return"])


@pytest.mark.parametrize(
    ("response", "gold", "right", "score"),
    [
        ("pyautogui.click(x=0.5, y=0.514, button='right')", wanted(AT), "1-1", 1.0),
        ("pyautogui.click(x=960, y=546)", wanted(AT), "1-1", 1.0),  # pixels of 1932 x 1092
        ("pyautogui.click(x=1, y=960)", wanted(AT), "1-0", 0.0),
        ("pyautogui.click(x=960, y=1)", wanted(act("click", position={"x": 0.497, "y": 0.001})), "1-0", 0.0),
        ("pyautogui.scroll(1)\n## Code:\n```\npyautogui.click(x=0.5, y=0.5)\n```", wanted(AT), "1-1", 1.0),
        ("pyautogui.click(0.5, 0.5)", wanted(AT), "--0", 0.0),
        ("pyautogui.click(x=-0.5, y=0.5)", wanted(AT), "--0", 0.0),
        ("pyautogui.doubleClick(x=0.5, y=0.5)", wanted(AT), "0-0", 0.0),
        ("computer.triple_click(x=0.5, y=0.5)", wanted({**AT, "type": "tripleClick"}), "0-0", 0.0),
        ("no code", wanted(AT), "--0", 0.0),
        ("pyautogui.click(x=0.5, y=0.5)\npyautogui.scroll(3)", wanted(AT), "1-1", 1.0),
        ("pyautogui.click(x=0.5, y=0.5)", wanted(AT, AT, TEXT), "1-0", 0.25),
        ("pyautogui.press('tab')", wanted(AT, others=[[act("press", keys=["TAB"])]]), "0-1", 1.0),
        ("pyautogui.write('red hat')", wanted(TEXT, ENTER), "1-1", 1.0),
        ("pyautogui.write('red hat')\npyautogui.press(keys=['enter'])", wanted(TEXT), "1-1", 1.0),
        ("pyautogui.write(message='red')", wanted(TEXT), "1-0", 3 / 7 / 0.8),
        ('pyautogui.write(message="it\'s")', wanted(act("write", text="it's")), "1-0", 0.625),
        ("pyautogui.write('red hat', interval=0.1)", wanted(TEXT), "--0", 0.0),
        ("pyautogui.press('enter')", wanted(TEXT, ENTER), "0-0", 0.0),
        ("pyautogui.press('return')", wanted(ENTER, ENTER), "1-0", 0.5),
        ("pyautogui.hotkey('cmd','C')", wanted(act("hotkey", keys=["c", "ctrl"])), "1-1", 1.0),
        ("pyautogui.hotkey('cmd','c')", wanted(act("hotkey", keys=["c", "cmd"])), "1-0", 0.0),
        ("pyautogui.press(['down','down'])", wanted(act("hotkey", keys=["down"])), "1-1", 1.0),
        ("pyautogui.press('down', presses=2)", wanted(act("press", keys=["down", "down"])), "1-1", 1.0),
        ("pyautogui.scroll(-5)", wanted(act("scroll", amount=3)), "1-1", 1.0),
        ("pyautogui.scroll(-5, x=0.5)", wanted(act("scroll", amount=-5)), "--0", 0.0),
        ("computer.terminate(status='failure')", wanted(act("terminate", status="success")), "1-0", 0.0),
    ],
)  # fmt: skip
def test_opencua(response: str, gold: dict[str, Any], right: str, score: float) -> None:
    given_size = (1920.0, 1080.0)
    verdict = gr.judge_step("agentnetbench", "opencua", response=response, gold=gold, image_size=given_size)
    assert "".join("-" if each is None else str(int(each)) for each in verdict[:3]) == right
    assert verdict.score == pytest.approx(score, abs=1e-9)


@given(x=SHARE, y=SHARE, box=st.tuples(SHARE, SHARE, SHARE, SHARE))
def test_opencua_scores_a_place_by_its_distance_outside_of_boxes(x: float, y: float, box: tuple[float, ...]) -> None:
    right = {**AT, "metadata": {"bboxes": [{"rel_bbox": list(box)}]}}
    verdict = gr.judge_step(
        "agentnetbench", "opencua", response=f"pyautogui.click(x={x:.30f}, y={y:.30f})", gold=wanted(right)
    )
    x, y = float(f"{x:.30f}"), float(f"{y:.30f}")
    inside = box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]
    beyond = max(0.0, hypot(x - 0.5, y - 0.5) - 0.01 * sqrt(2))
    assert verdict.score == pytest.approx(1.0 if inside else exp(-120 * beyond))
