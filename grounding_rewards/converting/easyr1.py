"""EasyR1's rows: a problem in one text, its images, and the answer, all that its reward function receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grounding_rewards.converting.layout import Layout
from grounding_rewards.converting.samples import Sample
from grounding_rewards.converting.targets import written
from grounding_rewards.errors import ConvertError


def row(sample: Sample) -> dict[str, Any]:
    """Return one row: ``problem`` and ``answer``.

    Raises:
        ConvertError: the prompt is more than one user's message, or more than its text.
    """
    further = sorted({name for message in sample.messages for name in message.further})
    if further:
        raise ConvertError(f"instruction: its messages have {', '.join(further)}, for which EasyR1 has no place")
    if len(sample.messages) != 1:
        roles = ", ".join(message.role for message in sample.messages)
        raise ConvertError(
            f"instruction: got messages of {roles}; EasyR1 takes one text. Put what goes around it into a --template, "
            "or into EasyR1's data.format_prompt"
        )
    return {"problem": sample.messages[0].text, "answer": sample.wire}


def _sourced(sample: Sample) -> dict[str, Any]:
    """Return the same row with the source among the target's own fields: nothing else reaches the reward function.

    Raises:
        ConvertError: the target's ``extra`` has no place for it.
    """
    extra = {} if sample.target.extra is None else sample.target.extra
    if not isinstance(extra, Mapping):
        raise ConvertError(
            f"target, field 'extra': got {extra!r:.80}; expected an object, in which EasyR1's rows name their source"
        )
    target = sample.target.changed(extra={**extra, "source": sample.source})
    return {**row(sample), "answer": written(target)}


_OWN = (
    "ground_truth", "raw_prompt_ids", "multi_modal_data", "input_ids", "attention_mask", "position_ids", "uid",
    "videos",
)  # fmt: skip
_PLAIN = Layout("easyr1", row, {"problem": str, "answer": str}, reserved=frozenset(_OWN))
LAYOUT = replace(_PLAIN, sourced=replace(_PLAIN, row=_sourced))
