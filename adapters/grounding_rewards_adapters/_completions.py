"""The text of what a chat model said, in each form in which TRL hands it over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Keys under which response templates put thinking, one for each family of models."""

_SPEAKERS = ("assistant", "model")
_ENVELOPE = ("id", "type")
"""Keys of a flat tool call that the model did not write."""


def response_text(completion: Any) -> str | None:
    """The text of a completion: a string, or the last assistant message of a conversation; None where there is none.

    Messages of which none says its role are all the model's.

    A tokenizer with a response template takes a message apart, so that its text is put together again as most models
    write it, and as the dialects read it: ``<think>`` thinking ``</think>``, the content, and each tool call as JSON in
    ``<tool_call>`` tags. White space between the pieces is lost by then, and so is whether thinking without anything
    after it was closed: it counts as unfinished. Of a call, numbers have lost how they were written (``512.0000`` is
    512.0), empty arguments are left out where the call has other keys, for TRL adds them, and arguments that came as
    text stand there as they are, without quotes: whether the model wrote some itself is lost, too. Whatever
    a message holds, this returns.

    Raises:
        TypeError: it is neither; no trainer gives such a completion, so that the call is wrong and not the response.

    >>> response_text([{"role": "assistant", "content": [{"type": "text", "text": "(1, 2)"}]}])
    '(1, 2)'
    >>> call = {"type": "function", "function": {"name": "tap", "arguments": {"coordinate": [1, 2]}}}
    >>> print(response_text([{"role": "assistant", "reasoning_content": "Top.", "content": "", "tool_calls": [call]}]))
    <think>Top.</think>
    <tool_call>
    {"name": "tap", "arguments": {"coordinate": [1, 2]}}
    </tool_call>
    """
    if completion is None or isinstance(completion, str):
        return completion
    if not isinstance(completion, list | tuple) or not all(isinstance(message, Mapping) for message in completion):
        raise TypeError(f"completion: got {completion!r:.80}; expected a string or a list of messages")
    messages = [message for message in completion if _role(message) in _SPEAKERS]
    if not messages and not any(_role(message) for message in completion):
        messages = list(completion)
    return _message_text(messages[-1]) if messages else None


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    return role if isinstance(role, str) else ""


def _message_text(message: Mapping[str, Any]) -> str | None:
    content = _content_text(message.get("content"))
    thoughts = [message[name] for name in _THOUGHTS if isinstance(message.get(name), str) and message[name]]
    calls = [_call_text(call) for call in _several(message.get("tool_calls")) if isinstance(call, Mapping)]
    if not thoughts and not calls:
        return content
    answer = [*([content] if content else []), *calls]
    if not answer:
        return f"<think>{thoughts[0]}"
    return "\n".join([*(f"<think>{thought}</think>" for thought in thoughts[:1]), *answer])


def _content_text(content: Any) -> str | None:
    """The text of a message's content: a string, or blocks of which some are text; None where there is none."""
    if content is None or isinstance(content, str):
        return content
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in _several(content)]
    return "".join(text for text in texts if isinstance(text, str))


def _several(value: Any) -> Iterable[Any]:
    """Return the items of a list; a lone mapping is a list of one, and anything else is an empty one."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list | tuple) else []


def _call_text(call: Mapping[str, Any]) -> str:
    """A tool call as models write it, with all its keys; arguments that came as text stay that text."""
    function = call.get("function")
    fields = function if isinstance(function, Mapping) else {key: call[key] for key in call if key not in _ENVELOPE}
    written = {key: value for key, value in fields.items() if isinstance(key, str)}
    arguments = written.get("arguments")
    if len(written) > 2 and isinstance(arguments, Mapping) and not arguments and [*written][-1] == "arguments":
        del written["arguments"]
    pieces = [
        f"{_json(key)}: {value if key == 'arguments' and isinstance(value, str) else _json(value)}"
        for key, value in written.items()
    ]
    return f"<tool_call>\n{{{', '.join(pieces)}}}\n</tool_call>"


def _json(value: Any) -> str:
    """JSON; ``null`` for what cannot be written so, such as a number of thousands of digits."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "null"
