"""Oracles of VisionReasoner."""

from __future__ import annotations

from tests.golden.departures.oracle import Line, Oracle, bad_target


def _is_no_text(line: Line) -> bool:
    return not isinstance(line["response"], str)


ORACLES = (
    bad_target("vision-reasoner"),
    Oracle("no-text", _is_no_text, lambda line: {"acc": 0.0, "matched": 0.0}),
)
