"""JSON, Python literals and JSON5 as plain values, read without running anything, without recursion, in linear time.

Of Python it reads lists, tuples, dicts and sets, strings in all of its quotes, with its prefixes and side by side,
whole numbers and decimals, True, False and None, and JSON's true, false and null; comments, trailing commas and a tuple
without parentheses as Python has them. It does not read bytes, names of characters in strings, complex numbers,
``...``, lines that a backslash continues, a sign on the line before its number, and tuples as keys: no model writes
them.

Of JSON5 it does not read escapes in keys without quotes. A key that occurs twice is an error there.
"""

from __future__ import annotations

import json
import re
from typing import Any

from grounding_rewards.literals import unique_keys
from grounding_rewards.parsing.texts import on_use

DEEPEST = 200
"""Brackets inside brackets beyond this are an error, as they are in Python."""

MOST_TOKENS = 20_000
"""Tokens of a text that are read; one that has more is no answer, and takes a while."""

SHALLOW = 32
"""Levels of brackets up to which Python's own JSON reader is used; answers have three or four."""

LARGEST_KEY = 2**60
"""Whole numbers beyond this, and tuples, are no keys: a text could choose many of one hash, which slow a dict down."""

# No character can be matched in two ways, so that time stays linear. Python's source holds no null bytes.
_SHORT = r"""{0}(?!{0}{0})[^{0}\\\r\n\0]*(?:\\(?:\r\n|[^\0])[^{0}\\\r\n\0]*)*{0}"""
_LONG = r"""{0}{0}{0}[^{0}\\\0]*(?:(?:\\[^\0]|{0}(?!{0}{0}))[^{0}\\\0]*)*{0}{0}{0}"""
_QUOTED = "|".join(form.format(quote) for form in (_LONG, _SHORT) for quote in "\"'")
_TOKEN = on_use(
    r"""(?P<blank>[ \t\f\r\n]+|\#[^\r\n\0]*)|(?P<open>[\[({])|(?P<close>[\])}])|(?P<comma>[,:])"""
    r"""|(?P<number>[+-]?[ \t]*[0-9.](?:[eE][+-]|[0-9A-Za-z_.])*)"""
    rf"""|(?P<string>[uUrR]?(?:{_QUOTED}))|(?P<word>[A-Za-z]+)"""
    r"""|(?P<other>[\s\S])"""
)
# Of U only characters up to U+10FFFF: beyond them chr() raises.
_ESCAPE = on_use(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|[\s\S])")
_ESCAPED = {
    "\n": "", "\\": "\\", "'": "'", '"': '"',
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_BRACKET = on_use(r'[\[{]|[\]}]|"(?:[^"\\]|\\.)*"?', re.DOTALL)
_CLOSER = {"[": "]", "(": ")", "{": "}"}
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}


class LiteralError(ValueError):
    """The text is no literal, or no JSON5."""


def is_shallow(text: str) -> bool:
    """Return True if brackets outside strings nest no deeper than ``SHALLOW``."""
    if text.count("[") + text.count("{") <= SHALLOW:
        return True
    depth = 0
    for token in _BRACKET.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > SHALLOW:
            return False
    return True


UNREAD = object()
"""The result of ``read_json`` for a text that is no JSON, where null is one."""


_DECODER = json.JSONDecoder()


def read_json(text: str, otherwise: Any = None, decoder: json.JSONDecoder = _DECODER) -> Any:
    """Return the JSON value of a text, as a decoder reads it; ``otherwise`` if it is none or nests too deeply."""
    try:
        return decoder.decode(text) if is_shallow(text) else otherwise
    except ValueError:
        return otherwise


