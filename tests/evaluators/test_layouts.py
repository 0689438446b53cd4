"""Layouts of benchmarks of whole actions: a file of each, the step it means, and one clear error of a wrong one."""

from __future__ import annotations

import json
from itertools import chain

import pytest

from grounding_rewards.actions import Act
from grounding_rewards.batch.steps import _layout, _rows, evaluate_steps
from grounding_rewards.errors import TableError
from grounding_rewards.evaluators.judging import rules_of
from grounding_rewards.evaluators.layouts import STEP_BENCHMARKS, size_of, steps_of

SIZE = {"image_width": 1000, "image_height": 2000}
CPM = {"episode_id": 7, "step_id": 1, **SIZE, "result_action_type": 4, "result_touch_yx": "[0.42, 0.4]",
       "result_lift_yx": "[0.42, 0.4]", "result_action_text": "", "ui_positions": "[[0.4, 0.3, 0.05, 0.2]]",
       "duration": None}  # fmt: skip
SAID = [{"from": "human", "value": "?"}, {"from": "gpt", "value": "actions:\nSCROLL [UP]"}]
ATLAS = {"id": 1, "image": "../episode_140_screenshot_2.png", "conversations": SAID}
UI_S1 = {"goal": "a", "episode_id": 8193, "steps": [
    {"action_content": {}, **SIZE, "check_options": {"action": "swipe", "direction": "down"}},
    {"action_content": {}, **SIZE, "check_options": {
        "action": "click", "coordinate": [500, 1000], "candidate_bbox": [[400, 900, 600, 1100]]}},
]}  # fmt: skip
CLAW = {"name": "mobile", "action": "click", "arguments": {"points": [[500, 940]]},
        "candidate_bbox": [[108, 240, 540, 1200]]}  # fmt: skip
ODYSSEY = {"episode_id": "e", "device_info": {"w": 1000, "h": 2000}, "task_info": {"category": "Tool"}, "steps": [
    {"step": 0, "action": "CLICK", "info": [[500, 250]], "sam2_bbox": [400, 200, 600, 300]},
    {"step": 1, "action": "SCROLL", "info": [[500, 800], [500, 200]], "sam2_bbox": []},
    {"step": 2, "action": "CLICK", "info": "KEY_HOME", "sam2_bbox": []},
    {"step": 3, "action": "TEXT", "info": "red hat", "sam2_bbox": []},
    {"step": 4, "action": "INCOMPLETE", "info": "", "sam2_bbox": []},
]}  # fmt: skip
TEST = {"image": "<img>/a/e1_3.png</img>", "answer": "SCROLL: UP", "sam2_bbox": [], "category": "Tool"}
SEECLICK = {"ep_id": "e", "action_type_id": 4, "action_type_text": "click", "touch": [0.4, 0.42], "lift": [0.4, 0.42],
            "type_text": "", "annot_position": [0.4, 0.3, 0.05, 0.2]}  # fmt: skip
NET = {"task_id": "t", "steps": [{"step_num": 1, "ground_truth_actions": [
    {"type": "write", "params": {"text": "red"}, "metadata": {}},
    {"type": "click", "params": {"position": {"x": 0.5, "y": 0.25}},
     "metadata": {"bboxes": [{"rel_bbox": [0.4, 0.2, 0.2, 0.1]}]}},
], "alternative_options": []}]}  # fmt: skip
BOX = {"attributes": json.dumps({"bounding_box_rect": "100,200,50,20"})}
MIND = {"annotation_id": "a", "target_action_index": "2", **SIZE, "pos_candidates": [json.dumps(BOX)],
        "operation": json.dumps({"op": "TYPE", "original_op": "TYPE", "value": "red"})}  # fmt: skip
SEEN = {"annotation_id": "a", "actions": [
    {**SIZE, "bbox": {"x": 100, "y": 200, "width": 50, "height": 20},
     "operation": {"op": "CLICK", "original_op": "HOVER", "value": ""}},
]}  # fmt: skip
OMNIACT = {"0": {"task": "task.txt", "box": "box.json", **SIZE}}
TALL = (0.1, 0.1, 0.15, 0.11)
DOWN = {"direction": "down"}

