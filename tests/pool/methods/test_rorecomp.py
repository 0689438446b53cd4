"""RoRecomp: priority and compensation batches."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.methods import choose
from grounding_rewards.pool.methods.rorecomp import RoRecomp
from tests.pool.methods.made import chosen, columns


def batches(choice, acc, length, **more):
    """Lengths of the rollouts of each batch."""
    rollouts = columns(acc, token_length=[float(tokens) for tokens in length], **more)
    names = choose(rollouts, choice).columns["batch"].tolist()
    return {
        name: [tokens for tokens, other in zip(length, names, strict=True) if other == name]
        for name in sorted(set(names))
    }


ACC, LENGTH = [1] * 4 + [0] * 4, [10, 20, 30, 40, 50, 40, 15, 5]


def test_short_right_and_long_wrong_ones_go_first():
    choice = RoRecomp(alpha=0.5, buffer=4, compensation=1.0)
    assert batches(choice, ACC, LENGTH) == {"priority": [10, 20, 50, 40], "compensation-1": [30, 40, 15, 5]}
    smaller = RoRecomp(alpha=0.5, buffer=3, compensation=1.0)
    assert batches(smaller, ACC, LENGTH) == {"priority": [10, 20, 50, 40], "compensation-1": [30, 40, 15], "rest": [5]}
    larger = RoRecomp(alpha=0.5, buffer=5, compensation=1.0)
    assert batches(larger, ACC, LENGTH) == {"priority": [10, 20, 50, 40], "rest": [30, 40, 15, 5]}


@pytest.mark.parametrize(
    ("alpha", "size", "first"), [(0.1, 10, 1), (0.7, 10, 7), (0.71, 10, 8), (0.14, 50, 7), (1, 10, 10), (0.001, 3, 1)]
)
def test_shares_are_rounded_up_exactly(alpha, size, first):
    got = batches(RoRecomp(alpha=alpha, buffer=99, compensation=1.0), [1] * size, list(range(size)))
    assert got["priority"] == list(range(first))


def test_groups_that_are_all_right_or_all_wrong_are_like_others():
    choice = RoRecomp(alpha=0.5, buffer=2, compensation=1.0)
    assert batches(choice, [1, 1, 1, 1], [4, 3, 2, 1]) == {"priority": [2, 1], "compensation-1": [4, 3]}
    assert batches(choice, [0, 0, 0, 0], [4, 3, 2, 1]) == {"priority": [4, 3], "compensation-1": [2, 1]}


def test_right_ones_of_a_sample_and_wrong_ones_of_the_next_are_apart():
    choice = RoRecomp(alpha=0.5, buffer=2, compensation=1.0)
    got = batches(choice, [1, 1, 0, 0], [10, 20, 30, 40], sample=[0, 0, 1, 1])
    assert got == {"priority": [10, 40], "compensation-1": [20, 30]}


def test_clicks_of_constant_length_go_by_their_numbers():
    choice = RoRecomp(alpha=0.5, buffer=2, compensation=1.0)
    names = choose(columns([1, 1, 0, 0], token_length=[9.0] * 4), choice).columns["batch"].tolist()
    assert names == ["priority", "compensation-1", "priority", "compensation-1"]


def test_the_buffer_fills_by_round_and_step_and_then_by_sample():
    choice = RoRecomp(alpha=0.5, buffer=1, compensation=1.0)
    rollouts = columns(
        [1.0] * 8, sample=[0] * 4 + [1] * 4, round=[1, 1, 2, 2] * 2, train_step=[6, 6, 1, 1, 5, 5, 1, 1],
        token_length=[0.0, 1.0] * 4,
    )  # fmt: skip
    waiting = choose(rollouts, choice).columns["batch"].tolist()[1::2]
    assert waiting == ["compensation-2", "compensation-3", "compensation-1", "compensation-4"]


def test_a_smaller_probability_leaves_out_batches_and_keeps_the_names_of_others():
    def of(compensation, seed=0):
        choice = RoRecomp(alpha=0.001, buffer=1, compensation=compensation, seed=seed)
        return choose(columns([1.0] * 401, token_length=[9.0] * 401), choice).columns["batch"]

    every, half, none = of(1.0), of(0.5), of(0.0)
    assert every.tolist() == ["priority", *(f"compensation-{number}" for number in range(1, 401))]
    assert set(none.tolist()) == {"priority", "rest"}
    assert (half[half != "rest"] == every[half != "rest"]).all()
    assert 160 < (half == "rest").sum() < 240
    assert half[half != "rest"][:4].tolist() == ["priority", *(f"compensation-{number}" for number in (2, 3, 4))]
    assert (of(0.5, seed=1) != half).any()


def test_unscored_rollouts_are_the_rest_and_need_no_length():
    rollouts = columns([1.0, np.nan, 0.0], token_length=[3.0, np.nan, 4.0])
    names = choose(rollouts, RoRecomp(alpha=1, buffer=1, compensation=1.0)).columns["batch"].tolist()
    assert names == ["priority", "rest", "priority"]
    with pytest.raises(PoolError, match="token_length of sample 'a', rollout 7: got none"):
        choose(columns([1.0], token_length=[np.nan], rollout=[7]), RoRecomp(alpha=1, buffer=1, compensation=1.0))


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0, 1, None]), st.integers(1, 9)), max_size=40),
    st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]), st.integers(1, 7),
)  # fmt: skip
def test_nothing_is_lost_in_any_order_of_rows(tmp_path_factory, some, alpha, buffer):
    rows = [
        {"sample_id": sample, "round": 1, "rollout": place, "acc": acc, "token_length": tokens}
        for place, (sample, acc, tokens) in enumerate(some)
    ]
    rows.append({"sample_id": "z", "round": 1, "rollout": 0, "acc": 0, "token_length": 1})
    choice, folder = RoRecomp(alpha=alpha, buffer=buffer, compensation=1.0), tmp_path_factory.mktemp("rorecomp")
    result = chosen(folder, rows, choice)
    assert result == chosen(folder, random.Random(buffer).sample(rows, len(rows)), choice)
    assert len(result) == len(rows)
    batch = [name for *_, name in result]
    full = {name for name in batch if name.startswith("compensation")}
    assert full == {f"compensation-{number + 1}" for number in range(len(full))}
    assert all(batch.count(name) == buffer for name in full)
    assert batch.count("rest") - sum(acc is None for _, acc, _ in some) < buffer
