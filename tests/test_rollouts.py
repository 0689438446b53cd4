"""Groups, lengths and further columns: what is one, and what is refused by name."""

import numpy as np
import pytest

import grounding_rewards as gr

RECIPE = gr.recipe(
    "composite", response_space="pixel", parts={"novelty": {"verifier": "novelty", "weight": 1, "radius": 5}}
)
BOX = {"bbox": [10, 10, 30, 20]}


def rollouts(rows=4, **more):
    return RECIPE.prepare(["(1, 1)"] * rows, [BOX] * rows, **{"groups": [0] * rows, **more})


class Tensor:
    """Tensor as torch has them: elements have no hash by value, ``tolist`` does."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return [each.tolist() for each in self.values] if isinstance(self.values, list) else self.values


TENSOR = Tensor([Tensor(3), Tensor(3), Tensor(5), Tensor(5)])


@pytest.mark.parametrize(
    "groups",
    [
        TENSOR, TENSOR.values, [7, 7, 8, 8], ("a", "a", "b", "b"), np.array([7, 7, 8, 8]),
        np.array(["a", "a", "b", "b"]), np.array([7, 7, "b", "b"], dtype=object), [np.int64(7), 7, np.str_("b"), "b"],
        [(1, 2), (1, 2), (1, 3), (1, 3)],
    ],
)  # fmt: skip
def test_groups_are_what_is_equal(groups):
    assert rollouts(groups=groups).groups.tolist() == [0, 0, 1, 1]


def test_a_number_and_its_text_are_two_groups():
    assert rollouts(groups=[1, "1", 1.0, "1"]).groups.tolist() == [0, 1, 0, 1]


class Unequal:
    def __hash__(self):
        raise RuntimeError("no hash")


@pytest.mark.parametrize(
    ("groups", "row", "came"),
    [
        ([None] * 4, 0, "None"),
        ([7, 7, float("nan"), 8], 2, "nan"),
        (np.array([7.0, np.nan, 8, 8]), 1, "nan"),
        (np.zeros((4, 1)), 0, r"\[0.0\]"),
        (["a", {}, "b", "b"], 1, "{}"),
        ([7, 7, 7, Unequal()], 3, "<.*Unequal"),
    ],
)
def test_a_row_without_a_name_is_named(groups, row, came):
    with pytest.raises(gr.RecipeError, match=f"groups: row {row}: got {came}.*; expected the name of its sample"):
        rollouts(groups=groups)


@pytest.mark.parametrize("groups", [3, np.array(0), "abcd", {1, 2, 3, 4}, dict.fromkeys(range(4)), iter("abcd")])
def test_what_is_no_column_of_groups_is_refused(groups):
    with pytest.raises(
        gr.RecipeError, match=r"groups: got .*; expected a list or an array, the sample of each of 4 rows"
    ):
        rollouts(groups=groups)


def test_columns_are_as_long_as_the_responses():
    for column in ([1], (1, 2, 3), np.zeros(3)):
        with pytest.raises(gr.RecipeError, match=r"extras\['x'\]: got \d; expected one for each of 2 rows"):
            rollouts(2, extras={"x": column})
    passed = {"x": [1, 2], "state": object(), "name": "a text", "scalar": np.float64(3.0)}
    assert rollouts(2, extras=passed).extras == passed


def test_lengths_beyond_64_bits_are_refused():
    with pytest.raises(gr.RecipeError, match=r"token_lengths: got .*; expected a whole number from 0"):
        rollouts(2, token_lengths=np.array([2**63, 1], np.uint64))


def test_no_targets_at_all_is_said_to_be_so():
    for give in (lambda: gr.recipe("gelato").score(["(1, 1)"], None), lambda: gr.recipe("gelato").read_targets(None)):
        with pytest.raises(gr.RecipeError, match="gelato compares responses with targets: got None; expected a target"):
            give()
