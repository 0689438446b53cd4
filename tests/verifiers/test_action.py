from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.actions import ACTIONS, Act
from grounding_rewards.verifiers import ActionType
from tests.verifiers.acting import judged

TAP = {"bbox": [10, 10, 20, 20], "action": "Tap"}


def names(written):
    return [Act(name, (5, 5)) for name in written]


def test_names_of_the_same_action_are_equal_in_the_vocabulary():
    acts = names(["click", "tap", "CLICK", "left_click", "", "double_click", "type", "teleport"])
    assert judged(ActionType(), acts, TAP) == [1, 1, 1, 1, 1, 0, 0, 0]


@settings(deadline=None)
@given(st.sampled_from(ACTIONS), st.sampled_from(ACTIONS))
def test_different_words_of_the_vocabulary_are_different_types(a, b):
    for rule in ("vocabulary", "written", "lower"):
        assert judged(ActionType(rule), [Act(a)], {"action": b}) == [float(a == b)]
