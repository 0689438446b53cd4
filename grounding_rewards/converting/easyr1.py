"""EasyR1's rows: a problem in one text, its images, and the answer, all that its reward function receives."""

from __future__ import annotations

from typing import Any

from grounding_rewards.converting.layout import Layout
from grounding_rewards.converting.samples import Sample
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


_OWN = (
    "ground_truth", "raw_prompt_ids", "multi_modal_data", "input_ids", "attention_mask", "position_ids", "uid",
    "videos",
)  # fmt: skip
LAYOUT = Layout("easyr1", row, {"problem": str, "answer": str}, reserved=frozenset(_OWN))
