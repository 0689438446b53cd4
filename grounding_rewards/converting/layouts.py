"""Layouts of the rows that trainers read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grounding_rewards.converting.prompts import IMAGE
from grounding_rewards.converting.samples import Sample, written
from grounding_rewards.errors import ConvertError
from grounding_rewards.targets.write import plain_numbers

IMAGES = "images"
MESSAGES = [{"role": str, "content": str}]
"""Type of a column of conversations."""


@dataclass(frozen=True)
class Layout:
    """Layout of the rows of one trainer."""

    name: str
    row: Callable[[Sample], dict[str, Any]]  # a sample as the trainer's columns, all but the images
    types: Mapping[str, Any]  # of these: ``str``, ``int``, ``float`` or ``bytes``, [type] of lists, {field: type}
    reserved: frozenset[str] = frozenset()  # names of the trainer's own columns
    decoded: bool = False  # True where it needs images, not paths, so that Parquet must declare the column as images
    merged: tuple[str, ...] = ()  # columns of objects in which fields of the input stay beside the packed ones
    steering: frozenset[str] = frozenset()  # reserved names by which a trainer's own rows steer it; they stay in these
    alone: bool = False  # True where no other column stays
    embedded: bool = False  # True where images stand in the rows' own columns, as data URLs, and rows are JSON lines
    sourced: Layout | None = None  # the layout of rows that also name the data set they are from; None where all do

    def taken(self, names: Sequence[str]) -> frozenset[str]:
        """Return the names that other columns cannot keep; the trainer's own rows may keep ``steering`` ones."""
        own = self.merged and all(name in names for name in self.merged)
        return self.reserved - self.steering if own else self.reserved


def _sourced(plain: Layout) -> Layout:
    """Return a layout whose rows name the data set they are from, where there are several, in a column of its own."""
    types = {**plain.types, "source": str}
    named = replace(plain, row=lambda sample: {**plain.row(sample), "source": sample.source}, types=types)
    return replace(plain, sourced=named)


def over(theirs: Any, ours: Mapping[str, Any]) -> dict[str, Any]:
    """Merge our fields over those of a row; None of ours hides nothing."""
    there = theirs if isinstance(theirs, Mapping) else {}
    return {**there, **{key: value for key, value in ours.items() if value is not None or key not in there}}


_OTHER_MEDIA = ("<video>", "<audio>")


def _verl(sample: Sample) -> dict[str, Any]:
    """Return one row: ``data_source``, ``prompt``, ``reward_model`` and ``extra_info``."""
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


