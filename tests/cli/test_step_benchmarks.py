"""``eval --benchmark androidcontrol --rule os-atlas``: files of whole actions in, the figures that papers print out."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

import grounding_rewards as gr
from tests.cli.command import result_of, write_rows

CLICK, TYPED = "CLICK <point>[[400,420]]</point>", "TYPE [red hat]"
CPM = {
    "episode_length": 2, "image_width": 1080, "image_height": 2400, "image_path": "a.png", "instruction": "set it",
    "result_touch_yx": "[0.42, 0.4]", "result_lift_yx": "[0.42, 0.4]", "duration": None, "result_action_text": "",
    "ui_positions": "[[0.4, 0.3, 0.05, 0.2]]", "subset": "android_control", "result_action_type": 4,
}  # fmt: skip


def cpm(episode, step, **changes):
    return {**CPM, "episode_id": episode, "step_id": step, **changes}


def conversation(number, line):
    return {
        "id": number,
        "image": "a.png",
        "conversations": [{"from": "gpt", "value": f"thoughts:\nx\nactions:\n{line}"}],
    }


def figures(run, *words, benchmark="androidcontrol", rule="os-atlas"):
    """The figures of one rule by name, and its entry."""
    result = run("eval", *words, "--benchmark", benchmark, "--rule", rule, "--json")
    assert result.code == 0, result.err
    (entry,) = result_of(result.out)
    (own,) = entry["rules"]
    return {each["name"]: (each["right"], each["of"]) for each in own["figures"]}, own


class TestFigures:
    ANSWERS = (
        f"actions:\n{CLICK}", '{"action": "type", "text": "red shop"}', "CLICK <point>[[900,900]]</point>", "no idea",
    )  # fmt: skip

    @pytest.fixture
    def steps(self, tmp_path):
        """Two episodes of a click and a text each."""
        rows = [cpm(each, step, **({}, {"result_action_type": 3, "result_action_text": "red hat"})[step])
                for each in (7, 8) for step in (0, 1)]  # fmt: skip
        path = tmp_path / "steps.json"
        path.write_text(json.dumps(rows))
        return path

    @pytest.fixture
    def answers(self, tmp_path):
        names = [(episode, step) for episode in (7, 8) for step in (0, 1)]
        rows = [{"episode_id": e, "step_id": s, "response": a} for (e, s), a in zip(names, self.ANSWERS, strict=True)]
        return write_rows(tmp_path / "answers.jsonl", *rows)

    def test_each_has_its_denominator_and_an_interval_over_episodes(self, run, steps, answers):
        words = (steps, "--predictions", answers, "--id", "episode_id,step_id", "--response-space", "thousandths")
        found, own = figures(run, *words)
        assert found == {
            "type": (3, 4), "place": (1, 2), "step": (2, 4), "episodes": (1, 2), "progress": (1, 2),
            "place, clicks of the right type": (1, 2),
        }  # fmt: skip
        assert (own["own"], own["other"], own["unread"]) == (1, 2, 1)
        assert {kind: [(each["right"], each["of"]) for each in by] for kind, by in own["by"].items()} == {
            "click": [(2, 2), (1, 2), (1, 2)], "type": [(1, 2), (0, 0), (1, 2)],
        }  # fmt: skip
        assert own["figures"][2]["interval"] == [0.0, 1.0]  # draws of both episodes, one right and one wrong

    def test_without_a_space_the_evaluators_own_form_alone_is_read(self, run, steps, answers):
        found, own = figures(run, steps, "--predictions", answers)  # joined by episode and step
        assert (found["step"], own["own"], own["other"], own["unread"]) == ((1, 4), 1, 0, 3)

    def test_python_has_the_same(self, run, steps, answers):
        found, own = figures(run, steps, "--predictions", answers, "--id", "episode_id,step_id")
        same = gr.evaluate_steps(steps, "androidcontrol-high", "os-atlas", predictions=answers, id="episode_id,step_id")
        assert json.loads(json.dumps(asdict(same.rules[0]))) == own
        assert found == {each.name: (each.right, each.of) for each in same.rules[0].figures}

    def test_the_table_says_whose_forms_were_read(self, run, steps, answers):
        out = run("eval", steps, "--predictions", answers, "--id", "episode_id,step_id",
                  "--benchmark", "androidcontrol", "--rule", "os-atlas").out  # fmt: skip
        assert "AndroidControl, os-atlas: 1 answer" in out
        assert next(line.split() for line in out.splitlines() if "step  " in line)[:4] == ["step", "1", "4", "25.0"]


def test_a_conversation_is_the_evaluators_own_gold(run, tmp_path):
    rows = [{**conversation(1, CLICK), "response": f"actions:\n{CLICK}"},
            {**conversation(2, TYPED), "response": "actions:\nTYPE [red shop]"}]  # fmt: skip
    found, own = figures(run, write_rows(tmp_path / "a.jsonl", *rows))
    assert (found["type"], found["place"], found["step"], found["episodes"]) == ((2, 2), (1, 1), (2, 2), (2, 2))
    assert list(own["by"]) == ["click", "type"]


def test_outputs_of_clawgui_have_answers_in_the_column_of_their_model(run, tmp_path):
    gold = json.dumps({"action": "click", "arguments": {"points": [[500, 940]]}})
    call = '<tool_call>{"arguments": {"action": "click", "coordinate": [500, 940]}}</tool_call>'
    rows = [{"answer": gold, "qwen3vl_infer": each} for each in (call, "")]
    found, own = figures(run, write_rows(tmp_path / "claw.jsonl", *rows), rule="clawgui")
    assert (found["step"], own["own"], own["unread"]) == ((1, 2), 1, 1)
    several = write_rows(tmp_path / "two.jsonl", {**rows[0], "maiui_infer": call})
    said = run.error("eval", several, "--benchmark", "androidcontrol", "--rule", "clawgui")
    assert said.endswith("which column holds the response: qwen3vl_infer or maiui_infer? Give --response-column")


def test_rules_side_by_side_show_the_steps_on_which_they_part(run, tmp_path):
    near, far = "CLICK <point>[[400,500]]</point>", "CLICK <point>[[900,900]]</point>"
    rows = [cpm(7, step, response=f"actions:\n{near if step < 12 else far}") for step in range(14)]
    words = ("eval", write_rows(tmp_path / "a.jsonl", *rows), "--benchmark", "androidcontrol", "--rule", "all",
             "--response-space", "thousandths")  # fmt: skip
    (entry,) = result_of(run(*words, "--json").out)
    assert {each["rule"]: each["figures"][-1]["of"] for each in entry["rules"]}.keys() >= {
        "os-atlas",
        "agentcpm",
        "ui-s1",
    }
    assert [each["step"] for each in entry["parted"]] == list(range(12))  # 0.08 of the height away, outside all boxes
    first = entry["parted"][0]
    assert (first["episode"], first["os-atlas"], first["agentcpm"], first["ui-s1"]) == (7, True, False, False)
    out = run(*words).out
    assert "Steps on which rules part, 10 of 12; --json has all" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["rule", "not", "read", "type", "place", "step", "episodes", "progress"] in lines
    assert ["os-atlas", "0", "100.0", "%", "85.7", "%", "85.7", "%", "0.0", "%", "85.7", "%"] in lines
    assert ["agentcpm", "0", "100.0", "%", "0.0", "%", "0.0", "%", "0.0", "%", "0.0", "%"] in lines
    assert "Figures with an evaluator's own denominator" in out
    assert sum(line.startswith(" 7, ") for line in out.splitlines()) % 10 == 0  # in blocks, as rules are many


def test_answers_that_nobody_reads_are_said_with_the_option_that_would(run, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", cpm(7, 0, response="(400, 420)"))
    result = run("eval", path, "--benchmark", "androidcontrol", "--rule", "os-atlas")
    assert "answers that os-atlas does not read, which count as wrong: 1; an option such as" in result.err
    assert "--response-space" in result.err
    assert figures(run, path, "--response-space", "thousandths")[0]["step"] == (1, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--benchmark", "androidcontrol"), "--rule: androidcontrol is judged differently by each author; expected one "
         "of "),
        (("--benchmark", "androidcontrol", "--rule", "os-atlaz"), "rule of androidcontrol: got 'os-atlaz'"),
        (("--benchmark", "screenspot", "--rule", "os-atlas"), "--rule: ScreenSpot has one rule; leave it out"),
        (("--rule", "os-atlas"), "--rule: got it without --benchmark, whose steps they are of"),
        (("--benchmark", "androidcontrol", "--rule", "os-atlas", "--paired"), "--paired"),
    ],
)  # fmt: skip
def test_rules_belong_to_benchmarks_of_whole_actions(run, tmp_path, words, said):
    assert said in run.error("eval", write_rows(tmp_path / "a.jsonl", conversation(1, CLICK)), *words)


@pytest.mark.parametrize("name", ["androidcontrol", "android_control", "AndroidControl-high", "androidcontrol-low"])
def test_a_benchmark_is_named_alike_wherever_it_is_named(name: str) -> None:
    said = "actions:\nWAIT"
    row = {"id": 1, "conversations": [{"from": "gpt", "value": said}], "response": said}
    (own,) = gr.evaluate_steps([row], name, "os-atlas").rules
    assert own.figures[0].share == 1.0
    assert gr.judge_step(name, "os-atlas", response=said, gold="WAIT").step


def test_what_is_decoded_is_a_call_s_arguments_and_scrolls_ask_for_no_place() -> None:
    call = {
        "name": "mobile_use",
        "arguments": {"action": "swipe", "coordinate": [500, 1500], "coordinate2": [500, 500]},
    }
    right = {"action": "swipe", "coordinate": [500, 1500], "direction": "up", "candidate_bbox": []}
    row = {
        "episode_id": 1, "step_id": 0, "check_options": right, "image_size": [1080, 2400], "response": json.dumps(call),
    }  # fmt: skip
    pressed = {"action": "click", "coordinate": [500, 1500]}
    click = {**row, "step_id": 1, "check_options": {**pressed, "candidate_bbox": []}, "response": json.dumps(pressed)}
    (own,) = gr.evaluate_steps([row, click], "androidcontrol", "ui-s1").rules
    assert (own.own, own.unread) == (2, 0)
    assert [(each.right, each.of) for each in own.figures if each.name == "place"] == [(1.0, 1)]


def test_a_rule_that_stops_parts_from_no_other() -> None:
    row = cpm(1, 0, response=json.dumps({"PRESS": "BACK"}), result_action_type=5)
    found = gr.evaluate_steps([row], "androidcontrol", "all", response_space="thousandths")
    verdicts = {each.rule: each.figures for each in found.rules}
    assert len(verdicts) == 8
    assert all(len({value for name, value in each.items() if isinstance(value, bool)}) == 2 for each in found.parted)
