"""Mixes that compare nothing with targets."""

import grounding_rewards as gr
from grounding_rewards.verifiers import InConsensus

TEXTS = ["(100, 80)", "(105, 80)", "(300, 280)", "?"]


def build(parts, **options):
    return gr.recipe("composite", **{"response_space": "pixel", "parts": parts, "label_free": True, **options})


def test_success_may_be_any_that_looks_at_no_target(tmp_path):
    assert build({"format": 1}, success="format").score(TEXTS, None).acc.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert build({"in": {"verifier": "in_consensus", "weight": 1, "votes": 3}}).success == InConsensus(votes=3)
    (tmp_path / "own.py").write_text("import numpy as np\n\ndef own(rollouts):\n    return np.ones(len(rollouts))\n")
    own = {"verifier": f"{tmp_path}/own.py:own", "weight": 1, "low": 0, "high": 1}
    assert build({"own": own}, success="own").score(TEXTS, None).acc.tolist() == [1.0] * 4