FILES = {
    # benchmark, content -> name, place, arguments, boxes of the last step
    "cpm": ("androidcontrol", [CPM], ("click", (0.4, 0.42), {}, ((0.3, 0.4, 0.5, 0.45),))),
    "os-atlas": ("androidcontrol", [ATLAS], ("scroll", (), {"direction": "up"}, ())),
    "ui-s1": ("androidcontrol", [UI_S1], ("click", (0.5, 0.5), {}, ((0.4, 0.45, 0.6, 0.55),))),
    "clawgui": ("androidcontrol", [CLAW], ("click", (0.5, 0.94), {}, ((0.1, 0.1, 0.5, 0.5),))),
    "clawgui-data": ("androidcontrol", [{"answer": json.dumps(CLAW)}],
                     ("click", (0.5, 0.94), {}, ((0.1, 0.1, 0.5, 0.5),))),
    "odyssey": ("gui-odyssey", ODYSSEY, ("finished", (), {"status": "impossible"}, ())),
    "odyssey-test": ("gui-odyssey", [TEST], ("scroll", (), DOWN, ())),
    "aitz": ("aitz", [{**CPM, "coat_action_desc": "click on it", "ui_positions": "[[800, 300, 100, 200]]",
                       "ui_text": "[]", "ui_types": "[]"}], ("click", (0.4, 0.42), {}, ((0.3, 0.4, 0.5, 0.45),))),
    "aitw": ("aitw", {"general": [[SEECLICK]]}, ("click", (0.4, 0.42), {}, ((0.3, 0.4, 0.5, 0.45),))),
    "cagui": ("cagui", [{**CPM, "result_action_type": 12, "result_action_text": "Clock", "ui_positions": ""}],
              ("open_app", (), {"app": "Clock"}, ())),
    "agentnetbench": ("agentnetbench", NET, ("type", (), {"text": "red"}, ((0.4, 0.2, 0.6, 0.3),))),
    "mind2web": ("mind2web", [MIND], ("type", TALL, {"text": "red"}, (TALL,))),
    "mind2web-seeclick": ("mind2web", [SEEN], ("click", TALL, {}, (TALL,))),
    "omniact": ("omniact", OMNIACT, ("double_click", (0.2, 0.1), {"text": "200, 200"}, ())),
}  # fmt: skip


def written(folder, content):
    """Files of a benchmark in a folder: its annotations, and what these name."""
    folder.mkdir(exist_ok=True)
    (folder / "task.txt").write_text("Click twice\npyautogui.doubleClick(200, 200)\n")
    (folder / "box.json").write_text('{"0": {"top_left": [100, 200], "bottom_right": [300, 260]}}')
    path = folder / "a.json"
    path.write_text(json.dumps(content))
    return path


def steps(benchmark, path):
    """Each step of a file, with the row that it was made of."""
    rows = list(chain.from_iterable(map(steps_of, _rows(path))))
    layout = _layout(STEP_BENCHMARKS[benchmark], rows[0], "a")
    for row in rows:
        more = {name: (path.parent / row[name]).read_text() for name in layout.files}
        yield layout.read({**row, **more}, size_of(row)), row


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_layout_means_its_steps(tmp_path, name):
    benchmark, content, (act, place, arguments, boxes) = FILES[name]
    step, _ = list(steps(benchmark, written(tmp_path, content)))[-1]
    assert (step.act.name, step.act.arguments) == (act, arguments)
    assert step.act.place == pytest.approx(place)
    assert [*chain(*step.boxes)] == pytest.approx([*chain(*boxes)])


