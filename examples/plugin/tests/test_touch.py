"""Literal values, and the checks that grounding-rewards offers for each kind of thing."""

import pytest

import grounding_rewards as gr
from grounding_rewards.pool import sample_stats
from grounding_rewards.testing import check_dialect, check_recipe, check_selector, check_verifier
from grounding_rewards_touch import TAP_TAG, EdgeMargin, Learnable

BUTTON = {"bbox": [100, 100, 300, 200]}


def test_the_dialect_keeps_its_promises() -> None:
    check_dialect(TAP_TAG, ["<tap>1, 2</tap>", "<tap>1,2</tap><tap>3,4</tap>", "<tap>1", "tap", "", None] * 9)


def test_the_verifier_keeps_its_promises() -> None:
    check_verifier(EdgeMargin(), translation=True)
    with pytest.raises(gr.RecipeError, match=r"EdgeMargin\(margin=\): got 0"):
        EdgeMargin(0)


def test_the_selector_keeps_its_promises() -> None:
    check_selector(Learnable())
    assert Learnable()(sample_stats(["a", "a", "b", "c"], [1, 0, 1, None])).tolist() == [1.0, 0.0, 1.0]


def test_a_margin_scores_up_to_a_fingers_width() -> None:
    recipe = gr.recipe("touch/tap", margin=10)
    scores = recipe.score(
        ["<tap>200, 150</tap>", "<tap>105, 150</tap>", "<tap>99, 150</tap>", "(200, 150)"], [BUTTON] * 4
    )
    assert scores.total.tolist() == pytest.approx([1.0, 0.9, 0.0, 0.0])
    assert scores.acc.tolist() == [1.0, 1.0, 0.0, 0.0]
    check_recipe(recipe, [BUTTON], responses=["<tap>200, 150</tap>", "<tap>", None])
