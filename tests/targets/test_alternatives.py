"""Alternatives that would be right, as one table."""

from dataclasses import replace

import numpy as np
import pytest

from grounding_rewards import CoordSpace, TargetError, Targets
from grounding_rewards.targets.read import read_target
from grounding_rewards.targets.requirements import Requirements

NEEDS = Requirements(CoordSpace.PIXEL, None, frozenset({"bbox", "action", "refusal"}), CoordSpace.PIXEL)

ANY_OF = {
    "regions": [
        {"bbox": [0, 0, 10, 10], "action": "long_press"},
        {"bbox": [20, 20, 30, 30]},
        {"action": {"name": "key", "keys": ["Return"]}},
    ],
    "action": "double_click",
}


def test_places_with_their_action_and_actions_without_a_place():
    table = Targets.from_list([{"bbox": [0, 0, 1, 1]}, ANY_OF, {"refusal": True}, {"action": "wait"}]).alternatives
    assert table.row.tolist() == [0, 1, 1, 1, 3]
    assert table.place.tolist() == [0, 1, 2, -1, -1]
    assert table.names.tolist() == ["", "long_press", "double_click", "key", "wait"]
    assert table.arguments.column("keys", 5).tolist() == [None, None, None, ("Return",), None]
    assert table.canonical.names.tolist() == ["click", "long_press", "double_click", "enter", "wait"]
    assert table.canonical.arguments.keys is None
    assert not table.one_per_row


def test_scores_go_to_the_alternatives_and_the_best_comes_back():
    table = Targets.from_list([{"bbox": [0, 0, 1, 1]}, ANY_OF, {"refusal": True}]).alternatives
    assert table.each(np.array([5, 6, 7])).tolist() == [5, 6, 6, 6]
    assert table.best(np.array([0.5, 0.1, 0.9, 0.2]), 3).tolist() == [0.5, 0.9, 0.0]
    assert table.place_scores(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 3.0, 0.0]
    aligned = Targets.from_list([{"action": "wait"}, {"bbox": [0, 0, 1, 1], "action": "click"}]).alternatives
    assert aligned.one_per_row
    assert aligned.best(np.array([0.5, 0.1]), 2).tolist() == [0.5, 0.1]
    assert aligned.place_scores(np.array([1.0])).tolist() == [0.0, 1.0]
    assert Targets.from_list([{"action": "wait"}]).alternatives.place_scores(np.zeros(0)).tolist() == [0.0]


def test_the_end_of_a_drag_is_brought_into_the_space_of_the_places():
    drag = {"bbox": [0.1, 0.1, 0.2, 0.2], "action": {"name": "drag", "to": [0.5, 0.5]}, "space": "unit"}
    boxed = {"bbox": [10, 10, 20, 20], "action": {"name": "drag", "to": [1, 2, 3, 4]}}
    ready = Targets.from_list([drag, boxed]).prepare(NEEDS, image_sizes=np.array([[100.0, 200.0]] * 2))
    assert ready.alternatives.arguments.to.tolist() == [[50, 100, 50, 100], [1, 2, 3, 4]]


def test_a_drag_without_a_start_is_brought_there_too_and_needs_the_size():
    drag = {"action": {"name": "drag", "to": [0.5, 0.5]}, "space": "unit"}
    ready = Targets.from_list([drag]).prepare(NEEDS, image_sizes=np.array([[100.0, 200.0]]))
    assert ready.alternatives.arguments.to.tolist() == [[50, 100, 50, 100]]
    with pytest.raises(TargetError, match="field 'image_size': got nothing"):
        Targets.from_list([drag]).prepare(NEEDS)


def test_what_a_native_row_keeps_is_at_hand():
    table = Targets.from_list([{"action": "wait", "extra": {"a": 1}}, {"bbox": [0, 0, 1, 1], "extra": [2]}])
    assert table.alternatives.arguments.raw.tolist() == [{"a": 1}, [2]]


def test_a_recipe_of_places_says_which_action_it_cannot_judge():
    with pytest.raises(TargetError, match="field 'action': got 'key'"):
        Targets.from_list([ANY_OF | {"regions": [*ANY_OF["regions"][:2], {"action": "key"}]}]).prepare(
            replace(NEEDS, accepts=frozenset({"bbox"}))
        )
    clicks = {"regions": [{"bbox": [0, 0, 10, 10], "action": "tap"}, {"bbox": [1, 1, 2, 2]}]}
    Targets.from_list([clicks]).prepare(replace(NEEDS, accepts=frozenset({"bbox"})))


def test_errors_name_the_place_in_the_list():
    with pytest.raises(TargetError, match=r"field 'regions\[0\].action.direction': got 'north'"):
        read_target({"regions": [{"action": {"name": "scroll", "direction": "north"}}]})
    with pytest.raises(TargetError, match=r"field 'regions\[1\]': got {}; expected a place .*, or an action"):
        read_target({"regions": [{"bbox": [0, 0, 1, 1]}, {}]})


def test_a_target_may_keep_anything():
    keeps = np.array(["a", "b"])
    table = Targets.from_list([{"action": {"name": "open", "text": "Clock"}, "extra": keeps}]).alternatives
    assert table.canonical.arguments.app.tolist() == ["Clock"]
    assert table.canonical.arguments.raw[0] is table.arguments.raw[0]


def test_a_recipe_that_adds_up_trajectories_asks_for_them():
    rows = [{"action": "wait", "trajectory": "a", "step": 0}, {"action": "wait", "step": 1}, {"action": "wait"}]
    needs = replace(NEEDS, trajectories=True)
    with pytest.raises(TargetError, match="row 1, field 'trajectory': got nothing"):
        Targets.from_list(rows).prepare(needs)
    ready = Targets.from_list(rows).prepare(needs, bad_target="abstain")
    assert {row: error.field for row, error in ready.errors.items()} == {1: "trajectory", 2: "step"}


def test_the_direction_of_a_swipe_is_the_one_in_pixels_whatever_space_a_recipe_works_in():
    swipe = {"bbox": [0, 0, 100, 100], "action": {"name": "swipe", "to": [110, 90]}}
    targets = Targets.from_list([swipe, {"bbox": [0, 0, 1, 1]}])
    sizes = np.array([[1000.0, 100.0]] * 2)
    for space in (CoordSpace.UNIT, CoordSpace.PIXEL):
        ready = targets.prepare(replace(NEEDS, into=space), image_sizes=sizes)
        assert ready.alternatives.canonical.arguments.direction.tolist() == ["left", None]
    unit = targets.prepare(replace(NEEDS, into=CoordSpace.UNIT), image_sizes=sizes).alternatives
    assert unit.arguments.to[0].tolist() == unit.canonical.arguments.to[0].tolist() == [0.11, 0.9, 0.11, 0.9]
