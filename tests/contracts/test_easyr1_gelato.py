"""Gelato's own rows and its own filter, through EasyR1's contract: scores as published, groups kept and dropped."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards_adapters
from tests.contracts import easyr1

FOLDER = Path(grounding_rewards_adapters.__file__).parent
BOX = [0.1, 0.1, 0.3, 0.2]
"""normalized_bbox: x1 y1 x2 y2 in shares of the image. Its centre is (200, 150), a corner (100, 100)."""
CENTRE, CORNER, HALFWAY, MISS = "(200, 150)", "(100, 100)", "(150, 125)", "(900, 900)"
TOTALS = {CENTRE: 1.0, HALFWAY: 0.75, CORNER: 0.5, MISS: 0.0}


def manager(kind: str = "easyr1", **options: Any) -> easyr1.Manager:
    file = f"{FOLDER / kind}.py:compute_score"
    return easyr1.Manager({"reward_function": file, "reward_function_kwargs": {"recipe": "gelato", **options}})


KINDS = ["easyr1", "easyr1_sequential"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "form",
    [
        list, tuple, np.array, json.dumps, lambda box: np.array(box, dtype=object),
        lambda box: [str(side) for side in box], lambda box: [np.float64(side) for side in box],
        lambda box: json.dumps({"bbox": box, "id": "a7"}),
    ],
    ids=["list", "tuple", "array", "JSON", "array of objects", "numerals", "numpy floats", "wire"],
)  # fmt: skip
def test_its_rows_score_as_they_are(kind: str, form: Any) -> None:
    found = manager(kind).compute_reward(easyr1.inputs(list(TOTALS), [form(BOX)] * len(TOTALS)))
    assert [row["overall"] for row in found] == pytest.approx(list(TOTALS.values()), abs=1e-6)
    assert [row["accuracy"] for row in found] == [row["correct"] for row in found] == [1.0, 1.0, 1.0, 0.0]
    assert list(found[0]) == [
        "overall", "accuracy", "correct", "format", "valid", "parsed", "in_image", "distance"
    ]  # fmt: skip


def test_truths_of_any_type_beside_a_good_one() -> None:
    loop: list[Any] = []
    loop.append(loop)
    odd = [None, 7, math.nan, True, b"\xff", "", "{", "null", "[1, 2]", {}, [], [[]], {"bbox": None}, object(), loop,
           np.array([]), np.float64("inf"), [math.nan] * 4, [3.0, 1.0, 2.0, 0.0], "9" * 5000, {1: 2},
           {"bbox": "x"}]  # fmt: skip
    found = manager().compute_reward(easyr1.inputs([CENTRE] * (len(odd) + 1), [BOX, *odd]))
    assert {tuple(row) for row in found} == {tuple(found[0])}
    assert all(type(value) is float and math.isfinite(value) for row in found for value in row.values())
    assert [row["valid"] for row in found] == [1.0] + [0.0] * len(odd)
    assert [row["overall"] for row in found] == pytest.approx([1.0] + [0.0] * len(odd))


def test_a_filter_by_accuracy_keeps_all_mixed_groups_of_up_to_99_rollouts() -> None:
    bounds = {"filter_key": "accuracy", "filter_low": 0.01, "filter_high": 0.99}
    for rollouts, kept in ((99, ["half", "one", "all but one"]), (100, ["half"])):
        rest = rollouts - 1
        groups = {"half": [CENTRE, MISS], "one": [CENTRE] + [MISS] * rest, "all but one": [CENTRE] * rest + [MISS]}
        samples = [sample for sample, texts in groups.items() for _ in texts]
        texts = [text for group in groups.values() for text in group]
        scores = manager().compute_reward(easyr1.inputs(texts, [BOX] * len(texts)))
        assert easyr1.kept(scores, samples, bounds) == kept
