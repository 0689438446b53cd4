import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.actions import ACTIONS, Act, normalised
from grounding_rewards.verifiers import ActionMatch, ActionType, DirectionMatch, Hit, RefusalMatch, TextMatch
from tests.verifiers.acting import REFUSED, acting, judged

BOX = {"bbox": [10, 10, 20, 20]}
HERE, THERE = (15, 15), (50, 50)


def asks(name, place=None, **arguments):
    return {**(place or {}), "action": {"name": name, **arguments}}


def act(name, *place, **arguments):
    return Act(name, place, arguments)


def test_a_click_needs_its_type_and_its_place():
    acts = [act("click", *HERE), act("", *HERE), act("tap", 20, 10), act("click", *THERE), act("long_press", *HERE),
            act("click"), act("type", *HERE, text="x"), None, REFUSED]  # fmt: skip
    for target in (BOX, asks("click", BOX), asks("left_click", BOX), asks("click", BOX, button="left")):
        assert judged(ActionMatch(), acts, target) == [1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_the_place_does_not_matter_where_the_target_has_none():
    assert judged(ActionMatch(), [act("back"), act("back", *HERE), act("home")], asks("back")) == [1, 1, 0]


def test_every_argument_of_the_target_counts_and_no_other():
    target = asks("type", BOX, text="Hello")
    acts = [act("type", *HERE, text="hello"), act("type", *HERE, text="hello!"), act("type", *HERE),
            act("type", *THERE, text="hello"), act("type", text="hello"),
            act("type", *HERE, text="hello", direction="up", app="x", keys=("a",))]  # fmt: skip
    assert judged(ActionMatch(), acts, target) == [1, 0, 0, 0, 0, 1]
    assert judged(ActionMatch(text_case=True), acts, target) == [0] * 6
    assert judged(ActionMatch(), acts, asks("type", BOX)) == [1, 1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ({}, [1, 0, 0, 0]), ({"text": "f1"}, [1, 1, 0, 0]), ({"text": "f1", "text_threshold": 0.5}, [1, 1, 1, 0]),
        ({"text": "contains"}, [1, 0, 1, 1]), ({"text": "ratio", "text_threshold": 0.6}, [1, 0, 1, 0]),
    ],
)  # fmt: skip
def test_texts_are_compared_by_the_rule(options, scores):
    acts = [act("type", text=text) for text in ("red hat", "hat red", "red", "r")]
    assert judged(ActionMatch(**options), acts, asks("type", text="red hat")) == scores


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ({}, [1, 0, 0]), ({"text": "f1", "text_threshold": 0.5}, [1, 1, 0]), ({"text": "contains"}, [1, 1, 0]),
        ({"app": "contains"}, [1, 1, 0]), ({"text": "contains", "app": "exact"}, [1, 0, 0]),
        ({"text": "ratio", "text_threshold": 0.5, "app": "f1"}, [1, 1, 0]), ({"text_case": True}, [0, 0, 0]),
    ],
)  # fmt: skip
def test_apps_are_compared_by_the_rule_of_texts_or_their_own(options, scores):
    acts = [act("open_app", app=name) for name in ("google maps", "Maps", "Chrome")]
    assert judged(ActionMatch(**options), acts, asks("open_app", app="Google Maps")) == scores


def test_each_argument_can_be_right_or_wrong():
    for target, right, wrong in [
        (asks("open_app", app="Clock"), act("open_app", app="clock"), act("open_app", app="Clocks")),
        (asks("open", text="Clock"), act("open_app", app="clock"), act("open_app", text="clock")),
        (asks("hotkey", keys=["ctrl", "c"]), act("key", keys=("c", "ctrl")), act("key", keys=("ctrl", "v"))),
        (asks("system_button", button="Home"), act("home"), act("back")),
        (asks("click", BOX, button="right"), act("right_click", *HERE), act("click", *HERE)),
        (asks("answer", text="42"), act("answer", text="42"), act("answer", text="43")),
        (asks("swipe", direction="up"), act("scroll", direction="down"), act("scroll", direction="up")),
        (asks("wait", duration=2), act("wait", duration=2.0), act("wait", duration=3.0)),
        (asks("drag", BOX, to=[1, 1, 5, 5]), act("drag", *HERE, to=(5, 5)), act("drag", *HERE, to=(6, 5))),
        (asks("drag", BOX, to=[1, 1, 5, 5]), act("drag", *HERE, to=(1, 1)), act("drag", *THERE, to=(1, 1))),
        (asks("teleport"), act("teleport"), act("beam")),
    ]:
        bare = act(right.name) if right.arguments else None
        assert judged(ActionMatch(), [right, wrong, bare], target) == [1, 0, 0], (target, right, wrong)


