"""GUI-RCPO: the agreement of a group, without labels."""

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.explain.case import Case
from grounding_rewards.testing.recipes import examples_of

RCPO = gr.recipe("gui-rcpo", response_space="pixel")


def score(texts, targets=None, recipe=RCPO, **more):
    return recipe.score(texts, targets, groups=[0] * len(texts), **more)


@pytest.mark.parametrize(
    ("response_space", "space"),
    [("pixel", "pixel"), ("model_pixel", "model_pixel"), ("unit", "pixel"), ("thousandths", "pixel")],
)
def test_the_square_is_in_the_pixels_that_the_model_answers_in(response_space, space):
    assert gr.recipe("gui-rcpo", response_space=response_space).space == space


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
