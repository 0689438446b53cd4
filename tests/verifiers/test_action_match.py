"""The type of an action, the whole of it, where drags end, and refusals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.actions import ACTIONS, Act, normalised
from grounding_rewards.combine import best, weighted
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import (
    ActionMatch,
    ActionType,
    CorrectRefusal,
    DirectionMatch,
    EndHit,
    FalseClick,
    FalseRefusal,
    Hit,
    RefusalMatch,
    TextMatch,
)
from tests.verifiers.acting import REFUSED, acting, judged
from tests.verifiers.judging import judge

BOX = {"bbox": [10, 10, 20, 20]}
HERE = (15, 15)
PLACES = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda xy: tuple(map(float, xy))) | st.just(())
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["a", "b", "a b", ""]), "direction": st.sampled_from(["up", "down"]),
        "app": st.sampled_from(["a", "b"]), "status": st.sampled_from(["success", "failure"]),
        "keys": st.sampled_from([("a",), ("b", "a")]), "duration": st.sampled_from([1.0, 2.0]),
        "to": st.sampled_from([(1.0, 1.0), (2.0, 9.0)]),
    },
)  # fmt: skip
NAMES = st.sampled_from(["click", "type", "scroll", "drag", "key", "finished", "teleport"]) | st.sampled_from(ACTIONS)
ACTS = st.none() | st.just(REFUSED) | st.builds(Act, NAMES, PLACES, ARGUMENTS)
ONE = st.builds(
    lambda place, name, arguments: {**place, "action": {"name": name, **{k: list(v) if isinstance(v, tuple) else v
                                                                         for k, v in arguments.items()}}},
    st.just({}) | st.just(BOX), NAMES, ARGUMENTS,
) | st.just(BOX)  # fmt: skip
TARGETS = ONE | st.just({"refusal": True}) | st.lists(ONE, min_size=1, max_size=3).map(lambda each: {"regions": each})


@given(st.lists(st.tuples(ACTS, TARGETS), min_size=1, max_size=6))
def test_a_match_is_of_the_right_type(rows):
    table = acting(*map(list, zip(*rows, strict=True)))
    match = ActionMatch()(table)
    assert (match <= ActionType()(table) + RefusalMatch()(table)).all()


@given(st.lists(st.tuples(ACTS, ONE), min_size=1, max_size=6))
def test_a_match_of_one_alternative_passes_each_test_alone(rows):
    rows = [row for row in rows if row[1].get("action", {}).get("name") not in ("open_app", "key")]
    rows = [row for row in rows if row[0] != REFUSED]  # a refusal says nothing, and may be as good as a failure
    table = acting(*map(list, zip(*rows, strict=True))) if rows else acting([], [])
    match = ActionMatch()(table)
    assert (match <= TextMatch()(table)).all()
    assert (match <= DirectionMatch()(table)).all()
    placed = table.targets.alternatives.place >= 0
    assert (match[placed] <= Hit()(table)[placed]).all()


@given(ONE)
def test_what_a_target_asks_for_is_a_match(target):
    action = {"name": "", **target.get("action", {})}
    action = {key: tuple(value) if isinstance(value, list) else value for key, value in action.items()}
    place = HERE if "bbox" in target else ()
    name, arguments = normalised(action.pop("name"), action)
    assert judged(ActionMatch(), [Act(name, place, arguments)], target) == [1]


def test_only_a_share_needs_the_screen():
    assert (EndHit(share=0.1).needs, EndHit(3).needs) == (frozenset({"screen"}), frozenset())
    assert (ActionMatch(point_share=0.1).needs, ActionMatch().needs) == (frozenset({"screen"}), frozenset())


def test_places_far_away_and_numbers_that_are_none_are_no_hit():
    target = {"action": {"name": "drag", "to": [1, 1, 2, 2]}}
    assert judged(
        EndHit(enlarge=1e6), [Act("any", (), {"to": end}) for end in ((1e12, -1e12), (np.nan, 1.5))], target
    ) == [0, 0]


def test_mistakes_can_cost():
    outcome = best(hit=Hit(), refusal=CorrectRefusal())
    reward = weighted(outcome=(1.0, outcome), false_refusal=(-0.25, FalseRefusal()), false_click=(-0.5, FalseClick()))
    assert (reward.low, reward.high) == (-0.75, 1)
    reasons = [Reason.OK, Reason.OK, Reason.REFUSED, Reason.EMPTY]
    points = [(5, 5), (50, 50), None, None]
    assert judge(reward, points, {"bbox": [0, 0, 9, 9]}, reasons=reasons) == [1, 0, -0.25, 0]
    assert judge(reward, points, {"refusal": True}, reasons=reasons) == [-0.5, -0.5, 1, 0]