WRONG = {
    ("clawgui", "uground"): "no node is around the place",
    ("clawgui-data", "uground"): "no node is around the place",
    ("cagui", "agentcpm"): "it has no action that opens an app, and leaves the step out",
    ("odyssey", "gui-r1"): "actions without place and text have no step",
    ("aitz", "coat"): "it judges every click against 0, 0",
    ("agentnetbench", "opencua"): "an answer of one action to a step of two",
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_step_asks_for_is_right_by_each_rule(tmp_path, name):
    benchmark, content, _ = FILES[name]
    wrong = set()
    for step, row in steps(benchmark, written(tmp_path, content)):
        layout = _layout(STEP_BENCHMARKS[benchmark], row, "a")
        row = {**row, **{each: (tmp_path / row[each]).read_text() for each in layout.files}}
        size = size_of(row) or step.image_size
        for rule in rules_of(benchmark):
            gold = layout.gold(row) if rule.name in layout.own else rule.gold(step)
            if not rule.judge(rule.answer(step.act, size), gold, size, {}).step:
                wrong.add((name, rule.name))
    assert wrong == {each for each in WRONG if each[0] == name}


@pytest.mark.parametrize(
    ("wheel", "way"),
    [("scroll(-3)", "down"), ("scroll(3)", "up"), ("hscroll(-3)", "left"), ("hscroll(10, 5)", "right")],
)
def test_the_wheel_of_scripts_is_a_way_of_the_view(tmp_path, wheel, way):
    path = written(tmp_path, OMNIACT)
    (tmp_path / "task.txt").write_text(f"Look below\npyautogui.{wheel}\n")
    ((scripted, _),) = steps("omniact", path)
    name, _, clicks = wheel.strip(")").partition("(")
    params = {"position": {"x": 0.5, "y": 0.5}, "amount": int(clicks.split(",")[0])}
    net = {"task_id": "t", "step_num": 1, "ground_truth_actions": [{"type": name, "params": params}]}
    ((listed, _),) = steps("agentnetbench", written(tmp_path, [net]))
    for act in (scripted.act, listed.act):
        assert (act.name, act.place, act.arguments["direction"]) == ("scroll", (), way)


def test_a_scroll_has_no_place_though_its_row_has_one(tmp_path):
    row = {"action": "scroll", "arguments": {"points": [[500, 500]], "direction": "down"}, "response": "x"}
    path = written(tmp_path, [row])
    ((step, _),) = steps("androidcontrol", path)
    assert step.act == Act("scroll", (), DOWN)
    plan = {"plan": {"action_type": "scroll", **DOWN}, "output": "", "scale": 1.0}
    path.write_text(json.dumps([{**row, "response": plan}]))
    (uground,) = evaluate_steps(path, "androidcontrol", "uground").rules
    assert [(each.name, each.share) for each in uground.figures][:1] == [("step", 1.0)]


def call(**arguments):
    """An answer in the form of Qwen's calls."""
    return f"<tool_call>\n{json.dumps({'name': 'use', 'arguments': arguments})}\n</tool_call>"


@pytest.mark.parametrize(
    ("name", "rules", "answer", "space"),
    [
        ("ui-s1", "ui-s1 ui-s1-reward", {"action": "click", "coordinate": [500, 500]}, "thousandths"),
        ("ui-s1", "ui-s1 ui-s1-reward", {"action": "click", "coordinate": [500, 1000]}, "pixel"),
        ("clawgui", "clawgui", {"action": "click", "coordinate": [540, 2256]}, "pixel"),
        ("clawgui", "clawgui", {"action": "click", "coordinate": [500, 940]}, "thousandths"),
        ("odyssey-test", "odyssey", {"action": "swipe", "coordinate": [500, 800], "coordinate2": [500, 200]}, "pixel"),
        ("omniact", "uground", {"action": "double_click", "coordinate": [200, 100]}, "thousandths"),
    ],
)
def test_a_call_of_another_model_is_right_by_a_rule_in_the_space_that_is_declared(tmp_path, name, rules, answer, space):
    benchmark, content, _ = FILES[name]
    *_, row = chain.from_iterable(map(steps_of, _rows(written(tmp_path, content))))
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"image_width": 1080, "image_height": 2400, **row, "response": call(**answer)}]))
    for rule in rules.split():
        (own,) = evaluate_steps(path, benchmark, rule, response_space=space).rules
        assert (own.unread, {each.name: each.share for each in own.figures}["step"]) == (0, 1.0)


def test_steps_that_open_an_app_are_left_out_by_agentcpm():
    rows = [{**CPM, "response": {"POINT": [400, 420]}},
            {**CPM, "step_id": 2, "result_action_type": 12, "response": {"POINT": [400, 420]}}]  # fmt: skip
    (own,) = evaluate_steps(rows, "androidcontrol", "agentcpm").rules
    assert [(each.name, each.share, each.of) for each in own.figures[:4]] == [
        ("type", 1.0, 1), ("place", 1.0, 1), ("step", 1.0, 1), ("episodes", 1.0, 1),
    ]  # fmt: skip
    assert (own.own, own.unread) == (2, 0)


