"""Recipes that compare nothing with targets: rows need not say what is right, and what they say is left out."""

from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.requirements import Requirements

TEXTS = ["(500, 500)", "(100, 100)"]


def free(**spaces):
    """A recipe of format alone."""
    return replace(gr.recipe("composite", parts={"format": 1.0}, **spaces), label_free=True, accepts=frozenset())


SAME = free(response_space="pixel", space="pixel")
MOVED = free(response_space="thousandths", space="pixel")


def test_no_targets_at_all():
    assert SAME.score(TEXTS, None).total.tolist() == [1.0, 1.0]
    assert SAME.score("(500, 500)", None).total.tolist() == [1.0]


@pytest.mark.parametrize("target", [None, {}, {"id": "a"}, "OK button", "", '{"id": "a", "image_size": [1000, 500]}'])
def test_targets_that_say_nothing_of_what_is_right(target):
    scores = SAME.score(TEXTS, [target] * 2)
    assert scores.valid.tolist() == [1.0, 1.0]
    assert scores.total.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "target", [{"bbox": [0, 0, 9, 9]}, {"refusal": True}, {"action": "back"}, {"circle": [3, 3, 1]}, [0, 0, 9, 9]]
)
def test_what_a_target_says_is_left_out(target):
    read = SAME.read_targets([target])
    assert read.regions.row.tolist() == []
    assert not read.acts.any()
    assert not read.refusal.any()
    assert SAME.score("(500, 500)", target).valid.tolist() == [1.0]


def test_a_table_read_with_labels_is_stripped_and_keeps_names_sizes_and_errors():
    table = Targets.from_list(
        [{"bbox": [0, 0, 9, 9], "id": "a", "image_size": [20, 10]}, "?"], bad_target="abstain"
    ).unlabelled()
    assert table.rows[0].id == "a"
    assert table.image_sizes[0].tolist() == [20.0, 10.0]
    assert list(table.errors) == [1]
    assert SAME.score(TEXTS, table, bad_target="abstain").valid.tolist() == [1.0, 0.0]


def test_a_size_is_demanded_where_the_response_is_converted():
    with pytest.raises(
        gr.TargetError, match=r"field 'image_size': got nothing; expected .* brings responses in thousan"
    ):
        MOVED.score(TEXTS, None)
    given = MOVED.prepare(TEXTS, None, image_sizes=[200, 100])
    assert given.predictions.xy.tolist() == [[100.0, 50.0], [20.0, 10.0]]
    inside = MOVED.prepare(TEXTS, [{"image_size": [200, 100]}] * 2)
    assert inside.predictions.xy.tolist() == [[100.0, 50.0], [20.0, 10.0]]


def test_a_target_that_cannot_be_read_is_still_an_error():
    with pytest.raises(gr.TargetError, match="field 'image_size'"):
        SAME.score("(1, 2)", {"image_size": "large"})
    with pytest.raises(gr.TargetError, match="one of the keys of a target"):
        SAME.score("(1, 2)", {"imagesize": [1, 2]})


@pytest.mark.parametrize("target", [None, {}, {"id": "a"}])
def test_other_recipes_need_a_target(target):
    with pytest.raises(gr.TargetError):
        gr.recipe("gelato").score(["(1, 2)"], [target])


@pytest.mark.parametrize("lengths", [[3], [3, -1], [3.0, 4.0], ["3", "4"], 7, [[3], [4]]])
def test_lengths_that_are_none_are_an_error(lengths):
    with pytest.raises(
        gr.RecipeError, match=r"token_lengths: got .*; expected a whole number from 0 for each of 2 rows"
    ):
        SAME.score(TEXTS, None, token_lengths=lengths)


def test_sizes_given_from_outside_stay_when_labels_go():
    table = Targets.from_list([{"bbox": [0, 0, 9, 9], "model_image_size": [7, 7]}]).prepare(
        Requirements(gr.CoordSpace.PIXEL, None, frozenset({"bbox"}), gr.CoordSpace.PIXEL),
        image_sizes=np.array([[20.0, 10.0]]), model_image_sizes=np.array([[8.0, 4.0]]),
    )  # fmt: skip
    bare = table.unlabelled()
    assert bare.regions.row.tolist() == []
    assert (bare.image_sizes.tolist(), bare.model_image_sizes.tolist()) == ([[20.0, 10.0]], [[8.0, 4.0]])
