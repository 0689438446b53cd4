"""Oracles of VLM-R1."""

from __future__ import annotations

import json
import re

from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, without_unicode

_BOX = re.compile(r"\[(\d+),\s*(\d+),\s*(\d+),\s*(\d+)\]")
_ANSWER = re.compile("<answer>(.*?)</answer>", re.DOTALL)


def _has_unicode_digits(line: Line) -> bool:
    return any(not "".join(box).isascii() for box in _BOX.findall(text_of(line)))


def _is_thin(line: Line) -> bool:
    answer = _ANSWER.search(text_of(line))
    box = _BOX.search(answer[1]) if answer else None
    extra, truth = extra_of(line), json.loads(_ANSWER.findall(line["ground_truth"])[-1])
    if box is None or min(truth[2] - truth[0], truth[3] - truth[1]) > 1:
        return False
    seen = [side // 14 * 14 for side in extra["input_size"]]
    scale = [original / side for original, side in zip(extra["image_size"], seen, strict=True)]
    return [int(edge) * scale[axis % 2] for axis, edge in enumerate(box.groups())] == truth


ORACLES = (
    bad_target("vlm-r1"),
    Oracle("unicode-digits", _has_unicode_digits, same_as=without_unicode),
    Oracle("thin-target", _is_thin, lambda line: {"iou": 1.0, "acc": 1.0}),
)
