"""AReaL: ``RLVRWorkflow(reward_fn="grounding_rewards_adapters.areal.reward")``; the rows' ``target`` is the truth.

The options come from the variable GROUNDING_REWARDS_OPTIONS, which no column of the data can change.
"""

from __future__ import annotations

from typing import Any

from grounding_rewards_adapters import _small

_TRAINER = _small.trainer("AReaL", "the data set's target")


def reward(*given: Any, **row: Any) -> float:
    """Return the total of one completion; 0.0 where the target cannot be used."""
    return scored(*given, **row)["total"]


def scored(
    prompt: str, completions: str, prompt_ids: Any = None, completion_ids: Any = None, *, target: Any = None, **row: Any
) -> dict[str, float]:
    """Return total, acc, valid, parsed, in_image and the parts of one completion."""
    columns = {name: value for name, value in row.items() if name not in ("image", "images")}
    return _small.scored(_TRAINER, {}, [completions], [target], [columns])[0]
