"""`verifier(fn, low=, high=)`: a plain function as a verifier, checked at each call."""

import math
import pickle

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.verifiers import verifier
from tests.verifiers.judging import rollouts

ROWS = rollouts([(1, 1), None], [{"bbox": [0, 0, 9, 9]}] * 2)


def parsed(rows):
    """Module level, so that it pickles."""
    return rows.predictions.parsed


def test_a_function_of_rollouts_becomes_a_verifier():
    lifted = gr.verifier(parsed, low=0, high=1)
    assert (lifted.low, lifted.high, lifted.needs) == (0.0, 1.0, frozenset())
    scores = lifted(ROWS)
    assert (scores.tolist(), scores.dtype) == ([1, 0], np.float64)
    assert pickle.loads(pickle.dumps(lifted)) == lifted
    assert lifted == gr.verifier(parsed, low=0.0, high=1.0)


def test_a_list_of_numbers_will_do():
    assert gr.verifier(lambda rows: [1, 0], low=0, high=1)(ROWS).tolist() == [1, 0]


@pytest.mark.parametrize("needs", ["groups", ["groups"], ("groups",), {"groups"}])
def test_needs_are_names_and_one_name_is_one(needs):
    # frozenset("groups") would be six letters, and nobody would miss the groups.
    assert gr.verifier(parsed, low=0, high=1, needs=needs).needs == {"groups"}


@pytest.mark.parametrize("scores", [[1.5, 0], [0, -0.1], [0, math.nan], [math.inf, 0]])
def test_scores_outside_the_declared_bounds_are_an_error(scores):
    with pytest.raises(gr.VerifierError, match=r"returned .* for row \d; expected 0.0 to 1.0"):
        gr.verifier(lambda rows: np.array(scores), low=0, high=1)(ROWS)


@pytest.mark.parametrize("scores", [[1], [[1], [0]], 1.0, []])
def test_other_shapes_are_an_error(scores):
    with pytest.raises(gr.VerifierError, match=r"returned shape .*; expected \(2,\)"):
        gr.verifier(lambda rows: scores, low=0, high=1)(ROWS)


@pytest.mark.parametrize(("low", "high"), [(1, 0), (math.nan, 1), (0, math.inf), ("0", 1), (None, 1), (0, [1])])
def test_bounds_are_finite_and_in_order(low, high):
    with pytest.raises(gr.RecipeError, match=r"verifier\(low=, high=\): got .* expected finite bounds"):
        gr.verifier(parsed, low=low, high=high)


@pytest.mark.parametrize("fn", [None, "parsed", 3])
def test_what_cannot_be_called_is_no_verifier(fn):
    with pytest.raises(gr.RecipeError, match="expected a function of Rollouts"):
        gr.verifier(fn, low=0, high=1)


def test_a_function_that_raises_is_named():
    def near(rollouts):
        raise ZeroDivisionError("no width")

    with pytest.raises(gr.VerifierError, match="verifier near raised ZeroDivisionError: no width"):
        verifier(near, low=0, high=1)(rollouts([(1, 1)], [{"bbox": [0, 0, 9, 9]}]))
