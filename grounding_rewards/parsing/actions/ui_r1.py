"""Python's dicts between answer tags, as UI-R1 answers.

<think>It is at the top.</think><answer>[{'action': 'click', 'coordinate': [512, 384]}]</answer>
"""

from __future__ import annotations

import re

from grounding_rewards.actions import Act
from grounding_rewards.parsing.actions.dialect import ActionDialect
from grounding_rewards.parsing.pieces import X_Y, XY
from grounding_rewards.parsing.texts import SPACE, number

_OPEN, _CLOSE = "<answer>", "</answer>"
_ACTION = re.compile(rf"""["']action["']{SPACE}:{SPACE}(?:["'](\w+)["']|(\w+))""")
_PAIR = re.compile(rf"\[{SPACE}{X_Y}{SPACE}\]")
_BREAK = "[ \n]*"
_USUAL = (
    rf"<answer> ?\[ ?\{{ ?'action': ?'(?P<action>[A-Za-z0-9_]+)', ?'coordinate': ?\[{XY}\] ?\}} ?\] ?</answer>{_BREAK}$"
)


def read_answer_action(text: str) -> list[Act] | None:
    """The action in the first pair of answer tags, once with each ``[x, y]`` in there, whatever stands around them.

    Between the tags the first name behind ``action`` counts. Quotes may be single or double, those of the name may be
    missing, and numbers may have a sign and decimals.

    >>> [act[:2] for act in read_answer_action("<answer>'action': 'click', 'coordinate': [5, 6], [7.5, 8]</answer>")]
    [('click', (5.0, 6.0)), ('click', (7.5, 8.0))]
    >>> [act[:2] for act in read_answer_action('<answer>{"action": wait}</answer>')]
    [('wait', ())]
    """
    start = text.find(_OPEN)
    end = text.find(_CLOSE, start) if start >= 0 else -1
    if end < 0:
        return None
    named = _ACTION.search(text, start, end)
    name = (named[1] or named[2]) if named else ""
    places = [(number(found["x"]), number(found["y"])) for found in _PAIR.finditer(text, start, end)]
    if not places:
        return [Act(name)] if name else []
    return [Act(name, place) for place in places]


UI_R1 = ActionDialect(
    "ui_r1",
    read_answer_action,
    patterns=(rf"^<think>[^<]*</think>{_BREAK}{_USUAL}", f"^{_USUAL}"),
    signs=(_OPEN,),
    must=(_CLOSE,),
)
"""An action and its coordinate in the first pair of answer tags; thinking is no better than the rest of the text."""
