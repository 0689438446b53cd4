"""GUI-RCPO: the agreement of a group, without labels."""

import json
import pickle

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.explain.case import Case
from grounding_rewards.testing.recipes import examples_of

RCPO = gr.recipe("gui-rcpo", response_space="pixel")
TEXTS = ["(100, 80)", "(125, 80)", "(300, 280)", "no idea"]


def score(texts, targets=None, recipe=RCPO, **more):
    return recipe.score(texts, targets, groups=[0] * len(texts), **more)


def test_three_points_and_a_response_without_one_by_hand():
    # Squares of 50 x 50, two of which share 25 x 50: (2500 + 1250) / (2500 · 2), and 2500 / (2500 · 2) for the third.
    scores = score(TEXTS)
    assert scores.total.tolist() == [0.75, 0.75, 0.5, 0.0]
    assert scores.parts["consensus"].tolist() == scores.total.tolist()
    assert scores.acc.tolist() == [1.0, 0.0, 0.0, 0.0], "a square's right edge is not its own"
    assert scores.valid.tolist() == [1.0] * 4
    assert score(["(100, 80)", "(124, 80)", "(300, 280)"]).acc.tolist() == [1.0, 1.0, 0.0]


def test_sixteen_samples_of_which_nine_agree():
    texts = ["(100, 80)"] * 9 + [f"({200 * place}, 400)" for place in range(7)]
    scores = score(texts)
    assert scores.total == pytest.approx([1.0] * 9 + [1 / 9] * 7, abs=1e-12)
    assert scores.acc.tolist() == [1.0] * 9 + [0.0] * 7


@pytest.mark.parametrize(
    "targets",
    [
        None, [None] * 4, [{"id": "a7"}] * 4, ['{"image_size": [640, 480]}'] * 4,
        [{"bbox": [290, 270, 310, 290]}] * 4, [{"refusal": True}] * 4, [{"action": {"name": "type", "text": "a"}}] * 4,
    ],
)  # fmt: skip
def test_targets_are_not_looked_at(targets):
    scores = score(TEXTS, targets)
    assert scores.total.tolist() == [0.75, 0.75, 0.5, 0.0]
    assert scores.acc.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_outside_the_image_nobody_votes():
    scores = score(["(100, 80)", "(700, 80)", "(700, 80)"], image_sizes=(640, 480))
    assert scores.total.tolist() == [1.0, 0.0, 0.0]
    assert scores.acc.tolist() == [0.0, 0.0, 0.0], "one alone agrees with nobody"


def test_refusals_are_no_votes():
    scores = score(["refusal", "[-1, -1]", "refusal", "(5, 5)"])
    assert scores.total.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert scores.acc.tolist() == [0.0] * 4


def test_a_box_answered_is_its_own_region():
    texts = [json.dumps({"bbox_2d": box}) for box in ([0, 0, 100, 40], [10, 10, 60, 30])]
    assert score(texts).total.tolist() == [0.625, 1.0], "5000 / (4000 · 2), and 2000 / (1000 · 2)"


def test_groups_must_be_given():
    with pytest.raises(gr.RecipeError, match="gui-rcpo compares the rollouts of one sample: give groups="):
        RCPO.score(TEXTS, None)
    scores = RCPO.score(TEXTS, None, groups=["a", "b", "a", "b"])
    assert scores.total.tolist() == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("response_space", "space"),
    [("pixel", "pixel"), ("model_pixel", "model_pixel"), ("unit", "pixel"), ("thousandths", "pixel")],
)
def test_the_square_is_in_the_pixels_that_the_model_answers_in(response_space, space):
    assert gr.recipe("gui-rcpo", response_space=response_space).space == space


