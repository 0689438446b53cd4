import pytest

from grounding_rewards.actions import Act
from grounding_rewards.verifiers import DirectionMatch
from tests.verifiers.acting import REFUSED, judged

DOWN = {"action": {"name": "scroll", "direction": "down"}}


def scrolled(*directions):
    return [Act("scroll", (), {"direction": direction}) for direction in directions]


def test_the_same_direction_in_any_case():
    assert judged(DirectionMatch(), scrolled("down", "DOWN", " down ", "up", "left", "d", ""), DOWN) == [
        1, 1, 1, 0, 0, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("conventions", [("finger", "content"), ("content", "finger")])
def test_a_finger_goes_the_other_way(conventions):
    acts = scrolled("up", "down", "left", "sideways")
    assert judged(DirectionMatch(*conventions), acts, DOWN) == [1, 0, 0, 0]


@pytest.mark.parametrize("response", ["content", "finger"])
@pytest.mark.parametrize("target", ["content", "finger"])
def test_a_swipe_is_the_fingers_whatever_a_scroll_means(response, target):
    right = {"action": {"name": "swipe", "direction": "right"}}
    swiped = [Act("scroll", (), {"direction": way, "swiped": True}) for way in ("left", "right")]
    assert judged(DirectionMatch(response, target), swiped, right) == [1, 0]
    scroll = scrolled("left", "right")
    assert judged(DirectionMatch(response, target), scroll, right) == ([1, 0] if response == "content" else [0, 1])
    left = {"action": {"name": "scroll", "direction": "left"}}
    assert judged(DirectionMatch(response, target), swiped, left) == ([1, 0] if target == "content" else [0, 1])


def test_two_fingers_agree_like_two_views():
    assert judged(DirectionMatch("finger", "finger"), scrolled("down", "up"), DOWN) == [1, 0]


def test_a_direction_that_is_asked_for_must_be_there():
    assert judged(DirectionMatch(), [Act("scroll"), None, REFUSED], DOWN) == [0, 0, 0]
    assert judged(DirectionMatch(), [*scrolled("up"), None], {"action": "scroll"}) == [1, 1]
    assert judged(DirectionMatch(), scrolled("up"), {"refusal": True}) == [0]


def test_any_alternative_will_do():
    either = {"regions": [DOWN, {"action": {"name": "scroll", "direction": "left"}}]}
    assert judged(DirectionMatch(), scrolled("left", "down", "up"), either) == [1, 1, 0]
