"""verl's rows: the columns that ``RLHFDataset`` reads and passes on to ``compute_score``."""

from __future__ import annotations

from typing import Any

from grounding_rewards.converting.layout import MESSAGES, Layout
from grounding_rewards.converting.prompts import IMAGE
from grounding_rewards.converting.samples import Sample
from grounding_rewards.errors import ConvertError
from grounding_rewards.targets.write import plain_numbers

_OTHER_MEDIA = ("<video>", "<audio>")


def row(sample: Sample) -> dict[str, Any]:
    """Return one row: ``data_source``, ``prompt``, ``reward_model`` and ``extra_info``.

    Raises:
        ConvertError: a text beside images names a video or a sound, which verl would look for.
    """
    if sample.images:
        for message in sample.messages:
            named = [name for name in _OTHER_MEDIA if name in message.text]
            if named:
                raise ConvertError(f"instruction: has {named[0]} in it, which verl reads as a place like {IMAGE}")
    size = sample.target.image_size
    return {
        "data_source": sample.source,
        "prompt": [message.as_field() for message in sample.messages],
        "reward_model": {"style": "rule", "ground_truth": sample.wire},
        "extra_info": {
            "index": sample.index,
            "id": sample.name,
            "image_size": None if size is None else plain_numbers(size),
            "split": sample.split or None,
        },
    }


_TYPES = {
    "data_source": str,
    "prompt": MESSAGES,
    "reward_model": {"style": str, "ground_truth": str},
    "extra_info": {"index": int, "id": str, "image_size": [float], "split": str},
}
# What RLHFDataset adds to a row or takes out of it.
_LOADED = ("raw_prompt", "index", "tools_kwargs", "interaction_kwargs", "dummy_tensor", "uid", "videos", "audios")
# What the agent loop calls its arguments and reads as settings: a row's columns reach it as keywords.
_CALLED = (
    "self", "sampling_params", "trajectory", "trace", "agent_name", "session_id", "output", "validate", "kwargs",
    "global_steps", "priority", "__rollout_n__", "__do_sample__",
)  # fmt: skip
# What it puts beside a row's columns, which would take its place.
_PRODUCED = (
    "prompts", "responses", "response_mask", "input_ids", "attention_mask", "position_ids", "loss_mask", "rm_scores",
    "reward_scores", "rollout_log_probs", "routed_experts", "teacher_ids", "teacher_logprobs", "extra_fields",
    "tool_extra_fields", "metrics", "num_turns", "__num_turns__", "prompt_len", "response_len", "multi_modal_data",
    "multi_modal_inputs", "mm_processor_kwargs", "mm_processor_output",
)  # fmt: skip
LAYOUT = Layout(
    "verl", row, _TYPES, reserved=frozenset((*_LOADED, *_CALLED, *_PRODUCED)), merged=("extra_info", "reward_model"),
    steering=frozenset(("agent_name", "__rollout_n__")),
)  # fmt: skip
