"""Votes of rollouts: the voters, the rewarded, and what counts as the consensus."""

from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import Consensus, InConsensus
from tests.verifiers.boxing import boxed
from tests.verifiers.judging import rollouts

BOX = {"bbox": [0, 0, 9, 9]}


def judge(verifier, *points, groups=None, **more):
    """The verifier's scores of a group of points, or of several groups."""
    rows = rollouts(points, [BOX] * len(points), **more)
    groups = [0] * len(points) if groups is None else groups
    return verifier(replace(rows, groups=np.array(groups, dtype=np.int64))).tolist()


def test_agreement_scores_by_how_much_the_squares_share():
    assert judge(Consensus(), (0, 0), (25, 0), (200, 200)) == [0.75, 0.75, 0.5]
    assert judge(Consensus(size=10), (0, 0), (25, 0), (200, 200)) == [1.0, 1.0, 1.0], "nobody overlaps"
    assert judge(Consensus(), (7, 7)) == [1.0]


def test_the_consensus_is_where_most_agree():
    # The third lies outside the first two's squares; the second holds the first's point, and the other way around.
    assert judge(InConsensus(), (0, 0), (24, 0), (200, 200)) == [1.0, 1.0, 0.0]
    # A square reaches 25 to the left of its point, that edge within, and 25 to the right, that edge not.
    assert judge(InConsensus(), (0, 0), (25, 0)) == [1.0, 0.0]
    assert judge(InConsensus(), (0, 0), (25.5, 0)) == [0.0, 0.0], "they overlap in the middle, where neither clicks"


def test_two_at_least_must_agree_unless_set_otherwise():
    assert judge(InConsensus(), (0, 0)) == [0.0]
    assert judge(InConsensus(), (0, 0), (500, 500)) == [0.0, 0.0]
    assert judge(InConsensus(votes=1), (0, 0), (500, 500)) == [1.0, 1.0]
    assert judge(InConsensus(votes=3), (0, 0), (0, 0), (9, 9), (9, 9)) == [1.0] * 4
    assert judge(InConsensus(votes=5), (0, 0), (0, 0), (9, 9), (9, 9)) == [0.0] * 4


def test_equally_many_votes_are_equally_right():
    points = [(0, 0), (0, 0), (500, 500), (500, 500), (900, 0)]
    assert judge(InConsensus(), *points) == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert judge(Consensus(), *points) == [1.0, 1.0, 1.0, 1.0, 0.5]


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason != Reason.OK])
def test_nobody_votes_without_a_place_in_the_image(reason):
    reasons = [Reason.OK, Reason.OK, reason, reason]
    point = (700, 0) if reason == Reason.OUT_OF_IMAGE else None
    points = [(0, 0), (25, 0), point, point]
    assert judge(Consensus(), *points, reasons=reasons) == [0.75, 0.75, 0.0, 0.0]
    assert judge(InConsensus(), *points, reasons=reasons) == [1.0, 0.0, 0.0, 0.0]


def test_boxes_vote_as_they_are_and_points_by_their_square():
    # 100 x 40 = 4000 and a square of 2500 inside it but for 25 - 20 = 5 at the top and bottom: they share 50 x 40.
    # (4000 + 2000) / (4000 · 2) = 0.75 and (2500 + 2000) / (2500 · 2) = 0.9; an empty box is a square.
    rows = boxed([(0, 0, 100, 40), (50, 20, 50, 20), None], [BOX] * 3)
    rows = replace(rows, groups=np.zeros(3, dtype=np.int64))
    assert Consensus()(rows).tolist() == [0.75, 0.9, 0.0]
    assert InConsensus()(rows).tolist() == [1.0, 1.0, 0.0]


def test_in_a_recipe_of_ones_own():
    parts = {"consensus": 0.5, "inside": {"verifier": "in_consensus", "weight": 0.25, "size": 30}, "hit": 0.25}
    recipe = gr.recipe("composite", response_space="pixel", parts=parts)
    assert recipe.needs == {"groups"}
    with pytest.raises(gr.RecipeError, match="give groups="):
        recipe.score(["(0, 0)"] * 2, [BOX] * 2)
    scores = recipe.score(["(0, 0)", "(10, 0)", "(5, 5)"], [BOX] * 3, groups=["a", "a", "b"])
    # 40 x 50 of 2500 shared: (2500 + 2000) / 5000 = 0.9.
    assert scores.parts["consensus"].tolist() == [0.9, 0.9, 1.0]
    assert scores.parts["inside"].tolist() == [1.0, 1.0, 0.0]
    assert scores.total.tolist() == pytest.approx([0.95, 0.7, 0.75])
