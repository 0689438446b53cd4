"""Where UI-R1's recipe departs from the published code; what the source reads is written down here once more."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grounding_rewards.recipes.common import Line, text_of
from grounding_rewards.scoring import Deviation
from grounding_rewards.spaces import COORDINATE_LIMIT

_CLICK = "click"
_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_SOURCE_NAME = re.compile(r"'action':\s*(?:'(\w+)'|(\w+))")
_SOURCE_PAIR = re.compile(r"\[(\d+),\s*(\d+)\]")
_SOURCE_BOX = re.compile(r"\[(\d+),\s*(\d+),\s*(\d+),\s*(\d+)\]")
_SPACED_KEY = re.compile(r"('action')\s+:")
_WHOLE_PAIR = re.compile(r"\[\s*(\d+)\s*,\s*(\d+)\s*\]")
_ANY_PAIR = re.compile(r"\[\s*(-?(?:\d+(?:\.\d*)?|\.\d+))\s*,\s*(-?(?:\d+(?:\.\d*)?|\.\d+))\s*\]")
_ANY_BOX = re.compile(r"\[\s*" + r"\s*,\s*".join([r"(-?[\d.]+)"] * 4) + r"\s*\]")
_FORMATS = [re.compile(start + r"<answer>.*?</answer>", re.DOTALL) for start in ("", r"<think>.*?</think>\s*")]


def mended(last: bool) -> tuple[Deviation, ...]:
    """The deviations from a file of the source that takes the first coordinate of an answer, or the last."""
    value = _Value(last)
    target = Deviation("target-numbers", _TARGET_NUMBERS, _has_odd_target, value)
    decimals = Deviation("decimals", _DECIMALS, _has_odd_numbers, value)
    origin = Deviation("no-coordinate", _ORIGIN, _has_no_coordinate, value)
    return _DOUBLE_QUOTES, _SPACES, _UNICODE_DIGITS, _OUTER_SPACES, target, decimals, origin


def _answer(text: Any) -> str:
    """What stands between the first pair of tags, "" where there is none."""
    found = _TAGS.search(text) if isinstance(text, str) else None
    return found[1] if found else ""


def _named(answer: str, pattern: re.Pattern[str] = _SOURCE_NAME) -> str | None:
    """The action that an answer names."""
    found = pattern.search(answer)
    return (found[1] or found[2]) if found else None


def _rewritten(line: Line, rewrite: Callable[[str], str]) -> Line:
    """A line with other answers in the response and in the target."""
    found = dict(line)
    for key in ("response", "ground_truth"):
        answer = _TAGS.search(line[key]) if isinstance(line[key], str) else None
        if answer:
            found[key] = line[key][: answer.start(1)] + rewrite(answer[1]) + line[key][answer.end(1) :]
    return found


def _singly(answer: str) -> str:
    """With single quotes, and no white space behind the key, if the source finds a name only so."""
    mended = _SPACED_KEY.sub(r"\1:", answer.replace('"', "'"))
    return answer if _named(answer) or _named(_SPACED_KEY.sub(r"\1:", answer)) == _named(mended) else mended


def _quoted_singly(line: Line) -> Line:
    return _rewritten(line, _singly)


def _is_quoted_doubly(line: Line) -> bool:
    return _quoted_singly(line) != line


def _tight_answer(answer: str) -> str:
    """Without white space behind the key if the source finds a name only so; and so for the pairs."""
    answer = answer if _named(answer) else _SPACED_KEY.sub(r"\1:", answer)
    outside, brace, braced = answer.partition("{")
    if not _SOURCE_PAIR.search(answer):
        outside = _WHOLE_PAIR.sub(r"[\1, \2]", outside)
    if not _SOURCE_PAIR.search(braced):
        braced = _WHOLE_PAIR.sub(r"[\1, \2]", braced)
    return outside + brace + braced


def _tight(line: Line) -> Line:
    return _rewritten(line, _tight_answer)


def _has_spaces(line: Line) -> bool:
    return _tight(line) != line


def _has_unicode_digits(line: Line) -> bool:
    return any(not "".join(pair).isascii() for pair in _ANY_PAIR.findall(_answer(text_of(line))))


def _without_unicode(line: Line) -> Line:
    kept = _ANY_PAIR.sub(lambda pair: pair[0] if (pair[1] + pair[2]).isascii() else "[]", text_of(line))
    return {**line, "response": kept}


def _stripped(line: Line) -> Line:
    return {**line, "response": text_of(line).strip()}


def _has_outer_spaces(line: Line) -> bool:
    """Is the text well formed in either form but for white space around it?"""
    text = text_of(line)
    return any(form.fullmatch(text.strip()) and not form.fullmatch(text) for form in _FORMATS)


def _target_box(line: Line) -> list[float]:
    """A click's box as it is written, [] of other targets."""
    answer = _answer(line["ground_truth"])
    found = _ANY_BOX.search(answer) if _named(answer) == _CLICK else None
    return [float(edge) for edge in found.groups()] if found else []


