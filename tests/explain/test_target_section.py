"""A target in the wire form is the same target for every recipe, and several recipes are compared by it."""

import json

import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.explain import Case, compare
from grounding_rewards.explain.target_section import in_wire_form
from grounding_rewards.plugins.registry import collect


@pytest.mark.parametrize("name", collect([]).recipes)
def test_every_recipe_scores_its_example_the_same_in_the_wire_form(name):
    recipe = gr.recipe(name, **catalogue.shown_with(name))
    case = Case.of(recipe.example)
    assert in_wire_form(recipe, case).score(recipe).total[0] == case.score(recipe).total[0]


def test_what_cannot_be_read_stays():
    assert in_wire_form(gr.recipe("gelato"), Case(("?",), ([1, 2],))).target == [1, 2]


def test_recipes_side_by_side():
    case = Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.3],), image_sizes=((1000.0, 1000.0),))
    recipes = [gr.recipe(name, response_space="thousandths") for name in ("gelato", "click", "gta1")]
    gelato, click, gta1 = compare(recipes, case)
    assert (gelato.total, gelato.acc, gelato.reason) == (pytest.approx(0.823223), 1.0, "OK")
    assert (click.name, click.total, click.high, click.response_space) == ("click", 1.0, 1.0, "thousandths")
    assert (gta1.total, gta1.acc, gta1.reason) == (None, None, None)
    assert gta1.error.startswith("field 'model_image_size': got nothing")
    assert json.loads(json.dumps(click.to_dict()))["recipe"] == "recipe('click', response_space='thousandths')"
