"""Explanation of a reward: what was read, what was converted, what each part adds."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.explain import Case, compare, explain
from grounding_rewards.explain.case import MEANINGS
from grounding_rewards.explain.explaining import in_wire_form
from grounding_rewards.explain.formulas import term_of
from grounding_rewards.plugins.registry import collect
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import Example
from grounding_rewards.testing.hostile import short_responses

NAMES = list(collect([]).recipes)
UNIT = [0.1, 0.1, 0.3, 0.2]
GELATO = gr.recipe("gelato", format_weight=0.1)
CLICK = gr.recipe("click", response_space="thousandths")
BOX = {"bbox": [1000, 300, 1200, 400]}
SCREEN = ((1920.0, 1080.0),)


def build(name):
    return gr.recipe(name, **catalogue.shown_with(name))


def walk(term):
    yield term
    for part in term.parts:
        yield from walk(part)


def assert_adds_up(term):
    """Check that contributions of a term's parts, where there are any, add up with its constant to its own."""
    for each in walk(term):
        shares = [part.contribution for part in each.parts if part.contribution is not None]
        if shares:
            assert len(shares) == len(each.parts)
            assert math.isclose(sum(shares) + each.constant, each.contribution, abs_tol=1e-9)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_every_example_is_explained_and_its_contributions_add_up(name):
    recipe, case = build(name), Case.of(build(name).example)
    found, scores = explain(recipe, case), case.score(recipe)
    assert (found.total, found.acc, found.valid) == (scores.total[0], scores.acc[0], 1.0)
    assert found.reason == Reason(scores.reason[0]).name == found.read.reason
    assert found.reward.score == found.reward.contribution == found.total
    assert (found.success.score > 0) == (found.acc == 1)
    scored = {term.name: term.score for term in walk(found.reward)}
    assert {part: scored[part] for part in scores.parts} == {part: x[0] for part, x in scores.parts.items()}
    assert_adds_up(found.reward)
    assert all(term.formula for term in [*walk(found.reward), *walk(found.success)])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain == found.to_dict()  # lists and texts alone
    assert plain["total"] == found.total
    assert plain["recipe"] == repr(recipe)


def test_no_response_is_too_hostile(name):
    recipe = build(name)
    case = Case.of(recipe.example)
    for response in short_responses()[::12]:
        found = explain(recipe, case.answering(response))
        json.dumps(found.to_dict(), allow_nan=False)
        assert_adds_up(found.reward)


@settings(max_examples=60)
@given(st.text(max_size=60), st.sampled_from(["click", "gelato", "action", "infigui-g1", "groundnext"]))
def test_the_total_is_that_of_the_score(text, name):
    recipe = build(name)
    case = Case.of(recipe.example).answering(text)
    assert explain(recipe, case).total == case.score(recipe).total[0]


def test_a_hit():
    found = explain(GELATO, Case(("(200, 150)",), (UNIT,)))
    assert (found.recipe, found.options) == ("recipe('gelato', format_weight=0.1)", {"format_weight": 0.1})
    assert found.spaces == {"response": "thousandths", "target": "unit", "formula": "unit"}
    assert (found.read.dialect, found.read.point, found.read.space) == ("bare_tuple_whole", (200, 150), "thousandths")
    answer, target = found.conversions
    assert [(axis.axis, axis.value, axis.source, axis.into, axis.result) for axis in answer.axes] == [
        ("x", 200, 1000, 1, 0.2),
        ("y", 150, 1000, 1, 0.15),
    ]
    assert (answer.what, answer.source, answer.into) == ("answer", "thousandths", "unit")
    assert (target.what, target.source, target.into, target.axes) == ("target", "unit", "unit", ())
    assert (found.position.space, found.position.words, found.position.gap) == ("unit", "inside", 0)
    assert (found.target.form, found.target.space) == ("native", "unit")
    assert (found.target.places[0].kind, found.target.places[0].numbers) == ("bbox", tuple(UNIT))
    assert (found.reward.formula, found.reward.numbers) == ("0.9 · distance + 0.1 · format", "0.9 · 1 + 0.1 · 1")
    assert [(part.name, part.contribution, part.enters) for part in found.reward.parts] == [
        ("distance", pytest.approx(0.9), "times 0.9"),
        ("format", 0.1, "times 0.1"),
    ]
    assert found.acc_is == "1 where InsideDistance(polygon='half_open') is above 0"