def test_places_and_ends_share_the_reach_and_the_enlargement():
    point = {"point": [15, 15], "action": {"name": "drag", "to": [50, 50]}}
    acts = [act("drag", 18, 19, to=(53, 54)), act("drag", 18, 20, to=(50, 50)), act("drag", 15, 15, to=(50, 56))]
    assert judged(ActionMatch(point_radius=5), acts, point) == [1, 0, 0]
    assert judged(ActionMatch(), [act("drag", 15, 15, to=(50, 50))], point) == [0], "no reach, no point"
    assert judged(ActionMatch(point_share=0.0625), acts, point, size=(128, 128)) == [1, 1, 1]
    wide = asks("drag", BOX, to=[30, 30, 40, 40])
    acts = [act("drag", 21, 9, to=(29, 41)), act("drag", 22, 15, to=(35, 35)), act("drag", 15, 15, to=(42, 35))]
    assert judged(ActionMatch(enlarge=1.2), acts, wide) == [1, 0, 0]
    assert judged(ActionMatch(), acts, wide) == [0, 0, 0]


@pytest.mark.parametrize("place", [{"polygon": [10, 10, 20, 10, 10, 20]}, {"circle": [12, 12, 3]}])
def test_places_of_any_shape(place):
    acts = [act("long_press", 12, 12), act("long_press", 19, 19)]
    assert judged(ActionMatch(), acts, asks("long_press", place)) == [1, 0]


def test_type_place_and_arguments_must_be_those_of_one_alternative():
    either = {"regions": [
        {"bbox": [0, 0, 10, 10], "action": {"name": "type", "text": "a"}},
        {"bbox": [20, 20, 30, 30], "action": {"name": "type", "text": "b"}},
        {"bbox": [40, 40, 50, 50]}, {"action": {"name": "scroll", "direction": "down"}},
    ]}  # fmt: skip
    acts = [act("type", 5, 5, text="a"), act("type", 25, 25, text="b"), act("type", 5, 5, text="b"),
            act("click", 45, 45), act("click", 5, 5), act("scroll", direction="down"), act("scroll", direction="up"),
            act("type", 45, 45, text="a")]  # fmt: skip
    assert judged(ActionMatch(), acts, either) == [1, 1, 0, 1, 0, 1, 0, 0]


def test_a_scroll_may_be_judged_by_its_direction_alone():
    target = asks("scroll", BOX, direction="down", to=[1, 1, 2, 2])
    acts = [act("scroll", *HERE, direction="down", to=(1, 1)), act("scroll", *THERE, direction="down"),
            act("scroll", *HERE, direction="up", to=(1, 1)),
            act("drag", *HERE, direction="down", to=(1, 1))]  # fmt: skip
    assert judged(ActionMatch(), acts, target) == [1, 0, 0, 0]
    assert judged(ActionMatch(scroll="direction"), acts, target) == [1, 1, 0, 0]
    assert judged(ActionMatch(scroll="direction"), acts[:2], asks("scroll", BOX)) == [1, 0], "it has no direction"


def test_directions_may_be_the_finger_s():
    acts = [act("scroll", direction="up"), act("scroll", direction="down")]
    assert judged(ActionMatch(response_scroll="finger"), acts, asks("scroll", direction="down")) == [1, 0]
    assert judged(ActionMatch(target_scroll="finger"), acts, asks("scroll", direction="down")) == [1, 0]


