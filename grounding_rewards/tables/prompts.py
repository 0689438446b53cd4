"""Prompts, completions and images, in the forms in which rows hold them, as texts and paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_SPEAKERS = ("assistant", "model")


def image_path(image: Any) -> Any:
    """The path of an image, from a path or a mapping with one, a tuple of several; None where there is none.

    >>> image_path({"path": "b.png", "bytes": b""}), image_path(["a.png", {"path": "b.png"}]), image_path(object())
    ('b.png', ('a.png', 'b.png'), None)
    """
    if isinstance(image, list | tuple):
        paths = tuple([image_path(each) for each in image])
        return paths if paths and None not in paths else None
    path = image.get("path") if isinstance(image, Mapping) else image
    return path if isinstance(path, str) and path else None


def prompt_text(prompt: Any) -> str | None:
    """The words of a prompt, a text or messages; None where it has none.

    >>> prompt_text([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Close"}]}])
    'Close'
    """
    if isinstance(prompt, str):
        return prompt or None
    if isinstance(prompt, Mapping):
        return prompt_text(prompt["content"] if prompt.get("content") is not None else prompt.get("text"))
    # As pandas reads it from Parquet, a list is an array.
    texts = [prompt_text(each) for each in prompt] if isinstance(prompt, list | tuple | np.ndarray) else []
    return "\n".join(each for each in texts if each) or None


def answer(completion: Any) -> str | None:
    """The text of a completion: a text, or the last message that the model wrote; None where there is none.

    >>> answer([{"role": "assistant", "content": "(1, 2)"}, {"role": "tool", "content": "done"}]), answer("(3, 4)")
    ('(1, 2)', '(3, 4)')
    """
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