def test_sizes_say_where_they_came_from_and_pixels_how_far_it_is():
    target = {**BOX, "image_size": [1920, 1080]}
    for case, origin in (
        (Case(("(635, 310)",), (BOX,), image_sizes=SCREEN), "image_size beside the target"),
        (Case(("(635, 310)",), (target,)), "image_size of the target"),
    ):
        found = explain(CLICK, case)
        assert [(each.space, each.width, each.height, each.origin) for each in found.extents] == [
            ("thousandths", 1000, 1000, "always"),
            ("pixel", 1920, 1080, origin),
        ]
        x, y = found.conversions[0].axes
        assert (x.result, y.result) == (1219.2, pytest.approx(334.8))
        assert found.position.words == "19.2 px right of it"
        assert found.position.gap == pytest.approx(19.2)


def test_of_several_answers_all_are_listed():
    found = explain(CLICK, Case(("(1, 2) or (3, 4)",), (BOX,), image_sizes=SCREEN))
    assert (found.reason, found.read.point, found.position) == ("SEVERAL_ANSWERS", None, None)
    assert found.read.found == ((1, 2), (3, 4))
    first = explain(gr.recipe("click", response_space="pixel", answers="first"), Case(("(1, 2) or (3, 4)",), (BOX,)))
    assert (first.reason, first.read.point, first.read.found) == ("OK", (1, 2), ((1, 2), (3, 4)))


def test_outside_the_image():
    found = explain(GELATO, Case(("(1200, 4)",), (UNIT,)))
    assert (found.reason, found.total) == ("OUT_OF_IMAGE", 0.1)
    assert found.read.meaning == "an answer was read, and it lies outside the image"
    assert found.position.words == "0.9 right of it and 0.096 above it, 0.905106 away, in unit"


def test_steps_inside_a_sum():
    recipe = build("groundnext")
    case = Case.of(recipe.example).answering(recipe.example.response.replace("[200, 150]", "[120, 110]"))
    total = explain(recipe, case).reward
    clipped, _ = total.parts
    (distance,) = clipped.parts
    assert clipped.formula == (
        "by norm_distance: -1 below -0.5, -0.5 from -0.5, -0.1 from -0.1, 0.1 from 0, 0.5 from 0.1, 1 from 0.5"
    )
    assert clipped.numbers == "0.5, because norm_distance is 0.2"
    assert (clipped.contribution, distance.contribution) == (0.5, None)
    assert distance.enters == "chooses the step: from 0.1 on"


def test_an_action_with_its_arguments():
    recipe = gr.recipe("action", response_space="pixel")
    response = '{"name": "computer_use", "arguments": {"action": "type", "text": "red hats"}}'
    found = explain(recipe, Case((response,), ({"action": {"name": "type", "text": "red hat"}},)))
    assert (found.read.action, found.read.arguments) == ("type", {"text": "red hats"})
    assert found.target.action == {"name": "type", "text": "red hat"}
    assert (found.total, found.acc, found.conversions, found.position) == (0.1, 0.0, (), None)


def test_both_ends_of_a_drag_are_converted():
    response = "<think>x</think>\n<action>Drag(start=(100,200), end=(100, 20))</action>"
    target = {"point": [200, 400], "action": {"name": "drag", "to": [200, 100]}}
    found = explain(
        build("ui-venus-navigation"), Case((response,), (target,), 0, ((1000.0, 500.0),), ((500.0, 250.0),))
    )
    assert found.read.arguments == {"to": [100.0, 20.0]}
    assert found.read.left_out == len("<think>x</think>")
    assert {each.what: [axis.result for axis in each.axes] for each in found.conversions} == {
        "answer": [0.2, 0.8], "end of the answer": [0.2, 0.08], "target": [0.2, 0.8], "end of the target": [0.2, 0.2],
    }  # fmt: skip


def test_a_step_of_a_trajectory():
    first = '<think>p</think>\n<action>{"action": "click", "coordinate": [120, 300]}</action>'
    second = '<think>p</think>\n<action>{"action": "type", "text": "hi"}</action>'
    place = {"trajectory": "t1", "num_steps": 2}
    targets = (
        {"bbox": [200, 560, 280, 640], "action": "click", "step": 0, **place},
        {"action": {"name": "type", "text": "hello"}, "step": 1, **place},
    )
    case = Case((first, second), targets, 0, ((1000.0, 2000.0),) * 2, ((500.0, 1000.0),) * 2)
    found = explain(gr.recipe("ui-s1", returns=True), case)
    assert (found.together.what, [(row.step, row.total) for row in found.together.rows]) == (
        "trajectory",
        [(0, 1.275), (1, 0.55)],
    )
    step_return = found.reward.parts[0]
    assert step_return.formula == "own_reward + 0.5 · the return of the next step, where goes_on is above 0"
    assert step_return.numbers == "1 + 0.5 · 0.55"
    assert [(part.name, part.score, part.contribution) for part in step_return.parts] == [
        ("own_reward", 1, None),
        ("goes_on", 1, None),
    ]
    last = explain(gr.recipe("ui-s1", returns=True), Case(case.responses, targets, 1, *sizes(case)))
    assert last.reward.parts[0].numbers == "0.55, and no more, because the step did not match"


