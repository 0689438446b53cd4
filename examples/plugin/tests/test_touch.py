"""Literal values, and the checks that grounding-rewards offers for each kind of thing."""

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.pool import Method, RolloutColumns, allocate, choose, method, sample_stats, select, selector
from grounding_rewards.testing import check_dialect, check_method, check_recipe, check_verifier
from grounding_rewards_touch import TAP_TAG, EdgeMargin, Firsts, Learnable, TopUp

BUTTON = {"bbox": [100, 100, 300, 200]}


def test_the_dialect_keeps_its_promises() -> None:
    check_dialect(TAP_TAG, ["<tap>1, 2</tap>", "<tap>1,2</tap><tap>3,4</tap>", "<tap>1", "tap", "", None] * 9)


def test_the_verifier_keeps_its_promises() -> None:
    check_verifier(EdgeMargin(), translation=True)
    with pytest.raises(gr.RecipeError, match=r"EdgeMargin\(margin=\): got 0"):
        EdgeMargin(0)


@pytest.mark.parametrize("method", [Learnable(), TopUp(), Firsts(2)])
def test_the_methods_keep_their_promises(method: Method) -> None:
    check_method(method)


def test_methods_by_hand() -> None:
    stats = sample_stats(["a", "a", "b", "c"], [1, 0, 1, None])
    assert select(stats, selector("touch/learnable")).tolist() == [1.0, 0.0, 1.0]
    assert allocate(stats, method("touch/top_up", "allocation")).tolist() == [0, 0, 16]
    three = RolloutColumns(np.array(["a"], dtype=object), np.zeros(3, int), np.ones(3), rollout=np.arange(3))
    assert choose(three, method({"name": "touch/firsts", "keep": 2}, "choice")).kept.tolist() == [0, 1]


def test_a_margin_scores_up_to_a_fingers_width() -> None:
    recipe = gr.recipe("touch/tap", margin=10)
    scores = recipe.score(
        ["<tap>200, 150</tap>", "<tap>105, 150</tap>", "<tap>99, 150</tap>", "(200, 150)"], [BUTTON] * 4
    )
    assert scores.total.tolist() == pytest.approx([1.0, 0.9, 0.0, 0.0])
    assert scores.acc.tolist() == [1.0, 1.0, 0.0, 0.0]
    check_recipe(recipe, [BUTTON], responses=["<tap>200, 150</tap>", "<tap>", None])
