"""Figures of judged steps beside those that the authors' own code printed of the same small episodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grounding_rewards as gr
from grounding_rewards.evaluators.figures import OWN, Judged, by_action, shares
from grounding_rewards.evaluators.judging import RULES, rules_of
from grounding_rewards.evaluators.rule import StepVerdict

FILE = Path(__file__).parents[3] / "shared" / "data" / "golden_actions" / "aggregates.jsonl"
KINDS = {"CLICK": "click", "SCROLL": "scroll", "TYPE": "type", "OPEN": "open_app"}


def judged(line):
    """The steps of a line as we judge them, in the order of the file."""
    evaluator = line["evaluator"]
    for number, step in enumerate(line["steps"]):
        if evaluator in ("agentcpm-gui", "aitz-coat"):
            kind = step["answer"]["action_type"]
            yield Judged(kind, kind == "click", StepVerdict(step["type_match"], None, step["exact_match"]),
                         (step["subset"], step["episode_id"]), step["step_id"])  # fmt: skip
        elif evaluator == "guievalkit":
            right, read = step["evaluation"], step["pred_action"] is not None
            yield Judged(KINDS[step["target_action"]], True,
                         StepVerdict(right["type_match"], None, right["exact_match"], read=read),
                         (step["episode_id"],), step["step_id"])  # fmt: skip
        elif evaluator == "os-atlas-android-control":
            response, gold, episode = step
            verdict = gr.judge_step("androidcontrol", "os-atlas", response=response, gold=gold)
            yield Judged(gold.split()[0].lower(), "point" in gold, verdict, (str(episode),), number)
        elif evaluator == "gui-r1-omni":
            (kind, place, text), (said, at, written) = step
            verdict = gr.judge_step(
                "androidcontrol", "gui-r1", image_size=(1080, 2400),
                response={"pred_action": said, "pred_coord": at, "pred_input_text": written},
                gold={"gt_action": kind, "gt_bbox": place, "gt_input_text": text},
            )  # fmt: skip
            yield Judged(kind, place[0] >= 0, verdict, (str(number),))
        else:
            response, gold, question, info = step
            verdict = gr.judge_step(
                "gui-odyssey", "odyssey", response=response, gold={"answer": gold, "sam2_bbox": info["sam2_bbox"]}
            )
            name = question.split("/")[-2].removesuffix(".png<").split("_")
            yield Judged(
                gold.split(":")[0].lower(), "CLICK" in gold, verdict, (name[0],), int(name[1]), info["category"]
            )


PRINTED = {
    # evaluator -> benchmark and rule, and each of its figures by our name
    "agentcpm-gui": (("androidcontrol", "agentcpm"), {
        "episodes": "episode success_rate", "progress": "episode goal_progress", "type": "atomic total type_acc",
        "step": "atomic total exact_acc"}),
    "aitz-coat": (("aitz", "coat"), {"episodes": "episode success_rate", "progress": "episode goal_progress"}),
    "guievalkit": (("androidcontrol", "guievalkit"), {
        f"{ours}, read{more}": f"figures {part} {name}"
        for part, more in (("IN_UNIFIED", ""), ("TARGET_NOT_OPEN", " and not open_app"))
        for ours, name in (("type", "type_match"), ("step", "exact_match"), ("progress", "progress"))}),
    "os-atlas-android-control": (("androidcontrol", "os-atlas"), {
        "type": "figures type", "step": "figures step", "place, clicks of the right type": "figures grounding"}),
    "gui-r1-omni": (("androidcontrol", "gui-r1"), {
        f"{ours}, actions with a hit": f"figures {name}"
        for ours, name in (("type", "type"), ("place", "grounding"), ("step", "step"))}),
    "gui-odyssey": (("gui-odyssey", "odyssey"), {
        "step, mean of categories": "figures AMS", "episodes, mean of categories": "figures SR"}),
}  # fmt: skip

DIFFERENT = {
    (
        "agentcpm-gui",
        "truth of numpy",
    ): "its episodes compare verdicts by `is True`, and numpy's true is another object",
    ("aitz-coat", "truth of numpy"): "the same",
    ("aitz-coat", "same id in two subsets"): "an episode is that of its subset here, there of any",
    ("aitz-coat", "steps out of order"): "steps are taken by their number here, there in the order of the file",
}


def lines():
    return [json.loads(each) for each in FILE.read_text("utf-8").splitlines()] if FILE.is_file() else []


@pytest.mark.skipif(not FILE.is_file(), reason="needs ../shared/data/golden_actions")
@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{line['evaluator']}, {line['case']}")
def test_figures_are_those_that_the_evaluator_printed(line):
    (benchmark, rule), names = PRINTED[line["evaluator"]]
    if (line["evaluator"], line["case"]) in DIFFERENT:
        names = {ours: name for ours, name in names.items() if not name.startswith("episode")}
    steps = list(judged(line))
    ours = {each.name: each.share for each in shares(steps, OWN.get((benchmark, rule), ()))}
    scale = 100 if line["evaluator"] == "gui-odyssey" else 1
    for name, where in names.items():
        theirs = line
        for part in where.split():
            theirs = theirs.get(part) if theirs else None
        if theirs is not None:
            assert ours[name] == pytest.approx(theirs / scale, abs=1e-4), name
    if line.get("raised", "") and "division by zero" in line["raised"] and line["evaluator"] != "aitz-coat":
        assert None in ours.values()  # a denominator of 0 stops it


def step(right, episode="a", number=0, kind="click", group="", **parts):
    verdict = StepVerdict(right, right, right, parts=parts)
    return Judged(kind, True, verdict, (episode,), number, group)


def test_progress_is_the_share_before_the_first_wrong_step_whatever_the_order_of_rows():
    steps = [step(True, number=2), step(False, number=1), step(True, number=0), step(True, "b")]
    found = {each.name: (each.right, each.of, each.share) for each in shares(steps)}
    assert found["episodes"] == (1, 2, 0.5)
    assert found["progress"] == (pytest.approx(4 / 3), 2, pytest.approx(2 / 3))


def test_intervals_are_of_episodes_whose_steps_are_alike():
    alike = [step(right, f"{right}{episode}", number) for right in (True, False) for episode in range(10)
             for number in range(10)]  # fmt: skip
    apart = [each._replace(episode=(str(place),)) for place, each in enumerate(alike)]
    wide, narrow = (next(each.interval for each in shares(own) if each.name == "step") for own in (alike, apart))
    assert wide == pytest.approx((0.3, 0.7), abs=0.06)  # 20 episodes
    assert narrow == pytest.approx((0.43, 0.57), abs=0.01)  # 200


def test_all_right_has_the_interval_of_as_many_episodes():
    (own,) = (each for each in shares([step(True, "a", number) for number in range(50)]) if each.name == "step")
    assert own.interval == pytest.approx((0.2065, 1.0), abs=1e-4)  # Wilson's of 1 of 1


@pytest.mark.parametrize(("episodes", "interval"), [(1, (0.0546, 0.9454)), (2, (0.0945, 0.9055))])
def test_episodes_that_are_alike_have_the_interval_of_as_many_trials(episodes, interval):
    alike = [step(number == 0, str(episode), number) for episode in range(episodes) for number in range(2)]
    found = {each.name: each.interval for each in shares(alike)}
    assert found["step"] == found["progress"] == pytest.approx(interval, abs=1e-4)  # Wilson's of a half: no width else


def test_actions_come_by_how_often_they_are_right_answers():
    found = by_action([step(True), step(False, kind="type"), step(True, kind="type")])
    assert [(kind, own[2].right, own[2].of) for kind, own in found.items()] == [("type", 1, 2), ("click", 1, 1)]


def test_means_over_tasks_and_subsets_weigh_each_of_them_alike():
    steps = [step(True, "a", n, group="x") for n in range(3)] + [step(False, "b", group="y", op_f1=0.5)]
    macro = {each.name: each.share for each in shares(steps, OWN["mind2web", "seeclick"])}
    assert (macro["step"], macro["step, mean over tasks"], macro["operation F1"]) == (0.75, 0.5, 0.125)
    (mean,) = (each for each in shares(steps, OWN["aitw", "seeclick"]) if each.name == "step, mean of subsets")
    assert (mean.share, mean.interval) == (0.5, None)


def test_each_figure_of_its_own_belongs_to_a_rule():
    assert {*OWN} <= {(name, rule.name) for name in RULES for rule in rules_of(name)}
