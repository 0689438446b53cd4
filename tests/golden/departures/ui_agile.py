"""Oracles of UI-AGILE, stated without the recipe's own code."""

from __future__ import annotations

import re

from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of

_NUMBER = r"(\d+(?:\.\d+)?)"
_COMMA = r"\s*,\s*"
_PAIR = _NUMBER + _COMMA + _NUMBER
_LIST = rf"\s*{_PAIR}(?:{_COMMA}{_PAIR})?\s*"
_HELD = tuple([re.compile(pattern) for pattern in (
    rf"<\|box_start\|>\s*\(\s*{_PAIR}\s*\)(?:{_COMMA}\(\s*{_PAIR}\s*\))?",
    rf"start_box\s*=\s*['\"]?\s*[(\[]{_LIST}[)\]]",
    rf"<point>\s*{_NUMBER}(?:{_COMMA}|\s+){_NUMBER}\s*</point>",
    rf"\[{_LIST}\]", rf"\{{{_LIST}\}}", rf"\({_LIST}\)", rf"\(\s*x\s*=\s*{_NUMBER}{_COMMA}y\s*=\s*{_NUMBER}\s*\)",
)])  # fmt: skip
_BARE = re.compile(rf"(?<!\d){_PAIR}(?:{_COMMA}\d+(?:\.\d+)?)*")
_BEFORE = re.compile(r"(?:[0-9A-Za-z_.-]|[eE]\+)\Z")
_BEGUN = re.compile(r"(?:\b[0-9][0-9_.]*[eE]?[-+]?|[-+.])\Z")
_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\")")
_WRITTEN = re.compile(r"<think>.*?</think>\s*<answer>.*?</answer>", re.DOTALL)
_CIRCLED = "⓪①②③④⑤⑥⑦⑧⑨"


def _around(text: str) -> tuple[str, str, str]:
    """Return the first answer, or what follows the thinking, with what stands before and behind it."""
    before, opened, rest = text.partition("<answer>")
    if opened:
        answer, closed, behind = rest.partition("</answer>")
        return before + opened, answer, closed + behind
    before, ended, rest = text.partition("</think>")
    if ended:
        return before + ended, rest, ""
    return (text, "", "") if "<think>" in text else ("", text, "")


def _place(line: Line) -> re.Match[str] | None:
    """Return the place that the source reads: in brackets or tags, else the first two of bare numbers."""
    answer = _around(text_of(line))[1]
    return next((match for pattern in (*_HELD, _BARE) if (match := pattern.search(answer))), None)


def _is_cut(match: re.Match[str]) -> bool:
    """Is the first of bare numbers the end of another?"""
    return _BEFORE.search(match.string, max(match.start() - 2, 0), match.start()) is not None


def _is_foreign(match: re.Match[str]) -> bool:
    """Is one of the numbers of a place not in ASCII digits?"""
    return any(number is not None and not number.isascii() for number in match.groups())


def _is_piece(line: Line) -> bool:
    match = _place(line)
    return match is not None and match.re is _BARE and _is_cut(match)


def _has_unicode_digits(line: Line) -> bool:
    match = _place(line)
    return match is not None and _is_foreign(match)


def _unread(line: Line) -> Line:
    """Replace lists of bare numbers that the recipe does not read, and other scripts' digits.

    The text of an action keeps its letters, so that it still equals the parameter where it did.
    """
    before, answer, behind = _around(text_of(line))
    parts = [_kept(part) if index % 2 else _named(part) for index, part in enumerate(_QUOTED.split(answer))]
    extra = {**line["extra"], "parameter": _kept(line["extra"].get("parameter") or "")}
    return {**line, "response": before + "".join(parts) + behind, "extra": extra}


def _named(text: str) -> str:
    """Write x, y for each list of numbers that the recipe does not read."""
    parts, end = [], 0
    for match in _BARE.finditer(text):
        between, end = text[end : match.start()], match.end()
        unread = _is_cut(match) or _is_foreign(match)
        parts += [_BEGUN.sub("", between), "x, y"] if unread else [between, match[0]]
    return _circled("".join([*parts, text[end:]]))


def _kept(text: str) -> str:
    """Write other commas in each list of numbers that the recipe does not read."""
    return _circled(
        _BARE.sub(lambda match: match[0].replace(",", "，") if _is_cut(match) or _is_foreign(match) else match[0], text)
    )


def _circled(text: str) -> str:
    return "".join([_CIRCLED[int(c)] if c.isdecimal() and not c.isascii() else c for c in text])


def _has_spaces(line: Line) -> bool:
    text = text_of(line)
    return text != text.strip() and bool(_WRITTEN.fullmatch(text.strip()))


def _stripped(line: Line) -> Line:
    return {**line, "response": text_of(line).strip()}


ORACLES = (
    bad_target("ui-agile"),
    Oracle("pieces-of-numbers", _is_piece, same_as=_unread),
    Oracle("unicode-digits", _has_unicode_digits, same_as=_unread),
    Oracle("spaces", _has_spaces, same_as=_stripped),
)
