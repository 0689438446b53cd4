"""Batches that a reward function reports to whoever watches it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from grounding_rewards_adapters.trl import reward_funcs

BOX = [0.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("split", [False, True])
def test_each_batch_is_reported_once_with_success_and_not_the_reward(split: bool) -> None:
    functions, reports = reward_funcs("gelato", split=split, format_weight=0.5), list[Any]()
    for function in functions:
        function.watch = lambda acc, valid, columns, metric: reports.append(
            (acc.tolist(), valid.tolist(), columns, metric)
        )
    columns = {"target": [BOX, BOX, [0.5, 0.0, 0.1, 0.5]], "stage": ["a", "a", "b"]}
    completions, logged = ["(400, 400)", "?", "(1, 1)"], dict[str, float]()
    for function in functions:
        function(completions=completions, log_metric=logged.__setitem__, **columns)
    ((acc, valid, seen, metric),) = reports
    assert (acc, valid) == ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    assert seen["stage"] == ["a", "a", "b"]
    assert metric == logged.__setitem__


def test_a_function_that_is_watched_can_be_pickled_and_its_copy_is_not() -> None:
    (function,) = reward_funcs("gelato")
    function.watch = lambda *_: None
    assert pickle.loads(pickle.dumps(function)).watch is None
    assert function.watch is not None
