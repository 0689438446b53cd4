"""Groups, lengths and further columns: what is one, and what is refused by name."""

import sys

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


def results():
    """A hit, a refusal's text, and a target that cannot be used."""
    own = gr.recipe(
        "composite", response_space="pixel", parts={"hit": 0.75, "class": {"verifier": "format", "weight": 0.25}}
    )
    targets = [{"bbox": [10, 10, 30, 20]}] * 2 + [{"bbox": []}]
    return own.score(["(20, 15)", "no idea", "(1, 1)"], targets, bad_target="abstain")


def test_scores_as_columns():
    assert results().columns() == {
        "total": [1.0, 0.0, None], "acc": [1.0, 0.0, None], "valid": [1.0, 1.0, 0.0], "hit": [1.0, 0.0, None],
        "class": [1.0, 0.0, None], "x": [20.0, None, 1.0], "y": [15.0, None, 1.0],
        "reason": ["OK", "NO_ANSWER", "BAD_TARGET"], "dialect": ["bare_tuple", None, "bare_tuple"],
    }  # fmt: skip


def test_scores_as_tables():
    scores = results()
    table = scores.to_arrow()
    assert table.to_pydict() == scores.columns()
    assert [str(kind) for kind in table.schema.types] == ["double"] * 7 + ["string"] * 2
    frame = scores.to_pandas()
    assert list(frame.columns) == table.column_names
    assert frame["hit"].dropna().tolist() == [1.0, 0.0]
    assert frame["reason"].tolist() == ["OK", "NO_ANSWER", "BAD_TARGET"]


def test_scores_of_no_rows_have_the_same_columns():
    empty = gr.recipe("gelato").score([], [])
    assert (len(empty), list(empty)) == (0, [])
    full = gr.recipe("gelato").score("(200, 150)", [0.1, 0.1, 0.3, 0.2])
    assert empty.to_arrow().schema == full.to_arrow().schema


def test_scores_as_rows():
    scores = results()
    first, second, third = scores
    assert len(scores) == 3
    assert (first.total, first.hit, first.x, first.reason, first.dialect) == (1.0, 1.0, 20.0, "OK", "bare_tuple")
    assert first._fields == ("total", "acc", "valid", "hit", "_4", "x", "y", "reason", "dialect")
    assert (second.x, second.dialect, third.total, third.valid) == (None, None, None, 0.0)
    assert [list(row) for row in scores] == [list(row.values()) for row in scores.to_arrow().to_pylist()]


def test_rows_of_scores_by_index_slice_mask_and_list():
    scores = results()
    rows = list(scores)
    assert [scores[0], scores[np.int64(1)], scores[-1]] == [rows[0], rows[1], rows[2]]
    for chosen, expected in [
        (slice(1, 3), [1, 2]), (slice(None, None, -1), [2, 1, 0]), (scores.valid == 1, [0, 1]), ([2, 0], [2, 0]),
        ([False, True, False], [1]), (range(2), [0, 1]), ((1,), [1]), (slice(9, 12), []), ([], []),
    ]:  # fmt: skip
        some = scores[chosen]
        assert list(some) == [rows[row] for row in expected], chosen
        assert list(some.errors) == [place for place, row in enumerate(expected) if row == 2], chosen
    for wrong, error in [(3, IndexError), (-4, IndexError), ([True], IndexError), ("acc", TypeError)]:
        with pytest.raises(error):
            scores[wrong]


def test_sliced_predictions_keep_all_answers_of_each_row_and_what_actions_say():
    every = gr.recipe("composite", response_space="pixel", parts={"matched_f1": 1.0}, answers="all")
    scores = every.score(["(1, 2) and (3, 4)", "none", "(5, 6)"], [{"bbox": [0, 0, 9, 9]}] * 3)
    some = scores[[2, 1, 0]].predictions
    assert (some.points.tolist(), some.offsets.tolist()) == ([[5, 6], [1, 2], [3, 4]], [0, 1, 1, 3])
    typed = gr.recipe("action", response_space="pixel").score(
        ["wait()", "Action: type(content='hi')"], [{"action": "wait"}] * 2
    )
    assert typed[1:].predictions.arguments.by_row(1) == [{"text": "hi"}]


def test_taken_predictions_are_in_their_usual_form_where_they_were():
    read = gr.recipe("click", response_space="pixel").prepare(["(1, 2)", "?", "(3, 4)"], [{"bbox": [0, 0, 9, 9]}] * 3)
    marked = read.predictions.changed(usual=np.array([True, False, False]))
    assert marked.take(np.array([2, 0])).usual.tolist() == [False, True]
    assert marked.xy.tolist()[2] == marked.take(np.array([2, 0])).xy.tolist()[0] == [3.0, 4.0]


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gr.TableError, match=r"a data frame needs pandas: pip install pandas; to_arrow\(\) does"):
        results().to_pandas()
    assert results().to_arrow().num_rows == 3
