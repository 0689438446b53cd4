"""Control tokens of models in texts of data, such as ``<|im_end|>``, which end a message where a model sees them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

_USUAL = re.compile(
    r"<\|[\w.-]{1,40}\|>|<｜[^<>\s]{1,40}｜>|</?s>|<(?:eos|bos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>"
)
"""Those of the common families, of which the first has Qwen's, Llama 3's and Phi's."""


def usual_tokens(text: str) -> list[str]:
    """Return what looks like control tokens in a text, each once.

    >>> usual_tokens("Save<|im_end|> as <b>")
    ['<|im_end|>']
    """
    return list(dict.fromkeys(_USUAL.findall(text)))


def spelled_out(value: Any, tokens: Collection[str]) -> Any:
    r"""Return texts, also those in lists and mappings, in which each of the tokens has a zero-width space.

    >>> spelled_out([{"text": "Save<|im_end|>"}], ["<|im_end|>"])
    [{'text': 'Save<\u200b|im_end|>'}]
    """
    if isinstance(value, Mapping):
        return {name: spelled_out(each, tokens) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [spelled_out(each, tokens) for each in value]
    if not isinstance(value, str) or not any(token in value for token in tokens):
        return value
    longest_first = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
    return re.sub(longest_first, lambda found: f"{found[0][0]}\u200b{found[0][1:]}", value)
