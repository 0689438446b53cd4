"""Actions of one line: OS-Atlas's actions, the words of OSWorld, and a name in front of a place.

thoughts: I hold it.
actions:
LONG_PRESS <point>[[512, 384]]</point>

TYPE [hello]
SCROLL [DOWN]
PRESS_BACK
```WAIT```
right click at (512, 384)
"""

from __future__ import annotations

import re

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.dialects.actions._limits import Gated
from grounding_rewards.parsing.patterns import PLACE, either_case
from grounding_rewards.parsing.texts import SPACE, number

WORDS = {
    "WAIT": "wait", "ENTER": "enter", "PRESS_BACK": "back", "PRESS_HOME": "home", "PRESS_RECENT": "recent",
    "COMPLETE": "finished", "DONE": "finished", "FAIL": "finished", "IMPOSSIBLE": "finished",
}  # fmt: skip
"""Answers of one word, and their actions in the vocabulary; FAIL and IMPOSSIBLE give up the task."""

_FAILED = ("FAIL", "IMPOSSIBLE")
_AT_A_PLACE = {
    "click": "click", "tap": "click", "leftclick": "click", "doubleclick": "double_click", "doubletap": "double_click",
    "tripleclick": "triple_click", "rightclick": "right_click", "middleclick": "middle_click", "hover": "hover",
    "longpress": "long_press", "longclick": "long_press",
}  # fmt: skip
_TOGETHER = str.maketrans("", "", " _-")
_NAMES = either_case("(?:click|tap|hover|(?:left|double|triple|right|middle|long)[ _-]?(?:click|tap|press))")
_OPEN = rf"(?:(?:<\|box_start\|>|<point>|<box>){SPACE})?"
_CLOSE = rf"(?:(?:<\|box_end\|>|</point>|</box>){SPACE})?"

_START = rf"(?:(?:(?s:.*)\n)?[ \t]*{either_case('actions?')}:)?"
_FORMS = (
    rf"(?P<word>{'|'.join(WORDS)})",
    r"(?P<typing>TYPE|OPEN_APP) \[(?P<text>[^\n]*)\]",
    rf"SCROLL[ \t]*\[[ \t]*(?P<direction>{either_case('up|down|left|right')})[ \t]*\]",
    rf"(?P<name>{_NAMES})(?:[ \t]+(?:at|on))?[ \t]*:?[ \t]*{_OPEN}{PLACE}{_CLOSE}",
)
_LINE = rf"^{_START}{SPACE}(?:```[a-z]*{SPACE})?(?:{'|'.join(_FORMS)}){SPACE}(?:```{SPACE})?$"
_COMPILED = re.compile(_LINE)


def read_line(text: str) -> list[Act] | None:
    r"""Return the action if a text is one line, or one line after its last ``actions:``; else None.

    >>> read_line("thoughts: Type it.\nactions:\nTYPE [hello [1]]")
    [Act(name='type', place=(), arguments={'text': 'hello [1]'})]
    >>> read_line("LONG_PRESS <point>[[5, 6]]</point>")[0][:2], read_line("I would LONG_PRESS [5, 6]")
    (('long_press', (5.0, 6.0)), None)
    """
    match = _COMPILED.search(text)
    if match is None:
        return None
    word, typing, direction = match["word"], match["typing"], match["direction"]
    if word:
        return [Act(WORDS[word], (), {"status": "impossible"} if word in _FAILED else {})]
    if typing:
        name, key = ("type", "text") if typing == "TYPE" else ("open_app", "app")
        return [Act(name, (), {key: match["text"]})]
    if direction:
        return [Act("scroll", (), {"direction": direction.lower()})]
    kind = _AT_A_PLACE.get(match["name"].lower().translate(_TOGETHER))
    place = tuple([number(match[key]) for key in ("x", "y", "x1", "y1", "x2", "y2") if match[key]])
    return [Act(kind, place)] if kind else None


def is_typing(text: str, _name: str = "") -> bool:
    """Return True if a text is OS-Atlas's ``TYPE [...]``."""
    acts = read_line(text)
    return acts is not None and acts[0].name == "type"


ACTION_OS_ATLAS = Gated(
    ActionDialect(name="action_os_atlas", read=read_line, signs=("",), vocabulary=True),  # "" is in every text
    pattern=_LINE,
)
"""The whole answer is one such line, after a heading ``actions:`` or ``Action:`` or not, in a fence or not.

The words and OS-Atlas's names are in capitals; the name in front of a place may be in any case.
"""
