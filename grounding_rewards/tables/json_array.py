"""The rows of a large JSON array, of which only some are held at once."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

_WHITE = re.compile(r"[ \t\r\n]*")
_STEP = 1 << 20
_NEAR = 16
"""Characters before the end of a text in which a value may be cut off rather than wrong."""


class ArrayReader:
    """Reader of an array's values from a stream of bytes; it raises what ``json.loads`` would of the whole."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._ended = "", 0, False
        self._lines, self._column, self._bytes = 0, 0, 0  # of what went before the text

    def values(self) -> Iterator[tuple[Any, str]]:
        """Yield each value of the array, and its text."""
        self._take("[", "Expecting value")
        if self._next() == "]":
            self._at += 1
        else:
            while True:
                yield self._value()
                if self._next() == "]":
                    self._at += 1
                    break
                self._take(",", "Expecting ',' delimiter")
        if self._next():
            raise self._error("Extra data", self._at)

    def _take(self, mark: str, wrong: str) -> None:
        if self._next() != mark:
            raise self._error(wrong, self._at)
        self._at += 1

    def _next(self) -> str:
        """Return the next character that is no space; "" at the end."""
        while True:
            self._at = _WHITE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more(_STEP):
                return self._text[self._at : self._at + 1]

    def _value(self) -> tuple[Any, str]:
        self._next()
        step = _STEP
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR
                if not (cut and self._more(step)):
                    raise self._error(error.msg, error.pos) from None
            else:
                if end < len(self._text) or not self._more(step):  # else a number may go on
                    text, self._at = self._text[self._at : end], end
                    return value, text
            step *= 2  # so that a large value is read over a few times

    def _more(self, step: int) -> bool:
        """Read further, in place of what has been used; return False at the end."""
        if self._ended:
            return False
        used = self._text[: self._at]
        self._lines += (lines := used.count("\n"))
        self._column = len(used) - used.rfind("\n") - 1 if lines else self._column + len(used)
        data = self._stream.read(step)
        self._ended = not data
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            error.before = self._bytes + len(data) - len(error.object)  # type: ignore[attr-defined]
            raise
        self._bytes += len(data)
        self._text, self._at = self._text[self._at :] + text, 0
        return True

    def _error(self, message: str, at: int) -> json.JSONDecodeError:
        error = json.JSONDecodeError(message, self._text, at)
        error.colno += self._column if error.lineno == 1 else 0
        error.lineno += self._lines
        return error


_DECODER = json.JSONDecoder()