def _has_odd_target(line: Line) -> bool:
    return bool(_target_box(line)) and not _SOURCE_BOX.search(_answer(line["ground_truth"]))


def _both(answer: str) -> tuple[str, str]:
    """Where the source's files look for a coordinate: in all of the answer, or behind its first brace."""
    return answer, answer.partition("{")[2]


def _has_odd_numbers(line: Line) -> bool:
    """Is there a place in which the source finds no pair, and one with decimals or signs stands?"""
    return any(_ANY_PAIR.search(part) and not _SOURCE_PAIR.search(part) for part in _both(_answer(text_of(line))))


def _has_no_coordinate(line: Line) -> bool:
    """Does a click say nowhere where, or not where a file looks, while its target holds the image's first pixel?"""
    answer, box = _answer(text_of(line)), _target_box(line)
    clicks = bool(box) and _named(answer) == _CLICK
    nowhere = any(not _ANY_PAIR.search(part) for part in _both(answer))
    return clicks and nowhere and box[0] <= 0 <= box[2] and box[1] <= 0 <= box[3]


@dataclass(frozen=True)
class _Value:
    """Numbers as they are written: of the last pair behind a brace, or of the first pair; a click without is no hit."""

    last: bool

    def __call__(self, line: Line) -> dict[str, float]:
        answer, wanted = _answer(text_of(line)), _answer(line["ground_truth"])
        named, box, part = _named(answer), _target_box(line), _both(answer)[self.last]
        pairs = _SOURCE_PAIR.findall(part) or _ANY_PAIR.findall(part)
        right = named is not None and named == _named(wanted)
        done = right and named != _CLICK
        if right and pairs and box:
            pair = zip(pairs[-1 if self.last else 0], line["extra"]["scale"], strict=True)
            x, y = (
                math.floor(max(-COORDINATE_LIMIT, min(float(number), COORDINATE_LIMIT)) * scale)
                for number, scale in pair
            )
            done = box[0] <= x <= box[2] and box[1] <= y <= box[3]
        return {"action": float(right), "coord": float(done), "acc": float(done)}


_DOUBLE_QUOTES = Deviation(
    "double-quotes",
    "Keys and names in double quotes are read, as JSON has them, in targets too; the source knows single ones alone, "
    "and pays 0.",
    _is_quoted_doubly,
    same_as=_quoted_singly,
)
_SPACES = Deviation(
    "spaces",
    "White space after [, before a comma, a colon or ] is read over where the source finds no name or no pair, in "
    "targets too; the source takes such a pair for none.",
    _has_spaces,
    same_as=_tight,
)
_UNICODE_DIGITS = Deviation(
    "unicode-digits",
    "Only ASCII digits are digits, others make no coordinate; the source reads those of other scripts as numbers.",
    _has_unicode_digits,
    same_as=_without_unicode,
)
_OUTER_SPACES = Deviation(
    "outer-spaces",
    "White space around the response, such as a last line feed, is no fault of format; the source pays 0 for it.",
    _has_outer_spaces,
    same_as=_stripped,
)
_TARGET_NUMBERS = (
    "A target's box may have decimals, as the source's own data have, and signs; the source reads such a box as four "
    "zeros, which no right answer hits, and one without a coordinate does."
)
_DECIMALS = (
    "Coordinates may have decimals and signs where there is no pair of whole numbers; the source takes such a pair for "
    "none, and tests the point (0, 0)."
)
_ORIGIN = "A click without a coordinate is no hit; the source tests it as the point (0, 0)."
