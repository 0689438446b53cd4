"""Chat completions, OpenAI's protocol: prompts as its messages, and its replies read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from grounding_rewards.converting.prompts import Message
from grounding_rewards.coords.image_header import image_format
from grounding_rewards.engines.messages import with_images
from grounding_rewards.engines.protocol import Answer
from grounding_rewards.errors import ConvertError


def chat_messages(messages: Sequence[Message], images: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return a prompt as messages of the protocol, with images as data URLs.

    Args:
        messages: the prompt; each ``<image>`` stands for one image, in order.
        images: files of images: PNG, JPEG, WebP, GIF or BMP.

    Returns:
        For each message its role, its content and its further fields. The content is a text where it has no image.

    Raises:
        ConvertError: the prompt names more or fewer images than there are, a file is of another format, or a text has
            half a surrogate pair, which UTF-8 does not have.

    >>> chat_messages([Message("system", "Click."), Message("user", "<image>Save")], [b"GIF89a"])
    [{'role': 'system', 'content': 'Click.'},
     {'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'data:image/gif;base64,R0lGODlh'}},
                                  {'type': 'text', 'text': 'Save'}]}]
    """
    for message in messages:
        _check_text(message.text)
    urls = [_data_url(data, number) for number, data in enumerate(images, 1)]
    return with_images(messages, [{"type": "image_url", "image_url": {"url": url}} for url in urls])


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConvertError(f"the prompt has half a surrogate pair at character {error.start}: {text!r:.80}") from None


def _data_url(data: bytes, number: int) -> str:
    kind = image_format(data)
    if kind is None:
        raise ConvertError(f"image {number}: got {len(data)} bytes {data[:16]!r}; expected a PNG, JPEG or WebP file")
    return f"data:image/{kind.lower()};base64,{b64encode(data).decode()}"


def read_completion(value: Any) -> tuple[tuple[Answer, ...], int | None] | None:
    """Read the answers of a chat completion, and the tokens of its prompt.

    A refusal, which has a field of its own, is the model's response. A response that the server kept back has a
    problem; any other one without content is an empty text. Content in parts is their texts. The tokens of an answer
    are known where it is the only one.

    Returns:
        The answers by their index, and the number of tokens, None where the server does not say; None where the value
        is no chat completion.

    >>> choice = {"message": {"content": "(5, 7)"}, "finish_reason": "length"}
    >>> read_completion({"choices": [choice], "usage": {"prompt_tokens": 90, "completion_tokens": 6}})
    ((Answer(text='(5, 7)', token_length=6, cut=True, problem=''),), 90)
    >>> read_completion({"status": "ok"}) is None
    True
    """
    choices = _field(value, "choices")
    if not isinstance(choices, list) or not choices:
        return None
    usage = _field(value, "usage")
    tokens = _whole(_field(usage, "completion_tokens")) if len(choices) == 1 else None
    if all(isinstance(_field(choice, "index"), int) for choice in choices):
        choices = sorted(choices, key=lambda choice: choice["index"])
    answers = tuple(answer for choice in choices if (answer := _answer(choice, tokens)) is not None)
    return (answers, _whole(_field(usage, "prompt_tokens"))) if len(answers) == len(choices) else None


def _answer(choice: Any, tokens: int | None) -> Answer | None:
    message, reason = _field(choice, "message"), _field(choice, "finish_reason")
    content = _field(message, "content")
    if isinstance(content, list):
        content = "".join(text for part in content if isinstance(text := _field(part, "text"), str))
    text = content or _field(message, "refusal") or ""
    if not isinstance(message, Mapping) or not isinstance(text, str):
        return None
    if reason == "content_filter" and not text:
        return Answer(None, problem="the server kept the response back (content_filter)")
    return Answer(text, tokens, cut=reason == "length")


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None
