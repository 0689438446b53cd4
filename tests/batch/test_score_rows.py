"""Rows to scores: one recipe or several, columns in and columns out."""

from __future__ import annotations

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.batch.score_rows import Inputs, ScoredBatch, score_rows

GELATO, CLICK = gr.recipe("gelato"), gr.recipe("click", response_space="pixel")
UNIT, BOX = [0.0, 0.0, 0.5, 0.5], {"bbox": [10, 10, 30, 20], "image_size": [100, 50]}


def batch() -> ScoredBatch:
    """Rows 0 and 3 by click, one of them with a target that cannot be used, row 1 by gelato, row 2 by none."""
    mine, bad = (
        score_rows(GELATO, Inputs(["(250, 250)"], [UNIT]), "abstain", rows=np.array([1])),
        {"bbox": [1], "id": "b"},
    )
    theirs = score_rows(CLICK, Inputs(["(20, 15)", "(1, 1)"], [BOX, bad]), "abstain", rows=np.array([0, 3]))
    return ScoredBatch([mine, theirs], ("distance", "format", "hit", "refusal", "outcome"), 4)


def test_rows_that_are_taken_keep_every_columns_kind() -> None:
    state = object()
    columns = {
        "array": np.array([0.5, 1.5, 2.5]), "wide": np.arange(6).reshape(3, 2), "scalar": np.array(7.0),
        "list": ["a", "b", "c"], "tuple": (1, 2, 3), "text": "abc", "state": state, "map": {0: 1},
    }  # fmt: skip
    sizes, array = [(1.0, 2.0), None, (3.0, 4.0)], np.array(["x", "y", "z"], dtype=object)
    given = Inputs(array, ["t", None, "v"], columns, sizes, None, np.array([4, 5, 6]), [7, 8, 9])
    assert given.take(None) is given
    found = given.take(np.array([2, 0]))
    assert (found.responses, found.targets) == (["z", "x"], ["v", "t"])
    assert isinstance(found.extras["array"], np.ndarray)
    assert found.extras["array"].tolist() == [2.5, 0.5]
    assert found.extras["wide"].tolist() == [[4, 5], [0, 1]]
    assert found.extras["scalar"] is columns["scalar"]
    assert (found.extras["list"], found.extras["tuple"], found.extras["text"]) == (["c", "a"], [3, 1], "abc")
    assert found.extras["state"] is state
    assert found.extras["map"] is columns["map"]
    assert (found.image_sizes, found.model_image_sizes) == ([(3.0, 4.0), (1.0, 2.0)], None)
    assert (found.groups.tolist(), found.token_lengths) == ([6, 4], [9, 7])


def test_rows_of_several_recipes_have_the_same_columns() -> None:
    found = batch()
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        "total": [1, 1, 0, 0], "acc": [1, 1, 0, 0], "valid": [1, 1, 0, 0], "parsed": [1, 1, 0, 1],
        "in_image": [1, 1, 0, 0], "distance": [0, 1, 0, 0], "format": [1, 1, 0, 0], "hit": [1, 0, 0, 0],
        "refusal": [0, 0, 0, 0], "outcome": [1, 0, 0, 0],
    }  # fmt: skip
    assert found.named(lambda recipe: str(recipe.space)) == ["pixel", "unit", None, "pixel"]
    assert [target is not None for target in found.targets] == [True, True, False, False]
    assert {row: str(error.sample) for row, error in found.errors.items()} == {3: "b"}
    assert len(found) == 4


def test_a_rollout_table_says_nothing_where_there_is_nothing() -> None:
    found = batch().rollout_columns()
    nan = np.nan
    np.testing.assert_equal(found["total"], [1.0, 1.0, nan, nan])
    np.testing.assert_equal(found["hit"], [1.0, nan, nan, nan])
    np.testing.assert_equal(found["distance"], [nan, 1.0, nan, nan])
    np.testing.assert_equal(found["x_unit"], [0.2, 0.25, nan, nan])
    np.testing.assert_equal(found["image_size"], [[100.0, 50.0], [nan, nan], [nan, nan], [nan, nan]])
    assert found["recipe"] == ["click", "gelato", None, "click"]
    assert found["reason"] == ["OK", "OK", None, "BAD_TARGET"]


@pytest.mark.parametrize("name", ["image_size", "model_image_size"])
@pytest.mark.parametrize(("outside_first", "size"), [(True, [200.0, 100.0]), (False, [100.0, 50.0])])
def test_sizes_from_outside_go_first_or_stand_in(name: str, outside_first: bool, size: list[float]) -> None:
    bare = {"bbox": [10, 10, 30, 20]}
    sizes = {f"{name}s": [(200.0, 100.0), (300.0, 90.0)]}
    inputs = Inputs(["(20, 15)"] * 2, [{**bare, name: [100, 50]}, bare], **sizes)
    found = score_rows(CLICK, inputs, "raise", outside_first=outside_first)
    assert getattr(found.rollouts, f"{name}s").tolist() == [size, [300.0, 90.0]]


def test_samples_are_asked_for_by_recipes_that_compare_them_alone() -> None:
    asked = []

    def groups(recipe: gr.Recipe, targets: gr.Targets, rows: object) -> list[int]:
        asked.append((recipe.name, len(targets), rows))
        return [0, 0]

    votes = gr.recipe("gui-rcpo", response_space="pixel")
    for recipe in (CLICK, votes):
        score_rows(recipe, Inputs(["(20, 15)"] * 2, [BOX] * 2, groups=groups), "raise")
    assert asked == [("gui-rcpo", 2, None)]
