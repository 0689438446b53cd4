"""The numbers that a score was made of, by the names of its formula."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.explain import Case, explain

UI_R1 = "<answer>[{'action': 'click', 'coordinate': [100, 100, 300, 200]}]</answer>"
RIGHT = "<think>-</think>\n<answer>[{'action': 'click', 'coordinate': [100, 75]}]</answer>"
BTL = (
    '<blink>```json\n[{{"bbox_2d": {}}}, {{"bbox_2d": [500, 500, 600, 600]}}]\n```</blink>\n<think>-</think>\n'
    '<link>```json\n[{{"Plan": "-", "Action": {{"function": "Tap", "point_2d": [200, 150]}}}}]\n```</link>'
)


def numbers(recipe, case, part):
    found = explain(recipe, case)
    return next(term.numbers for term in (*found.reward.parts, found.success) if term.name == part)


def test_the_length_of_a_group():
    case = Case(
        (RIGHT, "wrong", RIGHT), (UI_R1,) * 3, 0, ((1000.0, 800.0),) * 3, ((500.0, 400.0),) * 3, (0,) * 3, (10, 40, 30)
    )
    recipe = gr.recipe("ui-r1-dast")
    expected = "L = 10, B = 26.6667, λ = -0.625, p = 0.666667, L_max = 40, L_r = 20, unit = tokens, answer = right"
    assert numbers(recipe, case, "length") == expected
    apart = replace(case, groups=(0, 1, 1))
    assert numbers(recipe, apart, "length").startswith("L = 10, B = 10, λ = 0, p = 1, L_max = 10, L_r = 10, unit")
    assert [mate.length for mate in explain(recipe, case).together.rows] == [10, 40, 30]
    assert numbers(recipe, Case.of(recipe.example), "length").endswith("unit = characters, answer = right")
    alone = Case(("wrong",), (UI_R1,), 0, ((1000.0, 800.0),), ((500.0, 400.0),), (0,))
    assert (
        numbers(recipe, alone, "length") == "L = 5, B = 5, λ = 0, p = 0, L_max = 5, unit = characters, answer = wrong"
    )


def test_how_many_points_and_which_hits():
    recipe, target = gr.recipe("infigui-g1"), {"x1": 100, "y1": 100, "x2": 300, "y2": 200}

    def said(*points):
        listed = ", ".join(f'{{"point_2d": {list(point)}}}' for point in points)
        return numbers(recipe, Case((f"<think>x</think>\n[{listed}]",), (target,)), "exploration")

    assert said((200, 150)) == "N = 1, k = 1"
    assert said((500, 150), (7, 9), (200, 160)) == "N = 3, k = 3"
    assert said((500, 150), (7, 9)) == "N = 2, k = none"
    assert said((500, 100), (200, 100), (300, 100)) == "N = 3, k = none: three points on one line"
    assert numbers(recipe, Case(("?",), (target,)), "exploration") == "N = 0"


def test_the_votes_of_a_group():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    case = Case(("(100, 100)", "(110, 100)", "(400, 100)", "?"), (None,) * 4, 2, groups=(0,) * 4)
    assert numbers(recipe, case, "consensus") == numbers(recipe, case, "acc") == "v_max = 2, v at the point = 1"
    nowhere = Case(case.responses, case.targets, 3, groups=case.groups)
    assert numbers(recipe, nowhere, "acc") == "vote = none: there is no place in the image"


def test_the_boxes_that_are_looked_at():
    recipe = gr.recipe("btl-ui")
    target = {"bbox": [100, 100, 300, 200], "model_image_size": [1000, 1000]}
    assert numbers(recipe, Case((BTL.format([100, 100, 300, 150]),), (target,)), "blink") == (
        "(100, 100, 300, 150) on the target = 0.5, (500, 500, 600, 600) on the target = 0, the two most alike = 0"
    )
    assert numbers(recipe, Case(("?",), (target,)), "blink") == "boxes = none"
    many = BTL.format("[0, 0, 9, 9]" + '}, {"bbox_2d": [20, 20, 40, 40]' * 9)
    assert numbers(recipe, Case((many,), (target,)), "blink").endswith(", more boxes = 3, the two most alike = 1")


def test_answers_places_and_matches():
    recipe = gr.recipe("composite", response_space="pixel", parts={"matched_f1": 1})
    target = {"regions": [{"bbox": [10, 20, 30, 40]}, {"bbox": [50, 20, 70, 40]}, {"circle": [9, 9, 2]}]}
    assert (
        numbers(recipe, Case(("(20, 30) (21, 30) (60, 30) (0, 0)",), (target,)), "matched_f1") == "n = 4, m = 3, k = 2"
    )
    assert numbers(recipe, Case((None,), (target,)), "matched_f1") == "n = 0, m = 3, k = 0"


def test_the_verdicts_of_a_response_and_a_target():
    part = {"weight": 1, "tag": "score", "positive": ["yes"], "negative": ["no"]}
    recipe = gr.recipe("composite", response_space="pixel", parts={"verdict": part})

    def shown(text, truth):
        return numbers(recipe, Case((text,), ({"action": "wait", "extra": {"verdict": truth}},)), "verdict")

    assert shown("<score>Yes</score>", False) == "response = right, target = wrong"
    assert shown("<score>no</score>", "no") == "response = wrong, target = wrong"
    assert shown("<think><score>no</score>", 1) == "response = no verdict, target = right"


@dataclass(frozen=True)
class Own:
    """1.0 for all."""

    raises: bool = False

    low, high, needs = 0.0, 1.0, frozenset()

    def __call__(self, rollouts):
        return np.ones(len(rollouts))

    def row_numbers(self, rollouts, row, score):
        if self.raises:
            raise ValueError("no")
        return {"score": score, "length": len(rollouts.text[row]), "unit": "letters"}


def test_a_verifier_of_ones_own_states_its_numbers_or_is_named():
    click = gr.recipe("click", response_space="pixel")
    case = Case(("(1, 2)",), ({"bbox": [0, 0, 9, 9]},))
    own = replace(click, reward=gr.weighted(own=(1.0, Own())))
    assert numbers(own, case, "own") == "score = 1, length = 6, unit = letters"
    with pytest.raises(gr.VerifierError, match=r"Own\(raises=True\): row_numbers raised ValueError: no"):
        explain(replace(click, reward=gr.weighted(own=(1.0, Own(raises=True)))), case)
