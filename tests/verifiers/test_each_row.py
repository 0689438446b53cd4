"""`per_row(fn, low=, high=)`: a function of one row as a verifier; what goes wrong names the row."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.targets.target import Action, RegionKind
from grounding_rewards.verifiers import Hit

BUTTON = {"bbox": [10, 10, 30, 20], "id": "a7"}
CLICK = gr.recipe("click", response_space="pixel")


def inside(row):
    """Module level, so that it pickles."""
    x1, y1, x2, y2 = row.target.regions[0].numbers
    return row.prediction.xy is not None and x1 <= row.prediction.xy[0] <= x2 and y1 <= row.prediction.xy[1] <= y2


def scored(fn, responses, targets, recipe=CLICK, *, low=0, high=1, needs=(), **more):
    own = replace(recipe, reward=gr.per_row(fn, low=low, high=high, needs=needs))
    return own.score(responses, targets, **more)


def rows_of(recipe, responses, targets, *, needs=(), **more):
    """The views that a function gets."""
    rows = []
    scored(lambda row: rows.append(row) or 0, responses, targets, recipe, needs=needs, **more)
    return rows


def test_it_scores_as_a_function_of_all_rows():
    responses = ["(20, 15)", "(31, 15)", "no", None]
    assert scored(inside, responses, [BUTTON] * 4).total.tolist() == [1.0, 0.0, 0.0, 0.0]
    rollouts = CLICK.prepare(responses, [BUTTON] * 4)
    assert gr.per_row(inside, low=0, high=1)(rollouts).tolist() == Hit()(rollouts).tolist()


def test_it_is_a_value_that_pickles():
    lifted = gr.per_row(inside, low=0, high=1, needs="groups")
    assert (lifted.low, lifted.high, lifted.needs) == (0.0, 1.0, frozenset({"groups"}))
    assert pickle.loads(pickle.dumps(lifted)) == lifted == gr.per_row(inside, low=0.0, high=1.0, needs=["groups"])


def test_a_row_has_all_of_its_answers_where_all_count():
    rows = rows_of(replace(CLICK, answers="all"), ["(1, 2) (3, 4)", "no", "(5, 6)"], [BUTTON] * 3)
    assert [row.prediction.points for row in rows] == [((1.0, 2.0), (3.0, 4.0)), (), ((5.0, 6.0),)]


def test_what_a_row_holds():
    responses = ["so (500, 250)", "nothing", None]
    target = {**BUTTON, "bbox": [0, 0, 100, 50], "image_size": [200, 100], "extra": {"k": 1}}
    recipe = gr.recipe("click", response_space="thousandths")
    first, second, third = rows_of(
        recipe, responses, [target] * 3, needs=["groups"], groups=["a", "b", "a"], token_lengths=[5, 6, 7],
        extras={"ease": [0.1, 0.2, 0.3], "state": "whole"},
    )  # fmt: skip
    assert (first.text, first.prediction.xy, first.prediction.reason) == ("so (500, 250)", (100.0, 25.0), gr.Reason.OK)
    assert first.prediction.box is None
    assert first.prediction.points == ()
    assert first.target.regions[0].numbers == (0.0, 0.0, 100.0, 50.0)
    assert (first.target.id, first.target.extra, first.target.space) == ("a7", {"k": 1}, "pixel")
    assert (first.image_size, first.model_image_size) == ((200.0, 100.0), None)
    assert [row.group for row in (first, second, third)] == [0, 1, 0]
    assert [row.token_length for row in (first, second, third)] == [5, 6, 7]
    assert second.extras == {"ease": 0.2, "state": "whole"}
    assert (third.text, third.prediction.xy, third.prediction.reason) == ("", None, gr.Reason.EMPTY)


def test_places_are_in_the_space_of_the_recipe():
    unit = gr.recipe("composite", response_space="unit", space="unit", parts={"hit": 1.0})
    places = [
        {"bbox": [20, 10, 40, 20], "point": [30, 15]}, {"polygon": [0, 0, 100, 0, 100, 50]}, {"circle": [100, 50, 10]},
    ]  # fmt: skip
    [row] = rows_of(unit, ["(0.5, 0.5)"], [{"regions": places, "space": "pixel", "image_size": [200, 100]}])
    box, polygon, circle = row.target.regions
    assert (box.numbers, box.point) == ((0.1, 0.1, 0.2, 0.2), (0.15, 0.15))
    assert polygon.numbers == (0.0, 0.0, 0.5, 0.0, 0.5, 0.5)
    # A circle in pixels is an ellipse in shares of the image.
    assert (circle.kind, len(circle.numbers), circle.numbers[:2]) == (RegionKind.POLYGON, 144, (0.55, 0.5))
    [row] = rows_of(unit, ["(0.5, 0.5)"], [{"circle": [50, 50, 10], "space": "pixel", "image_size": [100, 100]}])
    assert row.target.regions[0].numbers == (0.5, 0.5, 0.1)


def test_ends_of_actions_are_in_the_space_of_the_recipe():
    action = gr.recipe("action", response_space="pixel")
    target = {
        "bbox": [0.1, 0.1, 0.2, 0.2], "action": {"name": "drag", "to": [0.5, 0.5]},
        "space": "unit", "image_size": [200, 100],
    }  # fmt: skip
    [row] = rows_of(action, ['{"action": "drag", "coordinate": [30, 15]}'], [target])
    assert row.target.action == Action("drag", to=(100.0, 50.0))
    assert (row.target.regions[0].numbers, row.prediction.action) == ((20.0, 10.0, 40.0, 20.0), "drag")


def test_rows_without_a_usable_target_are_left_out():
    scores = scored(inside, ["(20, 15)"] * 2, [{"bbox": [3, 3, 1]}, BUTTON], bad_target="abstain", low=-1)
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0.0, 1.0], [0.0, 1.0])
    scores = scored(lambda row: 0.7, ["(20, 15)"] * 2, [{"circle": []}, BUTTON], bad_target="abstain", low=0.5)
    assert scores.total.tolist() == [0.5, 0.7]


def second_fails(row):
    return row.target.regions[1].numbers[0]


def test_what_it_raises_names_the_row_and_the_sample():
    targets = [{"regions": [[1, 1, 2, 2]] * 2}, {"bbox": [1, 1, 2, 2]}]
    with pytest.raises(gr.VerifierError) as failed:
        scored(second_fails, ["(1, 2)"] * 2, targets)
    assert str(failed.value) == "reward: verifier second_fails raised IndexError: tuple index out of range, for row 1"
    with pytest.raises(gr.VerifierError, match=r"IndexError: .*, for row 0 \(sample 'a7'\)$"):
        scored(second_fails, ["(1, 2)"], [BUTTON])


@pytest.mark.parametrize("returned", ["1", None, [1], np.array([1.0]), 1j, object()])
def test_what_is_no_number_names_the_row(returned):
    with pytest.raises(gr.VerifierError, match=r"verifier <lambda> returned .* for row 0 \(sample 'a7'\); expected a"):
        scored(lambda row: returned, ["(1, 2)"], [BUTTON])


@pytest.mark.parametrize("returned", [1.5, -0.1, math.nan, math.inf, 10**400, -(10**400)])
def test_numbers_outside_the_bounds_name_the_row(returned):
    with pytest.raises(gr.VerifierError, match=r"returned .* for row 1; expected 0.0 to 1.0"):
        scored(lambda row: returned if row.text == "no" else 0, ["(1, 2)", "no"], [BUTTON] * 2)


@pytest.mark.parametrize("returned", [1, True, 0.5, np.float32(0.5), np.int64(1), np.bool_(False)])
def test_every_kind_of_number_will_do(returned):
    assert scored(lambda row: returned, ["(1, 2)"], [BUTTON]).total.tolist() == [float(returned)]


@pytest.mark.parametrize(("fn", "why"), [(3, "expected a function of a Row"), (dict, "build it: dict()")])
def test_what_is_no_function_is_refused(fn, why):
    with pytest.raises(gr.RecipeError, match=r"per_row\(fn\): got ") as failed:
        gr.per_row(fn, low=0, high=1)
    assert why in str(failed.value)


def test_bounds_are_checked():
    with pytest.raises(gr.RecipeError, match="expected finite bounds"):
        gr.per_row(inside, low=1, high=0)


def test_no_rows():
    assert scored(inside, [], []).total.tolist() == []
