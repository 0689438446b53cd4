"""JSON5 as plain values, read without recursion and in time linear in the text.

Read are JSON and JSON5's additions: single quotes, keys without quotes, trailing commas, comments, decimals
that begin or end with a point, hexadecimal numbers, a plus sign, Infinity and NaN, more escapes in strings, more kinds
of white space. Not read are escapes in keys without quotes, whole numbers of more than 4300 digits, what nests deeper
than ``DEEPEST``, and more than ``MOST_TOKENS`` tokens where it is not plain JSON. A key that occurs twice is an error,
though JSON lets the last one win.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from grounding_rewards.literals import unique_keys
from grounding_rewards.parsing.literal import read_json

DEEPEST = 200
"""Brackets inside brackets beyond this are an error."""

MOST_TOKENS = 8192
"""Tokens of a text that is not plain JSON; one that has more is no answer, and takes a while."""

_MOST_DIGITS = 4300  # beyond these Python's int() raises
_ENDS = "\n\r\u2028\u2029"
_BLANK = rf" \t\v\f{_ENDS}\xa0\ufeff\u1680\u2000-\u200a\u202f\u205f\u3000"
_LETTER = rf"[A-Za-z_$]|[^\x00-\x7f{_BLANK}]"
# No character can be matched in two ways, so that an unclosed string takes linear time.
_BODY = r"""{0}[^{0}\\\n\r]*(?:\\(?:\r\n|[\s\S])[^{0}\\\n\r]*)*{0}"""
_TOKEN = re.compile(
    rf"(?P<blank>[{_BLANK}]+|//[^{_ENDS}]*"
    r"|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
    r"|(?P<punctuation>[\[\]{},:])"
    rf"|(?P<string>{_BODY.format(chr(34))}|{_BODY.format(chr(39))})"
    r"|(?P<hex>[+-]?0[xX][0-9a-fA-F]+)"  # before numbers, which would end behind the 0 of 0x
    r"|(?P<number>[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-](?:Infinity|NaN))"
    rf"|(?P<name>(?:{_LETTER})(?:{_LETTER}|[0-9])*)"
)
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a character beyond 16 bits, in two escapes
_ESCAPE = re.compile(rf"\\(?:(\r\n|[{_ENDS}]|{_PAIR}|x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|0(?![0-9])|[^0-9xu])|[\s\S])")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\r\n": ""}
_ESCAPED.update(dict.fromkeys(_ENDS, ""))
_WORDS = {"true": True, "false": False, "null": None, "Infinity": math.inf, "NaN": math.nan}
_JOINERS = re.compile("(?<=.)[\u200c\u200d]|[$]")  # characters of names that Python's have not
_NONE = object()  # no value at all, where None is null


class Json5Error(ValueError):
    """The text is no JSON5."""


class _Open:
    """A list or an object that has not closed yet, or the whole text, whose ``closer`` is ""."""

    __slots__ = ("closer", "items", "key", "mapping")

    def __init__(self, closer: str) -> None:
        self.closer, self.key = closer, _NONE
        self.items: list[Any] = []
        self.mapping: dict[str, Any] = {}

    def add(self, value: Any) -> None:
        """Add a value; in an object it belongs to the key before it."""
        if self.closer != "}":
            self.items.append(value)
        else:
            self.mapping[self.key] = value  # type: ignore[index]
            self.key = _NONE

    def name(self, key: str) -> None:
        """Set the key of the next value."""
        if key in self.mapping:
            raise Json5Error(f"{key!r:.40} occurs twice")
        self.key = key

    @property
    def value(self) -> Any:
        return self.mapping if self.closer == "}" else self.items


def read_json5(text: str) -> Any:
    """Read the value that a text writes down."""
    value = read_json(text, _NONE, _DECODER)  # most answers are plain JSON, which C reads
    return _read(text) if value is _NONE else value  # where a key occurs twice, the second reading says so


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)


def _read(text: str) -> Any:
    """Read token by token; ``wanted`` is the next token's kind: a value, a key, a colon, or "more" after a value."""
    stack, wanted, place, tokens = [_Open("")], "value", 0, 0
    while place < len(text):
        token, tokens = _TOKEN.match(text, place), tokens + 1
        if token is None or tokens > MOST_TOKENS:
            raise Json5Error(f"{text[place]!r} at {place}")
        kind, part, top, place = token.lastgroup, token[0], stack[-1], token.end()
        if kind == "blank":
            continue
        if kind != "punctuation":
            wanted = _put(top, wanted, kind, part)
        elif part in "[{" and wanted == "value" and len(stack) <= DEEPEST:
            stack.append(_Open("]" if part == "[" else "}"))
            wanted = "value" if part == "[" else "key"
        elif part == top.closer and top.key is _NONE:  # after a comma, too, but not between a key and its value
            stack.pop()
            stack[-1].add(top.value)
            wanted = "more"
        elif part == ":" and wanted == "colon":
            wanted = "value"
        elif part == "," and wanted == "more" and top.closer:
            wanted = "key" if top.closer == "}" else "value"
        else:
            raise Json5Error(f"{part!r} at {token.start()}")
    if len(stack) > 1 or wanted != "more":
        raise Json5Error("the text ends too early")
    return stack[0].items[0]


def _put(top: _Open, wanted: str, kind: str | None, part: str) -> str:
    """Add a key or a scalar value; return the kind of the next token."""
    if wanted == "key" and kind == "string":
        top.name(_string(part))
        return "colon"
    if wanted == "key" and kind == "name" and _JOINERS.sub("_", part).isidentifier():
        top.name(part)
        return "colon"
    if wanted == "value":
        top.add(_scalar(kind, part))
        return "more"
    raise Json5Error(f"{part!r:.40} where a {wanted} was expected")


def _scalar(kind: str | None, part: str) -> Any:
    if kind == "string":
        return _string(part)
    if kind == "hex":
        return int(part, 16)
    if kind == "name":
        if part not in _WORDS:
            raise Json5Error(f"{part!r:.40} is no value")
        return _WORDS[part]
    digits = part.lstrip("+-")
    if digits.isdigit():
        if len(digits) > _MOST_DIGITS:
            raise Json5Error(f"a whole number of {len(digits)} digits")
        return int(part)
    return float(part)


def _string(part: str) -> str:
    return part[1:-1] if "\\" not in part else _ESCAPE.sub(_escaped, part[1:-1])


def _escaped(match: re.Match[str]) -> str:
    """Return the character of an escape; a character without a meaning of its own stands for itself."""
    code = match[1]
    if code is None:
        raise Json5Error(f"{match[0]} in a string, without what must follow")
    if len(code) == 1 or code in _ESCAPED:
        return _ESCAPED.get(code, code)
    if len(code) <= len("u0000"):
        return chr(int(code[1:], 16))
    return chr(0x10000 + ((int(code[1:5], 16) & 0x3FF) << 10) + (int(code[7:], 16) & 0x3FF))
