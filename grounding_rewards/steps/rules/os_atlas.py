"""OS-Atlas' rules: a line of an action after ``actions:``, places in thousandths of the screen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import hypot
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.steps.rule import STOPPED, Size, Step, StepRule, StepVerdict

_PLACED = ("CLICK", "LONG_PRESS")
_WORDED = ("TYPE", "OPEN_APP")  # the first word of the text alone is compared
_WORDS = {
    "click": "CLICK", "long_press": "LONG_PRESS", "type": "TYPE", "scroll": "SCROLL", "open_app": "OPEN_APP",
    "back": "PRESS_BACK", "home": "PRESS_HOME", "recent": "PRESS_RECENT", "enter": "ENTER", "wait": "WAIT",
    "finished": "COMPLETE",
}  # fmt: skip
_REACH = 140  # thousandths
_END = "<|im_end>"  # letters, each of which is stripped of both ends


def _android_control(response: str, gold: str, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    line = response.partition("actions:\n")[2].strip(_END)
    kind, right = line.strip().split(" ")[0], gold.split(" ")[0]
    if line == "" and right not in _PLACED:
        return STOPPED
    if kind != right:
        return StepVerdict(False, None, False, read=kind in _WORDS.values())
    if kind in _PLACED:
        hit = near(line, gold)
        return StepVerdict(True, hit, hit)
    if kind in _WORDED:
        words, rights = line.lower().split(" "), gold.lower().split(" ")
        return StepVerdict(True, None, words[1] == rights[1]) if len(words) > 1 else STOPPED
    return StepVerdict(True, None, line == gold)


def near(line: str, gold: str) -> bool:
    """Return True where the first two whole numbers of two lines are at most 140 thousandths apart."""
    at, right = numbers(line), numbers(gold)
    return len(at) > 1 and hypot(at[0] - right[0], at[1] - right[1]) <= _REACH


def numbers(line: str) -> list[int]:
    """Return the whole numbers of a line without their signs."""
    return [int(each) for each in re.findall(r"\d+", line)]


def written(act: Act, size: Size = None) -> str:
    """Return an action as OS-Atlas writes it."""
    word = _WORDS.get(act.name, act.name.upper())
    if act.place and "direction" not in act.arguments:
        x, y = (round(1000 * each) for each in act.place[:2])
        return f"{word} <point>[[{x},{y}]]</point>"
    said = act.arguments.get("text") or act.arguments.get("app") or str(act.arguments.get("direction", "")).upper()
    return f"{word} [{said}]" if word in ("TYPE", "OPEN_APP", "SCROLL") else word


def _answer(act: Act, size: Size) -> str:
    return f"actions:\n{written(act)}"


def _gold(step: Step) -> str:
    return written(step.act)


ANDROID_CONTROL = StepRule(
    "os-atlas",
    "OS-Copilot/OS-Atlas bad0840, eval/eval_scripts/android_control/evaluation_unify.py",
    _android_control,
    _answer,
    _gold,
    also=("os-atlas-android-control",),
)
