"""slime: ``--custom-rm-path grounding_rewards_adapters.slime.reward``; a sample's label is the target.

The options come from the variable GROUNDING_REWARDS_OPTIONS. With ``--group-rm`` recipes may compare the rollouts of a
sample. With ``--reward-key total`` a sample keeps all values, and slime trains on that one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import grounding_rewards as gr
from grounding_rewards_adapters import _small

_SINGLE = _small.trainer("slime", "the samples' labels")
_GROUP = _small.trainer("slime (--group-rm)", "the samples' labels", groups=True)


async def reward(args: Any, sample: Any, **_: Any) -> Any:
    """Return the total of a sample, or of each sample of a list; all values of it where ``--reward-key`` names one."""
    samples, key = sample if isinstance(sample, list) else [sample], getattr(args, "reward_key", None)
    columns = [each.metadata if isinstance(each.metadata, Mapping) else {} for each in samples]
    texts, labels = [each.response for each in samples], [each.label for each in samples]
    trainer = _GROUP if isinstance(sample, list) else _SINGLE
    rows = await asyncio.to_thread(
        _small.scored, trainer, {}, texts, labels, columns, together=isinstance(sample, list)
    )
    if key and key not in rows[0]:
        raise gr.RecipeError(f"--reward-key: got {key!r:.60}; expected one of {', '.join(rows[0])}")
    values = [row if key else row["total"] for row in rows]
    return values if isinstance(sample, list) else values[0]