def test_swipes_presses_and_texts_of_odyssey_are_actions_of_the_view(tmp_path):
    acts = [step.act for step, _ in steps("gui-odyssey", written(tmp_path, ODYSSEY))]
    assert acts[0] == Act("click", (0.5, 0.25))
    assert (acts[1].name, acts[1].arguments["direction"]) == ("scroll", "down")  # the finger goes up
    assert acts[2:4] == [Act("home"), Act("type", (), {"text": "red hat"})]
    typed = {
        **ODYSSEY,
        "steps": [{"step": 0, "action": "TEXT", "info": each, "sam2_bbox": []} for each in ("TEXT", "UP")],
    }
    texts = [step.act for step, _ in steps("gui-odyssey", written(tmp_path, typed))]
    assert texts == [Act("type", (), {"text": "TEXT"}), Act("type", (), {"text": "UP"})]  # words of actions, too


@pytest.mark.parametrize(
    ("changes", "act"),
    [
        ({"duration": 201}, Act("long_press", (0.4, 0.42))),
        ({"result_lift_yx": "[0.459, 0.4]"}, Act("click", (0.4, 0.42))),  # less than 0.04 away
        ({"result_lift_yx": "[0.9, 0.4]", "duration": 500}, Act("scroll", (), {"direction": "up"})),  # a slow swipe
        ({"result_action_type": 3, "result_action_text": "red"}, Act("type", (), {"text": "red"})),
        ({"result_action_type": 10}, Act("finished")),
        ({"result_action_type": 11}, Act("finished", (), {"status": "impossible"})),
        ({"result_action_type": 6}, Act("home")),
    ],
)
def test_numbers_of_aitw_are_actions(tmp_path, changes, act):
    ((step, _),) = steps("cagui", written(tmp_path, [{**CPM, **changes}]))
    assert step.act == act


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("wrong", ["empty", "cut", "another", "of no value"])
def test_a_wrong_file_of_each_layout_is_one_clear_error(tmp_path, name, wrong):
    benchmark, content, _ = FILES[name]
    path = written(tmp_path, content)
    text = path.read_text()
    if wrong == "of no value":  # the fields are there, and hold null
        (_, row) = list(steps(benchmark, path))[-1]
        ids = ("episode_id", "step_id", "step", "image_width", "image_height", "task_id", "step_num", "annotation_id")
        row = {key: value if key in ids else None for key, value in row.items()}
        text = json.dumps([{**row, "response": "CLICK"}])
    path.write_text(
        {"empty": "", "cut": text[: len(text) // 2], "another": '[{"bbox": [1, 2, 3, 4]}]'}.get(wrong, text)
    )
    with pytest.raises(TableError) as caught:
        evaluate_steps(path, benchmark, "all")
    said = str(caught.value)
    assert said.startswith(str(path)), said
    assert "\n" not in said
    assert len(said) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ui-s1", [{**UI_S1, "response": "x", "steps": ["x", [1]]}]),  # steps that are no objects
        ("odyssey", [{**ODYSSEY, "response": "x", "task_info": None, "steps": [None]}]),
        ("aitw", [{**SEECLICK, "response": "x", "annot_position": [10**400, 1, 1, 1]}]),
        ("clawgui", [{**CLAW, **SIZE, "response": "x", "arguments": {"points": [[float("inf"), 1]]}}]),
        ("aitw", {"general": [[{**SEECLICK, "response": "x"}, 5], [5]], "touch": [[5]]}),
        ("aitz", [{**FILES["aitz"][1][0], "response": "x", "ui_text": "junk"}]),
        ("mind2web", [{**MIND, "response": "x", "image_width": 0}]),
        ("mind2web", [{**MIND, "response": "x", "image_width": None, "image_size": "x"}]),
    ],
)
def test_odd_values_of_a_file_are_one_clear_error(tmp_path, name, content):
    with pytest.raises(TableError, match=r"a\.json"):
        evaluate_steps(written(tmp_path, content), FILES[name][0], "all")


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ({"width": 1080, "height": 2400, "w": 50, "h": 20}, (1080.0, 2400.0)),  # of the place, or null in a table
        ({"w": None, "h": None, "width": 1080, "height": 2400}, (1080.0, 2400.0)),
        ({"width": 1080, "height": 2400, "w": None, "h": None}, (1080.0, 2400.0)),
        ({"image_width": 1080, "image_height": 2400, "width": 1, "height": 2}, (1080.0, 2400.0)),
        ({"w": 1080, "h": 2400}, (1080.0, 2400.0)),
        ({"image_size": "1080x2400"}, (1080.0, 2400.0)),
        ({"image_size": [0, 0], "device_info": {"width": 1080, "height": 2400}}, (1080.0, 2400.0)),
        ({"width": 1080, "h": 2400}, None),
    ],
)
def test_the_size_of_a_screenshot_is_that_of_its_longest_names(row, size):
    assert size_of(row) == size


