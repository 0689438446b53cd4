"""Space of a picture, and the place of everything in it."""

from __future__ import annotations

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.explain import Case
from grounding_rewards.explain.plot.picture import closer
from grounding_rewards.explain.plot.scene import scene

BOX = {"bbox": [100, 100, 300, 200], "space": "pixel"}
CLICK = gr.recipe("click", response_space="pixel")
UI_VENUS = gr.recipe("ui-venus")
SCREEN, SEEN = ((1000, 500),), ((500, 250),)


@pytest.mark.parametrize(
    ("name", "case", "space", "window", "known"),
    [
        ("gelato", Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],)), "unit", (0, 0, 1, 1), True),
        ("gelato", Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],), image_sizes=SCREEN), "pixel", (0, 0, 1000, 500), 1),
        ("gta1", Case(("(2, 3)",), (BOX,), image_sizes=SCREEN, model_image_sizes=SEEN), "pixel", (0, 0, 1000, 500), 1),
        ("gelato-pixel", Case(("(2, 3)",), ([100, 100, 300, 200],), image_sizes=SCREEN), "model_pixel",
         (0, 0, 450, 300), False),
        ("gelato-pixel", Case(("(2, 3)",), ([100, 100, 300, 200],), model_image_sizes=SEEN), "model_pixel",
         (0, 0, 500, 250), True),
        ("gelato-pixel", Case(("(600, 3)",), ([100, 100, 300, 200],)), "model_pixel", (0, 0, 660, 300), False),
        ("gelato-pixel", Case(("(9999, 3)",), ([100, 100, 300, 200],)), "model_pixel", (0, 0, 450, 300), False),
    ],
)  # fmt: skip
def test_the_screen_is_that_of_the_original_image_if_its_size_is_known(name, case, space, window, known):
    found = scene(gr.recipe(name), case)
    assert (found.space.value, found.window, found.known) == (space, window, known)


def test_places_are_in_the_space_that_is_pictured():
    found = scene(UI_VENUS, Case(("[90,70,110,80]",), (BOX,), image_sizes=SCREEN, model_image_sizes=SEEN))
    assert found.answer.tolist() == [180.0, 140.0, 220.0, 160.0]
    assert found.boxes.tolist() == [[100.0, 100.0, 300.0, 200.0]]
    assert found.extent_in(UI_VENUS.response_space) == (500.0, 250.0)
    assert found.visible
    point = scene(CLICK, Case(("(1000, 501)",), (BOX,), image_sizes=SCREEN))
    assert point.answer.tolist() == [1000.0, 501.0]
    assert not point.visible
    assert scene(CLICK, Case(("?",), (BOX,))).answer is None


def test_every_kind_of_place_has_an_outline():
    regions = [
        {"bbox": [1, 2, 3, 4], "point": [2, 3]}, {"polygon": [10, 10, 20, 10, 15, 20]}, {"circle": [50, 60, 10]},
    ]  # fmt: skip
    found = scene(CLICK, Case(("(1, 1)",), ({"regions": regions},), image_sizes=SCREEN))
    box, polygon, circle = found.outlines
    assert box.tolist() == [[1, 2], [3, 2], [3, 4], [1, 4]]
    assert polygon.tolist() == [[10, 10], [20, 10], [15, 20]]
    assert np.hypot(*(circle - [50, 60]).T) == pytest.approx(np.full(72, 10.0))
    assert found.marks[0].tolist() == [2.0, 3.0]
    assert np.isnan(found.marks[1:]).all()


def test_a_circle_on_an_image_that_was_squeezed_is_an_ellipse():
    click = gr.recipe("click", response_space="model_pixel", target_space="pixel")
    target = {"circle": [50, 60, 10], "space": "pixel"}
    found = scene(click, Case(("(1, 1)",), (target,), image_sizes=SCREEN, model_image_sizes=((500, 500),)))
    assert found.boxes[0] == pytest.approx([40, 50, 60, 70])
    assert found.outlines[0].max(axis=0) == pytest.approx([60, 70])


def test_other_answers_are_those_of_the_group_where_the_group_matters():
    case = Case(("(1, 2)", "(3, 4)", "?", "(5, 6)"), (None,) * 4, groups=("a", "a", "a", "b"))
    assert scene(gr.recipe("gui-rcpo", response_space="pixel"), case).others.tolist() == [[3.0, 4.0]]
    assert scene(gr.recipe("gui-rcpo", response_space="pixel"), case).consensus.tolist()[0] == [-22.0, -21.0]
    assert scene(gr.recipe("gui-rcpo", response_space="pixel", votes=3), case).consensus is None
    boxed = Case(case.responses, (BOX,) * 4, groups=case.groups)
    assert scene(CLICK, boxed).others.tolist() == []


@pytest.mark.parametrize(
    ("target", "window"),
    [
        ({"bbox": [100, 100, 132, 132]}, (36.0, 36.0, 196.0, 196.0)),
        ({"bbox": [0, 0, 40, 20]}, (0.0, 0.0, 200.0, 200.0)),
        ({"bbox": [960, 480, 1000, 500]}, (800.0, 300.0, 1000.0, 500.0)),
        ({"bbox": [100, 100, 200, 120]}, (0.0, 0.0, 500.0, 500.0)),  # half of the screen
        ({"bbox": [100, 100, 201, 120]}, None),
        ({"bbox": [100, 100, 300, 200]}, None),
        ({"bbox": [100, 100, 290, 110]}, None),
        ({"regions": [{"bbox": [100, 100, 110, 110]}, {"bbox": [120, 100, 140, 110]}]}, (20.0, 5.0, 220.0, 205.0)),
        ({"regions": [{"bbox": [0, 0, 40, 40]}, {"bbox": [500, 300, 540, 340]}]}, (420.0, 220.0, 620.0, 420.0)),
        ({"refusal": True}, None),
        ({"bbox": [0, 0, 4, 480]}, None),
    ],
)
def test_a_small_target_gets_a_closer_view(target, window):
    answer = "(520, 320)" if "refusal" not in target else "no such button"
    found = closer(scene(CLICK, Case((answer,), (target,), image_sizes=SCREEN)))
    assert found == (() if window is None else (window,))


def test_without_a_target_the_answers_get_the_closer_view():
    case = Case(("(200, 150)", "(210, 155)"), ({"image_size": [1000, 500]},) * 2, groups=(0, 0))
    assert closer(scene(gr.recipe("gui-rcpo", response_space="pixel"), case)) == ((137.5, 85.0, 272.5, 220.0),)
    lone = Case(("?",), ({"image_size": [1000, 500]},), groups=(0,))
    assert closer(scene(gr.recipe("gui-rcpo", response_space="pixel"), lone)) == ()
