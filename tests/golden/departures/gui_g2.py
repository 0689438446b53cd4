"""Oracles of GUI-G2."""

from __future__ import annotations

import math
import re

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.readers import TURN
from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, truth_of, without_unicode

_DIGITS = 3
_SMALL = 1600
_SOURCE_ANSWER = re.compile(r"\[\s*" + r"\s*,\s*".join([r"(-?(?:\d+(?:\.\d+)?|\.\d+))"] * 4) + r"\s*\]")
_SOURCE_FORMAT = re.compile(r"\[\s*[0-9]+\s*(?:,\s*[0-9]+\s*){3}\]")


def _match(line: Line) -> re.Match[str] | None:
    """Return the answer that the source reads."""
    return _SOURCE_ANSWER.search(text_of(line).rsplit(TURN, 1)[-1])


def _has_unicode_digits(line: Line) -> bool:
    match = _match(line)
    return bool(match) and not all(number.isascii() for number in match.groups())  # type: ignore[union-attr]


def _has_spaces(line: Line) -> bool:
    answer = text_of(line).rsplit(TURN, 1)[-1]
    return answer != answer.strip() and bool(_SOURCE_FORMAT.fullmatch(answer.strip()))


def _stripped(line: Line) -> Line:
    return {**line, "response": text_of(line).rsplit(TURN, 1)[-1].strip()}


def _boxes(line: Line) -> tuple[list[float], list[float]] | None:
    """Return the predicted box, limited as all coordinates are, and the target's."""
    match = _match(line)
    if not match:
        return None
    predicted = [min(max(float(number), -COORDINATE_LIMIT), COORDINATE_LIMIT) for number in match.groups()]
    return predicted, [float(edge) for edge in truth_of(line)]


def _is_huge(line: Line) -> bool:
    match = _match(line)
    return bool(match) and any(abs(float(number)) > COORDINATE_LIMIT for number in match.groups())  # type: ignore[union-attr]


def _is_thin(line: Line) -> bool:
    boxes = _boxes(line)
    if not boxes:
        return False
    (width, height), (target_width, target_height) = ([abs(b[2] - b[0]), abs(b[3] - b[1])] for b in boxes)
    tiny = target_width * target_height < _SMALL
    return min(target_width, target_height) < 1 or (tiny and min(width, height) < 1)


def _exact_value(line: Line) -> dict[str, float]:
    """Compute both Gaussians in closed form, axis by axis."""
    predicted, target = _boxes(line) or ([], [])
    point = coverage = 1.0
    inside = True
    for low, high in ((0, 2), (1, 3)):
        d = (predicted[low] + predicted[high]) / 2 - (target[low] + target[high]) / 2
        inside = inside and target[low] <= (predicted[low] + predicted[high]) / 2 <= target[high]
        s, t = abs(predicted[high] - predicted[low]) / 2, (target[high] - target[low]) / 2
        point *= math.exp(-d / t * d / t / 2) if t else float(d == 0)
        if s and t:
            coverage *= math.sqrt(2 * s * t / (s * s + t * t)) * math.exp(-d * d / (4 * (s * s + t * t)))
        else:
            coverage *= float(s == t == d)
    return {"acc": float(inside), "point": round(point, _DIGITS), "coverage": round(coverage, _DIGITS)}


ORACLES = (
    bad_target("gui-g2"),
    Oracle("unicode-digits", _has_unicode_digits, same_as=without_unicode),
    Oracle("spaces", _has_spaces, same_as=_stripped),
    Oracle("huge-number", _is_huge, _exact_value),
    Oracle("thin-box", _is_thin, _exact_value),
)
