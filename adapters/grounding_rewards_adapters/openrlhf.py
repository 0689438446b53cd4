"""OpenRLHF: ``--reward.remote_url $(grounding-rewards where openrlhf)``; labels are targets as JSON, sizes in them.

The options come from the variable GROUNDING_REWARDS_OPTIONS. OpenRLHF loads this file by its path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding_rewards_adapters import _small
from grounding_rewards_adapters._launch import LOG

_TRAINER = _small.trainer("OpenRLHF", "the data set's labels")


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any) -> dict[str, Any]:
    """Return tensors: ``rewards`` the totals, ``scores`` acc, by which groups are filtered, the rest as ``extra_logs``.

    A query is prompt and answer in one text. OpenRLHF passes over an error and leaves the reward out: it is logged.
    """
    import torch  # of the trainer

    try:
        texts = [query[len(prompt) :] for query, prompt in zip(queries, prompts, strict=True)]
        rows = _small.scored(_TRAINER, {}, texts, labels, [{}] * len(texts))
    except Exception:
        LOG.exception("OpenRLHF goes on without this reward")
        raise
    columns = {name: torch.tensor([row[name] for row in rows], dtype=torch.float64) for name in rows[0]}
    return {"rewards": columns.pop("total"), "scores": columns["acc"], "extra_logs": columns}
