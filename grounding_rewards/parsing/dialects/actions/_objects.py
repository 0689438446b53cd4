"""Objects in a text, in JSON or Python syntax."""

from __future__ import annotations

import json
import re
from typing import Any

from grounding_rewards.parsing.base import MAX_ANSWERS
from grounding_rewards.parsing.literal import LiteralError, read_json, read_literal
from grounding_rewards.parsing.texts import SPACE

MOST = MAX_ANSWERS + 1
"""Objects read from either end of a text; more show that there are too many."""

# Objects without a quote hold no key: a run of them is skipped as a whole.
_TOKEN = re.compile(r"""(?:\{[^{}"']*\}[^{}"']*)+|[{}]|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?""", re.DOTALL)

_LOOSELY = json.JSONDecoder(strict=False)  # models break lines in strings

# In single quotes, up to a quote behind which there is a colon, the next key or the end. Nothing is read twice.
_LOOSE = re.compile(
    rf""""(?:[^"\\]++|\\.)*+(?:"|$)|'((?:[^'\\]++|\\.|'(?!{SPACE}(?:[:}}\]]|,{SPACE}["'])))*+)(?:'|$)""", re.DOTALL
)


def objects(text: str) -> list[dict[Any, Any]]:
    r"""Return the outermost complete objects of a text, in order, without those that are neither JSON nor Python.

    Braces that never close do not matter, nor do quotes outside of objects. Of more than 2 · ``MOST`` objects, only
    ``MOST`` from either end are read.

    >>> objects("I'd {try [{'action': 'wait'}, {\"a\": {\"b\": \"}\"}}]")
    [{'action': 'wait'}, {'a': {'b': '}'}}]
    """
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0 or end <= start:
        return []
    whole = text[start:end]
    if whole.count("{") == 1 and whole.count("}") == 1:
        return _dicts([whole])
    value = _json(whole)  # mostly the outermost braces are one object with others inside
    if isinstance(value, dict):
        return [value]
    spans = _spans(text, start)
    if len(spans) > 2 * MOST:
        spans = spans[:MOST] + spans[-MOST:]
    return _dicts([text[first:last] for first, last in spans])


def decoded(text: str) -> Any:
    """Return the value that a text writes down, in JSON or Python; None if it is neither.

    >>> decoded("{'a': (1, None)}"), decoded("[1, true]"), decoded("{a}")
    ({'a': (1, None)}, [1, True], None)
    """
    # In quotes of one kind JSON and Python mean the same, and JSON takes a tenth of the time.
    value = _json(text if '"' in text or "\\" in text else text.replace("'", '"'))
    if value is not None:
        return value
    try:
        return read_literal(text)
    except LiteralError:
        return _with_apostrophes(text)


def _with_apostrophes(text: str) -> Any:
    """Return the value of an object with apostrophes inside single quotes: a text ends where the object continues."""
    if text.count("{") != 1 or "'" not in text:
        return None
    return _json(_LOOSE.sub(_in_json, text))


def _in_json(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else json.dumps(match[1].replace("\\'", "'"))


def _dicts(texts: list[str]) -> list[dict[Any, Any]]:
    return [value for value in map(decoded, texts) if isinstance(value, dict)]


def _json(text: str) -> Any:
    return read_json(text, decoder=_LOOSELY)


def _spans(text: str, start: int) -> list[tuple[int, int]]:
    """Return start and end of the outermost complete pairs of braces; the first brace is at ``start``."""
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    while True:
        if not opened:  # skip the text between objects: a quote there opens no string
            start = text.find("{", start)
            if start < 0:
                break
        token = _TOKEN.search(text, start)
        if token is None:
            break
        first, start = token.span()
        sign = text[first]
        if sign == "{":
            if start == first + 1:  # longer is a run of objects without keys
                opened.append(first)
        elif sign == "}":
            first = opened.pop()
            while spans and spans[-1][0] > first:  # those inside of this one
                spans.pop()
            spans.append((first, start))
    return spans
