"""verifiers and prime-rl: ``--env.taskset.task.rewards.grounding.fn grounding_rewards_adapters.verifiers:reward``.

The options come from the variable GROUNDING_REWARDS_OPTIONS. A task's ``target`` is the truth; its other fields are
columns.
"""

from __future__ import annotations

import asyncio
from typing import Any

from grounding_rewards_adapters import _small

_TRAINER = _small.trainer("verifiers", "the task's field target")


async def reward(task: Any, trace: Any) -> float:
    """Return the total of a trace's last reply; 0.0 where the target cannot be used."""
    return (await metrics(task, trace))["total"]


async def metrics(task: Any, trace: Any) -> dict[str, float]:
    """Return total, acc, valid, parsed, in_image and the parts: as metrics, for the values of a reward are added up."""
    fields = {name: getattr(task, name) for name in type(task).model_fields}
    row = [trace.last_reply], [fields.get("target")], [fields]
    return (await asyncio.to_thread(_small.scored, _TRAINER, {}, *row))[0]
