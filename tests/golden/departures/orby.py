"""Oracles of Orby's rewards."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, truth_of

_CALL = re.compile("<tool_call>(.*?)</tool_call>", re.DOTALL)


def _is_no_pair(line: Line) -> bool:
    call = _CALL.search(text_of(line)) if extra_of(line).get("prompt_format") else None
    try:
        value = json.loads(call[1]) if call else {}
    except ValueError:
        return False
    if not isinstance(value, dict):
        return True
    arguments = value.get("arguments")
    pair = arguments.get("coordinate") if isinstance(arguments, dict) else None
    if isinstance(pair, list):
        return any(isinstance(each, bool | str | list | dict | None) or not math.isfinite(each) for each in pair)
    return pair is not None


def _is_bare(line: Line) -> bool:
    truth = truth_of(line)
    action = truth.get("action") if isinstance(truth, Mapping) else None
    return isinstance(action, str) and "(" not in action


def _is_boxed(line: Line) -> bool:
    truth = truth_of(line)
    boxes = truth.get("bbox") if isinstance(truth, Mapping) else None
    listed = isinstance(boxes, list) and all(isinstance(box, list) for box in boxes)
    return extra_of(line).get("kw", {}).get("coordinates_metric") == "bbox" or not (boxes is None or listed)


def _without_box(line: Line) -> Line:
    truth = {key: value for key, value in truth_of(line).items() if key != "bbox"}
    return {**line, "ground_truth": truth, "extra": {"task": "subtask"}}


_ACTION = re.compile("<action>(.*?)</action>", re.DOTALL)
_OF_LITERALS = (
    ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load, ast.UnaryOp, ast.USub, ast.UAdd,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.keyword,
)  # fmt: skip


def _runs_code(line: Line) -> bool:
    found = _ACTION.search(text_of(line))
    try:
        call = ast.parse(found[1].strip(), mode="eval").body if found else None
    except (SyntaxError, ValueError):
        return False
    if not isinstance(call, ast.Call):
        return False
    return any(not isinstance(node, _OF_LITERALS) for each in (*call.args, *call.keywords) for node in ast.walk(each))


def _no_call(line: Line) -> dict[str, float]:
    return {"kind": 0.0, "place": 0.0, "content": 0.0, "acc": 0.0}


def subtask_form(line: Line) -> dict[str, Any]:
    """Return whose response a line of subtasks is."""
    truth = line.get("ground_truth")
    return {"form": "critic" if isinstance(truth, Mapping) and "should_end" in truth else "executor"}


ORACLES = {
    "orby": (
        bad_target("orby"),
        Oracle("no-pair", _is_no_pair, lambda line: {"acc": 0.0, "place": 0.0}),
    ),
    "orby-action": (
        bad_target("orby-action"),
        Oracle("bare-name", _is_bare, lambda line: {"valid": 1.0}),
    ),
    "orby-subtask": (
        bad_target("orby-subtask", options=subtask_form),
        Oracle("box", _is_boxed, same_as=_without_box),
        Oracle("no-eval", _runs_code, _no_call),
        Oracle("bare-name", _is_bare, lambda line: {"valid": 1.0}),
    ),
}
