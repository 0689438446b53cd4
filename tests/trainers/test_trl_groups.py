"""The real GRPOTrainer with rewards of whole groups: the groups that a reward sees are the trainer's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.plugins.loading import load
from tests.trainers.test_trl import policy, pytestmark, train  # noqa: F401 (policy is a fixture)

BOX = [0.1, 0.1, 0.6, 0.6]

RECORDER = """
import numpy as np

SEEN = []

def recorded(rollouts):
    SEEN.append((rollouts.groups.tolist(), rollouts.token_lengths.tolist(), dict(rollouts.extras)))
    return np.zeros(len(rollouts))
"""


def rows(**columns: Any) -> list[dict[str, Any]]:
    """Eight samples: two that are equal beside each other in the data set, too."""
    return [
        {"prompt": f"click{125 * (row // 2)}", **{key: value(row) for key, value in columns.items()}}
        for row in range(8)
    ]


@pytest.mark.parametrize("given", [{}, {"num_generations": 4}], ids=["by runs", "given"])
def test_a_part_from_a_file_sees_the_trainers_groups(policy: Any, tmp_path: Path, given: dict[str, int]) -> None:  # noqa: F811
    from grounding_rewards_adapters.trl import reward_funcs

    (tmp_path / "recorder.py").write_text(RECORDER)
    place = f"{tmp_path}/recorder.py"
    recorder = {"verifier": f"{place}:recorded", "weight": 1.0, "low": 0, "high": 1, "needs": ["groups"]}
    functions = reward_funcs(
        "composite", response_space="thousandths", target_space="unit", space="unit",
        parts={"hit": 1.0, "recorder": recorder}, **given,
    )  # fmt: skip
    data = rows(target=lambda row: {"bbox": BOX, "id": f"s{row}"})
    logged = train(policy, data, functions, tmp_path)
    assert [entry["composite/recorder"] for entry in logged] == [0.0, 0.0]
    seen = load(f"{place}:SEEN")
    assert len(seen) == 2
    for groups, lengths, columns in seen:
        assert groups == [0] * 4 + [1] * 4
        names = [target["id"] for target in columns["target"]]
        assert (names[0], names[4]) == (names[3], names[7])
        assert names[0] != names[4]
        assert lengths == [len(ids) for ids in columns["completion_ids"]]
        assert 1 <= min(lengths) <= max(lengths) <= 6


def test_evaluation_with_a_number_of_its_own_has_groups_of_it(policy: Any, tmp_path: Path) -> None:  # noqa: F811
    from grounding_rewards_adapters.trl import reward_funcs

    (tmp_path / "recorder.py").write_text(RECORDER)
    place = f"{tmp_path}/recorder.py"
    recorder = {"verifier": f"{place}:recorded", "weight": 1.0, "low": 0, "high": 1, "needs": ["groups"]}
    functions = reward_funcs(
        "composite", response_space="thousandths", target_space="unit", space="unit",
        parts={"hit": 1.0, "recorder": recorder}, num_generations=4, num_generations_eval=2,
    )  # fmt: skip
    data = rows(target=lambda row: {"bbox": BOX, "id": f"s{row}"})
    evaluation = {"eval_rows": data, "eval_strategy": "steps", "eval_steps": 1, "eval_on_start": True}
    train(policy, data, functions, tmp_path, **evaluation, num_generations_eval=2, per_device_eval_batch_size=8)
    sizes = [groups.count(0) for groups, _, _ in load(f"{place}:SEEN")]
    assert sizes == [2, 2, 4, 2, 2, 4, 2, 2]


def test_evaluation_with_one_completion_a_sample_goes_first(policy: Any, tmp_path: Path) -> None:  # noqa: F811
    from grounding_rewards_adapters.trl import reward_funcs

    functions = reward_funcs("gui-rcpo", response_space="pixel", num_generations=4, num_generations_eval=1)
    evaluation = {"eval_rows": rows(), "eval_strategy": "steps", "eval_steps": 1, "eval_on_start": True}
    assert len(train(policy, rows(), functions, tmp_path, **evaluation, num_generations_eval=1, max_steps=1)) == 1


def test_a_label_free_reward_trains_without_a_target_column(policy: Any, tmp_path: Path) -> None:  # noqa: F811
    from grounding_rewards_adapters.trl import reward_funcs

    functions = reward_funcs("gui-rcpo", response_space="pixel", num_generations=4)
    logged = train(policy, rows(), functions, tmp_path)
    assert len(logged) == 2
    for entry in logged:
        assert 0.0 <= entry["gui-rcpo/consensus"] <= 1.0
        assert entry["rewards/gui-rcpo/mean"] == pytest.approx(entry["gui-rcpo/consensus"])
        assert entry["gui-rcpo/valid"] == 1.0


def test_a_reward_of_length_trains(policy: Any, tmp_path: Path) -> None:  # noqa: F811
    """Nothing that this policy says is right, and for wrong responses length = min(0.9 λ - 0.1, -0.1), -1 to -0.1."""
    from grounding_rewards_adapters.trl import reward_funcs

    size = {"image_size": [200, 200], "model_image_size": [200, 200]}
    data = rows(target=lambda row: {"bbox": [90, 60, 120, 90], "id": f"s{row}", **size})
    logged = train(policy, data, reward_funcs("ui-r1-dast"), tmp_path)
    assert len(logged) == 2
    for entry in logged:
        assert -1.0 <= entry["ui-r1-dast/length"] <= -0.1
        assert entry["reward"] == pytest.approx(entry["ui-r1-dast/length"])
