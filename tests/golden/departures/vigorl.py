"""Oracles of ViGoRL."""

from __future__ import annotations

import ast
import re

from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of

_ANSWER = re.compile("<answer>(.*?)</answer>")


def _is_wire(line: Line) -> bool:
    """Is the target anything but a text of four whole numbers?"""
    try:
        box = ast.literal_eval(line["ground_truth"]) if isinstance(line["ground_truth"], str) else None
    except (ValueError, SyntaxError):
        return True
    return not isinstance(box, tuple | list) or not all(isinstance(each, int) for each in box)


def _is_no_pair(line: Line) -> bool:
    """Is the answer a literal, and neither a tuple nor a list nor a text; or is the response no text?"""
    if not isinstance(line["response"], str):
        return True
    answer = _ANSWER.search(text_of(line))
    try:
        value = ast.literal_eval((answer[1] if answer else text_of(line)).strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return False
    return not isinstance(value, tuple | list | str)


def _is_huge(line: Line) -> bool:
    return re.search("(?<![0-9])[0-9]{309,4300}(?![0-9])", text_of(line)) is not None


ORACLES = {
    "vigorl": (
        bad_target("vigorl"),
        Oracle("wire-target", _is_wire, lambda line: {"valid": 1.0}),
        Oracle(
            "no-pair", _is_no_pair, lambda line: {"acc": 0.0, "hit": 0.0, "grounded.acc": 0.0, "multicrop.acc": 0.0}
        ),
    ),
    "vigorl-uground": (
        bad_target("vigorl-uground"),
        Oracle("huge-number", _is_huge, lambda line: {"nearness": 0.0, "valid": 1.0}),
    ),
    "vigorl-web": (bad_target("vigorl-web"),),
}
