"""Actions as objects, in JSON or in Python's quotes, in tags or not: most models that act write one of these.

<tool_call>{"name": "computer_use", "arguments": {"action": "type", "text": "hello"}}</tool_call>
<answer>[{'action': 'click', 'point': [512, 384], 'input_text': 'no input text'}]</answer>
<action>{"action": "swipe", "coordinate": [512, 900], "coordinate2": [512, 100]}</action>
{"action_type": "open_app", "app_name": "Clock"}
{"type": "click", "button": "right", "x": 512, "y": 384}
"""

from __future__ import annotations

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.dialects.actions._keys import acts_of
from grounding_rewards.parsing.dialects.actions._objects import objects

CLICKED = "(?:left_|right_|middle_|double_|triple_)?click|long_press|tap|hover|mouse_move"
"""A pattern of actions that need nothing but a place."""

NUMERAL = r"(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,15})?"
"""A number that JSON and Python read alike; unsigned, so no refusal."""

_X_Y = rf"\[(?P<x>{NUMERAL}), ?(?P<y>{NUMERAL})\]"
_STRING = r"[^'\"\\\x00-\x1f]+"
_BEFORE, _AFTER = r"^[^{}]*\{", r"\}[^{}]*$"


def _click(quote: str) -> str:
    """Return the pattern of one object in one kind of quotes: an action, its place, and perhaps "no input text"."""
    place, filler = (
        rf"{quote}(?:coordinate|point){quote}: ?{_X_Y}",
        rf", ?{quote}input_text{quote}: ?{quote}no input text",
    )
    return rf"{quote}action{quote}: ?{quote}(?P<action>{CLICKED}){quote}, ?{place}(?:{filler}{quote})?"


def _typing(quote: str) -> str:
    """Return the pattern of one object in one kind of quotes: a typed text."""
    text = rf"{quote}text{quote}: ?{quote}(?P<text>{_STRING}){quote}"
    return rf"{quote}action{quote}: ?{quote}(?P<action>type){quote}, ?{text}"


def _called(arguments: str) -> str:
    """Return the pattern of a call of any tool with these arguments."""
    return rf'"name": ?"[A-Za-z_]*", ?"arguments": ?\{{{arguments}\}}'


def read_objects(text: str) -> list[Act] | None:
    """Return the acts of all objects in a text, in order; None if none of them names an action.

    >>> read_objects("<answer>[{'action': 'type', 'text': 'hello'}]</answer>")
    [Act(name='type', place=(), arguments={'text': 'hello'})]
    """
    return acts_of(objects(text))


ACTION_JSON = ActionDialect(
    name="action_json",
    read=read_objects,
    patterns=tuple(
        f"{_BEFORE}{body}{_AFTER}"
        for body in (_called(_click('"')), _click("'"), _click('"'), _called(_typing('"')), _typing('"'), _typing("'"))
    ),
    signs=('ction"', "ction'", "action_type", "arguments", "parameters", '"type"', "'type'"),
    must=("}",),
    vocabulary=True,
)
"""Every object that names an action or a place is an answer, once one of them names an action.

Its name stands under ``action``, ``action_type``, ``function`` or ``type``, its place under ``coordinate``, ``point``,
``point_2d``, ``bbox_2d``, ``position``, ``start_coordinate``, ``start_box``, ``x`` and ``y`` and the like, or in a
``path``; the table ``_keys.KEYS`` has all.
"""
