"""UI-Venus's actions on a phone: one call between action tags, after the thinking and before the conclusion.

<think>The button is at the top.</think>
<action>Click(box=(540, 180))</action>
<conclusion>I open the search.</conclusion>
"""

from __future__ import annotations

from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, number

OPEN, CLOSE = "<action>", "</action>"

PLACED, TYPED, BARE = (
    ("Click", "LongPress", "Drag", "Scroll"),
    ("Type", "Launch", "Finished", "CallUser"),
    ("Wait", "PressBack", "PressHome", "PressEnter", "PressRecent"),
)
FUNCTIONS = (*PLACED, *TYPED, *BARE)
"""UI-Venus's functions: those with places, with a text, and without arguments."""

_NAME = rf"^{SPACE}([A-Za-z_]+){SPACE}\("
_PAIR = rf"\({SPACE}({NUMBER}){SPACE},{SPACE}({NUMBER}){SPACE}\)"
_ITEM = (
    rf"{SPACE}(?:(box|start|end){SPACE}={SPACE}{_PAIR}|direction{SPACE}={SPACE}(?:'([A-Za-z]+)'|\"([A-Za-z]+)\"))"
    rf"{SPACE}(,|$)"
)
_ESCAPED = r"\\(.)"
_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "\\": "\\"}
_TEXTS = {"content": "text", "app": "app"}


def read_call(call: str) -> Act | None:
    """Read one call as an action, its name as written; None if the text is no call.

    A text may hold quotes: it ends with the last one.

    >>> read_call("Scroll(start=(5, 9), end=(5, 1), direction='down')")
    Act(name='Scroll', place=(5.0, 9.0), arguments={'direction': 'down', 'to': (5.0, 1.0)})
    >>> read_call("Type(content='it's late')").arguments, read_call("Click(box=(5))"), read_call("Wait()").name
    ({'text': "it's late"}, None, 'Wait')
    """
    match = compiled(_NAME).match(call)
    end = call.rfind(")")  # the last one: a text may hold others
    if match is None or end < match.end() or call[end + 1 :].strip():
        return None
    name, body = match[1], call[match.end() : end].strip()
    if not body:
        return Act(name)
    key, _, value = body.partition("=")
    if key.strip() in _TEXTS:
        text = _quoted(value.strip())
        return None if text is None else Act(name, (), {_TEXTS[key.strip()]: text})
    return _with_places(name, body)


def _quoted(value: str) -> str | None:
    """Return the content of quotes, with Python's escapes of quotes, n and t; None without quotes."""
    if len(value) < 2 or value[0] not in "'\"" or value[-1] != value[0]:
        return None
    text = value[1:-1]
    if "\\" not in text:
        return text
    return compiled(_ESCAPED).sub(lambda match: _ESCAPES.get(match[1], match[0]), text)


def _with_places(name: str, body: str) -> Act | None:
    """Read a call with places and a direction, each at most once."""
    arguments: dict[str, Any] = {}
    position = 0
    while position < len(body):
        item = compiled(_ITEM).match(body, position)
        if item is None:
            return None
        key, x, y = item[1] or "direction", item[2], item[3]
        if key in arguments:
            return None
        arguments[key] = item[4] or item[5] if key == "direction" else (number(x), number(y))
        position = item.end()
    place = arguments.pop("box", None) or arguments.pop("start", None) or ()
    if "end" in arguments:
        arguments["to"] = arguments.pop("end")
    return None if set(arguments) - {"to", "direction"} else Act(name, place, arguments)


def _read(text: str) -> list[Act] | None:
    """Return the calls of all complete action tags; None if one of them cannot be read."""
    acts, start = [], text.find(OPEN)
    while start >= 0:
        end = text.find(CLOSE, start)
        act = read_call(text[start + len(OPEN) : end]) if end >= 0 else None
        if act is None:
            return None
        acts.append(act)
        start = text.find(OPEN, end)
    return acts


def _usual(call: str) -> str:
    conclusion = rf"(?:<conclusion>[^<]*</conclusion>{SPACE})?"
    return rf"^{SPACE}<action>{SPACE}{call}{SPACE}</action>{SPACE}{conclusion}$"


_POINT = rf"\({SPACE}(?P<x>{NUMBER}){SPACE},{SPACE}(?P<y>{NUMBER}){SPACE}\)"

UI_VENUS = ActionDialect(
    "ui_venus",
    _read,
    (
        _usual(rf"(?P<action>Click|LongPress)\(box={_POINT}\)"),
        _usual(rf"(?P<action>{'|'.join(BARE)})\(\)"),
        _usual(r"(?P<action>Type|Finished|CallUser)\(content='(?P<text>[^'\"\\<]*)'\)"),
        _usual(r"(?P<action>Launch)\(app='(?P<app>[^'\"\\<]*)'\)"),
    ),
    signs=(OPEN,),
    must=(CLOSE,),
    vocabulary=True,
)
"""The calls between action tags, in the words of ``actions.ACTIONS``; thinking and conclusion are no answer."""
