"""The real GRPOTrainer on a tiny text policy: what it calls, what it logs, what abstaining does to it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards_adapters.trl import reward_funcs, reward_weights
from tests.trainers.trl_tiny import MARKS, Spy, text_policy, train

pytestmark = MARKS

BOX = [0.1, 0.1, 0.6, 0.6]


@pytest.fixture(scope="module")
def policy() -> tuple[Any, Any]:
    return text_policy()


def samples(**columns: Any) -> list[dict[str, Any]]:
    return [{"prompt": "click", "target": BOX, **columns} for _ in range(8)]


def table(out: Path, step: int) -> Any:
    """The completions that the trainer wrote down."""
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(out / "completions" / f"completions_{step:05d}.parquet").to_pydict()


@pytest.mark.parametrize("chat", [False, True], ids=["text", "conversation"])
def test_the_trainer_trains_on_a_recipe_and_logs_its_metrics(policy: Any, chat: bool, tmp_path: Path) -> None:
    prompt = [{"role": "user", "content": "click"}] if chat else "click"
    rows = [{"prompt": prompt, "target": [0.1, 0.1, 0.6, 0.6]} for _ in range(8)]
    logged = train(policy, rows, reward_funcs("gelato", format_weight=0.5), tmp_path)
    assert len(logged) == 2
    for entry in logged:
        assert 0.0 <= entry["rewards/gelato/mean"] <= 1.0
        assert entry["reward"] == entry["rewards/gelato/mean"]
        assert {"gelato/acc", "gelato/parsed", "gelato/distance", "gelato/format", "gelato/valid"} <= set(entry)
        assert entry["gelato/valid"] == 1.0


def test_unusable_targets_abstain_and_training_goes_on(policy: Any, tmp_path: Path) -> None:
    targets = ["[0.1, 0.1, 0.6, 0.6]", "[0.6, 0.6, 0.1, 0.1]"] * 4
    rows = [{"prompt": "click", "target": target} for target in targets]
    logged = train(policy, rows, reward_funcs("gelato", format_weight=0.5), tmp_path)
    assert len(logged) == 2
    assert {entry["gelato/valid"] for entry in logged} <= {0.0, 0.5, 1.0}
    assert any(entry["gelato/valid"] < 1.0 for entry in logged)
    assert all(entry["reward"] is None or math.isfinite(entry["reward"]) for entry in logged)


def test_the_table_of_completions_says_what_was_read(policy: Any, tmp_path: Path) -> None:
    train(policy, samples(), reward_funcs("gelato", format_weight=0.5), tmp_path, log_completions=True)
    for step in (1, 2):
        found = table(tmp_path, step)
        scores = gr.recipe("gelato", format_weight=0.5).score(found["completion"], [BOX] * 8)
        np.testing.assert_allclose(found["gelato"], scores.total, atol=1e-6)  # the trainer keeps float32
        assert found["gelato/reason"] == [gr.Reason(code).name.lower() for code in scores.reason]
        for place, xy in zip(found["gelato/xy_unit"], scores.predictions.xy.tolist(), strict=True):
            assert place == xy or (place is None and math.isnan(xy[0]))


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_rewards_reach_the_policy_however_they_are_scaled(policy: Any, tmp_path: Path, scale: str) -> None:
    functions = reward_funcs("gelato", format_weight=0.5)
    logged = train(policy, samples(), functions, tmp_path, scale_rewards=scale, log_completions=True, max_steps=1)
    found = table(tmp_path, 1)
    rewards = np.array(found["gelato"]).reshape(2, 4)
    spread = {"group": rewards.std(axis=1, ddof=1, keepdims=True), "batch": rewards.std(ddof=1), "none": 1.0}[scale]
    expected = (rewards - rewards.mean(axis=1, keepdims=True)) / (spread + (0.0 if scale == "none" else 1e-4))
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(np.reshape(found["advantage"], (2, 4)), expected, atol=1e-3)
    assert logged[0]["rewards/gelato/mean"] == pytest.approx(rewards.mean(), abs=1e-6)


@pytest.mark.parametrize("aggregation", ["sum_then_normalize", "normalize_then_sum"])
def test_a_split_reward_sums_to_the_total(policy: Any, tmp_path: Path, aggregation: str) -> None:
    functions = reward_funcs("gelato", split=True, format_weight=0.25)
    weights = reward_weights("gelato", format_weight=0.25)
    assert weights == [0.75, 0.25]
    settings = {"multi_objective_aggregation": aggregation, "reward_weights": weights, "log_completions": True}
    logged = train(policy, samples(), functions, tmp_path, **settings)
    assert len(logged) == 2
    for step, entry in enumerate(logged, start=1):
        found = table(tmp_path, step)
        scores = gr.recipe("gelato", format_weight=0.25).score(found["completion"], [BOX] * 8)
        np.testing.assert_allclose(found["gelato/distance"], scores.parts["distance"], atol=1e-6)
        np.testing.assert_allclose(found["gelato/format"], scores.parts["format"], atol=1e-6)
        assert entry["rewards/gelato/distance/mean"] == pytest.approx(scores.parts["distance"].mean(), abs=1e-6)
        assert entry["gelato/acc"] == pytest.approx(scores.acc.mean())
        if aggregation == "sum_then_normalize":
            assert entry["reward"] == pytest.approx(scores.total.mean(), abs=1e-6)


def test_a_split_reward_abstains_as_one(policy: Any, tmp_path: Path) -> None:
    targets = ["[0.1, 0.1, 0.6, 0.6]", "[0.6, 0.6, 0.1, 0.1]"] * 4
    spy = Spy()
    functions = [*reward_funcs("gelato", split=True, format_weight=0.5), spy]
    weights = [*reward_weights("gelato", format_weight=0.5), 0.0]
    rows = [{"prompt": "click", "target": target} for target in targets]
    logged = train(policy, rows, functions, tmp_path, reward_weights=weights)
    bad = [np.mean([target == targets[1] for target in call["target"]]) for call in spy.calls]
    assert max(bad) > 0
    assert [entry["gelato/valid"] for entry in logged] == [1 - share for share in bad]


def test_rloo_trains_on_a_recipe(policy: Any, tmp_path: Path) -> None:
    spy = Spy()
    functions = [*reward_funcs("gelato", format_weight=0.5), spy]
    logged = train(policy, samples(), functions, tmp_path, method="RLOO", beta=0.0, reward_weights=[1.0, 0.0])
    assert len(logged) == len(spy.calls) == 2
    for entry, call in zip(logged, spy.calls, strict=True):
        total = gr.recipe("gelato", format_weight=0.5).score(call["completions"], [BOX] * 8).total
        assert entry["reward"] == pytest.approx(total.mean(), abs=1e-6)
        assert entry["gelato/valid"] == 1.0


def test_rows_are_routed_and_two_of_one_recipe_are_distinguished(policy: Any, tmp_path: Path) -> None:
    spy, routes = Spy(), {"exact": "gelato", "any": {"name": "click", "target_space": "unit"}}
    routed = reward_funcs(routes={"kind": routes}, response_space="thousandths", name="routed")
    functions = [*routed, *reward_funcs("gelato"), *reward_funcs("gelato", name="strict", format_weight=1.0), spy]
    rows = [
        {**row, "kind": kind} for row, kind in zip(samples(image_size=[100, 100]), ["exact", "any"] * 4, strict=True)
    ]
    logged = train(policy, rows, functions, tmp_path, log_completions=True, reward_weights=[1.0, 1.0, 1.0, 0.0])
    recipes = {"exact": gr.recipe("gelato"), "any": gr.recipe("click", response_space="thousandths")}
    for step, (entry, call) in enumerate(zip(logged, spy.calls, strict=True), start=1):
        targets = {"exact": BOX, "any": {"bbox": BOX, "space": "unit", "image_size": [100, 100]}}
        pairs = list(zip(call["completions"], call["kind"], strict=True))
        expected = [float(recipes[kind].score([text], [targets[kind]]).total[0]) for text, kind in pairs]
        found = table(tmp_path, step)
        np.testing.assert_allclose(found["routed"], expected, atol=1e-6)
        assert [xy is None for xy in found["routed/xy_unit"]] == ["," not in text for text, _ in pairs]
        assert entry["rewards/strict/mean"] == pytest.approx(np.mean(["," in text for text, _ in pairs]))
        assert {"routed/distance", "routed/outcome", "gelato/distance", "rewards/gelato/mean"} <= set(entry)


def test_each_rollout_is_recorded_once(policy: Any, tmp_path: Path) -> None:
    spy, place = Spy(), tmp_path / "rollouts"
    functions = reward_funcs("gelato", split=True, format_weight=0.5, record=str(place))
    train(policy, samples(), [*functions, spy], tmp_path, reward_weights=[0.5, 0.5, 0.0])
    functions[0].scorer._recording.recorder.flush()
    found = read_rollouts(place, ["response", "total"]).to_pydict()
    said = [text for call in spy.calls for text in call["completions"]]
    assert found["response"] == said
    np.testing.assert_allclose(found["total"], gr.recipe("gelato", format_weight=0.5).score(said, [BOX] * 16).total)
