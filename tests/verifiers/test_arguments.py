import numpy as np

from grounding_rewards.actions import Act
from grounding_rewards.verifiers import EndHit
from tests.verifiers.acting import judged


def acts(field, *values):
    return [Act("any", (), {field: value}) for value in values]


def test_places_far_away_and_numbers_that_are_none_are_no_hit():
    target = {"action": {"name": "drag", "to": [1, 1, 2, 2]}}
    assert judged(EndHit(enlarge=1e6), acts("to", (1e12, -1e12), (np.nan, 1.5)), target) == [0, 0]


def test_only_a_share_needs_the_screen():
    assert (EndHit(share=0.1).needs, EndHit(3).needs) == (frozenset({"screen"}), frozenset())
