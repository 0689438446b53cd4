"""Oracles of AgentCPM-GUI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from grounding_rewards.parsing.literal import LiteralError
from grounding_rewards.parsing.published import compact_json, is_compact_action, is_fenced
from grounding_rewards.verifiers.match import MOST_COMPARED, MOST_PAIRS
from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, truth_of

_BESIDE = {"bbox": "bboxs", "image_size": "resolution"}


def row_of(line: Line) -> Any:
    """Return the ground truth with the box and the size that the source has in lists beside it, the first of each."""
    truth, extra = line["ground_truth"], extra_of(line)
    if not isinstance(truth, Mapping):
        return truth
    lists = {name: extra[key] for name, key in _BESIDE.items() if isinstance(extra.get(key), list) and extra[key]}
    return {**truth, **{name: each[0] for name, each in lists.items()}}


def _action(line: Line) -> Mapping[str, Any]:
    """Return the action of a line; {} without one."""
    try:
        value = compact_json(text_of(line))
    except LiteralError:
        return {}
    return value if is_compact_action(value) else {}


def _texts(line: Line) -> tuple[Any, Any]:
    """Return the two texts that are compared: the whole response and a free text, or the typed ones."""
    truth = truth_of(line)
    if isinstance(truth, str):
        return text_of(line), truth
    return _action(line).get("TYPE"), truth.get("TYPE") if isinstance(truth, Mapping) else None


def _likeness(answered: str, wanted: str) -> tuple[float, bool]:
    """Return the likeness of two texts as far as they are compared, and True where that is not to their ends."""
    a, b = answered[:MOST_COMPARED], wanted[:MOST_COMPARED]
    held = Counter(b)
    pairs = sum(count * held[character] for character, count in Counter(a).items())
    part = min(1.0, (MOST_PAIRS / pairs) ** 0.5) if pairs else 1.0
    if part < 1:
        a, b = a[: int(len(a) * part)], b[: int(len(b) * part)]
    same = sum(block.size for block in SequenceMatcher(None, a, b).get_matching_blocks())
    return 2.0 * same / max(len(answered) + len(wanted), 1), (a, b) != (answered, wanted)


def _are_long(line: Line) -> bool:
    answered, wanted = _texts(line)
    return (
        isinstance(answered, str) and isinstance(wanted, str) and answered != wanted and _likeness(answered, wanted)[1]
    )


def _long_value(line: Line) -> dict[str, float]:
    """Return no success, and the likeness as the score where nothing else is scored."""
    answered, wanted = _texts(line)
    alike, truth = _likeness(answered, wanted)[0], truth_of(line)
    if isinstance(truth, str):
        return {"acc": 0.0, "type": alike, "args": alike}
    if set(_action(line)) - {"thought"} == set(truth) == {"TYPE"}:
        return {"acc": 0.0, "type": 1.0, "args": alike - 0.05 * is_fenced(text_of(line))}
    return {"acc": 0.0}


ORACLES = (
    bad_target("agentcpm-gui", row_of),
    Oracle("long-texts", _are_long, _long_value),
)
