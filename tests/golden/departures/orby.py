"""Oracles of Orby's rewards of grounding."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

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


ORACLES = {
    "orby": (
        bad_target("orby"),
        Oracle("no-pair", _is_no_pair, lambda line: {"acc": 0.0, "place": 0.0}),
    ),
    "orby-action": (
        bad_target("orby-action"),
        Oracle("bare-name", _is_bare, lambda line: {"valid": 1.0}),
    ),
}
