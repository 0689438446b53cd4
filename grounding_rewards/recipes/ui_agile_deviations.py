"""Where ui-agile departs from its source, stated without the recipe's own code."""

from __future__ import annotations

import re

from grounding_rewards.recipes.common import Line, text_of
from grounding_rewards.scoring import Deviation

_NUMBER = r"(\d+(?:\.\d+)?)"
_COMMA = r"\s*,\s*"
_BARE = re.compile(_NUMBER + _COMMA + _NUMBER)
_LISTED = re.compile(r"[\[({]\s*" + _NUMBER + _COMMA + _NUMBER + rf"(?:{_COMMA}{_NUMBER}{_COMMA}{_NUMBER})?\s*[\])}}]")
_PIECE = re.compile(r"([-+.\w]*)\Z")
_WRITTEN = re.compile(r"<think>.*?</think>\s*<answer>.*?</answer>", re.DOTALL)


def _pair(line: Line) -> re.Match[str] | None:
    """The pair of numbers that the source reads where no brackets hold one."""
    text = text_of(line)
    return None if _LISTED.search(text) else _BARE.search(text)


def _piece(line: Line) -> str:
    """What stands right before that pair, as part of its first number."""
    found = _pair(line)
    before = _PIECE.search(text_of(line), max(found.start() - 99, 0), found.start()) if found else None
    return before[1] if before else ""


def _is_piece(line: Line) -> bool:
    return _piece(line) != ""


def _without_pair(line: Line) -> Line:
    text, found = text_of(line), _pair(line)
    if found is None:
        return line
    start = found.start() - len(_piece(line))
    end = found.end() + len(re.match(r"[-+.\w]*", text[found.end() :])[0])  # type: ignore[index]
    return {**line, "response": f"{text[:start]}x, y{text[end:]}"}


def _has_unicode_digits(line: Line) -> bool:
    text = text_of(line)
    found = _LISTED.search(text) or _BARE.search(text)
    return bool(found) and not found[0].isascii()  # type: ignore[index]


def _without_digits(line: Line) -> Line:
    names = iter("xyxyxyxy")
    text = re.sub(r"\d+", lambda found: found[0] if found[0].isascii() else next(names, "x"), text_of(line))
    return {**line, "response": text}


def _has_spaces(line: Line) -> bool:
    text = text_of(line)
    return text != text.strip() and bool(_WRITTEN.fullmatch(text.strip()))


def _stripped(line: Line) -> Line:
    return {**line, "response": text_of(line).strip()}


MENDED = (
    Deviation(
        "pieces-of-numbers",
        "A piece of a number is no number; the source reads -200 as 200, 2_00 and 200e0 as 0.",
        _is_piece,
        same_as=_without_pair,
    ),
    Deviation(
        "unicode-digits",
        "Only ASCII digits are digits; the source reads full-width and other scripts' digits as numbers.",
        _has_unicode_digits,
        same_as=_without_digits,
    ),
    Deviation(
        "spaces",
        "White space before and after the response is good format; the source pays 0 for a line feed at the end.",
        _has_spaces,
        same_as=_stripped,
    ),
)
