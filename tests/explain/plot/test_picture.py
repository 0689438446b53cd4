"""The reward over the screen equals the total of each place when it is answered."""

from __future__ import annotations

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.explain import Case
from grounding_rewards.explain.plot.picture import closer, reward_map, scene
from grounding_rewards.plugins.registry import collect
from tests.recipes.published.test_ui_s1 import answer, native

NAMES = [name for name in collect([]).recipes if gr.recipe(name, **catalogue.shown_with(name)).judges_places]
BOX = {"bbox": [100, 100, 300, 200]}
CLICK = gr.recipe("click", response_space="pixel")


def at(found, x, y):
    """The cell that holds a place: total and acc."""
    row, column = np.argmin(np.abs(found.y - y)), np.argmin(np.abs(found.x - x))
    return found.total[row, column], found.acc[row, column]


def test_a_small_map_in_full():
    case = Case(("(10, 10)",), (BOX,), image_sizes=((400, 300),))
    found = reward_map(gr.recipe("click", response_space="pixel", format_weight=0.25), case, cells=12)
    assert found.x.tolist() == [10.0, 150.0, 200.0, 350.0]  # the answer's and the target's where cells hold them
    assert found.y.tolist() == [10.0, 150.0, 250.0]
    assert found.total.tolist() == [[0.25] * 4, [0.25, 1.0, 1.0, 0.25], [0.25] * 4]
    assert found.acc.tolist() == [[0.0] * 4, [0.0, 1.0, 1.0, 0.0], [0.0] * 4]
    assert (found.window, found.space.value, found.box) == ((0.0, 0.0, 400.0, 300.0), "pixel", None)
    assert (found.low, found.high) == (0.0, 1.0)
    assert (found.answered, found.exemplary, found.step) == ("a click", False, (1.0, 1.0))


def test_cells_have_the_totals_of_answers_there():
    gelato = gr.recipe("gelato")
    found = reward_map(gelato, Case(("(7, 7)",), ([0.1, 0.1, 0.3, 0.2],)))
    assert found.total.shape == (120, 120)
    for column, row in ((24, 18), (12, 12), (35, 23), (60, 60), (0, 119)):
        x, y = round(found.x[column] * 1000), round(found.y[row] * 1000)
        assert found.total[row, column] == gelato.score(f"({x}, {y})", [0.1, 0.1, 0.3, 0.2]).total[0]
    best = np.unravel_index(found.total.argmax(), found.total.shape)
    assert (found.total[best], found.x[best[1]], found.y[best[0]]) == pytest.approx((1.0, 0.2, 0.15), abs=1e-12)
    assert at(found, 0.007, 0.007)[0] == gelato.score("(7, 7)", [0.1, 0.1, 0.3, 0.2]).total[0]


def test_the_points_of_a_target_go_before_the_answer():
    target = {"bbox": [100, 100, 300, 200], "point": [120, 110]}
    drawn = reward_map(CLICK, Case(("(201, 151)",), (target,), image_sizes=((400, 300),)), cells=12)
    assert (drawn.x.tolist(), drawn.y.tolist()) == ([50.0, 120.0, 200.0, 350.0], [50.0, 110.0, 250.0])
    edge = reward_map(CLICK, Case(("(400, 300)",), (BOX,), image_sizes=((400, 300),)), cells=1)
    assert (edge.x.tolist(), edge.y.tolist()) == ([200.0], [150.0])
    outside = reward_map(CLICK, Case(("(401, 0)",), (BOX,), image_sizes=((400, 300),)), cells=12)
    assert (outside.x.tolist(), outside.y.tolist()) == ([50.0, 150.0, 200.0, 350.0], [0.0, 150.0, 250.0])


def test_a_recipe_of_boxes_gets_boxes_of_the_targets_size_cut_off_at_the_edges():
    recipe = gr.recipe("gui-g2")
    case = Case(("[10,20,30,40]",), ([100, 100, 300, 200],), image_sizes=((400, 300),))
    found = reward_map(recipe, case, cells=12)
    assert (found.box, found.answered) == ((200.0, 100.0), "a box of the target's size")
    said = ["[0,0,120,80]", "[50,100,250,200]", "[250,200,400,300]"]
    cells = [found.total[0, 0], found.total[1, 1], found.total[2, 3]]
    assert cells == recipe.score(said, [[100, 100, 300, 200]] * 3, image_sizes=(400, 300)).total.tolist()
    exact = reward_map(recipe, case, window=(150, 100, 250, 200), cells=1)
    assert exact.total.tolist() == [[3.0]]


@pytest.mark.parametrize("name", NAMES)
def test_the_place_of_its_example_has_the_total_of_the_example(name):
    recipe = gr.recipe(name, **catalogue.shown_with(name))
    case = Case.of(recipe.example)
    shown = scene(recipe, case)
    x, y = shown.answer.reshape(-1, 2).mean(axis=0)
    found = reward_map(recipe, case, window=(x - 1, y - 1, x + 1, y + 1), cells=1)
    scores = case.score(recipe)
    assert (found.total[0, 0], found.acc[0, 0]) == (scores.total[0], scores.acc[0])
    assert recipe.low <= found.total[0, 0] <= recipe.high


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_has_a_map_of_the_whole_screen(name):
    recipe = gr.recipe(name, **catalogue.shown_with(name))
    found = reward_map(recipe, Case.of(recipe.example), cells=400)
    assert 350 <= found.total.size <= 400
    assert found.total.shape == (len(found.y), len(found.x)) == found.acc.shape
    assert np.isfinite(found.total).all()
    assert recipe.low <= found.total.min() < found.total.max() <= recipe.high


