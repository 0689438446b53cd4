"""One rollout to explain, with the rows that its score depends on, its target and its place."""

import json

import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.explain import Case, compare, explain
from grounding_rewards.explain.target_section import in_wire_form
from grounding_rewards.plugins.registry import collect
from grounding_rewards.scoring import Example

UNIT = [0.1, 0.1, 0.3, 0.2]
GELATO = gr.recipe("gelato")


def test_the_own_target_counts_by_the_name_of_its_row_and_those_of_mates_do_not():
    case = Case(("(200, 150)", "?"), (UNIT, [1, 2]), names=(7, 9))
    assert case.score(GELATO).valid.tolist() == [1.0, 0.0]
    assert case.rollouts(GELATO).targets.valid.tolist() == [True, False]
    for judge in (case.score, case.rollouts):
        bad = Case(case.responses, case.targets, 1, names=case.names)
        judge = getattr(bad, judge.__name__)
        with pytest.raises(gr.TargetError, match="target of row 9, field"):
            judge(GELATO)


def test_an_example_becomes_the_first_row_with_its_group_behind_it():
    case = Case.of(Example("(1, 2)", UNIT, image_size=(10, 20), group=("(3, 4)", "(5, 6)")))
    assert case.responses == ("(1, 2)", "(3, 4)", "(5, 6)")
    assert case.targets == (UNIT, UNIT, UNIT)
    assert case.groups == (0, 0, 0)
    assert case.image_sizes == ((10, 20),) * 3
    assert case.model_image_sizes is None
    assert (case.response, case.target) == ("(1, 2)", UNIT)


def test_scoring_scores_all_rows_and_another_response_takes_the_rows_place():
    case = Case(("?", "(200, 150)"), (UNIT, UNIT), row=1)
    assert case.score(GELATO).acc.tolist() == [0.0, 1.0]
    assert case.score(GELATO, "(900, 900)").acc.tolist() == [0.0, 0.0]
    assert case.answering(None).responses == ("?", None)
    assert case.rollouts(GELATO).predictions.xy[1].tolist() == [0.2, 0.15]


def test_lengths_in_tokens_are_those_of_the_responses_that_came():
    case = Case(("(200, 150)",), (UNIT,), token_lengths=(7,))
    assert case.rollouts(GELATO).token_lengths.tolist() == [7]
    assert case.answering("(1, 2)").token_lengths is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"targets": ()}, "targets: got 0; expected one for each of 1 responses"),
        ({"groups": (1, 2)}, "groups: got 2; expected one for each of 1 responses"),
        ({"row": 1}, "row: got 1; expected one from 0 to 0"),
        ({"row": -1}, "row: got -1; expected one from 0 to 0"),
    ],
)
def test_rows_that_do_not_go_together_are_an_error(fields, message):
    with pytest.raises(gr.RecipeError, match=message):
        Case(**{"responses": ("?",), "targets": (UNIT,), **fields})


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


CIRCLES = gr.recipe("click", response_space="pixel", point_radius=5)
THREE = {"regions": [{"polygon": [10, 10, 210, 10, 110, 110]}, {"circle": [300, 300, 50]}, {"point": [500, 40]}]}


@pytest.mark.parametrize(
    ("point", "target", "words", "gap"),
    [
        ("(20, 30)", {"bbox": [10, 20, 30, 40]}, "inside", 0),
        ("(30, 40)", {"bbox": [10, 20, 30, 40]}, "on its border", 0),
        ("(110, 10)", {"polygon": [10, 10, 210, 10, 110, 110]}, "on its border", 0),
        ("(110, 11)", {"polygon": [10, 10, 210, 10, 110, 110]}, "inside", 0),
        ("(7, 30)", {"bbox": [10, 20, 30, 40]}, "3 px left of it", 3),
        ("(20, 44)", {"bbox": [10, 20, 30, 40]}, "4 px below it", 4),
        ("(33, 16)", {"bbox": [10, 20, 30, 40]}, "3 px right of it and 4 px above it, 5 px away", 5),
        ("(503, 44)", {"point": [500, 40]}, "3 px right of it and 4 px below it, 5 px away", 5),
        ("(500, 40)", {"point": [500, 40]}, "exactly there", 0),
        ("(20, 100)", {"polygon": [10, 10, 210, 10, 110, 110]}, "56.5685 px from its edge", 56.568542),
        ("(340, 330)", {"circle": [300, 300, 50]}, "on its border", 0),
        ("(340, 329)", {"circle": [300, 300, 50]}, "inside", 0),
        ("(300, 300)", {"circle": [300, 300, 50]}, "inside", 0),
        ("(300, 360)", {"circle": [300, 300, 50]}, "10 px below it, 10 px away", 10),
    ],
)
def test_how_far_it_is(point, target, words, gap):
    where = explain(CIRCLES, Case((point,), (target,))).position
    if "edge" in words:
        words = f"outside, {words}, but inside the box around it"
    assert (where.words, where.gap, where.space) == (words, pytest.approx(gap), "pixel")
    assert where.inside == (gap == 0)


def test_of_several_places_the_nearest_and_what_each_would_earn():
    found = explain(CIRCLES, Case(("(300, 360)",), (THREE,)))
    assert (found.position.nearest, found.position.gap) == (1, 10)
    assert found.position.places[1] == (250, 250, 350, 350)
    assert [place.alone for place in found.target.places] == [0.1, 0.1, 0.1]
    hit = explain(CIRCLES, Case(("(300, 345)",), (THREE,)))
    assert [place.alone for place in hit.target.places] == [0.1, 1.0, 0.1]


def test_a_polygon_is_converted_corner_by_corner():
    target = {"polygon": [100, 100, 200, 100, 150, 200], "space": "thousandths", "image_size": [2000, 500]}
    found = explain(CIRCLES, Case(("(300, 60)",), (target,)))
    axes = found.conversions[1].axes
    assert [axis.axis for axis in axes] == ["x1", "y1", "x2", "y2", "x3", "y3"]
    assert [axis.result for axis in axes] == [200, 50, 400, 50, 300, 100]
    assert found.position.words == "inside"


def test_without_a_size_the_place_is_in_the_space_of_the_formula():
    recipe = gr.recipe("gelato-pixel")
    where = explain(recipe, Case(("(200, 150)",), ([100, 100, 300, 140],))).position
    assert (where.space, where.words) == ("model_pixel", "10 px below it")
    sized = Case(("(200, 150)",), ([100, 100, 300, 140],), 0, ((2000.0, 3000.0),), ((1000.0, 1000.0),))
    assert explain(recipe, sized).position.words == "30 px below it"


def test_what_was_converted_lies_on_a_border_but_for_the_last_digit():
    recipe = gr.recipe("click", response_space="thousandths")
    where = explain(recipe, Case(("(70, 7)",), ({"bbox": [0, 0, 210, 100], "image_size": [3000, 3000]},))).position
    assert (where.words, where.inside) == ("on its border", True)


def test_where_all_answers_count_every_one_is_placed():
    recipe = gr.recipe("infigui-g1")
    response = '<think>x</think>\n[{"point_2d": [500, 150]}, {"point_2d": [200, 160]}]'
    found = explain(recipe, Case((response,), ({"x1": 100, "y1": 100, "x2": 300, "y2": 200},)))
    assert [(each.point, each.words) for each in found.positions] == [
        ((500, 150), "200 px right of it"), ((200, 160), "inside"),
    ]  # fmt: skip
    assert found.position == found.positions[0]
    assert explain(CIRCLES, Case(("(20, 30)",), ({"bbox": [10, 20, 30, 40]},))).positions == ()
