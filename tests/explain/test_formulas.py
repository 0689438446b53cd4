"""Formulas of verifiers and combinations: in words, with the names of parts, and with the numbers of a row."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue, combine
from grounding_rewards.combine import product
from grounding_rewards.explain import Case, explain, formulas
from grounding_rewards.explain.formulas import acc_made_by, called_with, formula_of, made_by, term_of
from grounding_rewards.plugins.named import Bound
from grounding_rewards.plugins.registry import collect
from grounding_rewards.recipes.composite import expression
from grounding_rewards.scoring import Example
from grounding_rewards.verifiers import (
    ActionType,
    Consensus,
    CorrectRefusal,
    Format,
    Hit,
    TextMatch,
    any_of,
    if_placed,
    same_action,
    verifier,
)


def term_named(name, part, **options):
    recipe = gr.recipe(name, **{**catalogue.shown_with(name), **options})
    found = explain(recipe, Case.of(recipe.example))
    return next(term for term in walk(found.reward) if term.name == part)


def walk(term):
    yield term
    for part in term.parts:
        yield from walk(part)


def test_a_verifier_named_by_its_place_has_the_formula_of_its_class():
    assert formula_of(expression("grounding_rewards.verifiers:CorrectRefusal")) == formula_of(CorrectRefusal())


def test_acc_has_the_parts_that_the_reward_has_not():
    assert acc_made_by(gr.recipe("infigui-g1")) == "1 where gate(format, hit) is above 0; hit: Hit()"


def test_a_pattern_is_written_whole_in_place_of_the_formula_without_one():
    pattern = "^<think>.*</think><answer>[0-9 ,]*</answer>$" * 3
    assert formula_of(Format(pattern)) == f"1.0 where this pattern occurs in the text, else 0.0:\n\n{pattern!r}"
    assert formula_of(Format()).startswith("1.0 where an answer was read")
    assert term_named("gta1", "format").formula.startswith("1.0 where this pattern occurs in the text")
    assert term_named("ui-r1", "format").formula.endswith("nothing around them but white space.")


def test_every_argument_that_is_no_default_is_described():
    assert formula_of(Hit(whole_edges=True)).endswith(
        "\n\nwhole_edges = True: cut box edges to whole numbers first (300.9 counts as 300), as GTA1 and UI-Ins do."
    )
    assert "polygon = 'half_open'" in term_named("gelato", "distance").formula
    assert "response_space = 'model_pixel': the space" in term_named("btl-ui", "blink").formula


def test_what_a_lifted_function_was_given_is_shown():
    lifted = gr.verifier(Bound(term_named, (("most", 40),)), low=0, high=1)
    assert called_with(lifted) == "FunctionVerifier(fn=term_named(most=40), low=0.0, high=1.0)"


def test_defaults_are_shown_that_the_formula_names():
    assert called_with(Consensus()) == "Consensus()"
    assert term_named("gui-rcpo", "consensus").made_by == "Consensus(size=50.0)"
    assert term_named("gui-g2", "point").made_by == "GaussianPoint(alpha=0.5, digits=3)"
    assert term_named("btl-ui", "link").made_by == "LinkMatch(share=0.14, words=0.5)"
    assert term_named("btl-ui", "blink").made_by == "Blink(response_space='model_pixel', overlap=0.5)"


@pytest.mark.parametrize("name", collect([]).recipes)
def test_nothing_private_is_shown(name):
    recipe = gr.recipe(name, **catalogue.shown_with(name))
    found = explain(recipe, Case.of(recipe.example))
    said = " ".join(f"{term.made_by} {term.formula}" for whole in (found.reward, found.success) for term in walk(whole))
    assert re.findall(r"\b_\w+\(|<\w+\.|actions\.ACTIONS|see gui_r1|as in AnnotatedAction", said) == []
    assert found.formula == recipe.formula != ""


def test_what_scores_alternatives_is_listed_by_name_or_in_its_own_words():
    term = any_of(
        same_action(click=if_placed(Hit()), wait=None, otherwise=product(said=TextMatch(), name=ActionType()))
    )
    assert made_by(term) == called_with(term) == "any_of(same_action(vocabulary, click, wait))"
    assert formula_of(term).splitlines() == [
        "The score of the best alternative: same_action(vocabulary, click, wait)",
        "click = if_placed(Hit())", "wait = 1", "otherwise = product(said, name)", "said = TextMatch()",
        "name = ActionType()",
    ]  # fmt: skip
    worded = any_of(Hit(), formula="1.0 inside.\n\nBorders count.")
    assert (made_by(worded), formula_of(worded)) == ("1.0 inside.", "1.0 inside.\n\nBorders count.")


HIT, FORMAT = Hit(), Format()
ROLLOUTS = Case.of(Example("(200, 150)", [0.1, 0.1, 0.3, 0.2])).rollouts(gr.recipe("gelato"))


def always(value):
    return verifier(lambda rollouts: np.full(len(rollouts), value), low=-2, high=2)


@pytest.mark.parametrize(
    ("term", "scores", "formula", "numbers", "enters"),
    [
        (
            combine.weighted(a=(1.0, HIT), b=(-0.5, FORMAT), c=(0.0, FORMAT)), {"a": -0.25, "b": 1.0, "c": 1.0},
            "a - 0.5 · b + 0 · c", "(-0.25) - 0.5 · 1 + 0 · 1", {"a": "times 1", "b": "times -0.5", "c": "times 0"},
        ),
        (
            combine.product(a=HIT, b=FORMAT), {"a": 0.5, "b": -1.0},
            "a · b", "0.5 · (-1)", {"a": "a factor", "b": "a factor"},
        ),
        (
            combine.best(a=HIT, b=FORMAT), {"a": 0.5, "b": -1.0},
            "max(a, b)", "max(0.5, -1)", {"a": "the largest", "b": "not the largest"},
        ),
        (
            combine.gate(when=("a", HIT), then=("b", FORMAT), otherwise=-1), {"a": 0.5, "b": 0.25},
            "b where a is above 0, else -1", "0.25, the score of b, because a is 0.5",
            {"a": "above 0, so that b counts", "b": "counts"},
        ),
        (
            combine.gate(when=("a", HIT), then=("b", FORMAT), otherwise=-1), {"a": 0.0, "b": 0.25},
            "b where a is above 0, else -1", "-1, because a is 0",
            {"a": "not above 0, so that -1 counts", "b": "does not count"},
        ),
        (combine.clip("a", HIT, 0, 0.5), {"a": 0.75}, "a, limited to 0..0.5", "0.75, limited to 0..0.5",
         {"a": "limited to 0..0.5"}),
        (combine.clip("a", HIT, 0, 0.5), {"a": 0.25}, "a, limited to 0..0.5", "0.25, limited to 0..0.5",
         {"a": "as it is"}),
        (combine.affine("a", HIT, 2, -1), {"a": 0.75}, "2 · a - 1", "2 · 0.75 - 1", {"a": "times 2"}),
        (combine.asymmetric("a", HIT, 1.5, 0.5), {"a": -0.5}, "1.5 · a above 0, 0.5 · a below", "0.5 · (-0.5)",
         {"a": "times 0.5"}),
        (combine.steps("a", HIT, [0.5], [-1, 1]), {"a": 0.5}, "by a: -1 below 0.5, 1 from 0.5", "1, because a is 0.5",
         {"a": "chooses the step: from 0.5 on"}),
        (combine.steps("a", HIT, [0.5], [-1, 1]), {"a": 0.25}, "by a: -1 below 0.5, 1 from 0.5",
         "-1, because a is 0.25", {"a": "chooses the step: below all edges"}),
    ],
)  # fmt: skip
def test_each_combination(term, scores, formula, numbers, enters):
    found = formulas.equation_of(term, scores)
    assert (found.formula, found.numbers, dict(found.enters)) == (formula, numbers, enters)


def test_contributions_go_through_sums_multiples_and_choices():
    inner = combine.affine("scaled", combine.asymmetric("side", always(-0.5), 1.5, 0.5), 2.0, -1.0)
    whole = combine.weighted(one=(0.5, inner), two=(2.0, combine.best(a=always(0.25), b=always(0.5))))
    total = term_of(whole, ROLLOUTS, 0)
    one, two = total.parts
    (scaled,) = one.parts
    assert (one.score, one.contribution, one.constant) == (-1.5, -0.75, -0.5)
    assert (scaled.contribution, scaled.parts[0].contribution) == (-0.25, -0.25)
    assert (two.contribution, [part.contribution for part in two.parts]) == (1.0, [0.0, 1.0])
    assert (total.score, total.contribution) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("term", "contributions", "constant"),
    [
        (combine.best(a=always(0.5), b=always(0.5)), [0.5, 0.0], 0),
        (combine.gate(when=("a", always(1.0)), then=("b", always(0.25)), otherwise=-1), [0.0, 0.25], 0),
        (combine.gate(when=("a", always(0.0)), then=("b", always(0.25)), otherwise=-1), [0.0, 0.0], -1),
        (combine.clip("a", always(0.5), 0, 1), [0.5], 0),
        (combine.clip("a", always(1.5), 0, 1), [None], 0),
        (combine.steps("a", always(0.5), [0.5], [-1, 1]), [None], 0),
    ],
)
def test_what_is_chosen_contributes_and_what_is_limited_does_not(term, contributions, constant):
    total = term_of(term, ROLLOUTS, 0)
    assert ([part.contribution for part in total.parts], total.constant) == (contributions, constant)


def test_a_combination_of_ones_own_says_what_its_docstring_says():
    class Twice(combine.Combination):
        """Twice the part."""

        def join(self, columns):
            return 2.0 * columns[0]

    found = term_of(Twice("affine", (("a", always(0.5)),), (("scale", 2.0), ("shift", 0.0))), ROLLOUTS, 0)
    assert (found.formula, found.in_words, found.numbers, found.parts[0].enters) == (
        "Twice the part.", True, "a = 0.5", "see total",
    )  # fmt: skip
    assert (found.parts[0].contribution, found.contribution) == (None, 1.0)


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
