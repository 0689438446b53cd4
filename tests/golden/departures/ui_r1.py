"""Oracles of UI-R1 and its later forms; what the source reads is written down here once more."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of

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


def _answer(text: Any) -> str:
    """Return the text between the first pair of tags, "" where there is none."""
    match = _TAGS.search(text) if isinstance(text, str) else None
    return match[1] if match else ""


def _named(answer: str, pattern: re.Pattern[str] = _SOURCE_NAME) -> str | None:
    """Return the action that an answer names."""
    match = pattern.search(answer)
    return (match[1] or match[2]) if match else None


def _rewritten(line: Line, rewrite: Callable[[str], str]) -> Line:
    """Return a line with other answers in the response and in the target."""
    rewritten = dict(line)
    for key in ("response", "ground_truth"):
        answer = _TAGS.search(line[key]) if isinstance(line[key], str) else None
        if answer:
            rewritten[key] = line[key][: answer.start(1)] + rewrite(answer[1]) + line[key][answer.end(1) :]
    return rewritten


def _singly(answer: str) -> str:
    """Write single quotes, and no white space behind the key, if the source finds a name only so."""
    single = _SPACED_KEY.sub(r"\1:", answer.replace('"', "'"))
    return answer if _named(answer) or _named(_SPACED_KEY.sub(r"\1:", answer)) == _named(single) else single


def _quoted_singly(line: Line) -> Line:
    return _rewritten(line, _singly)


def _is_quoted_doubly(line: Line) -> bool:
    return _quoted_singly(line) != line


def _tight_answer(answer: str) -> str:
    """Remove white space behind the key if the source finds a name only so; and so for the pairs."""
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
    """Return a click's box as it is written, [] of other targets."""
    answer = _answer(line["ground_truth"])
    match = _ANY_BOX.search(answer) if _named(answer) == _CLICK else None
    return [float(edge) for edge in match.groups()] if match else []


def _has_decimal_target(line: Line) -> bool:
    return bool(_target_box(line)) and not _SOURCE_BOX.search(_answer(line["ground_truth"]))


def _both(answer: str) -> tuple[str, str]:
    """Return the texts in which the source's files look for a coordinate: all, and behind the first brace."""
    return answer, answer.partition("{")[2]


def _has_decimals(line: Line) -> bool:
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
    """Score numbers as written: the last pair behind a brace, or the first pair; a click without is no hit."""

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


def _of(recipe: str, *, last: bool) -> tuple[Oracle, ...]:
    """Return the oracles of a form of the source that takes the first coordinate of an answer, or the last."""
    value = _Value(last)
    return (
        bad_target(recipe),
        Oracle("double-quotes", _is_quoted_doubly, same_as=_quoted_singly),
        Oracle("spaces", _has_spaces, same_as=_tight),
        Oracle("unicode-digits", _has_unicode_digits, same_as=_without_unicode),
        Oracle("outer-spaces", _has_outer_spaces, same_as=_stripped),
        Oracle("target-numbers", _has_decimal_target, value),
        Oracle("decimals", _has_decimals, value),
        Oracle("no-coordinate", _has_no_coordinate, value),
    )


ORACLES = {name: _of(name, last=name != "ui-r1") for name in ("ui-r1", "ui-r1-e", "ui-r1-dast")}