def test_pixels_need_no_size_and_shares_need_the_images():
    model = gr.recipe("gui-rcpo", response_space="model_pixel")
    assert score(TEXTS, recipe=model).total.tolist() == [0.75, 0.75, 0.5, 0.0]
    shares = gr.recipe("gui-rcpo", response_space="thousandths")
    with pytest.raises(gr.TargetError, match="field 'image_size': got nothing"):
        score(TEXTS, recipe=shares)
    # On a screen of 2000 x 1000 pixels, 25 thousandths of the width are 50 pixels: the squares merely touch.
    assert score(TEXTS, recipe=shares, image_sizes=(2000, 1000)).total.tolist() == [1.0, 1.0, 1.0, 0.0]
    seen = gr.recipe("gui-rcpo", response_space="thousandths", space="model_pixel")
    assert score(TEXTS, recipe=seen, model_image_sizes=(1000, 500)).total.tolist() == [0.75, 0.75, 0.5, 0.0]
    with pytest.raises(gr.TargetError, match="field 'model_image_size': got nothing"):
        score(TEXTS, recipe=seen, image_sizes=(1000, 500))


def test_options():
    small = gr.recipe("gui-rcpo", response_space="pixel", size=20)
    assert score(TEXTS, recipe=small).total.tolist() == [1.0, 1.0, 1.0, 0.0]
    three = gr.recipe("gui-rcpo", response_space="pixel", votes=3)
    assert score(["(5, 5)"] * 2, recipe=three).acc.tolist() == [0.0, 0.0]
    assert score(["(5, 5)"] * 3, recipe=three).acc.tolist() == [1.0] * 3
    tuples = gr.recipe("gui-rcpo", response_space="pixel", dialect="bare_tuple")
    assert score(["(5, 5)", "[5, 5]"], recipe=tuples).total.tolist() == [1.0, 0.0]
    assert pickle.loads(pickle.dumps(small)) == small == gr.recipe(small.to_dict())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, gr.SpaceError, "gui-rcpo needs response_space"),
        ({"response_space": "pixels"}, gr.SpaceError, "unknown space 'pixels'"),
        ({"response_space": "unit", "space": "unit"}, gr.RecipeError, "option space: got 'unit'; expected one of"),
        ({"response_space": "unit", "space": "px"}, gr.SpaceError, "unknown space 'px'"),
        ({"response_space": "unit", "size": 0}, gr.RecipeError, r"Consensus\(size=\): got 0"),
        ({"response_space": "unit", "votes": 0}, gr.RecipeError, r"InConsensus\(votes=\): got 0"),
        ({"response_space": "unit", "dialect": "?"}, gr.RecipeError, "option dialect"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        gr.recipe("gui-rcpo", **options)


@pytest.mark.parametrize("space", list(gr.CoordSpace))
def test_its_example_agrees_in_every_space(space):
    for recipe in (gr.recipe("gui-rcpo", response_space=space), gr.recipe("gui-rcpo", response_space=space, size=80)):
        scores = Case.of(recipe.example).score(recipe)
        assert scores.acc.tolist() == [1.0, 1.0, 1.0, 0.0]
        assert scores.total[3] == pytest.approx(1 / 3)
    assert gr.recipe("gui-rcpo", response_space=space, dialect="molmo").example is None


def test_what_it_says_of_labels():
    assert (RCPO.label_free, RCPO.accepts, RCPO.needs) == (True, frozenset(), {"groups"})
    assert "need not be right" in RCPO.formula
    assert [example.target for example in examples_of(RCPO)][:2] == [{"id": "a7"}, None]


def test_a_large_batch_scores_as_its_groups_do():
    points = np.random.default_rng(0).integers(0, 200, (320, 2)).tolist()
    texts, groups = [f"({x}, {y})" for x, y in points], [row % 20 for row in range(320)]
    together = RCPO.score(texts, None, groups=groups)
    for group in range(20):
        alone = score(texts[group::20])
        assert alone.total == pytest.approx(together.total[group::20], abs=1e-9)
        assert alone.acc.tolist() == together.acc[group::20].tolist()
