"""Python's dicts between answer tags, as UI-R1 answers.

<think>It is at the top.</think><answer>[{'action': 'click', 'coordinate': [512, 384]}]</answer>
"""

from __future__ import annotations

import re
from dataclasses import replace

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.patterns import COMMA, X_Y, XY
from grounding_rewards.parsing.texts import SPACE, number

_OPEN, _CLOSE = "<answer>", "</answer>"
# As the source writes them, then what is read where it finds none.
_ACTIONS = (
    re.compile(rf"'action':{SPACE}(?:'(\w+)'|(\w+))"),
    re.compile(rf"""["']action["']{SPACE}:{SPACE}(?:["'](\w+)["']|(\w+))"""),
)
_PAIRS = (
    re.compile(rf"\[(?P<x>[0-9]+),{SPACE}(?P<y>[0-9]+)\]"),
    re.compile(rf"\[{SPACE}(?P<x>[0-9]+){COMMA}(?P<y>[0-9]+){SPACE}\]"),
    re.compile(rf"\[{SPACE}{X_Y}{SPACE}\]"),
)
_BREAK = "[ \n]*"
_USUAL = (
    rf"<answer> ?\[ ?\{{ ?'action': ?'(?P<action>[A-Za-z0-9_]+)', ?'coordinate': ?\[{XY}\] ?\}} ?\] ?</answer>{_BREAK}$"
)


def read_answer_action(text: str) -> list[Act] | None:
    """The action in the first pair of answer tags, once with each ``[x, y]`` in there, whatever stands around them.

    Between the tags the first name behind ``'action':`` counts, its own quotes or none; where there is none, quotes may
    be double and white space may stand before the colon. Pairs are whole numbers without a sign; where there are none,
    white space may stand after the bracket and before the comma and the other bracket; where there are none of these
    either, numbers may have a sign and decimals.

    >>> [act[:2] for act in read_answer_action("<answer>'action': 'click', 'coordinate': [5, 6], [7, 8]</answer>")]
    [('click', (5.0, 6.0)), ('click', (7.0, 8.0))]
    >>> [act[:2] for act in read_answer_action("<answer>'action': 'click', 'at': [5.5, 6], [7.5, -8]</answer>")]
    [('click', (5.5, 6.0)), ('click', (7.5, -8.0))]
    >>> [act[:2] for act in read_answer_action("<answer>'action': 'click', 'at': [5, 6], [7.5, -8]</answer>")]
    [('click', (5.0, 6.0))]
    >>> [act[:2] for act in read_answer_action('<answer>{"action": wait}</answer>')]
    [('wait', ())]
    """
    return _read(text, braced=False)


def read_braced_action(text: str) -> list[Act] | None:
    """The same, but for pairs before the first ``{``, or without one, which are none.

    >>> [act[:2] for act in read_braced_action("<answer>[5, 6] {'action': 'click', 'coordinate': [7, 8]}</answer>")]
    [('click', (7.0, 8.0))]
    >>> [act[:2] for act in read_braced_action("<answer>'action': 'click', 'coordinate': [5, 6]</answer>")]
    [('click', ())]
    """
    return _read(text, braced=True)


def _read(text: str, *, braced: bool) -> list[Act] | None:
    start = text.find(_OPEN)
    end = text.find(_CLOSE, start) if start >= 0 else -1
    if end < 0:
        return None
    named = _ACTIONS[0].search(text, start, end) or _ACTIONS[1].search(text, start, end)
    name = (named[1] or named[2]) if named else ""
    since = text.find("{", start, end) if braced else start
    for pattern in _PAIRS if since >= 0 else ():
        places = [(number(found["x"]), number(found["y"])) for found in pattern.finditer(text, since, end)]
        if places:
            return [Act(name, place) for place in places]
    return [Act(name)] if name else []


UI_R1 = ActionDialect(
    "ui_r1",
    read_answer_action,
    patterns=(f"^{_USUAL}",),
    signs=(_OPEN,),
    must=(_CLOSE,),
    begin=_OPEN,
)
"""An action and its coordinate in the first pair of answer tags; thinking is no better than the rest of the text."""

UI_R1_BRACED = replace(UI_R1, name="ui_r1_braced", read=read_braced_action)
"""The same, of which the coordinate stands behind a ``{``."""
