"""UI-S1's step reward by hand: a tenth for the format, the rest for the action, and returns over a trajectory."""

import json

import pytest

import grounding_rewards as gr
from grounding_rewards.testing import check_recipe
from tests.golden import harness

UI_S1 = gr.recipe("ui-s1")


def native(wanted, **more):
    return {"check_options": wanted, "num_steps": 4, **more}


def answer(thought="plan", **said):
    return f"<think>{thought}</think>\n<action>{json.dumps(said)}</action>"


def line(said, wanted, thought="plan"):
    extra = {"width": 1000, "height": 2000, "resized_width": 1000, "resized_height": 2000}
    response = f"<think>{thought}</think>\n<action>{said}</action>"
    return {"response": response, "ground_truth": native(wanted), "extra": extra}


SWIPE = {"action": "swipe", "coordinate": [500, 200], "coordinate2": [500, 800]}
FROM = '{{"action": "swipe", "coordinate": {}, "coordinate2": [500, 800]}}'


@pytest.mark.parametrize(
    ("said", "wanted", "thought", "name", "total"),
    [
        (FROM.format("[NaN, 200]"), SWIPE, "plan", "no-numbers", 0.1),
        (FROM.format("[true, 200]"), SWIPE, "plan", "no-numbers", 0.1),
        (FROM.format("[500, 200]"), SWIPE, "plan", "flipped-swipe", 1.0),
        (FROM.format("[500, 200]"), SWIPE, "</think><think>a", "flipped-swipe", 0.9),
        (FROM.format("[500, 1e13]"), SWIPE, "plan", "flipped-swipe", 0.55),
        (FROM.format("[500, 1" + "0" * 400 + "]"), SWIPE, "plan", None, 0.1),
        ('{"action": "click", "coordinate": [200, 150], "coordinate2": [NaN, 1]}',
         {"action": "click", "coordinate": [200, 150]}, "plan", None, 1.0),
        ('{"action": "key", "text": "ENTER"}', {"action": "key", "text": "enter"}, "plan", "key-and-answer", 1.0),
        ('{"action": "key", "text": "ENTER"}', {"action": "key", "text": "enter"}, "", "key-and-answer", 0.9),
        ('{"action": "key", "text": " enter"}', {"action": "key", "text": "enter it"}, "", "key-and-answer", 0.45),
        ('{"action": "key", "text": "enter"}', {"action": "key"}, "plan", "bad-target", 0.0),
        ('{"action": "type", "text": ""}', {"action": "key", "text": "enter"}, "plan", "key-and-answer", 0.55),
        ('{"action": "type", "text": "it"}', {"action": "answer", "text": "It is 42"}, "", "key-and-answer", 0.45),
        ('{"action": "type", "text": "tab"}', {"action": "key", "text": "enter"}, "plan", None, 0.55),
        ('{"action": "type"}', {"action": "key", "text": "enter"}, "plan", None, 0.1),
    ],
)  # fmt: skip
def test_what_a_deviation_states_is_what_is_scored(said, wanted, thought, name, total):
    given = line(said, wanted, thought)
    found = harness.deviation("uis1", given)
    scores = harness.score("uis1", UI_S1, given)
    assert (found.name if found else None, scores["total"]) == (name, pytest.approx(total, abs=1e-12))
    stated = harness.stated("uis1", UI_S1, found, given) if found else {}
    assert {key: scores[key] for key in stated} == pytest.approx(dict(stated), abs=1e-12)


@pytest.mark.slow
def test_it_keeps_what_every_recipe_promises():
    check_recipe(gr.recipe("ui-s1", returns=True))


def test_a_long_rollout_stays_within_its_bounds():
    recipe = gr.recipe("ui-s1", returns=True, gamma=0.9)
    steps = [native({"action": "wait"}, trajectory="alarm", step=step) for step in range(2000)]
    scores = recipe.score([answer(action="wait")] * 2000, steps)
    assert scores.total.max() <= recipe.high
    assert scores.total[0] == pytest.approx(10.0)
