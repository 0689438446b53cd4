"""Steps of a selection as manifests state them."""

from __future__ import annotations

import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.report.inputs import funnel
from tests.pool.report.made import manifest


def test_what_each_step_left():
    assert funnel("pool", manifest()) == {
        "pool": "pool", "samples": 50, "kept": 15, "zero": 3, "positive": 12, "dropped_all_correct": 6, "shortfall": 0,
        "seed": 7, "zero_share_asked": 0.2, "zero_share_actual": 0.2, "zero_share": 0.2,
        "steps": [
            {"step": "unscored", "removed": 2, "kept": 48}, {"step": "all correct", "removed": 6, "kept": 42},
            {"step": "zero share", "removed": 27, "kept": 15},
        ],
    }  # fmt: skip


def test_the_least_that_a_manifest_says():
    found = funnel("pool", {"kept": 2, "zero": 0, "positive": 2})
    assert (found["samples"], found["steps"], found["zero_share"], found["zero_share_asked"]) == (2, [], 0.0, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "pool: got list; expected the manifest of a pool"),
        ({"zero": 1, "positive": 1}, "pool, field 'kept': got nothing; expected a count"),
        (manifest(zero=-1), "pool, field 'zero': got -1"),
        (manifest(positive=True), "pool, field 'positive': got True"),
        (manifest(steps={"a": 1}), "pool, field 'steps': got {'a': 1}; expected a list"),
        (manifest(steps=["a"]), "pool, step 0: got 'a'; expected an object"),
        (manifest(steps=[{"name": "a", "removed": 1}]), "pool, step 0, field 'kept': got nothing"),
    ],
)
def test_what_is_no_manifest_is_an_error_that_names_the_field(given, message):
    with pytest.raises(PoolError, match=message.replace("[", r"\[").replace("{", r"\{")):
        funnel("pool", given)