def sizes(case):
    return case.image_sizes, case.model_image_sizes


def test_the_last_step_is_followed_by_none():
    recipe = gr.recipe("ui-s1", returns=True)
    total = explain(recipe, Case.of(recipe.example)).reward
    assert total.parts[0].numbers == "1, and no more, because the step that follows is not among these rows"


def test_a_group_has_all_its_rows():
    found = explain(build("gui-rcpo"), Case.of(build("gui-rcpo").example))
    assert found.together.what == "group"
    assert [row.point for row in found.together.rows] == [(200, 150), (210, 155), (190, 140), (700, 400)]
    assert found.together.rows[0].total == found.total
    assert found.target.compared is False


@pytest.mark.parametrize("target", [{"bbox": [1, 2, 3]}, "?", None, 5])
def test_of_a_bad_target_the_error_and_nothing_invented(target):
    found = explain(GELATO, Case(("(200, 150)",), (target,)))
    assert (found.total, found.acc, found.valid, found.reason) == (None, None, 0.0, "BAD_TARGET")
    assert (found.reward, found.success, found.position, found.conversions) == (None, None, None, ())
    assert found.error.startswith("field '")
    assert "expected" in found.error
    assert (found.read.reason, found.read.point, found.target) == ("OK", (200, 150), None)


def test_a_target_without_the_size_that_is_needed_is_described_as_read():
    found = explain(CLICK, Case(("(635, 310)",), (BOX,)))
    assert found.error.startswith("field 'image_size': got nothing; expected [width, height]")
    assert found.target.places[0].numbers == (1000, 300, 1200, 400)


def test_what_is_missing_is_an_error():
    with pytest.raises(gr.RecipeError, match="give groups="):
        explain(build("gui-rcpo"), Case(("(1, 2)",), (None,)))


def test_every_reason_has_a_meaning():
    assert list(MEANINGS) == list(Reason)


def test_a_known_score_is_not_computed_again():
    calls = []
    hit = gr.verifier(lambda rollouts: calls.append(1) or [0.5] * len(rollouts), low=0, high=1)
    rollouts = Case(("(200, 150)",), (UNIT,)).rollouts(GELATO)
    known = {}
    assert term_of(hit, rollouts, 0, known=known).score == 0.5
    assert term_of(hit, rollouts, 0, name="acc", known=known).contribution is None
    assert calls == [1]


def test_the_sources_own_target_as_a_json_text():
    recipe = build("gui-g2")
    assert explain(recipe, Case(("[1,2,3,4]",), ("[100, 100, 300, 200]",))).target.form == "native"


def test_where_all_answers_count_all_are_converted():
    recipe = gr.recipe("infigui-g1", response_space="thousandths")
    response = '[{"point_2d": [500, 150]}, {"point_2d": [200, 160]}]'
    response = f"<think>x</think>\n{response}"
    target = {"x1": 100, "y1": 100, "x2": 300, "y2": 200}
    found = explain(recipe, Case((response,), (target,), model_image_sizes=((1000.0, 2000.0),)))
    assert {each.what: [axis.result for axis in each.axes] for each in found.conversions} == {
        "answer 1": [500, 300], "answer 2": [200, 320], "target": [],
    }  # fmt: skip


PLAIN = gr.recipe("gelato")


def test_the_own_target_counts_by_the_name_of_its_row_and_those_of_mates_do_not():
    case = Case(("(200, 150)", "?"), (UNIT, [1, 2]), names=(7, 9))
    assert case.score(PLAIN).valid.tolist() == [1.0, 0.0]
    assert case.rollouts(PLAIN).targets.valid.tolist() == [True, False]
    for judge in (case.score, case.rollouts):
        bad = Case(case.responses, case.targets, 1, names=case.names)
        judge = getattr(bad, judge.__name__)
        with pytest.raises(gr.TargetError, match="target of row 9, field"):
            judge(PLAIN)


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
    assert case.score(PLAIN).acc.tolist() == [0.0, 1.0]
    assert case.score(PLAIN, "(900, 900)").acc.tolist() == [0.0, 0.0]
    assert case.answering(None).responses == ("?", None)
    assert case.rollouts(PLAIN).predictions.xy[1].tolist() == [0.2, 0.15]


def test_lengths_in_tokens_are_those_of_the_responses_that_came():
    case = Case(("(200, 150)",), (UNIT,), token_lengths=(7,))
    assert case.rollouts(PLAIN).token_lengths.tolist() == [7]
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
