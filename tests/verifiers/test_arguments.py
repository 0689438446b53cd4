import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import ArgumentMatch, DurationMatch, EndHit, KeysMatch
from tests.verifiers.acting import REFUSED, acting, judged


def acts(field, *values):
    return [Act("any", (), {field: value}) for value in values]


@pytest.mark.parametrize("field", ["app", "status", "button"])
def test_an_argument_is_equal_or_not(field):
    target = {"action": {"name": "any", field: "Chrome"}}
    given = [*acts(field, "Chrome", " chrome", "Google Chrome", "", "C"), Act("any"), None, REFUSED]
    assert judged(ArgumentMatch(field), given, target) == [1, 1, 0, 0, 0, 0, 0, 0]
    assert judged(ArgumentMatch(field, case=True), given[:2], target) == [1, 0]
    assert judged(ArgumentMatch(field), given, {"action": "any"}) == [1] * 8
    assert judged(ArgumentMatch(field), given[:1], {"refusal": True}) == [0]


def test_keys_match_in_any_order_case_and_name():
    target = {"action": {"name": "key", "keys": ["ctrl", "shift", "Escape"]}}
    given = [
        ("ctrl", "shift", "escape"), ("ESC", "Control", "shift"), ("ctrl", "shift"), ("ctrl", "shift", "esc", "esc"),
        ("ctrl+shift+esc",), (),
    ]  # fmt: skip
    assert judged(KeysMatch(), [*acts("keys", *given), Act("key"), None], target) == [1, 1, 0, 0, 0, 0, 0, 0]
    assert judged(KeysMatch(), [*acts("keys", ("a",)), None], {"action": "key"}) == [1, 1]
    assert judged(KeysMatch(), acts("keys", (" ",), ("space",), ("",)), {"action": {"name": "key", "keys": " "}}) == [
        1, 1, 0,
    ]  # fmt: skip


def test_a_duration_lies_within_limits():
    target = {"action": {"name": "wait", "duration": 3}}
    given = [*acts("duration", 0.0, 149.9, 150.0, 5000.0, 5000.1), Act("wait"), None]
    assert judged(DurationMatch(shortest=150, longest=5000), given, target) == [0, 0, 1, 1, 0, 0, 0]
    assert judged(DurationMatch(), given, target) == [1, 1, 1, 1, 1, 0, 0]
    assert judged(DurationMatch(shortest=150), given, {"action": "wait"}) == [1] * 7
    assert judged(DurationMatch(), [Act("wait"), None], target) == [0, 0]


def test_a_duration_lies_near_the_target_s():
    target = {"action": {"name": "wait", "duration": 3}}
    given = acts("duration", 3.0, 2.5, 3.5, 3.6, -3.0)
    assert judged(DurationMatch(tolerance=0.5), given, target) == [1, 1, 1, 0, 0]
    assert judged(DurationMatch(tolerance=0), given, target) == [1, 0, 0, 0, 0]


def test_a_drag_ends_in_a_box():
    target = {"point": [0, 0], "action": {"name": "drag", "to": [10, 20, 30, 40]}}
    given = [*acts("to", (10, 20), (30, 40), (9, 30), (20, 42)), Act("drag"), None, REFUSED]
    assert judged(EndHit(), given, target) == [1, 1, 0, 0, 0, 0, 0]
    assert judged(EndHit(enlarge=1.2), given, target) == [1, 1, 1, 1, 0, 0, 0]
    assert judged(EndHit(), [Act("drag"), None], target) == [0, 0]
    assert judged(EndHit(), given, {"action": "drag"}) == [1] * 7
    assert judged(EndHit(), given[:1], {"refusal": True}) == [0]


def test_a_drag_ends_near_a_point():
    target = {"action": {"name": "drag", "to": [10, 20]}}
    given = [*acts("to", (10, 20), (13, 24), (13, 24.1)), Act("drag")]
    assert judged(EndHit(radius=5), given, target) == [1, 1, 0, 0]
    assert judged(EndHit(enlarge=3), given, target) == [1, 0, 0, 0]
    assert judged(EndHit(radius=0), given, target) == [1, 0, 0, 0]


def test_the_reach_can_be_a_share_of_the_screen():
    target = {"action": {"name": "drag", "to": [32, 64]}}
    given = acts("to", (36, 64), (37, 64), (32, 72), (32, 73))
    assert judged(EndHit(share=0.0625), given, target, size=(64, 128)) == [1, 0, 1, 0]
    unit = {"action": {"name": "drag", "to": [0.5, 0.5]}}
    assert judged(EndHit(share=0.04), acts("to", (0.53, 0.5), (0.55, 0.5)), unit, space=CoordSpace.UNIT) == [1, 0]


def test_a_share_of_an_unknown_screen_is_an_error_that_names_the_sample():
    target = {"action": {"name": "drag", "to": [50, 100]}, "id": "a7"}
    with pytest.raises(gr.TargetError, match="sample 'a7', field 'image_size': got nothing"):
        EndHit(share=0.04)(acting(acts("to", (5, 5)), [target]))
    box = {"action": {"name": "drag", "to": [50, 100, 60, 110]}}
    assert judged(EndHit(share=0.04), acts("to", (50, 110)), box) == [1]


def test_each_alternative_has_its_own_end():
    either = {"regions": [{"action": {"name": "drag", "to": [0, 0, 5, 5]}}, {"action": {"name": "drag", "to": [9, 9]}}]}
    assert judged(EndHit(radius=1), acts("to", (1, 5), (9, 10), (7, 7)), either) == [1, 1, 0]


def test_places_far_away_and_numbers_that_are_none_are_no_hit():
    target = {"action": {"name": "drag", "to": [1, 1, 2, 2]}}
    assert judged(EndHit(enlarge=1e6), acts("to", (1e12, -1e12), (np.nan, 1.5)), target) == [0, 0]


def test_only_a_share_needs_the_screen():
    assert (EndHit(share=0.1).needs, EndHit(3).needs) == (frozenset({"screen"}), frozenset())
