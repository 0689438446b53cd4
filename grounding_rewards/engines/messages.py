"""Prompts as lists of messages with parts, as chat templates and servers read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grounding_rewards.converting.prompts import IMAGE, Message
from grounding_rewards.errors import ConvertError


def with_images(messages: Sequence[Message], images: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with the parts of images in place of each ``<image>``, in order.

    The content of a message is its text where it has no image, else a list of parts.

    Raises:
        ConvertError: the prompt names more or fewer images than there are.

    >>> with_images([Message("system", "Click."), Message("user", "<image>Save")], [{"type": "image"}])
    [{'role': 'system', 'content': 'Click.'},
     {'role': 'user', 'content': [{'type': 'image'}, {'type': 'text', 'text': 'Save'}]}]
    """
    named = sum(message.text.count(IMAGE) for message in messages)
    if named != len(images):
        raise ConvertError(f"the prompt names {named} images by {IMAGE}; there are {len(images)}")
    left = iter(images)
    return [{**message.as_field(), "content": _content(message.text, left)} for message in messages]


def _content(text: str, images: Any) -> Any:
    first, *rest = text.split(IMAGE)
    if not rest:
        return first
    parts: list[Any] = [_text(first)]
    for piece in rest:
        parts += [next(images), _text(piece)]
    return [part for part in parts if part.get("text") != ""]


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
