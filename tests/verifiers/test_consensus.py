"""Votes of rollouts: the voters, the rewarded, and what counts as the consensus."""

import pytest

import grounding_rewards as gr
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import Consensus, InConsensus
from tests.verifiers.judging import judge

BOX = {"bbox": [0, 0, 9, 9]}


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason != Reason.OK])
def test_nobody_votes_without_a_place_in_the_image(reason):
    reasons = [Reason.OK, Reason.OK, reason, reason]
    point = (700, 0) if reason == Reason.OUT_OF_IMAGE else None
    points = [(0, 0), (25, 0), point, point]
    group = {"reasons": reasons, "groups": [0] * 4}
    assert judge(Consensus(), points, BOX, **group) == [0.75, 0.75, 0.0, 0.0]
    assert judge(InConsensus(), points, BOX, **group) == [1.0, 0.0, 0.0, 0.0]


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
