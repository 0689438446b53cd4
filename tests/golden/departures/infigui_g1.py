"""Oracles of InfiGUI-G1."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of

_CITED = re.compile(r"([^\[]*)\[(\s*[^\[\]{\s][^\[\]]*)\]")
_LIST = re.compile(r"\[\s*[{\]]")
_NUMERAL = re.compile(r"(?<![0-9.])-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Infinity)|NaN")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def _halves(line: Line) -> tuple[str, str]:
    """Return the response up to the end of its thinking, and the rest, in which the list is."""
    text = text_of(line)
    if extra_of(line).get("no_think"):
        return "", text
    thought, close, rest = text.partition("</think>")
    return thought + close, rest


def _has_leading_space(line: Line) -> bool:
    return text_of(line) != text_of(line).lstrip() and _halves(line)[0].lstrip().startswith("<think>")


def _without_leading_space(line: Line) -> Line:
    return {**line, "response": text_of(line).lstrip()}


def _without_citations(line: Line) -> Line:
    """Return the line with round brackets in place of those around words before the list."""
    before, rest = _halves(line)
    while cited := _CITED.match(rest):
        before, rest = f"{before}{cited[1]}({cited[2]})", rest[cited.end() :]
    return {**line, "response": before + rest}


def _has_citations(line: Line) -> bool:
    without = _without_citations(line)
    return without != line and _LIST.search(_halves(without)[1]) is not None


def _without_brackets(line: Line) -> Line:
    """Return the line with the brackets inside the list's strings made dots."""
    thought, rest = _halves(line)
    begin = _LIST.search(rest)
    start = begin.start() if begin else len(rest)
    items = _STRING.sub(lambda string: re.sub(r"[\[\]]", ".", string[0]), rest[start:])
    return {**line, "response": thought + rest[:start] + items}


def _has_brackets(line: Line) -> bool:
    """Does counting the brackets in strings end the list elsewhere?"""
    rests = [_halves(each)[1] for each in (line, _without_brackets(line))]
    begin = _LIST.search(rests[0])
    return begin is not None and _end(rests[0], begin.start()) != _end(rests[1], begin.start())


def _end(text: str, start: int) -> int:
    """Return the place where the bracket at ``start`` closes, strings or not; -1 where it does not."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "[") - (text[place] == "]")
        if not depth:
            return place
    return -1


def _has_huge_number(line: Line) -> bool:
    return bool(_within_limits(line)["response"] != text_of(line))


def _within_limits(line: Line) -> Line:
    return {**line, "response": _NUMERAL.sub(_limited, text_of(line))}


def _limited(numeral: re.Match[str]) -> str:
    text = numeral[0]
    if len(text.lstrip("-")) > 4300 and text.lstrip("-").isdigit():
        return text  # more digits than Python reads
    number = math.inf if text == "NaN" else float(text)
    return text if abs(number) <= COORDINATE_LIMIT else str(int(math.copysign(COORDINATE_LIMIT, number)))


def _has_no_extra(line: Line) -> bool:
    return not isinstance(line["extra"], Mapping)


def _with_extra(line: Line) -> Line:
    return {**line, "extra": {}}


ORACLES = (
    bad_target("infigui-g1"),
    Oracle("leading-space", _has_leading_space, same_as=_without_leading_space),
    Oracle("brackets-in-prose", _has_citations, same_as=_without_citations),
    Oracle("brackets-in-strings", _has_brackets, same_as=_without_brackets),
    Oracle("huge-number", _has_huge_number, same_as=_within_limits),
    Oracle("no-extra", _has_no_extra, same_as=_with_extra),
)
