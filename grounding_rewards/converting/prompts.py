"""Prompts: a text or a conversation to messages of plain text, with ``<image>`` in place of images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grounding_rewards.errors import ConvertError
from grounding_rewards.settings.declared import option

IMAGE = "<image>"
FIELD = "{instruction}"
_ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class Message:
    """Message with its role, its text, and further fields such as ``tool_calls``."""

    role: str
    text: str
    further: Mapping[str, Any] = field(default_factory=dict)

    def as_field(self) -> dict[str, Any]:
        """Return the fields that trainers read."""
        return {"role": self.role, "content": self.text, **self.further}


@dataclass(frozen=True)
class Wording:
    """System message and template around instructions."""

    template: str | None = option(
        "Prompt, with {instruction} for the instruction.", None, metavar="TEXT", panel="Prompts"
    )
    system: str | None = option("A system message before it.", None, metavar="TEXT", panel="Prompts")

    def __post_init__(self) -> None:
        if self.template is not None and FIELD not in self.template:
            raise ConvertError(f"--template: got {self.template!r:.120}; expected a text with {FIELD} in it")


def read_prompt(value: Any, wording: Wording, images: int) -> tuple[Message, ...]:
    """Read the messages of one row."""
    if isinstance(value, str) and value.strip():
        text = value if wording.template is None else wording.template.replace(FIELD, value)
        messages = [Message("user", text)]
    elif isinstance(value, list) and value:
        messages = [_message(item) for item in value]
        _check_turns(messages, wording)
    else:
        shown = "nothing" if value is None else f"{value!r:.80}"
        raise ConvertError(f"instruction: got {shown}; expected a text, or messages with role and content")
    if wording.system is not None:
        messages = [Message("system", wording.system), *messages]
    return _with_images(messages, images)


def _check_turns(messages: Sequence[Message], wording: Wording) -> None:
    if wording.template is not None:
        raise ConvertError("instruction: got a conversation, into which no --template fits; leave it out")
    if wording.system is not None and messages[0].role == "system":
        raise ConvertError("instruction: has a system message already; leave --system out")
    if messages[-1].role == "assistant":
        raise ConvertError("instruction: the last message is the assistant's; a prompt ends before the answer")
    if not any(message.role == "user" for message in messages):
        raise ConvertError("instruction: none of its messages is the user's")


def _message(value: Any) -> Message:
    role = value.get("role") if isinstance(value, Mapping) else None
    if role not in _ROLES:
        raise ConvertError(
            f"instruction: got the message {value!r:.80}; expected role ({', '.join(_ROLES)}) and content"
        )
    further, content = further_fields(value), value.get("content")
    parts = content if isinstance(content, list) else [content]
    if content is None and "tool_calls" in further:
        parts = []
    return Message(str(role), "".join(map(_text, parts)), further)


def further_fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message beside role and content, without nulls, which Arrow fills in, and empty values."""
    rest = {str(key): value for key, value in message.items() if key not in ("role", "content")}
    return {key: value for key, value in rest.items() if value is not None and value not in ("", [], {})}


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in ("image", "image_url"):
        return IMAGE
    raise ConvertError(f"instruction: got the content {part!r:.80}; expected texts and images")


def _with_images(messages: Sequence[Message], images: int) -> tuple[Message, ...]:
    named = sum(message.text.count(IMAGE) for message in messages)
    if named == images:
        return tuple(messages)
    if named:
        raise ConvertError(f"instruction: names {named} images by {IMAGE}; the row has {images}")
    first = next(index for index, message in enumerate(messages) if message.role == "user")
    asked = replace(messages[first], text=IMAGE * images + messages[first].text)
    return (*messages[:first], asked, *messages[first + 1 :])


def messages_with_images(messages: Sequence[Message], images: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with parts of images in place of each ``<image>``; without an image the content stays a text."""
    named = sum(message.text.count(IMAGE) for message in messages)
    if named != len(images):
        raise ConvertError(f"the prompt names {named} images by {IMAGE}; there are {len(images)}")
    left = iter(images)
    return [{**message.as_field(), "content": _parts(message.text, left)} for message in messages]


def _parts(text: str, images: Iterator[Any]) -> Any:
    first, *rest = ({"type": "text", "text": piece} for piece in text.split(IMAGE))
    if not rest:
        return text
    return [
        part for part in (first, *(each for piece in rest for each in (next(images), piece))) if part.get("text") != ""
    ]
