"""Mixes that compare nothing with targets."""

import json

import pytest

import grounding_rewards as gr
from grounding_rewards.verifiers import InConsensus

CON = {"verifier": "consensus", "weight": 1, "size": 20}
TEXTS = ["(100, 80)", "(105, 80)", "(300, 280)", "?"]


def build(parts, **options):
    return gr.recipe("composite", **{"response_space": "pixel", "parts": parts, "label_free": True, **options})


def test_agreement_and_form_without_any_target():
    recipe = build({"con": {**CON, "weight": 0.75}, "format": 0.25})
    assert (recipe.label_free, recipe.accepts, recipe.success) == (True, frozenset(), InConsensus(20))
    scores = recipe.score(TEXTS, None, groups=[0] * 4)
    assert scores.total.tolist() == [0.90625, 0.90625, 0.625, 0.0]
    assert scores.acc.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert gr.recipe(json.loads(json.dumps(recipe.to_dict()))) == recipe
    assert "does not say that a response is right" in recipe.formula
    assert recipe.example.target == {"id": "a7"}


def test_success_may_be_any_that_looks_at_no_target(tmp_path):
    assert build({"format": 1}, success="format").score(TEXTS, None).acc.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert build({"in": {"verifier": "in_consensus", "weight": 1, "votes": 3}}).success == InConsensus(votes=3)
    (tmp_path / "own.py").write_text("import numpy as np\n\ndef own(rollouts):\n    return np.ones(len(rollouts))\n")
    own = {"verifier": f"{tmp_path}/own.py:own", "weight": 1, "low": 0, "high": 1}
    assert build({"own": own}, success="own").score(TEXTS, None).acc.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ({"con": CON, "hit": 1}, {}, "composite: hit: Hit compares with targets, and label_free does without"),
        ({"con": CON}, {"success": "hit"}, "composite: success: Hit compares with targets"),
        ({"con": CON, "len": {"verifier": "dast_length", "weight": 1}}, {}, "composite: len: DastLength compares"),
        ({"format": 1}, {}, "composite: option success: got nothing; expected, beside label_free"),
        ({"con": CON}, {"label_free": "yes"}, "option label_free: got 'yes'; expected true or false"),
        ({"con": CON}, {"label_free": 0}, "option label_free: got 0; expected true or false"),
        ({"con": CON}, {"accepts": ["bbox"]}, r"option accepts: got \('bbox',\); expected none beside label_free"),
    ],
)
def test_what_does_not_go_together(parts, options, message):
    with pytest.raises(gr.RecipeError, match=message):
        build(parts, **options)


def test_length_may_follow_agreement():
    length = {"verifier": "dast_length", "weight": 1, "correct": {"verifier": "in_consensus", "size": 20}}
    recipe = build({"con": CON, "length": length})
    assert recipe.score(TEXTS[:2], None, groups=[0, 0], token_lengths=[2, 6]).parts["length"].tolist() == [0.75, 0.25]