class _Open:
    """A bracket that has not closed yet; or the whole text, whose ``closer`` is ""."""

    __slots__ = ("closer", "colons", "comma", "items", "strings")

    def __init__(self, closer: str) -> None:
        self.closer, self.colons, self.comma = closer, 0, False
        self.items: list[Any] = []
        self.strings: list[Any] = []  # those that stand side by side and make up the last item

    def add(self, item: Any, is_string: bool = False) -> None:
        """Add an item, or another string to the last one."""
        if not self.strings:
            self.items.append(item)
        if is_string:
            self.strings.append(item)

    def join(self) -> None:
        """Complete the last item."""
        if len(self.strings) > 1:
            self.items[-1] = "".join(self.strings)
        self.strings = []

    def goes_on(self, comma: str) -> bool:
        """Take a comma or a colon; return True if one can follow the last item."""
        if self.strings:
            self.join()
        if comma == ",":
            self.comma = True
            return self.paired()
        self.colons += 1
        return self.closer == "}" and len(self.items) == 2 * self.colons - 1  # a key before each colon

    def paired(self) -> bool:
        """Return True if every key, if there are any, has a value."""
        return not self.colons or len(self.items) == 2 * self.colons

    def value(self) -> Any:
        """Return the list, tuple, dict, set or value in parentheses, once it has closed."""
        if self.strings:
            self.join()
        if self.closer == "]":
            return self.items
        if self.closer == "}" and (self.colons or not self.items):
            return dict(zip(_keys(self.items[::2]), self.items[1::2], strict=True))
        if self.closer == "}":
            return set(_keys(self.items))
        return tuple(self.items) if self.comma or not self.items else self.items[0]

    def scalar(self, kind: str | None, part: str) -> Any:
        """Read a word, a number or a string."""
        if kind == "string":
            return _string(part)
        return _number(part) if kind == "number" else _word(part, _WORDS)


def _word(part: str, words: dict[str, Any]) -> Any:
    if part not in words:
        raise LiteralError(f"{part!r:.40} is no value")
    return words[part]


def read_literal(text: str) -> Any:
    """Read the value that a text writes down, not deeper than ``DEEPEST``."""
    return _read(text, _TOKEN, _Open)


def _read(text: str, tokens: re.Pattern[str], bracket: type[_Open]) -> Any:
    stack = [bracket("")]
    complete = wanting = ended = False  # a value is complete; one is wanting after a colon; the text's line has ended
    for count, token in enumerate(tokens.finditer(text)):
        if count == MOST_TOKENS:
            raise LiteralError("too many tokens")
        kind, part, top = token.lastgroup, token[0], stack[-1]
        if kind == "blank":
            ended = ended or (not top.closer and bool(top.items) and ("\n" in part or "\r" in part))
            continue
        if kind == "close":
            fits = part == top.closer and not wanting and top.paired()
        elif kind == "comma":
            fits = complete and top.goes_on(part)
        else:
            wanted = not complete or (kind == "string" and bool(top.strings))  # strings may stand side by side
            fits = wanted and kind != "other" and (kind != "open" or len(stack) <= DEEPEST)
        if ended or not fits:
            raise LiteralError(f"{part!r:.40} at {token.start()}")
        if kind == "open":
            stack.append(bracket(_CLOSER[part]))
        elif kind == "close":
            stack.pop()
            stack[-1].add(top.value())
        elif kind != "comma":
            top.add(top.scalar(kind, part), kind == "string")
        complete, wanting = kind not in ("open", "comma"), part == ":"
    if len(stack) > 1 or not stack[0].items:
        raise LiteralError("the text ends too early")
    return stack[0].value()


def _keys(items: list[Any]) -> list[Any]:
    for item in items:
        if not isinstance(item, str | int | float | None) or (isinstance(item, int) and abs(item) > LARGEST_KEY):
            raise LiteralError(f"{type(item).__name__} that is no key")
    return items


def _string(part: str) -> str:
    """Read a string by its prefix and quotes; as in Python, each end of a line is a newline."""
    if part[0] in "\"'" and part[1] != part[0] and "\\" not in part:  # one pair of quotes, nothing to undo
        return part[1:-1]
    start = min(part.find(quote) % len(part) for quote in "\"'")  # % makes find's -1 the last place
    prefix, quotes = part[:start].lower(), 3 if part[start : start + 3] in ('"""', "'''") else 1
    body = part[start + quotes : -quotes].replace("\r\n", "\n").replace("\r", "\n")
    return _ESCAPE.sub(_escaped, body) if "\\" in body and prefix != "r" else body


