"""GUI-Odyssey's own rule: ``CLICK: (x, y)``, in a box of the right place or within 140 thousandths of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grounding_rewards.actions import OPPOSITE, Act
from grounding_rewards.evaluators.compare import failed, holds, pixels, text
from grounding_rewards.evaluators.rule import Size, StepRule, StepVerdict
from grounding_rewards.evaluators.rules.os_atlas import thousandths
from grounding_rewards.literals import python_literal
from grounding_rewards.verifiers.edits import likeness

_WORDS = {"back": "PRESS_BACK", "home": "PRESS_HOME", "recent": "PRESS_RECENT", "finished": "COMPLETE"}
_KINDS = ("CLICK", "LONG_PRESS", "SCROLL", "TYPE", "IMPOSSIBLE", *_WORDS.values())
_REACH = 140  # thousandths


def _judge(response: str, gold: Mapping[str, Any], size: Size, options: Mapping[str, Any]) -> StepVerdict:
    (kind, said), (right, wanted) = _read(response), _read(gold["answer"])
    if kind != right:
        return StepVerdict(False, None, False, read=kind in _KINDS)
    if kind in ("CLICK", "LONG_PRESS"):
        hit = _hit(said, wanted, gold.get("sam2_bbox"))
        return StepVerdict(True, hit, hit)
    if kind == "SCROLL":
        return StepVerdict(True, None, said.upper() == wanted.upper())
    return StepVerdict(True, None, kind != "TYPE" or said in wanted or wanted in said or likeness(said, wanted) >= 0.5)


def _read(line: str) -> tuple[str, str]:
    kind, _, said = line.partition(":")
    return kind.strip(), said.partition(":")[0].strip()


@np.errstate(all="ignore")  # places may be infinite
def _hit(said: str, wanted: str, box: Any) -> bool:
    """Return True for a place in the box or near the right one; False for what is neither, as their code says too."""
    try:
        at, right = (np.array(python_literal(f"[{text}]")) for text in (said, wanted))
        if box is not None:
            (x, y), (x1, y1, x2, y2) = at.ravel().tolist(), box
            if holds((x1, y1, x2, y2), (x, y)):
                return True
        return bool(np.linalg.norm(at - right) <= _REACH)
    except (ArithmeticError, TypeError, ValueError):
        return False


def _answer(act: Act, size: Size) -> str:
    if act.name == "scroll":
        return f"SCROLL: {OPPOSITE.get(act.arguments.get('direction', ''), '').upper()}"
    if act.place:
        return "{}: ({}, {})".format(act.name.upper(), *thousandths(act))
    if act.name == "type":
        return f"TYPE: {text(act)}"
    return "IMPOSSIBLE" if failed(act) else _WORDS.get(act.name, act.name.upper())


ODYSSEY = StepRule(
    "odyssey", "OpenGVLab/GUI-Odyssey fefcbe9, src/eval_mm", _judge, _answer,
    lambda step: {
        "answer": _answer(step.act, step.image_size),
        "sam2_bbox": pixels(step.boxes[0], (1000, 1000)) if step.boxes else None,
    },
    faults="Texts end at their first colon; an empty text is right; a click whose box is [] is wrong anywhere, and its "
    "type right; answers are run as code, where this rule reads only literals.",
    also=("gui-odyssey",),
)  # fmt: skip