def test_the_rest_of_the_group_stays_where_it_is():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    responses = ("(700, 400)", "(200, 150)", "(210, 155)", "(5, 5)")
    case = Case(responses, (None,) * 4, row=1, groups=("a", "a", "a", "b"))
    found = reward_map(recipe, case, window=(0, 0, 800, 400), cells=8)
    assert found.total.shape == (2, 4)
    for row, y in enumerate((150, 300)):
        for column, x in enumerate((100, 200, 500, 700)):
            assert found.total[row, column] == pytest.approx(case.score(recipe, f"({x}, {y})").total[1], abs=1e-9)
    alone = Case(responses[:3], (None,) * 3, row=1, groups=("a",) * 3)
    assert reward_map(recipe, alone, window=(0, 0, 800, 400), cells=8).total.tolist() == found.total.tolist()


def test_a_large_group_gets_fewer_cells(monkeypatch):
    monkeypatch.setattr("grounding_rewards.explain.plot.picture.MOST_ROWS", 40)
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    case = Case(("(1, 2)",) * 4, (None,) * 4, groups=(0,) * 4)
    assert reward_map(recipe, case, window=(0, 0, 10, 10)).total.size == 9
    assert reward_map(CLICK, Case(("(1, 2)",), (BOX,)), window=(0, 0, 10, 10)).total.size == 36
    monkeypatch.setattr("grounding_rewards.explain.plot.picture.MOST_PAIRS", 64)
    assert reward_map(recipe, case, window=(0, 0, 10, 10)).total.size == 4


def test_cells_are_scored_some_at_a_time_and_the_share_is_reported(monkeypatch):
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    case = Case(("(1, 2)", "(60, 3)"), (None,) * 2, groups=(0, 0))
    shares = []
    whole = reward_map(recipe, case, window=(0, 0, 100, 100), cells=9, advance=shares.append)
    monkeypatch.setattr("grounding_rewards.explain.plot.picture.AT_ONCE", 8)
    parts = reward_map(recipe, case, window=(0, 0, 100, 100), cells=9, advance=shares.append)
    assert shares == [1.0, 4 / 9, 8 / 9, 1.0]
    assert parts.total.tolist() == whole.total.tolist()


def test_a_long_response_gets_fewer_cells():
    long = Case((f"<think>{'x' * 60_000}</think>(1, 2)",), (BOX,))
    assert reward_map(CLICK, long).total.size <= 500


def test_the_other_steps_of_a_trajectory_stay():
    recipe = gr.recipe("ui-s1", returns=True)
    act = {"action": "click", "coordinate": [100, 100], "candidate_bbox": [50, 50, 150, 150]}
    targets = tuple(native(act, trajectory="t", step=step) for step in range(2))
    click = answer(action="click", coordinate=[100, 100])
    case = Case((click, click), targets, row=0, image_sizes=((400, 300),) * 2, model_image_sizes=((400, 300),) * 2)
    found = reward_map(recipe, case, cells=12)
    wrong = answer(action="click", coordinate=[350, 250])
    assert at(found, 350, 250) == (case.score(recipe, wrong).total[0], 0.0)
    middle = reward_map(recipe, case, window=(50, 50, 150, 150), cells=1)
    assert (middle.total[0, 0], middle.acc[0, 0]) == (1.5, 1.0)


@pytest.mark.parametrize("response", [None, "nothing", "(1, 2) (3, 4)"])
def test_a_response_without_a_place_leaves_the_map_to_the_example(response):
    case = Case((response,), (BOX,), image_sizes=((400, 300),))
    found = reward_map(CLICK, case, cells=12)
    assert found.acc.tolist() == [[0.0] * 4, [0.0, 1.0, 1.0, 0.0], [0.0] * 4]
    assert found.exemplary


@pytest.mark.parametrize(
    ("window", "cells"), [((0, 0, 0, 5), 10), ((0, 5, 5, 0), 10), ((0, 0, 5, 5), 0), ((0, 0, float("nan"), 5), 10)]
)
def test_a_window_without_extent_is_an_error(window, cells):
    with pytest.raises(gr.RecipeError, match="expected x1 < x2, y1 < y2 and 1 cell or more"):
        reward_map(CLICK, Case(("(1, 2)",), (BOX,)), window=window, cells=cells)


SPOT = {"bbox": [100, 100, 300, 200], "space": "pixel"}
UI_VENUS = gr.recipe("ui-venus")
SCREEN, SEEN = ((1000, 500),), ((500, 250),)


@pytest.mark.parametrize(
    ("name", "case", "space", "window", "known"),
    [
        ("gelato", Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],)), "unit", (0, 0, 1, 1), True),
        ("gelato", Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.2],), image_sizes=SCREEN), "pixel", (0, 0, 1000, 500), 1),
        ("gta1", Case(("(2, 3)",), (SPOT,), image_sizes=SCREEN, model_image_sizes=SEEN), "pixel", (0, 0, 1000, 500), 1),
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
    found = scene(UI_VENUS, Case(("[90,70,110,80]",), (SPOT,), image_sizes=SCREEN, model_image_sizes=SEEN))
    assert found.answer.tolist() == [180.0, 140.0, 220.0, 160.0]
    assert found.boxes.tolist() == [[100.0, 100.0, 300.0, 200.0]]
    assert found.extent_in(UI_VENUS.response_space) == (500.0, 250.0)
    assert found.visible
    point = scene(CLICK, Case(("(1000, 501)",), (SPOT,), image_sizes=SCREEN))
    assert point.answer.tolist() == [1000.0, 501.0]
    assert not point.visible
    assert scene(CLICK, Case(("?",), (SPOT,))).answer is None


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
    boxed = Case(case.responses, (SPOT,) * 4, groups=case.groups)
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
