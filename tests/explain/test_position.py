"""Distance of the answer from the target, and the reward that each of several places would earn."""

import pytest

import grounding_rewards as gr
from grounding_rewards.explain import Case, explain

CLICK = gr.recipe("click", response_space="pixel", point_radius=5)
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
    where = explain(CLICK, Case((point,), (target,))).position
    if "edge" in words:
        words = f"outside, {words}, but inside the box around it"
    assert (where.words, where.gap, where.space) == (words, pytest.approx(gap), "pixel")
    assert where.inside == (gap == 0)


def test_of_several_places_the_nearest_and_what_each_would_earn():
    found = explain(CLICK, Case(("(300, 360)",), (THREE,)))
    assert (found.position.nearest, found.position.gap) == (1, 10)
    assert found.position.places[1] == (250, 250, 350, 350)
    assert [place.alone for place in found.target.places] == [0.1, 0.1, 0.1]
    hit = explain(CLICK, Case(("(300, 345)",), (THREE,)))
    assert [place.alone for place in hit.target.places] == [0.1, 1.0, 0.1]


def test_a_polygon_is_converted_corner_by_corner():
    target = {"polygon": [100, 100, 200, 100, 150, 200], "space": "thousandths", "image_size": [2000, 500]}
    found = explain(CLICK, Case(("(300, 60)",), (target,)))
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
    assert explain(CLICK, Case(("(20, 30)",), ({"bbox": [10, 20, 30, 40]},))).positions == ()