_VERL_TYPES = {
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
VERL = Layout(
    "verl", _verl, _VERL_TYPES, reserved=frozenset((*_LOADED, *_CALLED, *_PRODUCED)),
    merged=("extra_info", "reward_model"), steering=frozenset(("agent_name", "__rollout_n__")),
)  # fmt: skip


def _trl(sample: Sample) -> dict[str, Any]:
    """Return one row: ``prompt``, ``target`` and ``sample_id``; TRL itself puts images before the first user's text."""
    messages = [message.as_field() for message in sample.messages]
    asked = next(message for message in messages if message["role"] == "user")
    asked["content"] = asked["content"].removeprefix(IMAGE * len(sample.images))
    if any(IMAGE in message["content"] for message in messages):
        raise ConvertError(f"instruction: {IMAGE} stands inside the text; TRL puts images before the first user's text")
    return {"prompt": messages, "target": sample.wire, "sample_id": sample.name}


_TRL_OWN = (
    "prompts", "completion", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric",
    "environments", "image",
)  # fmt: skip
_TRL_TYPES = {"prompt": MESSAGES, "target": str, "sample_id": str}
TRL = _sourced(Layout("trl", _trl, _TRL_TYPES, reserved=frozenset(_TRL_OWN), decoded=True))


def _no_further(sample: Sample, trainer: str) -> None:
    """Refuse messages that have more than a role and a content."""
    if further := sorted({name for message in sample.messages for name in message.further}):
        raise ConvertError(f"instruction: its messages have {', '.join(further)}, for which {trainer} has no place")


def _easyr1(sample: Sample) -> dict[str, Any]:
    """Return one row: ``problem`` and ``answer``."""
    _no_further(sample, "EasyR1")
    if len(sample.messages) != 1:
        roles = ", ".join(message.role for message in sample.messages)
        raise ConvertError(
            f"instruction: got messages of {roles}; EasyR1 takes one text. Put what goes around it into a --template, "
            "or into EasyR1's data.format_prompt"
        )
    return {"problem": sample.messages[0].text, "answer": sample.wire}


def _easyr1_sourced(sample: Sample) -> dict[str, Any]:
    """Return the same row with the source among the target's own fields: nothing else reaches the reward function."""
    extra = {} if sample.target.extra is None else sample.target.extra
    if not isinstance(extra, Mapping):
        raise ConvertError(
            f"target, field 'extra': got {extra!r:.80}; expected an object, in which EasyR1's rows name their source"
        )
    target = sample.target.changed(extra={**extra, "source": sample.source})
    return {**_easyr1(sample), "answer": written(target)}


_EASYR1_OWN = (
    "ground_truth", "raw_prompt_ids", "multi_modal_data", "input_ids", "attention_mask", "position_ids", "uid",
    "videos",
)  # fmt: skip
_EASYR1 = Layout("easyr1", _easyr1, {"problem": str, "answer": str}, reserved=frozenset(_EASYR1_OWN))
EASYR1 = replace(_EASYR1, sourced=replace(_EASYR1, row=_easyr1_sourced))


def _nemo_gym(sample: Sample) -> dict[str, Any]:
    """Return one row: ``responses_create_params``, a request to a model with the images in it, and ``target``."""
    _no_further(sample, "NeMo-Gym")
    images, messages = iter(sample.images), []
    for message in sample.messages:
        parts = list[dict[str, Any]]()
        for place, text in enumerate(message.text.split(IMAGE)):
            if place:
                parts.append({"type": "input_image", "image_url": next(images).path, "detail": "auto"})
            if text:
                parts.append({"type": "input_text", "text": text})
        messages.append({"role": message.role, "content": parts})
    return {"responses_create_params": {"input": messages}, "target": sample.wire}


_NEMO_GYM_OWN = ("response", "reward", "agent_ref", "task_source", "mask_sample", "_ng_task_index", "_ng_rollout_index")
_PART = {"type": str, "image_url": str, "detail": str, "text": str}
_NEMO_GYM_TYPES = {"responses_create_params": {"input": [{"role": str, "content": [_PART]}]}, "target": str}
NEMO_GYM = _sourced(Layout("nemo_gym", _nemo_gym, _NEMO_GYM_TYPES, reserved=frozenset(_NEMO_GYM_OWN), embedded=True))


def plain(trainer: Layout | None) -> Layout:
    """Return the layout of rows of which a trainer's are made, without anything that the trainer does not take."""

    def row(sample: Sample) -> dict[str, Any]:
        if trainer is not None:
            trainer.row(sample)
        messages = [message.as_field() for message in sample.messages]
        if len(messages) > 1 or messages[0].keys() > {"role", "content"}:
            return {**_named(sample), "instruction": messages}
        return {**_named(sample), "instruction": messages[0]["content"].removeprefix(IMAGE * len(sample.images))}

    types = dict.fromkeys(("instruction", "target", "id", "source"), str)
    return Layout("rows", row, types, decoded=trainer is not None and trainer.decoded, alone=True)


def _named(sample: Sample) -> dict[str, Any]:
    return {"target": sample.wire, "id": sample.name, "source": sample.source}


UNCHANGED = Layout("rows", lambda sample: {}, {})
"""Rows as they are, but for their images."""

_CONVERSATIONS = {
    "areal": ("messages", "target", {}, ("prompt", "completions", "prompt_ids", "completion_ids")),
    "openrlhf": ("input", "label", {}, ()),
    "skyrl": ("prompt", "reward_spec.ground_truth", {"env_class": "grounding_rewards"}, ()),
    "slime": ("prompt", "label", {}, ("metadata",)),
    "swift": (
        "messages", "target", {},
        ("completions", "objects", "trainer_state", "prompt_id", "request_id", "finish_reason", "is_truncated",
         "rollout_infos", "response_token_ids", "dataset"),
    ),
    "verifiers": ("prompt", "target", {}, ()),
}  # fmt: skip
"""Trainers of conversations: columns of prompt and target, further columns, and names of the trainer's own."""


def _conversations(name: str, prompt: str, target: str, more: Mapping[str, str], reserved: Sequence[str]) -> Layout:
    """Return the layout of rows with a conversation and the target as JSON; ``a.b`` is the field b of the column a."""
    column, _, inside = target.partition(".")

    def row(sample: Sample) -> dict[str, Any]:
        messages = [message.as_field() for message in sample.messages]
        return {prompt: messages, column: {inside: sample.wire} if inside else sample.wire, **more}

    types = {prompt: MESSAGES, column: {inside: str} if inside else str, **dict.fromkeys(more, str)}
    return _sourced(Layout(name, row, types, reserved=frozenset(reserved)))


LAYOUTS = {
    **{layout.name: layout for layout in (VERL, TRL, EASYR1, NEMO_GYM)},
    **{name: _conversations(name, *columns) for name, columns in _CONVERSATIONS.items()},
}
"""Trainers by name."""


def layout_of(trainer: str) -> Layout:
    """Return the layout of a trainer's rows; raise where it reads no file of rows."""
    if trainer not in LAYOUTS:
        raise ConvertError(
            f"--for {trainer}: it reads no file of rows; give rows with instruction, image and target to "
            "GroundingEnv(rows, ...), or one to each reset"
        )
    return LAYOUTS[trainer]