def _number(part: str) -> int | float:
    """Read a whole number in any base, or a decimal, with Python's rules for underscores and leading zeros."""
    sign, digits = (-1 if part[0] == "-" else 1), part.lstrip("+- \t")
    try:
        return sign * int(digits, 0)  # base 0: Python's own rules
    except ValueError:
        pass
    try:
        if "." in digits or "e" in digits or "E" in digits:  # float() alone would read 0200
            return sign * float(digits)
    except ValueError:
        pass
    raise LiteralError(f"{part!r:.40} is no number")


def _escaped(match: re.Match[str]) -> str:
    """Return the character of an escape sequence; one that Python does not know stays as it is."""
    code = match[1]
    if code in _ESCAPED:
        return _ESCAPED[code]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code in "xuUN":
        raise LiteralError(f"\\{code} in a string, without what must follow")
    return match[0]


# Calls: ``click(200*2, 300, button="left")``, with literals or sums as arguments.

_CALL = on_use(r"[ \t]*+([A-Za-z_][A-Za-z0-9_]*+)[ \t]*+\(")
_KEY = on_use(r"\s*+([A-Za-z_][A-Za-z0-9_]*+)\s*+=(?!=)")
_FACTOR = on_use(r"\s*+([-+*/]?)\s*+([-+]?[0-9.](?:[eE][+-]|[0-9A-Za-z_.])*+)\s*+")
_LARGEST_SUM = 2**53
_JSON_WORDS = ("true", "false", "null")


