"""Prompts, completions and images, in the forms in which rows hold them, as texts and paths."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

_SPEAKERS = ("assistant", "model")
_CONTENT = ("choices", "outputs", "message", "content", "generated_text", "text")
"""Keys of a reply and its parts, in the order of looking."""
_ACTION = {"action", "action_type", "name", "function", "arguments"}
"""Keys of actions, which have a text or a content that they type."""


def image_path(image: Any) -> Any:
    """The path of an image, from a path or a mapping with one, a tuple of several; None where there is none."""
    if isinstance(image, list | tuple):
        paths = tuple([image_path(each) for each in image])
        return paths if paths and None not in paths else None
    path = image.get("path") if isinstance(image, Mapping) else image
    return path if isinstance(path, str) and path else None


def prompt_text(prompt: Any) -> str | None:
    """The words of a prompt, a text or messages; None where it has none."""
    if isinstance(prompt, str):
        return prompt or None
    if isinstance(prompt, Mapping):
        return prompt_text(prompt["content"] if prompt.get("content") is not None else prompt.get("text"))
    # As pandas reads it from Parquet, a list is an array.
    texts = [prompt_text(each) for each in prompt] if isinstance(prompt, list | tuple | np.ndarray) else []
    return "\n".join(each for each in texts if each) or None


def response_text(value: Any) -> str | None:
    """Return the one response in a cell: a text, that of a message, or an answer's JSON; None for none or several."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple | Mapping) or not value:
        return None
    if (key := _content(value)) and isinstance(value, Mapping):
        own = value[key]
        return prompt_text(own) if key == "content" and not isinstance(own, str) else response_text(own)
    if not isinstance(value, Mapping):
        if isinstance(value[0], Mapping) and "role" in value[0]:
            return answer(value)
        if len(value) == 1 and (isinstance(value[0], str | list) or _content(value[0])):
            return response_text(value[0])
        lists = [each for each in value if isinstance(each, list | tuple)]
        if any(isinstance(each, str) or _content(each) for each in (*value, *chain(*lists))):
            return None
    try:
        return json.dumps(_filled(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _content(value: Any) -> str:
    """Return the key under which a reply or a part of it has its content; "" of an answer that was parsed."""
    if not isinstance(value, Mapping) or _ACTION & {*value}:
        return ""
    return next((key for key in _CONTENT if value.get(key) is not None), "")


def _filled(value: Any) -> Any:
    """Return a value without the keys that Arrow fills with None."""
    if isinstance(value, Mapping):
        return {key: _filled(each) for key, each in value.items() if each is not None}
    return [_filled(each) for each in value] if isinstance(value, list | tuple) else value


def answer(completion: Any) -> str | None:
    """The text of a completion: a text, or the last message that the model wrote; None where there is none."""
    if not isinstance(completion, list | tuple):
        return completion if isinstance(completion, str) else None
    messages = [each for each in completion if isinstance(each, Mapping) and each.get("role") in _SPEAKERS]
    if not messages:
        return None
    content = messages[-1].get("content")
    if isinstance(content, list | tuple):
        blocks = [each.get("text") if isinstance(each, Mapping) else each for each in content]
        return "".join(each for each in blocks if isinstance(each, str))
    return content if isinstance(content, str) else None
