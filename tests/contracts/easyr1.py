"""EasyR1's side of its contract, restated: how it loads a reward function, what it calls it with, what it reads back.

EasyR1 installs an import package called ``verl``, so it and verl 0.9 cannot stand in one environment.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

MODULE = "custom_reward_fn"


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
    """What EasyR1 keeps in one Ray actor: the function, loaded there, for batch after batch."""

    def __init__(self, reward: Any) -> None:
        self.score, self.name, self.kind = load(reward)

    def compute_reward(self, rows: list[dict[str, Any]]) -> list[dict[str, float]]:
        """The scores of a batch."""
        assert self.kind == "batch"
        found: list[dict[str, float]] = self.score(rows)
        return found


def inputs(responses: list[str], truths: list[Any]) -> list[dict[str, Any]]:
    """What a batch reward function is called with: text, its true length in tokens, the data set's answer."""
    return [
        {"response": text, "response_length": len(text.split()), "ground_truth": truth}
        for text, truth in zip(responses, truths, strict=True)
    ]


def read_back(scores: list[dict[str, float]]) -> tuple[list[float], dict[str, float]]:
    """The reward of each row, and the mean that is logged under ``reward/<key>``."""
    metrics: dict[str, list[float]] = {}
    for row in scores:
        for key, value in row.items():
            metrics.setdefault(key, []).append(value)
    return [row["overall"] for row in scores], {
        f"reward/{key}": float(np.mean(column)) for key, column in metrics.items()
    }
