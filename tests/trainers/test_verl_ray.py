"""verl's reward loop with its real Ray actors; one cluster for all tests of this file."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards_adapters import verl as adapter
from tests.adapters.own_terms import BOX, TOTALS, named_in_a_config
from tests.contracts import easyr1
from tests.trainers.verl_launch import CLICK, FILE, KEYS, LAUNCH, MARKS, PACKAGE, batch, launched, managed, rows

pytestmark = MARKS

EASYR1 = f"{FILE.with_name('easyr1.py')}:compute_score"


@pytest.fixture(scope="module")
def cluster(lab: Path) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        ray.shutdown()


def padded(texts: list[str], truths: list[Any]) -> Any:
    """A batch whose responses are shorter than its longest could be."""
    data = rows(texts, truths, [{"index": row} for row in range(len(texts))])
    codes = data.batch["responses"]
    data.batch["responses"] = codes.new_tensor([[*row, 0] for row in codes.tolist()])
    data.batch["attention_mask"] = codes.new_tensor([[1, 1, 1, 0]] * len(texts))
    return data


def test_own_code_inside_ray_workers(lab: Path, base: Any, cluster: Any) -> None:
    ways = named_in_a_config(lab / "lab_terms.py")
    bounds = {"weight": 0.25, "low": 0, "high": 1, "limit": 8}
    three = {
        "by_module": {"verifier": "lab_terms:brief", **bounds},
        "by_file": {"verifier": f"{lab}/lab_terms.py:brief", **bounds},
        "by_plugin": {"verifier": "lab/brief", "weight": 0.25, "limit": 8},
    }
    options = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.25, **three}}
    loop = importlib.import_module("verl.experimental.reward_loop.reward_loop")
    actor = loop.RewardLoopManager(launched(base, options))
    task = cluster.remote(num_cpus=1)(adapter.compute_score)
    jobs = [
        task.remote("clicks", text, BOX, None, **each)
        for each in (ways["recipe in a module"], ways["recipe in a file"], ways["recipe of a plugin"])
        for text in TOTALS
    ]
    alone = [row["score"] for row in cluster.get(jobs, timeout=120)]
    settings = {"reward_function": EASYR1, "reward_function_kwargs": options}
    manager = cluster.remote(num_cpus=1)(easyr1.Manager).remote(settings)  # one actor, as in EasyR1
    given = easyr1.inputs(list(TOTALS), [BOX] * len(TOTALS))
    batched = [row["overall"] for row in cluster.get(manager.compute_reward.remote(given), timeout=120)]
    cluster.kill(manager)
    scored = actor.compute_rm_score(padded([*TOTALS, "(20, 15)"], [*[BOX] * len(TOTALS), None]))
    assert alone == [*TOTALS.values()] * 3
    assert batched == [1.0, 0.25, 0.75, 0.0]
    last = [[0.0, score, 0.0] for score in (1.0, 0.25, 0.75, 0.0, 0.0)]  # on the last token that is no padding
    assert scored.batch["rm_scores"].tolist() == last
    columns = {key: scored.non_tensor_batch[key].tolist() for key in scored.meta_info["reward_extra_keys"]}
    assert list(columns) == ["score", "acc", "valid", "parsed", "in_image", "hit", *three]
    assert columns["hit"] == columns["acc"] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert columns["valid"] == [1.0, 1.0, 1.0, 1.0, 0.0]
    for name in three:
        assert columns[name] == [1.0, 0.0, 1.0, 0.0, 0.0]


class Worker:
    """Actor that scores as verl's reward loop does, or EasyR1's."""

    def single(self, *given: Any, **options: Any) -> float:
        return adapter.compute_score(*given, **options)["score"]

    def batch(self, texts: list[str], **options: Any) -> list[float]:
        count = len(texts)
        found = adapter.compute_score_batch(["clicks"] * count, texts, [json.dumps(BOX)] * count, **options)
        return [row["score"] for row in found]


def test_a_worker_that_is_killed_leaves_what_it_scored(cluster: Any, tmp_path: Path) -> None:
    options = {**CLICK, "record": str(tmp_path)}
    worker = cluster.remote(num_cpus=1)(Worker).remote()
    batched = cluster.get(worker.batch.remote(list(TOTALS), **options), timeout=120)
    assert read_rollouts(tmp_path, ["response", "total"]).to_pydict() == {"response": [*TOTALS], "total": batched}
    jobs = [worker.single.remote("clicks", text, json.dumps(BOX), **options) for text in TOTALS]
    scores = cluster.get(jobs, timeout=120)
    for _ in range(100):  # about a second, on a calm machine
        if read_rollouts(tmp_path, ["acc"]).num_rows > len(TOTALS):
            break
        time.sleep(0.2)
    cluster.kill(worker)
    assert read_rollouts(tmp_path, ["response", "total"]).to_pydict() == {
        "response": [*TOTALS] * 2,
        "total": [*batched, *scores],
    }


def test_the_remote_manager_sends_a_function_loaded_by_path(lab: Path, base: Any, cluster: Any) -> None:
    config = launched(base, CLICK, str(FILE), "reward.reward_manager.name=remote")
    found = managed(lab, config, batch(list(TOTALS)))
    assert [row["reward_score"] for row in found] == [1.0, 1.0, 0.1, 0.0]
    assert [list(row["reward_extra_info"]) for row in found] == [KEYS] * 4


def test_the_remote_manager_takes_no_coroutine_function(lab: Path, base: Any, cluster: Any) -> None:
    config = launched(base, CLICK, PACKAGE, "reward.reward_manager.name=remote", f"{LAUNCH}.name=compute_score_async")
    with pytest.raises(AssertionError, match="Async reward score is not supported in remote"):
        managed(lab, config, batch(["(20, 15)"]))
