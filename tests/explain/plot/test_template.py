"""Responses with gaps: which numbers are exchanged, and that what is written is read back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.coords.spaces import UNIT
from grounding_rewards.explain.plot.template import Template, template
from grounding_rewards.parsing import parse
from grounding_rewards.parsing.reading import Form
from grounding_rewards.plugins.registry import collect

NAMES = [name for name in collect([]).recipes if gr.recipe(name, **catalogue.shown_with(name)).judges_places]
EXTENT = (1000.0, 800.0)
CLICK = gr.recipe("click", response_space="pixel")
GELATO = gr.recipe("gelato")


def reading(read, **changes):
    """The recipe click with answers that a function reads."""
    never = r"^\0(?P<x>)(?P<y>)$"
    return replace(CLICK, dialect=Form("own", read=read, usual=(never,), signs=("",)), **changes)


def made(response, recipe=CLICK, extent=EXTENT):
    """The template's response with the point (7, 8)."""
    return template(recipe, response, extent).write(np.array([[7.0, 8.0]]))[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_every_recipe_can_answer_anywhere(name):
    recipe = gr.recipe(name, **catalogue.shown_with(name))
    found = template(recipe, recipe.example.response, EXTENT)
    places = np.array([[30.0, 40.0, 70.0, 90.0], [900.0, 600.0, 999.0, 800.0]])[:, : len(set(found.order))]
    texts = [*found.write(places), recipe.example.response]
    read = parse(
        texts, recipe.dialect, space=recipe.response_space, answers=recipe.answers, thinking=recipe.thinking
    )  # fmt: skip
    assert (read.box if found.box else read.xy)[:2].tolist() == places.tolist()
    own = (read.box if found.box else read.xy)[2:]
    assert found.write(own) == [recipe.example.response]


@pytest.mark.parametrize(
    ("response", "written"),
    [
        ("(200, 150)", "(7, 8)"),
        ("<think>(200, 150) or (3, 4)?</think>(200, 150)", "<think>(200, 150) or (3, 4)?</think>(7, 8)"),
        ("<think>200, 150 200</think> at (200, 150).", "<think>200, 150 200</think> at (7, 8)."),
        ('Button 200 of 150: {"x": 200, "y": 150}', 'Button 200 of 150: {"x": 7, "y": 8}'),
        ('{"y": 150, "x": 200}', '{"y": 8, "x": 7}'),
        ("<point>200 150</point> 100%", "<point>7 8</point> 100%"),
        ("(200.0, 150.5)", "(7.000000, 8.000000)"),
        ("Click (1., .5).", "Click (7., 8)."),
        (f"({'9' * 400}, 5)", "(7, 8)"),
    ],
)
def test_the_place_is_exchanged_and_nothing_else(response, written):
    assert made(response) == written


def test_an_earlier_place_is_tried_where_the_last_one_does_not_count():
    assert made("(200, 150) or (200, 150)", replace(CLICK, answers="first")) == "(7, 8) or (200, 150)"


def test_all_of_them_are_exchanged_where_they_must_agree():
    def read(text):
        numbers = [float(word) for word in text.split() if word.isdigit()]
        return [numbers[:2]] if len(numbers) == 4 and numbers[:2] == numbers[2:] else None

    assert made("200 150 and 200 150", reading(read)) == "7 8 and 7 8"


def test_shares_of_the_screen_get_decimals_and_whole_numbers_stay_whole():
    unit = gr.recipe("click", response_space="unit")
    assert template(unit, "(0.5, 0.25)", (1, 1)).write(np.array([[1 / 3, 1.0]])) == ["(0.333333, 1.000000)"]
    assert template(unit, "(1, 0)", (1, 1)).decimals == 6
    assert template(GELATO, "(500, 250)", (1000, 1000)).write(np.array([[333.333, -0.2]])) == ["(333, 0)"]


def test_a_format_that_reads_few_decimals_gets_no_more():
    def read(text):
        words = text.split()
        return [[float(word) for word in words]] if all(len(word) <= 4 for word in words) else None

    unit = reading(read, response_space=UNIT)
    assert template(unit, "0.5 0.25", (1, 1)).decimals == 2


def test_a_box_is_exchanged_as_a_box():
    found = template(gr.recipe("gui-g2"), "[100,100,300,200]", EXTENT)
    assert found == Template(("[", ",", ",", ",", "]"), (0, 1, 2, 3))
    assert found.box
    assert found.write(np.array([[1.0, 2.0, 3.0, 4.0]])) == ["[1,2,3,4]"]
    exponents = template(gr.recipe("gui-g1"), '[{"bbox_2d": [-1e5, -1e5, 1e5, 1e5]}]', EXTENT)
    assert exponents.write(np.array([[1.0, 2.0, 3.0, 4.0]])) == ['[{"bbox_2d": [1, 2, 3, 4]}]']


@pytest.mark.parametrize("response", [None, "", "nothing here", "(1, 2) or (3, 4)", "<think>(1, 2)", "((((", "(1, 2"])
def test_a_response_without_a_place_makes_no_template(response):
    assert template(CLICK, response, EXTENT) is None


def test_a_place_that_is_not_in_the_text_is_an_error_that_says_what_to_give():
    recipe = reading(lambda text: [(10.0, 20.0)])
    with pytest.raises(gr.RecipeError, match=r"click: the place in this response cannot be .*such as '\(200, 150\)'"):
        template(recipe, "top left", EXTENT)
    with pytest.raises(gr.RecipeError, match="cannot be exchanged"):
        template(recipe, "10 20", EXTENT)


@given(places=st.lists(st.tuples(*[st.integers(0, 1000)] * 2), min_size=1, max_size=5), words=st.text(max_size=20))
def test_what_is_written_is_read_back_whatever_stands_around_it(places, words):
    response = f"<think>{words}</think>(200, 150)"
    found = template(CLICK, response, EXTENT)
    if found is None:  # the words close the thinking, and answer themselves
        return
    texts = found.write(np.array(places, dtype=np.float64))
    assert CLICK.prepare(texts, [{"bbox": [0, 0, 9, 9]}] * len(texts)).predictions.xy.tolist() == [
        list(place) for place in places
    ]
