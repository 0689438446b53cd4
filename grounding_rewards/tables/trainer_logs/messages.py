"""Prompts and completions, texts or messages, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SPEAKERS = ("assistant", "model")


def words(prompt: Any) -> str | None:
    """The words of a prompt, a text or messages; None where it has none.

    >>> words([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Close"}]}])
    'Close'
    """
    if isinstance(prompt, str):
        return prompt or None
    if isinstance(prompt, Mapping):
        return words(prompt["content"] if prompt.get("content") is not None else prompt.get("text"))
    found = [words(each) for each in prompt] if isinstance(prompt, list | tuple) else []
    return "\n".join(each for each in found if each) or None


def answer(completion: Any) -> str | None:
    """The text of a completion: a text, or the last message that the model wrote; None where there is none.

    >>> answer([{"role": "assistant", "content": "(1, 2)"}, {"role": "tool", "content": "done"}]), answer("(3, 4)")
    ('(1, 2)', '(3, 4)')
    """
    if not isinstance(completion, list | tuple):
        return completion if isinstance(completion, str) else None
    said = [each for each in completion if isinstance(each, Mapping) and each.get("role") in _SPEAKERS]
    if not said:
        return None
    content = said[-1].get("content")
    if isinstance(content, list | tuple):
        blocks = [each.get("text") if isinstance(each, Mapping) else each for each in content]
        return "".join(each for each in blocks if isinstance(each, str))
    return content if isinstance(content, str) else None
