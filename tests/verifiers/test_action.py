from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.actions import ACTIONS, Act
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import ActionType
from tests.verifiers.acting import REFUSED, acting, judged

TAP = {"bbox": [10, 10, 20, 20], "action": "Tap"}


def names(written):
    return [Act(name, (5, 5)) for name in written]


def test_names_of_the_same_action_are_equal_in_the_vocabulary():
    acts = names(["click", "tap", "CLICK", "left_click", "", "double_click", "type", "teleport"])
    assert judged(ActionType(), acts, TAP) == [1, 1, 1, 1, 1, 0, 0, 0]


def test_names_as_written_are_compared_letter_by_letter():
    assert judged(ActionType("written"), names(["Tap", "tap", "click", ""]), TAP) == [1, 0, 0, 0]
    assert judged(ActionType("lower"), names(["Tap", "TAP", "click", ""]), TAP) == [1, 1, 0, 0]


def test_a_contained_name_scores_wherever_it_stands():
    target = {"bbox": [1, 1, 2, 2], "action": "click"}
    acts = names(["click", "notclick", "clic", "click at once"])
    assert judged(ActionType("contained"), acts, target) == [1, 1, 0, 1]


def test_a_place_alone_is_a_click_on_both_sides():
    assert judged(ActionType(), names(["", "click", "type"]), {"bbox": [1, 1, 2, 2]}) == [1, 1, 0]
    assert judged(ActionType("written"), names(["", "click"]), {"bbox": [1, 1, 2, 2]}) == [1, 0]


def test_an_answer_without_name_and_place_is_no_click():
    assert judged(ActionType(), [Act(""), Act("", (), {"text": "click"})], {"bbox": [1, 1, 2, 2]}) == [0, 0]


def test_arguments_can_make_the_type():
    back = {"action": {"name": "system_button", "button": "Back"}}
    assert judged(ActionType(), [Act("back"), Act("home"), Act("PressBack")], back) == [1, 0, 1]
    assert judged(ActionType(), [Act("scroll")], {"action": {"name": "swipe", "direction": "up"}}) == [1]


def test_nothing_and_a_refusal_are_of_no_type():
    assert judged(ActionType(), [None, REFUSED], TAP) == [0, 0]
    assert judged(ActionType(), [None, REFUSED, Act("click", (5, 5))], {"refusal": True}) == [0, 0, 0]


def test_out_of_image_and_unknown_names_are_still_actions():
    reasons = [Reason.OUT_OF_IMAGE, Reason.UNKNOWN_ACTION, Reason.MALFORMED]
    table = acting([Act("click", (5, 5)), Act("teleport"), None], [TAP, {"action": "teleport"}, TAP])
    table.predictions.reason[:] = reasons
    assert ActionType()(table).tolist() == [1, 1, 0]


def test_any_alternative_will_do():
    either = {"regions": [{"bbox": [1, 1, 2, 2]}, {"action": "back"}, {"bbox": [5, 5, 6, 6], "action": "long_press"}]}
    acts = [Act("click", (9, 9)), Act("back"), Act("long_press", (1, 1)), Act("home")]
    assert judged(ActionType(), acts, either) == [1, 1, 1, 0]


@settings(deadline=None)
@given(st.sampled_from(ACTIONS), st.sampled_from(ACTIONS))
def test_different_words_of_the_vocabulary_are_different_types(a, b):
    for rule in ("vocabulary", "written", "lower"):
        assert judged(ActionType(rule), [Act(a)], {"action": b}) == [float(a == b)]
