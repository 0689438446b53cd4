"""Use of the scores by verl's trainers: the agent loop's batch, validation metrics, advantages, filtered groups."""

from __future__ import annotations

import asyncio
import importlib
import math
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from tests.adapters.own_terms import BOX, TOTALS
from tests.trainers.verl_launch import CLICK, KEYS, MARKS, compose, launched, managed, rows, scored, stand_ins

pytestmark = MARKS

HIT, NEAR, MISS, MUTE = "(20, 15)", "here: (20, 15)", "(50, 15)", "no idea, no"
FILTER = ("algorithm.filter_groups.enable=True", "algorithm.filter_groups.metric=acc")
GDPO = (
    "trainer.use_v1=False",
    "algorithm.adv_estimator=gdpo",
    "+algorithm.gdpo_reward_keys=[acc,format]",
    "+algorithm.gdpo_reward_weights=[1.0,0.5]",
)


@pytest.fixture(scope="module", autouse=True)
def _importable() -> Iterator[None]:
    with stand_ins():
        yield


def module(name: str) -> Any:
    return importlib.import_module(f"verl.{name}")


def grouped(lab: Path, config: Any, groups: list[list[str]]) -> Any:
    """A scored batch of whole groups."""
    texts = [text for group in groups for text in group]
    data = scored(lab, config, rows(texts, [BOX] * len(texts), [{} for _ in texts]))
    data.non_tensor_batch["uid"] = np.array([f"u{place}" for place, group in enumerate(groups) for _ in group])
    torch = pytest.importorskip("torch")
    data.batch["response_mask"] = torch.ones_like(data.batch["responses"])
    data.batch["token_level_rewards"] = data.batch["rm_scores"]
    return data


def advantages(data: Any, config: Any) -> list[float]:
    """Return the advantages that verl's trainer computes for a batch: one number a response."""
    algorithm = module("utils.config").omega_conf_to_dataclass(config.algorithm)
    found = module("trainer.ppo.ray_trainer").compute_advantage(
        data, algorithm.adv_estimator, norm_adv_by_std_in_grpo=algorithm.norm_adv_by_std_in_grpo, config=algorithm
    )
    both = found.batch["advantages"]
    assert bool((both[:, 0] == both[:, 1]).all())
    return both[:, 0].tolist()


def test_grpo_advantages(lab: Path, base: Any) -> None:
    config = launched(compose(lab, "algorithm.adv_estimator=grpo"), CLICK)
    data = grouped(lab, config, [[HIT, MISS, MUTE], [HIT, HIT, HIT], [MUTE, MUTE, MUTE], [HIT, MUTE]])
    found = advantages(data, config)
    scores = np.array([1.0, 0.1, 0.0])
    expected = (scores - scores.mean()) / scores.std(ddof=1)
    assert found[:3] == pytest.approx(expected.tolist(), abs=1e-4)
    assert found[3:9] == [0.0] * 6
    assert found[9:] == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)], abs=1e-4)


def test_gdpo_advantages_of_acc_and_a_part(lab: Path, base: Any) -> None:
    config = launched(compose(lab, *GDPO), CLICK, "pkg://grounding_rewards_adapters.verl")
    data = grouped(lab, config, [[HIT, MISS, MUTE, MUTE]])
    acc, form = np.array([1.5, -0.5, -0.5, -0.5]), np.array([1.0, 1.0, -1.0, -1.0]) * math.sqrt(0.75)
    summed = np.repeat(acc + 0.5 * form, 2)  # over both tokens of each response
    expected = (summed / summed.std(ddof=1))[::2]
    assert advantages(data, config) == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("texts", [[HIT] * 4, [MUTE] * 4])
def test_gdpo_advantages_of_a_group_without_signal_are_0(lab: Path, base: Any, texts: list[str]) -> None:
    config = launched(compose(lab, *GDPO), CLICK)
    assert advantages(grouped(lab, config, [texts]), config) == [0.0] * 4