def test_tfrecords_are_named_as_what_they_are(tmp_path):
    (tmp_path / "android_control-00000-of-00020").write_bytes(b"\x1f\x8b")
    for path in (tmp_path, *tmp_path.iterdir()):
        with pytest.raises(TableError, match="TFRecords are read by TensorFlow alone; write their steps as JSON"):
            evaluate_steps(path, "androidcontrol", "all")


def test_names_of_images_say_the_episode_where_rows_do_not():
    rows = [{**ATLAS, "image": f"../episode_140_screenshot_{each}.png", "response": answer}
            for each, answer in ((1, "no"), (0, "actions:\nSCROLL [UP]"))]  # fmt: skip
    figures = {each.name: each for each in evaluate_steps(rows, "androidcontrol", "os-atlas").rules[0].figures}
    assert (figures["episodes"].right, figures["episodes"].of, figures["progress"].share) == (0, 1, 0.5)


@pytest.mark.parametrize(("length", "of"), [(2, 2), (3, 1), ("3", 2), (None, 2)])
def test_an_episode_of_odyssey_that_lacks_its_last_step_is_left_out_of_its_authors_figure(length, of):
    answer = {"answer": "COMPLETE", "sam2_bbox": [], "category": "Tool", "response": "COMPLETE"}
    rows = [{**answer, "image": f"/a/e{number}_{step}.png", "step_length": length if number else 2}
            for number in (0, 1) for step in (0, 1)]  # fmt: skip
    (own,) = evaluate_steps(rows, "gui-odyssey", "odyssey").rules
    figures = {each.name: (each.right, each.of) for each in own.figures}
    assert (figures["episodes"], figures["episodes, mean of categories"]) == ((2.0, 2), (float(of), of))


def test_a_number_of_thousands_of_digits_in_the_name_of_an_image_is_none():
    row = {**ATLAS, "image": f"140_screenshot_{'9' * 5000}.png", "response": "no"}
    assert evaluate_steps([row], "androidcontrol", "os-atlas").rules[0].figures[0].of == 1


def test_directions_that_are_none_are_errors_of_the_row_and_never_of_a_rule():
    row = {**SEECLICK, "action_type_text": "scroll sideways", "response": "x"}
    with pytest.raises(TableError, match=r"rows, row 1: direction: got 'sideways'; expected up, down, left or right"):
        evaluate_steps([{**SEECLICK, "response": "x"}, row], "aitw", "all")


def test_rows_in_memory_that_are_no_objects_are_one_error():
    with pytest.raises(TableError, match=r"^rows: is no file of AITW"):
        evaluate_steps([5], "aitw", "all")
    with pytest.raises(TableError, match=r"^rows, row 1: .* got what is no step of "):
        evaluate_steps([{**SEECLICK, "response": "x"}, 5], "aitw", "all")


def test_a_place_in_the_episode_of_thousands_of_digits_is_read(tmp_path):
    path = written(tmp_path, [{**CPM, "response": "x", "step_id": "9" * 5000}])
    assert evaluate_steps(path, "androidcontrol", "os-atlas").rules[0].figures[0].of == 1


def test_an_answer_that_a_rule_has_no_form_of_is_not_read():
    row = {**SEECLICK, "response": '{"action": "scroll", "coordinate": [5, 5]}'}  # without a direction
    (own, _) = evaluate_steps([row], "aitw", "all", response_space="thousandths").rules
    assert (own.rule, own.own, own.other, own.unread) == ("auto-gui", 0, 0, 1)
