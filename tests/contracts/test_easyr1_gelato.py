"""Gelato's own rows and its own filter, through EasyR1's contract: scores as published, groups kept and dropped."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
import grounding_rewards_adapters
from tests.contracts import easyr1
from tests.golden.departures import ORACLES

FOLDER = Path(grounding_rewards_adapters.__file__).parent
GOLDEN = Path(__file__).parents[1] / "golden" / "gelato_norm.jsonl"
BOX = [0.1, 0.1, 0.3, 0.2]
"""normalized_bbox: x1 y1 x2 y2 in shares of the image. Its centre is (200, 150), a corner (100, 100)."""
CENTRE, CORNER, HALFWAY, MISS = "(200, 150)", "(100, 100)", "(150, 125)", "(900, 900)"
TOTALS = {CENTRE: 1.0, HALFWAY: 0.75, CORNER: 0.5, MISS: 0.0}
OVERALL = {"filter_key": "overall", "filter_low": 0.01, "filter_high": 0.49}
ACCURACY = {"filter_key": "accuracy", "filter_low": 0.01, "filter_high": 0.99}


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


@pytest.mark.parametrize("options", [{"model": "qwen3_vl"}, {"model": "qwen3_vl", "min_pixels": 262144}])
def test_a_model_that_answers_in_thousandths_needs_no_size(options: dict[str, Any]) -> None:
    found = manager(**options).compute_reward(easyr1.inputs([HALFWAY], [BOX]))
    assert found[0]["overall"] == pytest.approx(0.75)


def test_a_model_that_answers_in_pixels_says_which_size_is_missing() -> None:
    with pytest.raises(gr.RecipeError, match=r"image_size: in the target"):
        manager(model="qwen2_5_vl").compute_reward(easyr1.inputs([CENTRE], [BOX]))


def test_pixels_of_the_image_as_easyr1_resizes_it() -> None:
    """1920 x 1080 becomes 1335 x 751, and that 1344 x 756; one resize would make it 1316 x 728."""
    target = {"bbox": [0.5, 0.5, 0.503, 0.503], "image_size": [1920, 1080]}
    score = manager(model="qwen2_5_vl", min_pixels=262144, max_pixels=1003520).compute_reward
    found = score(easyr1.inputs(["(674, 380)", "(660, 366)"], [target] * 2))  # 0.5015 of 1344 x 756, and of 1316 x 728
    assert [row["correct"] for row in found] == [1.0, 0.0]


def golden() -> list[dict[str, Any]]:
    """Published outputs, but for those where a stated deviation holds."""
    lines = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    return [line for line in lines if not any(oracle.applies(line) for oracle in ORACLES["gelato"])]


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_published_outputs(kind: str, weight: float) -> None:
    lines = [line for line in golden() if (line.get("extra") or {}).get("format_weight") == weight]
    assert len(lines) > 10
    rows = easyr1.inputs([line["response"] for line in lines], [line["ground_truth"] for line in lines])
    found = manager(kind, format_weight=weight).compute_reward(rows)
    for ours, theirs in (
        ("overall", "overall"),
        ("distance", "accuracy"),
        ("format", "format"),
        ("correct", "correct"),
    ):
        expected = [line["expected"][theirs] for line in lines]
        assert [row[ours] for row in found] == pytest.approx(expected, abs=1e-9)


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


GROUPS = {
    "no hit": [MISS] * 8,
    "one hit at the centre": [CENTRE] + [MISS] * 7,
    "four hits at the centre": [CENTRE] * 4 + [MISS] * 4,
    "four hits halfway out": [HALFWAY] * 4 + [MISS] * 4,
    "five hits halfway out": [HALFWAY] * 5 + [MISS] * 3,
    "seven hits on a corner": [CORNER] * 7 + [MISS],
    "seven hits at the centre": [CENTRE] * 7 + [MISS],
    "all hit a corner": [CORNER] * 8,
    "all hit the centre": [CENTRE] * 8,
}


def kept(groups: dict[str, list[str]], algorithm: dict[str, Any], **options: Any) -> list[str]:
    samples = [sample for sample, texts in groups.items() for _ in texts]
    texts = [text for group in groups.values() for text in group]
    return easyr1.kept(manager(**options).compute_reward(easyr1.inputs(texts, [BOX] * len(texts))), samples, algorithm)


def test_gelatos_filter_keeps_hits_times_centring() -> None:
    assert kept(GROUPS, OVERALL) == [
        "one hit at the centre", "four hits halfway out", "five hits halfway out", "seven hits on a corner"
    ]  # fmt: skip


def test_a_filter_by_accuracy_keeps_every_mixed_group_and_no_other() -> None:
    mixed = [name for name, texts in GROUPS.items() if MISS in texts and len(set(texts)) > 1]
    assert len(mixed) == 6
    assert kept(GROUPS, ACCURACY) == kept(GROUPS, {**ACCURACY, "filter_key": "correct"}) == mixed


def test_a_weight_on_format_carries_groups_without_a_hit_through_gelatos_filter() -> None:
    assert "no hit" in kept(GROUPS, OVERALL, format_weight=0.1)
    assert "no hit" not in kept(GROUPS, ACCURACY, format_weight=0.1)


def test_a_filter_that_keeps_nothing_ends_the_run() -> None:
    with pytest.raises(RuntimeError, match="no sample is kept"):
        kept({"no hit": GROUPS["no hit"]}, ACCURACY)


def test_a_filter_by_accuracy_keeps_all_mixed_groups_of_up_to_99_rollouts() -> None:
    def mixed(rollouts: int) -> dict[str, list[str]]:
        return {"one": [CENTRE] + [MISS] * (rollouts - 1), "all but one": [CENTRE] * (rollouts - 1) + [MISS]}

    assert kept(mixed(99), ACCURACY) == ["one", "all but one"]
    half = {"half": [CENTRE, MISS]}
    assert kept({**half, **mixed(100)}, ACCURACY) == ["half"]