@pytest.mark.parametrize(("tolerance", "scores"), [(0.0, [1, 0, 0, 0]), (1.5, [1, 1, 0, 0]), (None, [1, 1, 1, 1])])
def test_durations_within_the_tolerance(tolerance, scores):
    acts = [act("wait", duration=2.0), act("wait", duration=3.5), act("wait", duration=9.0), act("wait")]
    assert judged(ActionMatch(duration_tolerance=tolerance), acts, asks("wait", duration=2)) == scores


@pytest.mark.parametrize(
    ("status", "scores"),
    [
        (None, [1, 1, 0, 0, 0]), ("success", [1, 1, 0, 0, 0]), ("failure", [0, 0, 1, 1, 0]),
        ("need_feedback", [0, 0, 0, 0, 1]),
    ],
)  # fmt: skip
def test_to_finish_must_have_the_same_outcome(status, scores):
    acts = [act("finished"), act("finished", status="Completed"), act("finished", status="infeasible"),
            act("terminate", status="fail"), act("finished", status="need_feedback")]  # fmt: skip
    target = asks("finished") if status is None else asks("finished", status=status)
    assert judged(ActionMatch(), acts, target) == scores


def test_a_refusal_target_asks_for_a_refusal_or_an_impossible_task():
    acts = [REFUSED, act("finished", status="infeasible"), act("terminate", status="failure"), act("finished"),
            act("finished", status="success"), act("click", *HERE), act("wait", status="impossible"), None]  # fmt: skip
    for verifier in (ActionMatch(), RefusalMatch()):
        assert judged(verifier, acts, {"refusal": True}) == [1, 1, 1, 0, 0, 0, 0, 0]
        assert judged(verifier, [REFUSED, None], {"refusal": True}) == [1, 0]
    assert judged(RefusalMatch(), acts, BOX) == [0] * 8
    assert judged(ActionMatch(), acts, BOX) == [0, 0, 0, 0, 0, 1, 0, 0]


def test_refusals_and_actions_in_one_batch():
    targets = [{"refusal": True}, BOX, asks("wait"), {"refusal": True}]
    acts = [REFUSED, act("click", *HERE), act("wait"), act("click", *HERE)]
    assert ActionMatch()(acting(acts, targets)).tolist() == [1, 1, 1, 0]


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


@settings(deadline=None)
@given(st.lists(st.tuples(ACTS, TARGETS), min_size=1, max_size=6))
def test_a_match_is_of_the_right_type(rows):
    table = acting(*map(list, zip(*rows, strict=True)))
    match = ActionMatch()(table)
    assert (match <= ActionType()(table) + RefusalMatch()(table)).all()


@settings(deadline=None)
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


@settings(deadline=None)
@given(ONE)
def test_what_a_target_asks_for_is_a_match(target):
    action = {"name": "", **target.get("action", {})}
    action = {key: tuple(value) if isinstance(value, list) else value for key, value in action.items()}
    place = HERE if "bbox" in target else ()
    name, arguments = normalised(action.pop("name"), action)
    assert judged(ActionMatch(), [Act(name, place, arguments)], target) == [1]


def test_only_a_share_needs_the_screen():
    assert (ActionMatch(point_share=0.1).needs, ActionMatch().needs) == (frozenset({"screen"}), frozenset())


def test_finishing_as_impossible_must_be_right_in_every_respect_and_a_refusal_is_as_good():
    target = {"action": {"name": "finished", "status": "infeasible", "text": "no such file"}}
    acts = [act("finished", status="failure"), act("finished", status="failure", text="No such file"), REFUSED,
            act("finished", text="no such file")]  # fmt: skip
    assert judged(ActionMatch(), acts, target) == [0, 1, 1, 0]
    assert judged(RefusalMatch(), acts, target) == [1, 1, 1, 0]
    assert judged(ActionMatch(), acts, {"refusal": True}) == [1, 1, 1, 0]
