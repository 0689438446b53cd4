"""Orders of rows by stage and by weight: exact numbers, and the same from the same seed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool.serving import check_weights, read_weights, stage_order, weighted_order

SEEDS = st.integers(0, 2**32)
SHARES = st.one_of(st.floats(0, 1), st.sampled_from([0, 1, 0.29, 0.58, 0.07]))
WEIGHTS = st.lists(st.one_of(st.just(0.0), st.floats(0, 1e300)), min_size=1, max_size=9)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3)), min_size=1, max_size=4), SEEDS)
def test_each_stage_shows_all_its_rows_once_an_epoch(stages: list[tuple[int, int]], seed: int) -> None:
    sizes, epochs = [size for size, _ in stages], [count for _, count in stages]
    order, first = stage_order(sizes, epochs, seed).tolist(), 0
    for size, count in stages:
        for _ in range(count):
            epoch, order = order[:size], order[size:]
            assert sorted(epoch) == list(range(first, first + size))
        first += size
    assert order == []
    assert (stage_order(sizes, epochs, seed) == stage_order(sizes, epochs, seed)).all()


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    order = stage_order([20, 20], [2, 1], 3).tolist()
    assert len({tuple(row % 20 for row in order[start : start + 20]) for start in (0, 20, 40)}) == 3
    assert order != stage_order([20, 20], [2, 1], 4).tolist()


@pytest.mark.parametrize(
    ("sizes", "epochs", "seed", "message"),
    [
        ([], [], 0, "epochs: got 0 for 0 stages; expected one for each of one or more"),
        ([3], [1, 2], 0, "epochs: got 2 for 1 stages"),
        ([3, 0], [1, 1], 0, r"sizes\[1\]: got 0; expected a whole number from 1"),
        ([3, 4], [1, 1.5], 0, r"epochs\[1\]: got 1.5; expected a whole number from 1"),
        ([3], [1], None, "seed: got None; expected a whole number from 0"),
    ],
)
def test_stages_that_do_not_fit(sizes: Any, epochs: Any, seed: Any, message: str) -> None:
    with pytest.raises(PoolError, match=f"^{message}"):
        stage_order(sizes, epochs, seed)


def order_of(weights: Any, length: int, batch: int, share: float, seed: int) -> list[int]:
    return weighted_order(weights, length=length, batch_size=batch, weighted_share=share, seed=seed).tolist()


def test_half_of_five_are_two_by_weight_and_three_uniformly() -> None:
    batches = np.array(order_of([0, 0, 0, 1, 1, 0], 30, 5, 0.5, 7)).reshape(6, 5)
    assert set(batches[:, :2].ravel()) == {3, 4}
    assert Counter(batches[:, 2:].ravel().tolist()) == dict.fromkeys(range(6), 3)


@given(WEIGHTS, st.integers(0, 40), st.integers(1, 7), SHARES, SEEDS)
def test_budgets_are_exact_and_no_row_is_walked_past(
    weights: list[float], length: int, batch: int, share: float, seed: int
) -> None:
    order = order_of(weights, length, batch, share, seed)
    by_weight = math.floor(Fraction(str(share)) * batch)
    assert len(order) == length
    drawn = [row for place, row in enumerate(order) if place % batch < by_weight]
    walk = [row for place, row in enumerate(order) if place % batch >= by_weight]
    assert set(drawn) <= {row for row, weight in enumerate(weights) if weight or not any(weights)}
    for start in range(0, len(walk), len(weights)):
        passed = walk[start : start + len(weights)]
        assert len(set(passed)) == len(passed)
    assert set(order) <= set(range(len(weights)))


@given(WEIGHTS, st.integers(0, 30), st.integers(0, 30), st.integers(1, 7), SHARES, SEEDS)
def test_a_longer_order_begins_with_the_shorter_one(
    weights: list[float], length: int, more: int, batch: int, share: float, seed: int
) -> None:
    longer = order_of(weights, length + more, batch, share, seed)
    assert longer[:length] == order_of(weights, length, batch, share, seed)


@given(st.floats(1e-300, 1e300), st.integers(1, 9), SEEDS)
def test_equal_weights_and_none_at_all_are_uniform(weight: float, rows: int, seed: int) -> None:
    assert order_of([weight] * rows, 20, 4, 0.5, seed) == order_of([0.0] * rows, 20, 4, 0.5, seed)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(-30, 30), SEEDS)
def test_only_the_proportions_of_weights_count(weights: list[int], power: int, seed: int) -> None:
    scaled = [weight * 2.0**power for weight in weights]
    assert order_of(scaled, 20, 4, 0.5, seed) == order_of(weights, 20, 4, 0.5, seed)


def test_orders_are_always_those_of_their_seeds() -> None:
    assert stage_order([4, 3], [2, 1], 5).tolist() == [3, 1, 2, 0, 2, 3, 0, 1, 4, 6, 5]
    assert order_of([1, 1, 1, 1], 8, 4, 0.5, 0) == [2, 1, 3, 0, 0, 0, 2, 1]
    assert order_of([1, 1, 1, 1], 8, 4, 0.5, 1) == [2, 3, 2, 0, 0, 3, 1, 3]


def test_a_share_of_a_batch_is_as_it_is_written() -> None:
    order = order_of([0] * 999 + [1], 100, 100, 0.29, 0)  # in floats 0.29 * 100 is below 29
    assert [row == 999 for row in order] == [True] * 29 + [False] * 71


def test_sums_of_the_largest_weights_are_finite() -> None:
    assert order_of([1.7e308] * 3, 20, 4, 0.5, 0) == order_of([1.0] * 3, 20, 4, 0.5, 0)


def test_draws_are_in_proportion_to_weights() -> None:
    drawn = Counter(order_of([1, 3, 0, 4], 80_000, 4, 1, 0))
    assert [drawn[row] / 80_000 for row in range(4)] == pytest.approx([0.125, 0.375, 0, 0.5], abs=0.01)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": [1, math.nan]}, "weights, row 1: got nan; expected a finite number from 0"),
        ({"weights": [1, None, -1]}, "weights, row 1: got nan"),
        ({"weights": [-0.5]}, "weights, row 0: got -0.5"),
        ({"weights": [math.inf]}, "weights, row 0: got inf"),
        ({"weights": []}, r"weights: got the shape \(0,\); expected one number for each of one row or more"),
        ({"weights": [[1]]}, r"weights: got the shape \(1, 1\)"),
        ({"weights": ["many"]}, "weights: could not convert string to float: 'many'; expected one finite number a row"),
        ({"length": -1}, "length: got -1; expected a whole number from 0"),
        ({"batch_size": 0}, "batch_size: got 0; expected a whole number from 1"),
        ({"seed": 0.5}, "seed: got 0.5; expected a whole number from 0"),
        ({"weighted_share": 1.1}, "weighted_share: got 1.1; expected a number from 0 to 1"),
        ({"weighted_share": math.nan}, "weighted_share: got nan"),
        ({"weighted_share": None}, "weighted_share: got None"),
    ],
)
def test_arguments_that_do_not_fit(changed: dict[str, Any], message: str) -> None:
    plain = {"weights": [1, 2], "length": 4, "batch_size": 2, "weighted_share": 0.5, "seed": 0}
    with pytest.raises(PoolError, match=f"^{message}"):
        weighted_order(**{**plain, **changed})


def table(folder: Path, text: str, name: str = "weights.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_weights_in_a_file(tmp_path: Path) -> None:
    assert read_weights(table(tmp_path, "sample_id,weight\na,0.5\n7,2\n")) == {"a": 0.5, "7": 2.0}
    staged = table(tmp_path, "sample_id,stage,weight\na,1,0.5\na,2,1\nb,2,3\n")
    assert read_weights(staged, "2") == {"a": 1.0, "b": 3.0}
    numbered = table(tmp_path, '{"sample_id": "a", "stage": 2, "weight": 1}\n', "weights.jsonl")
    assert read_weights(numbered, "2") == {"a": 1.0}
    methods = table(tmp_path, "sample_id,method,weight\na,dars,2\na,pods,1\n")
    assert read_weights(methods, "dars") == {"a": 2.0}
    one = table(tmp_path, "sample_id,stage,weight\na,easy,0.5\n")
    assert read_weights(one) == read_weights(one, "easy") == {"a": 0.5}


@pytest.mark.parametrize(
    ("text", "stage", "error", "message"),
    [
        ("sample_id,weight\na,nan\n", None, PoolError, "weights, 'a': got nan; expected a finite number from 0"),
        ("sample_id,weight\na,1\nb,\n", None, PoolError, "weights, 'b': got nan"),
        ("sample_id,weight\na,1\nb,-2\n", None, PoolError, "weights, 'b': got -2"),
        ("sample_id,weight\na,1\na,1\n", None, PoolError, "got the sample 'a'; expected names, and each of them once"),
        ("sample_id,weight\na,1\n", "easy", PoolError, "got the stage 'easy'; expected one of none at all"),
        ("sample_id,stage,weight\na,x,1\na,y,1\n", None, PoolError, "got the stage None; expected one of x, y"),
        ("sample_id,stage,weight\na,x,1\na,y,1\n", "z", PoolError, "got the stage 'z'; expected one of x, y"),
        ("sample_id,wait\na,1\n", None, TableError, r"no column 'weight' \(of weights\); did you mean 'wait'\?"),
    ],
)
def test_weights_in_a_file_that_do_not_fit(tmp_path: Path, text: str, stage: Any, error: Any, message: str) -> None:
    path = table(tmp_path, text)
    with pytest.raises(error, match=message) as raised:
        read_weights(path, stage)
    assert str(raised.value).startswith(str(path))


def test_a_sample_without_a_name(tmp_path: Path) -> None:
    path = table(tmp_path, '{"sample_id": null, "weight": 1}\n', "weights.jsonl")
    with pytest.raises(PoolError, match="got the sample None; expected names"):
        read_weights(path)


def test_checked_weights_are_floats() -> None:
    assert check_weights([1, 0]).dtype == np.float64


def test_a_weight_that_no_float_holds_is_an_error() -> None:
    with pytest.raises(PoolError, match=r"weights: .*; expected one finite number a row"):
        check_weights([1.0, 10**400])
