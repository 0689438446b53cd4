"""Oracles of GUI-RCPO's code: groups in which a response says no place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.golden.departures.oracle import Line, Oracle

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _numbers(text: str) -> list[float]:
    """Return the numbers of a place; [] where there are not two or four, in ASCII digits."""
    numerals = _NUMBER.findall(text)
    return [float(each) for each in numerals] if len(numerals) in (2, 4) and "".join(numerals).isascii() else []


def _box(numbers: list[float], model: str, size: list[int], grow: int) -> list[int]:
    x1, y1, x2, y2 = (min(each, 1e12) for each in (numbers if len(numbers) == 4 else numbers * 2))
    scale = (
        1000 if "UGround" in model or "Atlas" in model else 1,
        model.startswith(("InternVL", "UGround", "OS-")),
    )
    sides = [each / scale[0] * (size[axis % 2] if scale[1] else 1) for axis, each in enumerate((x1, y1, x2, y2))]
    more = grow if model.startswith(("UI-TARS", "InternVL", "UGround")) else 0
    moved = [side + (more if axis > 1 else -more) for axis, side in enumerate(sides)]
    return [int(max(0, min(size[axis % 2], side))) for axis, side in enumerate(moved)]


def _values(line: Line) -> dict[str, float]:
    """Return the rewards of a group whose texts without a place do not vote, by counting pixels."""
    extra: Any = line["extra"]
    width, height = extra["image_size"]
    votes, boxes = np.zeros((height, width)), []
    for text in line["response"]:
        numbers = _numbers(text)
        box = _box(numbers, extra["model"], extra["image_size"], extra["point_expand_size"]) if numbers else [0] * 4
        boxes.append(box)
        votes[box[1] : box[3], box[0] : box[2]] += 1
    held = [votes[box[1] : box[3], box[0] : box[2]] for box in boxes]
    return {f"rewards.{row}": float(each.mean() / votes.max()) if each.size else 0.0 for row, each in enumerate(held)}


ORACLES = (
    Oracle("no-place", lambda line: not all(map(_numbers, line["response"])), _values),
    Oracle(
        "huge-number", lambda line: max(each for text in line["response"] for each in _numbers(text)) > 1e12, _values
    ),
)
