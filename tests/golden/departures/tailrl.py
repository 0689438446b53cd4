"""Oracles of TailRL."""

from __future__ import annotations

import math
import re

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.resizing import Resizing
from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, truth_of, without_unicode

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_PAIR, _BOX = (re.compile(rf"[\[(]\s*{_NUMBER}{more}\s*[\])]") for more in (
    rf"\s*,\s*{_NUMBER}", rf"\s*,\s*{_NUMBER}" * 3,
))  # fmt: skip


def _numbers(line: Line) -> tuple[str, ...]:
    """Return the numerals of the place that the source reads."""
    found = _BOX.findall(text_of(line)) or _PAIR.findall(text_of(line))
    return found[-1] if found else ()


def _without_spread(line: Line) -> bool:
    return extra_of(line).get("sigma_scale") == 0


def _has_unicode_digits(line: Line) -> bool:
    return any(not "".join(found).isascii() for pattern in (_PAIR, _BOX) for found in pattern.findall(text_of(line)))


def _is_below_nothing(line: Line) -> bool:
    truth, numbers = truth_of(line), [float(each) for each in _numbers(line)]
    if not numbers:
        return False
    x, y = sum(numbers[::2]) / len(numbers[::2]), sum(numbers[1::2]) / len(numbers[1::2])
    box, size = (
        (truth.get("bbox", truth.get("bbox_2d")), truth.get("wh", truth.get("size")))
        if isinstance(truth, dict)
        else (truth, None)
    )
    given = {name: each for name, each in extra_of(line).items() if name in ("min_pixels", "max_pixels")}
    bounds = given | {f"processor_{name}": each for name, each in given.items()}
    width, height = Resizing("easyr1+qwen2_5_vl", **bounds).sizes([read_size(size)])[0][0] if size else (1000, 1000)
    cx, cy = (box[0] + box[2]) / 2000, (box[1] + box[3]) / 2000
    away = math.hypot(x / width - cx, y / height - cy)
    return max(math.hypot(cx - right, cy - lower) for right in (0, 1) for lower in (0, 1)) < away <= 1


ORACLES = (
    bad_target("tailrl", sized=True),
    Oracle("no-spread", _without_spread, lambda line: {}),
    Oracle("unicode-digits", _has_unicode_digits, same_as=without_unicode),
    Oracle("below-nothing", _is_below_nothing, lambda line: {"segui.nearness": 0.0}),
)
