"""Look, think, act: BTL-UI's answers, of which the <link> holds the action.

<blink>```json
[{"bbox_2d": [500, 370, 524, 398]}]
```</blink>
<think>The button saves the file.</think>
<link>```json
[{"Plan": "Save it", "Action": {"function": "Tap", "point_2d": [512, 384]}}]
```</link>

In place of a plan with its action there may be ``{"point_2d": [512, 384]}`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.dialects.actions._keys import act_of
from grounding_rewards.parsing.dialects.actions._objects import objects
from grounding_rewards.parsing.dialects.json_point import POINT_KEY, point_of
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.texts import SPACE, compiled

LINK, BLINK = "<link>", "<blink>"

# In these patterns no character can be matched in two ways: RE2 then captures in a single pass.
BLANK = "[ \n]*"
USUAL_NUMBER = r"(?:0|-?[1-9][0-9]{0,11})(?:\.[0-9]+)?"
USUAL_WORDS = r"[^\"\\<`\x00-\x1f]*"
_EDGES = rf", ?{USUAL_NUMBER}" * 3
_BOX = rf'\{{"bbox_2d": ?\[{USUAL_NUMBER}{_EDGES}\]\}}'
USUAL_BOXES = rf"\[(?:{_BOX}(?:,{BLANK}{_BOX})*)?\]"
USUAL_BLINK = rf"blink>{BLANK}```json[^<`]*```{BLANK}</blink>{BLANK}<think>[^<]*</think>{BLANK}<"
USUAL_END = rf"{BLANK}```{BLANK}</link>"

_OPEN, _CLOSE = rf"{SPACE}```json", rf"```{SPACE}"
_LINK_OPEN = rf"^{BLANK}<(?:{USUAL_BLINK})?link>{BLANK}```json{BLANK}\[{BLANK}\{{"
_LINK_CLOSE = rf"\}}{BLANK}\]{USUAL_END}{BLANK}$"
_PLAN = rf'"(?:Plan": ?"{USUAL_WORDS}", ?")?Action": ?\{{"function": ?"(?P<action>[A-Za-z]+)"'
_POINT = rf'"point_2d": ?\[(?P<x>{USUAL_NUMBER}), ?(?P<y>{USUAL_NUMBER})\]'


def fenced(text: str, tag: str) -> str | None:
    """Return the content of the first ```json fence that fills a tag such as ``<link>``; None if there is none.

    >>> fenced("<link>```json [] ```</link> <link>```json [1] ```</link>", LINK), fenced("<link>[]</link>", LINK)
    ('[]', None)
    """
    opened = compiled(tag + _OPEN).search(text)
    closed = opened and compiled(_CLOSE + tag.replace("<", "</")).search(text, opened.end())
    return text[opened.end() : closed.start()].strip() if opened and closed else None


def read_fenced_link(text: str) -> Sequence[Act] | None:
    """Return the items in a text's first link, up to the first that is none.

    >>> read_fenced_link('<link>```json [{"Plan": "p", "Action": {"function": "Swipe", "direction": "up"}}] ```</link>')
    [Act(name='Swipe', place=(), arguments={'direction': 'up'})]
    """
    body = fenced(text, LINK)
    items = None if body is None else read_json(body)
    acts: list[Act] = []
    for item in items if isinstance(items, list) else ():
        act = _act(item)
        if act is None:
            break
        acts.append(act)
    return acts


def _act(item: Any) -> Act | None:
    """Return a bare point, or an action with its arguments; ``raw`` is the object if it holds more."""
    if not isinstance(item, dict):
        return None
    if POINT_KEY in item:
        point = point_of(item)
        return None if point is None else Act("", point)
    action = item.get("Action")
    name = action.get("function") if isinstance(action, dict) else None
    if not isinstance(action, dict) or not isinstance(name, str) or not name:
        return None
    arguments: dict[str, Any] = {
        key: action[key] for key in ("text", "direction") if isinstance(action.get(key), str)
    }  # fmt: skip
    point = point_of(action)
    if len(arguments) + (point is not None) + 1 < len(action):  # + 1 for the function; there are other keys
        arguments["raw"] = action
    return Act(name, point or (), arguments)


BTL_UI = ActionDialect(
    "btl_ui",
    read_fenced_link,
    (
        rf"{_LINK_OPEN}{_PLAN}, ?{_POINT}\}}{_LINK_CLOSE}",
        rf"{_LINK_OPEN}(?P<action>){_POINT}{_LINK_CLOSE}",
        rf'{_LINK_OPEN}{_PLAN}, ?"text": ?"(?P<text>{USUAL_WORDS})"\}}{_LINK_CLOSE}',
        rf'{_LINK_OPEN}{_PLAN}, ?"direction": ?"(?P<direction>[a-z]+)"\}}{_LINK_CLOSE}',
        rf"{_LINK_OPEN}{_PLAN}\}}{_LINK_CLOSE}",
    ),
    (LINK,),
    must=("</link>",),
)
"""The first link, anywhere in the text."""


def read_link(text: str) -> list[Act] | None:
    """Return the acts in the last link, in order; an item that is nothing but a place is one without a name.

    >>> read_link('<link>[{"Plan": "go back", "Action": {"function": "Back"}}]</link>')
    [Act(name='Back', place=(), arguments={})]
    """
    if LINK not in text:
        return None
    acts = map(act_of, objects(text.rpartition(LINK)[2].partition("</link>")[0]))
    return [act for act in acts if act is not None]


ACTION_BLINK = ActionDialect(name="action_blink", read=read_link, signs=(LINK,), must=("}",), vocabulary=True)
"""The last link alone, fenced or not; text before it, such as the boxes of ``<blink>``, is no answer."""
