"""TRL's rows: columns that its trainers hand to the reward function by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grounding_rewards.converting.layout import MESSAGES, Layout
from grounding_rewards.converting.prompts import IMAGE
from grounding_rewards.converting.samples import Sample
from grounding_rewards.errors import ConvertError


def row(sample: Sample) -> dict[str, Any]:
    """Return one row: ``prompt``, ``target`` and ``sample_id``; TRL itself puts images before the first user's text.

    Raises:
        ConvertError: an image's place is somewhere else.
    """
    messages = [message.as_field() for message in sample.messages]
    asked = next(message for message in messages if message["role"] == "user")
    asked["content"] = asked["content"].removeprefix(IMAGE * len(sample.images))
    if any(IMAGE in message["content"] for message in messages):
        raise ConvertError(f"instruction: {IMAGE} stands inside the text; TRL puts images before the first user's text")
    return {"prompt": messages, "target": sample.wire, "sample_id": sample.name}


_OWN = (
    "prompts", "completion", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric",
    "environments", "image",
)  # fmt: skip
_TYPES = {"prompt": MESSAGES, "target": str, "sample_id": str}
_PLAIN = Layout("trl", row, _TYPES, reserved=frozenset(_OWN), decoded=True)
LAYOUT = replace(
    _PLAIN,
    sourced=replace(
        _PLAIN, row=lambda sample: {**row(sample), "source": sample.source}, types={**_TYPES, "source": str}
    ),
)
