"""Values that texts hold, as cells of CSV files and tagged answers do."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from contextlib import suppress
from importlib import import_module
from typing import Any

_LONGEST, _DIGITS = 1 << 16, 32
_NO_ESCAPE = re.compile(r"\\[^abfnrtvxuUN0-7'\"\\]")
_TAG = re.compile(r"<\|?/?[A-Za-z][\w|]*>")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def literal(text: str) -> Any:
    """Return the value that a text holds: JSON, or lists and dicts as Python prints them; the text for anything else.

    >>> literal('{"a": null}'), literal("{'a': None}"), literal("[['(1, 2)']]"), literal("(1, 2")
    ({'a': None}, {'a': None}, [['(1, 2)']], '(1, 2')
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return python_literal(text)


def python_literal(text: str) -> Any:
    """Return the list, dict or tuple that a text holds as Python prints it; the text for anything else.

    >>> python_literal("{'a': (.5, 1)}"), python_literal('{"a": null}')
    ({'a': (0.5, 1)}, '{"a": null}')
    """
    if text.lstrip()[:1] in ("[", "{", "(") and len(text) <= _LONGEST and not _NO_ESCAPE.search(text):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return literal_eval(text.strip())
    return text


def numbers_of(text: str) -> list[float]:
    """Return the numbers of a text that has nothing else in it but brackets, commas and tags; else an empty list.

    >>> numbers_of("<box>100, 200, 300.5, 240</box>"), numbers_of("[1. 2.]"), numbers_of("x=1"), numbers_of("1-2")
    ([100, 200, 300.5, 240], [1.0, 2.0], [], [])
    """
    if len(text) > _LONGEST or any(text.count(a) != text.count(b) for a, b in ("()", "[]")):
        return []
    bare = _TAG.sub(" ", text)
    parts = bare.translate(_SEPARATORS).split()
    if not parts or max(map(len, parts)) > _DIGITS or not all(map(_NUMBER.fullmatch, parts)):
        return []
    return [int(each) if each.lstrip("+-").isdecimal() else float(each) for each in parts]


_SEPARATORS = str.maketrans(dict.fromkeys("()[],;", " "))


def yaml_values(text: str) -> Any:
    """Return the plain values of YAML, by PyYAML, which raises an ImportError where it is not installed."""
    return import_module("yaml").safe_load(text)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object, for ``json.loads``, which itself keeps the last value of a key that comes twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        earlier: set[str] = set()
        twice = next(name for name, _ in pairs if name in earlier or earlier.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.80} comes twice in one object")
    return fields