def read_call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Read a call as Python writes it: its name, its arguments without a key in order, and those with one.

    An argument is a literal, or numbers with + - * / between them.
    """
    call = _CALL.match(text)
    if call is None:
        raise LiteralError("the text does not begin with a call")
    plain: list[Any] = []
    keyed: dict[str, Any] = {}
    depth, start = 0, call.end()
    for count, token in enumerate(_TOKEN.finditer(text, start - 1)):
        kind, part = token.lastgroup, token[0]
        if count == MOST_TOKENS or part in _JSON_WORDS or (count and not depth and kind != "blank"):
            raise LiteralError(f"{part!r:.40} at {token.start()}")
        depth += (kind == "open") - (kind == "close")
        ends = kind == "close" and not depth
        if not ends and (part != "," or depth != 1):
            continue
        written, start = text[start : token.start()], token.end()
        key = _KEY.match(written)
        value = written[key.end() :] if key else written
        if ends and part == ")" and not written.strip():
            continue  # no argument, or a last comma
        if (keyed and not key) or (key and key[1] in keyed) or (ends and part != ")"):
            raise LiteralError(f"{written!r:.40} is no argument here")
        if key:
            keyed[key[1]] = _argument(value)
        else:
            plain.append(_argument(value))
    if depth:
        raise LiteralError("the text ends too early")
    return call[1], plain, keyed


def _argument(text: str) -> Any:
    try:
        return read_literal(text)
    except LiteralError:
        return _sum(text)


def _sum(text: str) -> int | float:
    """Return the value of numbers with + - * / between them."""
    total: int | float = 0
    product: int | float = 0
    end = 0
    while end < len(text) or not end:
        factor = _FACTOR.match(text, end)
        if factor is None or (end and not factor[1]) or (not end and factor[1] in ("*", "/")):
            raise LiteralError(f"{text!r:.40} is no literal")
        sign, value, end = factor[1], _number(factor[2]), factor.end()
        if sign == "*":
            product *= value
        elif sign == "/" and value:
            product /= value
        elif sign == "/":
            raise LiteralError("a division by zero")
        else:
            total, product = total + product, -value if sign == "-" else value
        if not (abs(total) <= _LARGEST_SUM and abs(product) <= _LARGEST_SUM):  # NaN, too
            raise LiteralError("a sum beyond all numbers that are exact")
    return total + product


# JSON5: single quotes, keys without quotes, trailing commas, comments, and more numbers, escapes and white space.

_ENDS = "\n\r\u2028\u2029"
_BLANK = rf" \t\v\f{_ENDS}\xa0\ufeff\u1680\u2000-\u200a\u202f\u205f\u3000"
_LETTER = rf"[A-Za-z_$]|[^\x00-\x7f{_BLANK}]"
# No character can be matched in two ways, so that an unclosed string takes linear time.
_BODY = r"""{0}[^{0}\\\n\r]*(?:\\(?:\r\n|[\s\S])[^{0}\\\n\r]*)*{0}"""
_TOKEN_5 = on_use(
    rf"(?P<blank>[{_BLANK}]+|//[^{_ENDS}]*"
    r"|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>[,:])"
    rf"|(?P<string>{_BODY.format(chr(34))}|{_BODY.format(chr(39))})"
    r"|(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))"
    rf"|(?P<word>[+-](?:Infinity|NaN)|(?:{_LETTER})(?:{_LETTER}|[0-9])*)|(?P<other>[\s\S])"
)
_TWO = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a character beyond 16 bits, in two escapes
_ESCAPE_5 = on_use(rf"\\(?:(\r\n|[{_ENDS}]|{_TWO}|x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|0(?![0-9])|[^0-9xu])|[\s\S])")
_ESCAPED_5 = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\r\n": ""}
_ESCAPED_5.update(dict.fromkeys(_ENDS, ""))
_WORDS_5: dict[str, Any] = {"true": True, "false": False, "null": None}
_WORDS_5.update({f"{sign}{name}": float(f"{sign}{name}") for sign in ("", "+", "-") for name in ("Infinity", "NaN")})
_JOINERS = on_use("(?<=.)[\u200c\u200d]|[$]")  # characters of names that Python's have not


class _Open5(_Open):
    """The same in JSON5, whose keys are strings or names, each once."""

    __slots__ = ("keys",)

    def __init__(self, closer: str) -> None:
        super().__init__(closer)
        self.keys: set[str] = set()

    def add(self, item: Any, is_string: bool = False) -> None:
        """Add an item; strings side by side are two."""
        if self.closer == "}" and len(self.items) == 2 * self.colons:  # a key
            if not isinstance(item, str) or item in self.keys:
                raise LiteralError(f"{item!r:.40} is no key, or comes twice")
            self.keys.add(item)
        self.items.append(item)

    def paired(self) -> bool:
        """Return True in a list, and in an object whose every key has a value."""
        return self.closer == "]" or (self.closer == "}" and len(self.items) == 2 * self.colons)

    def scalar(self, kind: str | None, part: str) -> Any:
        """Read a name, a word, a number or a string."""
        if kind == "string":
            return part[1:-1] if "\\" not in part else _ESCAPE_5.sub(_escaped_5, part[1:-1])
        if kind == "word" and self.closer == "}" and len(self.items) == 2 * self.colons:
            return part if _JOINERS.sub("_", part).isidentifier() else None
        return _number(part) if kind == "number" else _word(part, _WORDS_5)


_UNIQUE = json.JSONDecoder(object_pairs_hook=unique_keys)


def read_json5(text: str) -> Any:
    """Read the value that a text writes down."""
    value = read_json(text, UNREAD, _UNIQUE)  # most answers are plain JSON, which C reads
    return _read(text, _TOKEN_5, _Open5) if value is UNREAD else value  # which says where a key occurs twice


def _escaped_5(match: re.Match[str]) -> str:
    """Return the character of an escape; a character without a meaning of its own stands for itself."""
    code = match[1]
    if code is None:
        raise LiteralError(f"{match[0]} in a string, without what must follow")
    if len(code) == 1 or code in _ESCAPED_5:
        return _ESCAPED_5.get(code, code)
    if len(code) <= len("u0000"):
        return chr(int(code[1:], 16))
    return chr(0x10000 + ((int(code[1:5], 16) & 0x3FF) << 10) + (int(code[7:], 16) & 0x3FF))
