"""EasyR1's side of its contract, restated: how it loads a reward function, what it calls it with, what it reads back.

EasyR1 installs an import package called ``verl``, so it and verl 0.9 cannot stand in one environment.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

MODULE = "custom_reward_fn"

KEYS = {
    "data": {
        "train_files", "val_files", "prompt_key", "answer_key", "image_key", "max_prompt_length",
        "max_response_length", "rollout_batch_size", "mini_rollout_batch_size", "val_batch_size", "format_prompt",
        "shuffle", "seed", "min_pixels", "max_pixels", "filter_overlong_prompts",
    },
    "algorithm": {
        "adv_estimator", "disable_kl", "use_kl_loss", "kl_penalty", "kl_coef", "online_filtering", "filter_key",
        "filter_low", "filter_high",
    },
    "worker.actor": {
        "global_batch_size", "micro_batch_size_per_device_for_update", "micro_batch_size_per_device_for_experience",
        "max_grad_norm", "clip_ratio_low", "clip_ratio_high", "clip_ratio_dual", "padding_free", "ulysses_size",
    },
    "worker.actor.model": {"model_path", "enable_gradient_checkpointing", "trust_remote_code", "freeze_vision_tower"},
    "worker.actor.optim": {"lr", "weight_decay", "strategy", "lr_warmup_ratio"},
    "worker.actor.fsdp": {"enable_full_shard", "enable_cpu_offload", "enable_rank0_init"},
    "worker.actor.offload": {"offload_params", "offload_optimizer"},
    "worker.rollout": {
        "n", "temperature", "top_p", "limit_images", "gpu_memory_utilization", "enforce_eager",
        "enable_chunked_prefill", "tensor_parallel_size",
    },
    "worker.rollout.val_override_config": {"temperature", "top_p", "n"},
    "worker.ref.fsdp": {"enable_full_shard", "enable_cpu_offload", "enable_rank0_init"},
    "worker.ref.offload": {"offload_params"},
    "worker.reward": {"reward_function", "skip_special_tokens", "num_cpus"},
    "trainer": {
        "total_epochs", "project_name", "experiment_name", "logger", "nnodes", "n_gpus_per_node",
        "max_try_make_batch", "val_freq", "val_before_train", "val_only", "val_generations_to_log", "save_freq",
        "save_limit", "save_checkpoint_path",
    },
}  # fmt: skip
"""Settings of its config file by section: it refuses others. ``reward_function_kwargs`` beside them is free."""


def load(reward: Any) -> tuple[Any, str, str]:
    """The function that ``worker.reward`` names with its options filled in, and the module's REWARD_NAME and TYPE."""
    place, _, name = reward["reward_function"].rpartition(":")
    if not Path(place).is_file():
        raise FileNotFoundError(place)
    spec = importlib.util.spec_from_file_location(MODULE, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    filled = partial(getattr(module, name), **reward["reward_function_kwargs"])
    return filled, getattr(module, "REWARD_NAME", "unknown"), getattr(module, "REWARD_TYPE", "batch")


class Manager:
    """Reward manager as EasyR1 keeps it in one Ray actor: the function, loaded there, for batch after batch."""

    def __init__(self, reward: Any) -> None:
        self.score, self.name, self.kind = load(reward)

    def compute_reward(self, rows: list[dict[str, Any]]) -> list[dict[str, float]]:
        """The scores of a batch: of one call, or of a call for each row, as the file's REWARD_TYPE says."""
        if self.kind == "batch":
            found: list[dict[str, float]] = self.score(rows)
            return found
        if self.kind == "sequential":
            return [self.score(row) for row in rows]
        raise ValueError(f"unsupported reward type: {self.kind}")


def inputs(responses: Sequence[str], truths: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the rows of a batch reward function: text, its true length in tokens, the data set's answer."""
    return [
        {"response": text, "response_length": len(text.split()), "ground_truth": truth}
        for text, truth in zip(responses, truths, strict=True)
    ]


def read_back(scores: list[dict[str, float]]) -> tuple[list[float], dict[str, float]]:
    """The reward of each row, and the mean that is logged under ``reward/<key>``."""
    metrics = columns(scores)
    return [row["overall"] for row in scores], {
        f"reward/{key}": float(np.mean(column)) for key, column in metrics.items()
    }


def columns(scores: list[dict[str, float]]) -> dict[str, list[float]]:
    """All values of each key, in order; a key that a row lacks makes its column shorter than the others."""
    metrics: dict[str, list[float]] = {}
    for row in scores:
        for key, value in row.items():
            metrics.setdefault(key, []).append(value)
    return metrics


def kept(scores: list[dict[str, float]], samples: Sequence[str], algorithm: Mapping[str, Any]) -> list[str]:
    """The samples that online filtering keeps: the mean of ``filter_key`` lies between the two bounds, on neither.

    Raises:
        RuntimeError: it keeps none.
    """
    by_sample: dict[str, list[float]] = {}
    for sample, value in zip(samples, columns(scores)[algorithm["filter_key"]], strict=True):
        by_sample.setdefault(sample, []).append(value)
    low, high = algorithm["filter_low"], algorithm["filter_high"]
    found = [sample for sample, values in by_sample.items() if low < np.mean(values) < high]
    if not found:
        raise RuntimeError("no sample is kept after filtering")
    return found