def by_default(data: Any, config: Any, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the advantages of the default trainer, which fetches the columns that it wants."""
    base, torch = module("trainer.ppo.v1.trainer_base"), pytest.importorskip("torch")
    tensordict, kept = pytest.importorskip("tensordict"), {}

    def fetch(select_fields: list[str], **_: Any) -> Any:
        whole = {**{name: list(data.batch[name]) for name in data.batch.keys()}}  # noqa: SIM118
        found = {
            name: torch.nested.nested_tensor(whole[name], layout=torch.jagged)
            for name in whole
            if name in select_fields
        }
        found["uid"] = tensordict.NonTensorStack(*data.non_tensor_batch["uid"].tolist())
        return tensordict.TensorDict(found, batch_size=len(data))

    monkeypatch.setattr(
        base, "tq", SimpleNamespace(kv_batch_get=fetch, kv_batch_put=lambda fields, **_: kept.update(fields))
    )
    keys = [f"{uid}_{row}_0" for row, uid in enumerate(data.non_tensor_batch["uid"])]
    batch = type("Meta", (list,), {"keys": keys, "partition_id": "train"})(keys)
    base.PPOTrainer._compute_advantage(SimpleNamespace(config=config), batch, {})
    return [row[0].item() for row in kept["advantages"].unbind()]


def test_the_default_trainer_takes_scores_but_no_parts(lab: Path, base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = launched(compose(lab, "algorithm.adv_estimator=grpo"), CLICK)
    data = grouped(lab, config, [[HIT, MUTE], [MUTE, MUTE]])
    half = math.sqrt(0.5)
    assert by_default(data, config, monkeypatch) == pytest.approx([half, -half, 0.0, 0.0], abs=1e-4)
    with pytest.raises(KeyError, match="prompts"):  # so that GDPO wants trainer.use_v1=False
        by_default(data, launched(compose(lab, *GDPO), CLICK), monkeypatch)


def test_validation_metrics_of_several_sources_and_recipes(lab: Path, base: Any) -> None:
    by_source = {
        "clicks": {"name": "composite", "parts": {"hit": 1.0}},
        "notes": {"name": "composite", "parts": {"format": 1.0}},
    }
    config = launched(base, {"routes": {"data_source": by_source}, "response_space": "pixel"})
    sources = ["clicks"] * 4 + ["notes"] * 4
    data = rows([HIT, MISS, MUTE, MUTE] * 2, [BOX] * 7 + [None], None, sources)
    found = [row["reward_extra_info"] for row in managed(lab, config, data)]
    assert {tuple(row) for row in found} == {("score", "acc", "valid", "parsed", "in_image", "hit", "format")}
    columns = {"reward": [row["score"] for row in found]} | {key: [row[key] for row in found] for key in found[0]}
    uids = [uid for uid in "abcd" for _ in range(2)]
    update = module("trainer.ppo.v1.trainer_base").PPOTrainer._val_metrics_update
    metrics = update(None, sources, uids, columns, [], expected_acc_counts={("clicks", "a"): 2})
    core = {name: value for name, value in metrics.items() if name.startswith("val-core/") and "/mean@" in name}
    assert core == {"val-core/clicks/acc/mean@2": 0.25, "val-core/notes/acc/mean@2": 0.25}
    assert metrics["val-core/clicks/acc/best@2/mean"] == pytest.approx(0.375, abs=0.03)
    assert metrics["val-aux/notes/format/mean@2"] == 0.5
    assert metrics["val-aux/notes/hit/mean@2"] == 0.0
    assert metrics["val-aux/notes/valid/mean@2"] == 0.75
    assert all(math.isfinite(value) for value in metrics.values())


def agent_loop(lab: Path, config: Any) -> Any:
    """An agent loop's worker without a model; a reward loop's worker of this process scores for it."""
    worker = module("experimental.reward_loop.reward_loop").RewardLoopWorker(config)
    handle = SimpleNamespace(compute_score=SimpleNamespace(remote=worker.compute_score))
    loop = object.__new__(module("experimental.agent_loop.agent_loop").AgentLoopWorker)
    vars(loop).update(processor=None, reward_loop_worker_handles=[handle], _get_mm_processor_kwargs=lambda _: {})
    return loop


def test_the_agent_loop_makes_a_batch_of_every_rollout(lab: Path, base: Any) -> None:
    config = launched(base, CLICK)
    loops, torch = module("experimental.agent_loop.agent_loop"), pytest.importorskip("torch")
    codes = rows([*TOTALS, HIT], [BOX] * 5, None).batch["responses"].tolist()
    truths, extras = [BOX] * 4 + [None], [{"index": 0, "image_size": [100, 100], "polygon": None}, {}, {}, {}, {}]
    metrics = loops.AgentLoopMetrics()

    async def run() -> list[Any]:
        loop, outputs = agent_loop(lab, config), []
        for ids, truth, extra in zip(codes, truths, extras, strict=True):
            output = loops.AgentLoopOutput(
                prompt_ids=[0], response_ids=ids, response_mask=[1, 1], num_turns=2, metrics=metrics, extra_fields={}
            )
            row = {"data_source": "clicks", "reward_model": {"ground_truth": truth}, "extra_info": extra}
            await loop._compute_score([output], kwargs=row)
            outputs.append(output)
        padded = [
            loops._InternalAgentLoopOutput(
                prompt_ids=torch.zeros(1, 1, dtype=torch.long),
                response_ids=torch.tensor([output.response_ids]),
                input_ids=torch.tensor([[0, *output.response_ids]]),
                position_ids=torch.arange(3)[None],
                response_mask=torch.ones(1, 2, dtype=torch.long),
                attention_mask=torch.ones(1, 3, dtype=torch.long),
                reward_score=output.reward_score,
                num_turns=2,
                metrics=metrics,
                extra_fields=output.extra_fields,
            )
            for output in outputs
        ]
        return loop._postprocess(padded)

    found = asyncio.run(run())
    assert found.batch["rm_scores"][:, 1].tolist() == pytest.approx([1.0, 1.0, 0.1, 0.0, 0.0])
    assert found.meta_info["reward_extra_keys"] == KEYS
    columns = {key: found.non_tensor_batch[key] for key in KEYS}
    assert {column.dtype for column in columns.values()} == {np.dtype(np.float64)}
    assert columns["valid"].tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert columns["acc"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]


TAKEN = {"data_source", "reward_model", "extra_info", "index", "raw_prompt", "tools_kwargs", "extras", "turn_scores",
         "tool_rewards", "min_global_steps", "max_global_steps", "reward_extra_info", "multi_modal_inputs", "pred",
         "acc_success_only", "overlong", "overlong_reward", "timeout", "error", "messages", "agent_name"}  # fmt: skip
"""Columns that verl keeps in the same table as a reward's keys."""


def test_no_part_has_the_name_of_a_column_of_verls() -> None:
    parts = {name: gr.recipe(name, **shown_with(name)).parts for name in gr.list_recipes()}
    assert len(parts) > 20
    assert {name: TAKEN & set(names) for name, names in parts.items() if TAKEN & set(names)} == {}


class Queue:
    """The calls of ``transfer_queue`` that verl's replay buffer makes, on dicts."""

    def __init__(self) -> None:
        self.tags: dict[str, dict[str, Any]] = {}
        self.values: dict[str, dict[str, Any]] = {}
        self.KVBatchMeta = SimpleNamespace

    def put(self, uid: str, rollouts: list[dict[str, Any]]) -> None:
        self.tags[uid] = {"is_prompt": True, "status": "finished", "global_steps": 1}
        for place, found in enumerate(rollouts):
            key = f"{uid}_{place}_0"
            self.tags[key] = {"global_steps": 1}
            self.values[key] = {"extra_fields": {"reward_extra_info": found["reward_extra_info"]}}

    def kv_list(self) -> dict[str, Any]:
        return {"train": {key: dict(tag) for key, tag in self.tags.items()}}

    def kv_batch_get(self, keys: list[str], partition_id: str, select_fields: list[str]) -> dict[str, Any]:
        return {field: [self.values[key][field] for key in keys] for field in select_fields}

    def kv_clear(self, partition_id: str, keys: list[str]) -> None:
        for key in keys:
            self.tags.pop(key, None)


def replay_buffer(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Any:
    """verl's own replay buffer, on a queue in this process."""
    file = Path(module("trainer.ppo").__file__ or "").parent / "v1" / "replay_buffer.py"
    monkeypatch.setitem(sys.modules, "transfer_queue", queue)
    spec = spec_from_file_location("replay_buffer_on_dicts", file)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made.ReplayBuffer


def test_filter_groups_by_acc(lab: Path, base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = launched(compose(lab, *FILTER), CLICK)
    trainer = module("trainer.ppo.v1.trainer_base").PPOTrainer
    metric = trainer._resolve_filter_groups_metric(SimpleNamespace(config=config))
    assert metric == "acc"
    groups = {"right": [HIT, NEAR], "wrong": [MISS, MUTE], "mixed": [HIT, MUTE], "unusable": [HIT, HIT]}
    queue, asked = Queue(), []

    def put(uid: str, group: str) -> None:
        truths = [None if group == "unusable" else BOX] * 2
        queue.put(uid, managed(lab, config, rows(groups[group], truths, None)))

    def refill(count: int) -> None:
        asked.append(count)
        for place in range(count):
            put(f"new{len(asked)}{place}", "mixed" if place == 0 else "wrong")

    for group in groups:
        put(group, group)
    buffer = replay_buffer(queue, monkeypatch)(
        "sync", None, None, "drop", {}, poll_interval=0.0, refill_fn=refill, filter_groups_metric=metric,
        train_batch_size=8, gen_batch_size=1,
    )  # fmt: skip
    chosen, metrics = buffer.sample(global_steps=1, partition_id="train", batch_size=2)
    assert asked == [6]  # twice the three groups that were dropped
    assert {key.split("_")[0] for key in chosen.keys} == {"mixed", "new10"}
    assert metrics["training/filter_groups/evicted_samples"] == 8
    assert metrics["_dapo_filtered_reward_counts"] == {0.0: 7, 1.0: 1}


def test_a_shaped_metric_keeps_groups_in_which_all_miss(lab: Path, base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue()
    queue.put("wrong", managed(lab, launched(base, CLICK), rows([MISS, MUTE], [BOX] * 2, None)))
    made = replay_buffer(queue, monkeypatch)
    for metric, dropped in [("score", set()), ("format", set()), ("acc", {"wrong"}), ("valid", {"wrong"})]:
        buffer = made("sync", None, None, "drop", {}, refill_fn=print, filter_groups_metric=metric)
        buffer._sync_metadata_from_transfer_queue()
        assert buffer._dapo_filtered_keys("train")[0] == dropped
    buffer = made("sync", None, None, "drop", {}, refill_fn=print, filter_groups_metric="accuracy")
    buffer._sync_metadata_from_transfer_queue()
    with pytest.raises(RuntimeError, match="missing DAPO metric 'accuracy'"):
        buffer._dapo_filtered_keys("train")
