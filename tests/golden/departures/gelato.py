"""Oracles of Gelato, in unit space and in pixels."""

from __future__ import annotations

import json
import re

from grounding_rewards.recipes.published.gelato import read_numerals
from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, zero

_HUGE = re.compile(r"[0-9]{300}")
_ANSWER = re.compile(r"^\s*\(\s*[0-9]+\s*,\s*[0-9]+\s*\)\s*$")
_PIXEL_ANSWER = re.compile(r"\([0-9]+,\s*[0-9]+\)")


def _point(line: Line) -> list[float]:
    return [float(number) for number in re.findall(r"[0-9]+", text_of(line))]


def _box(line: Line) -> list[float] | None:
    truth = line["ground_truth"]
    try:
        wire = read_numerals(json.loads(truth) if isinstance(truth, str) else truth)
        return [float(number) for number in (wire or {}).get("bbox", ())] or None
    except (TypeError, ValueError):
        return None


def _without_spaces(line: Line) -> Line:
    return {**line, "response": re.sub(r"\s", "", text_of(line))}


def _has_spaces(line: Line) -> bool:
    return bool(_ANSWER.match(text_of(line))) and not _PIXEL_ANSWER.fullmatch(text_of(line))


def _is_huge(line: Line) -> bool:
    return bool(_ANSWER.match(text_of(line)) and _HUGE.search(text_of(line)))


def _huge_value(line: Line) -> dict[str, float]:
    return {"acc": 0.0, "distance": 0.0, "format": 1.0}


def _has_no_extent(line: Line) -> bool:
    box = _box(line)
    return box is not None and box[:2] == box[2:]


def _exact_unit(line: Line) -> dict[str, float]:
    return _exact(line, [number / 1000 for number in _point(line)])


def _exact_pixel(line: Line) -> dict[str, float]:
    return _exact(line, _point(line))


def _exact(line: Line, point: list[float]) -> dict[str, float]:
    box = _box(line) or []
    hit = float(bool(_ANSWER.match(text_of(line))) and point == box[:2])
    return {"acc": hit, "distance": hit}


def _is_not_text(line: Line) -> bool:
    return not isinstance(line["response"], str | None)


def _has_unicode_digits(line: Line) -> bool:
    return any(not digits.isascii() for digits in re.findall(r"\d+", text_of(line)))


_NOT_TEXT = Oracle("not-text", _is_not_text, zero)
_UNICODE_DIGITS = Oracle("unicode-digits", _has_unicode_digits, zero)
_HUGE_NUMBER = Oracle("huge-number", _is_huge, _huge_value)
_GELATO = (
    _NOT_TEXT,
    bad_target("gelato"),
    _UNICODE_DIGITS,
    _HUGE_NUMBER,
    Oracle("no-extent", _has_no_extent, _exact_unit),
)
_GELATO_PIXEL = (
    _NOT_TEXT,
    bad_target("gelato-pixel"),
    _UNICODE_DIGITS,
    Oracle("spaces", _has_spaces, same_as=_without_spaces),
    _HUGE_NUMBER,
    Oracle("no-extent", _has_no_extent, _exact_pixel),
)
ORACLES = {"gelato": _GELATO, "gelato-pixel": _GELATO_PIXEL}
