"""A JSON object between action tags, as UI-S1 answers.

<think>It is at the top.</think>
<action>{"action": "click", "coordinate": [512, 384]}</action>
"""

from __future__ import annotations

import math
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.base import MAX_ANSWERS
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.texts import limited, tag_span

_OPEN, _CLOSE = "<action>", "</action>"
_TEXTS = ("text", "button", "status")
_NUMBER = r"(?:0|-?[1-9][0-9]{0,11})(?:\.[0-9]+)?"
# After a "<" the next character decides the branch: RE2 then needs less than half the time.
_BEFORE = r'^[^<]*<(?:think>[^<]*</think>[^<]*<)?action>[ \n]*\{ ?"action": ?"(?P<action>[A-Za-z_]+)"'
_AFTER = r" ?\}[ \n]*</action>[^<]*$"
_USUAL = (
    rf', ?"coordinate": ?\[ ?(?P<x>{_NUMBER}), ?(?P<y>{_NUMBER}) ?\]',
    r', ?"text": ?"(?P<text>[^"\\<\x00-\x1f]*)"',
    r', ?"button": ?"(?P<button>[^"\\<\x00-\x1f]*)"',
    "",
)


def read_action_tag(text: str) -> list[Act] | None:
    """Return the actions in all pairs of action tags, up to the first that holds none.

    A coordinate's first two numbers are the place; ``coordinate2`` is the end of the movement. Texts, true, NaN and
    numbers beyond a float's range are no numbers.

    >>> read_action_tag('<action>{"action": "click", "coordinate": [5, 6]}</action>')
    [Act(name='click', place=(5.0, 6.0), arguments={})]
    >>> read_action_tag('<action>{"action": "swipe", "coordinate": [5, 60], "coordinate2": [5, 6]}</action>')
    [Act(name='swipe', place=(5.0, 60.0), arguments={'to': (5.0, 6.0)})]
    >>> read_action_tag("<action>click</action>"), read_action_tag("click")
    ([], None)
    """
    acts: list[Act] = []
    span = tag_span(text, "action")
    if span is None:
        return None
    while span and len(acts) <= MAX_ANSWERS:  # one more than the most shows that there are too many
        act = _act(read_json(text[slice(*span)].strip()))
        if act is None:
            break
        acts.append(act)
        span = tag_span(text, "action", span[1])
    return acts


def _act(item: Any) -> Act | None:
    if not isinstance(item, dict) or not isinstance(item.get("action"), str) or not item["action"]:
        return None
    arguments: dict[str, Any] = {name: item[name] for name in _TEXTS if isinstance(item.get(name), str)}
    place, to = _point(item.get("coordinate")), _point(item.get("coordinate2"))
    if to:
        arguments["to"] = to
    return Act(item["action"], place, arguments)


def _point(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) < 2:
        return ()
    try:
        numbers = tuple([float(number) for number in value[:2] if type(number) in (int, float)])
    except OverflowError:  # a whole number beyond any float
        return ()
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        return ()
    return tuple(map(limited, numbers))


UI_S1 = ActionDialect(
    "ui_s1",
    read_action_tag,
    patterns=tuple([_BEFORE + usual + _AFTER for usual in _USUAL]),
    signs=(_OPEN,),
    must=(_CLOSE,),
)
"""A strict JSON object with ``action`` between action tags, anywhere in the text."""
