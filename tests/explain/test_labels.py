"""Label of a verifier: its formula, the arguments that decide, and no private name."""

import re

import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.combine import product
from grounding_rewards.explain import Case, explain
from grounding_rewards.explain.formulas import acc_made_by, called_with, formula_of, made_by
from grounding_rewards.plugins.named import Bound
from grounding_rewards.plugins.registry import collect
from grounding_rewards.recipes.composite import expression
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
    written = term_named("ui-r1", "format").formula
    assert "every one of the patterns occurs." in written
    assert written.endswith("*$')")


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
