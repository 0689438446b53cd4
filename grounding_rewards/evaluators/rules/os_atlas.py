"""OS-Atlas' rules: a line of an action after ``actions:``, places in thousandths of the screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import eq
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import apart, failed, point, text
from grounding_rewards.evaluators.rule import STOPPED, Judge, Size, StepRule, StepVerdict
from grounding_rewards.verifiers.match import token_f1

_PLACED = ("CLICK", "LONG_PRESS", "MOVETO", "RIGHTCLICK", "DOUBLECLICK")
_WORDS = {
    "hover": "MOVETO", "back": "PRESS_BACK", "home": "PRESS_HOME", "recent": "PRESS_RECENT", "finished": "COMPLETE",
    "right_click": "RIGHTCLICK", "double_click": "DOUBLECLICK", "key": "HOTKEY",
}  # fmt: skip
_REACH, _F1 = 140, 0.5  # thousandths
_END = "<|im_end>"  # letters, each of which is stripped of both ends

Same = Callable[[str, str], bool]


def _android_control(response: str, gold: str, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    line = _said(response)
    if "actions:\n" in response and not line.split():
        return STOPPED  # their code takes the first word of it
    return _judged(line, gold, {"TYPE": _first_word, "OPEN_APP": _first_word}, most=None)


def _gui_odyssey(response: str, gold: str, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    line = _said(response).strip()
    rules = {"TYPE": lambda a, b: token_f1(a, b) > _F1, "SCROLL": eq}
    return _judged(line, gold, rules, lambda a, b: True)


def _omniact(response: str, gold: str, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    rules = {"TYPE": _first_word, "SCROLL": lambda a, b: a.split()[1] in b}
    lines = zip(_said(response).split("\n"), gold.split("\n"), strict=False)  # those that are missing do not count
    each = [_judged(line, right, rules) for line, right in lines]
    places = [one.place for one in each if one.place is not None]
    right = all(one.step for one in each)
    return StepVerdict(all(one.type for one in each), all(places) if places else None, right, read=each[0].read)


def _said(response: str) -> str:
    return response.partition("actions:\n")[2].strip(_END)


def _judged(line: str, gold: str, rules: Mapping[str, Same], others: Same = eq, most: int | None = 2) -> StepVerdict:
    """Compare two lines, by their kind, and places by distance, where they have at most so many numbers."""
    kind = (line.split() or [""])[0]
    if kind != gold.split(" ")[0]:
        return StepVerdict(False, None, False, read=kind != "")
    if kind not in _PLACED:
        return StepVerdict(True, None, rules.get(kind, others)(line, gold))
    at, right = ([int(each) for each in re.findall(r"\d+", text)] for text in (line, gold))  # without signs
    hit = len(at[:most]) == len(at) > 1 and apart(at, right) <= _REACH
    return StepVerdict(True, hit, hit)


def _first_word(line: str, gold: str) -> bool:
    return token_f1(line.split()[1], gold.split()[1]) > _F1


def _written(act: Act) -> str:
    """Return an action as OS-Atlas writes it."""
    word = _WORDS.get(act.name, act.name.upper())
    said = text(act) or str(act.arguments.get("direction", "")).upper()
    if act.place and "direction" not in act.arguments:
        return "{} <point>[[{},{}]]</point>".format(word, *thousandths(act))
    if failed(act):
        return "IMPOSSIBLE"
    said = said.replace("+", "_").upper() if word == "HOTKEY" else said
    return f"{word} [{said}]" if word in ("TYPE", "OPEN_APP", "SCROLL", "HOTKEY") else word


def thousandths(act: Act) -> tuple[int, int]:
    """Return an action's place in thousandths of the screen."""
    x, y = map(round, point(act, (1000, 1000)))
    return x, y


def _rule(source: str, code: Judge, faults: str) -> StepRule:
    return StepRule(
        "os-atlas", f"OS-Copilot/OS-Atlas bad0840, {source}", code,
        lambda act, size: f"actions:\n{_written(act)}", lambda step: _written(step.act),
        faults=f"Places have no sign, and 499.9 is 499, 9; the letters of {_END} are cut off. {faults}",
    )  # fmt: skip


ANDROID_CONTROL = _rule(
    "eval/eval_scripts/android_control/evaluation_unify.py", _android_control,
    "Only the first word of a text is compared; an empty action ends the run.",
)  # fmt: skip
GUI_ODYSSEY = _rule(
    "evaluation of GUI-Odyssey", _gui_odyssey,
    "F1 of a text counts the word TYPE, so [red shop] is [red hat]; what is right is read from the file of answers.",
)  # fmt: skip
OMNIACT = _rule(
    "evaluation of OmniACT", _omniact,
    "Only the first word of a text is compared; lines that an answer lacks are not counted.",
)  # fmt: skip
