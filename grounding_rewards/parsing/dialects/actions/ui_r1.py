"""Python's dicts between answer tags, as UI-R1 answers.

<think>It is at the top.</think><answer>[{'action': 'click', 'coordinate': [512, 384]}]</answer>
"""

from __future__ import annotations

import re
from dataclasses import replace

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.patterns import COMMA, X_Y, XY
from grounding_rewards.parsing.texts import SPACE, number, tag_span

_OPEN, _CLOSE = "<answer>", "</answer>"
# As in the published code, then the forms that are read if that finds none.
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
    """Read the action in the first pair of answer tags, once with each ``[x, y]`` between them.

    The first name after ``'action':`` counts, in quotes or not; if there is none, quotes may be double and white space
    may precede the colon. Pairs are whole numbers without a sign; if there are none, white space may follow the bracket
    and precede the comma and the other bracket; if there are still none, numbers may have a sign and decimals.

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
    """Read the same, but only pairs after the first ``{``.

    >>> [act[:2] for act in read_braced_action("<answer>[5, 6] {'action': 'click', 'coordinate': [7, 8]}</answer>")]
    [('click', (7.0, 8.0))]
    >>> [act[:2] for act in read_braced_action("<answer>'action': 'click', 'coordinate': [5, 6]</answer>")]
    [('click', ())]
    """
    return _read(text, braced=True)


def _read(text: str, *, braced: bool) -> list[Act] | None:
    span = tag_span(text, "answer")
    if span is None:
        return None
    start, end = span
    named = _ACTIONS[0].search(text, start, end) or _ACTIONS[1].search(text, start, end)
    name = (named[1] or named[2]) if named else ""
    since = text.find("{", start, end) if braced else start
    for pattern in _PAIRS if since >= 0 else ():
        places = [(number(pair["x"]), number(pair["y"])) for pair in pattern.finditer(text, since, end)]
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
"""An action and its coordinate in the first pair of answer tags; thinking is not treated apart."""

UI_R1_BRACED = replace(UI_R1, name="ui_r1_braced", read=read_braced_action)
"""The same, with the coordinate after a ``{``."""
