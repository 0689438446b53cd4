"""An action in any usual notation: Python dicts, UI-TARS calls, box tokens or a bare pair, as UI-AGILE reads it.

<think>It is at the top.</think><answer>[{'action': 'click', 'coordinate': [512, 384]}]</answer>
Action: click(start_box='(512,384)')
"""

from __future__ import annotations

import re

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.texts import SPACE, number

_OPEN, _CLOSE = "<answer>", "</answer>"
_THINK, _THOUGHT = "<think>", "</think>"
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_COMMA, _BLANKS = f"{SPACE},{SPACE}", SPACE[:-1] + "+"
_PAIR = _NUMBER + _COMMA + _NUMBER
_NUMBERS = f"{_PAIR}(?:{_COMMA}{_PAIR})?{SPACE}"  # of a point, or of a box
_PLACES = [(sign, re.compile(pattern)) for sign, pattern in (
    ("<|box_start|>", rf"<\|box_start\|>{SPACE}\({SPACE}{_PAIR}{SPACE}\)(?:{_COMMA}\({SPACE}{_PAIR}{SPACE}\))?"),
    ("start_box", rf"start_box{SPACE}={SPACE}(?:['\"]{SPACE})?[(\[]{SPACE}{_NUMBERS}[)\]]"),
    ("<point>", rf"<point>{SPACE}{_NUMBER}(?:{_COMMA}|{_BLANKS}){_NUMBER}{SPACE}</point>"),
    ("[", rf"\[{SPACE}{_NUMBERS}\]"), ("{", rf"\{{{SPACE}{_NUMBERS}\}}"), ("(", rf"\({SPACE}{_NUMBERS}\)"),
    ("(", rf"\({SPACE}x{SPACE}={SPACE}{_NUMBER}{_COMMA}y{SPACE}={SPACE}{_NUMBER}{SPACE}\)"),
)]  # fmt: skip
_NUMERAL = r"(\d+(?:\.\d+)?)"  # digits of any script, so that no match begins inside a number
_BARE = re.compile(rf"(?<!\d){_NUMERAL}{_COMMA}{_NUMERAL}(?:{_COMMA}{_NUMERAL})*")
_CUT = re.compile(r"(?:[0-9A-Za-z_.-]|[eE]\+)\Z")
_ACTION = re.compile(rf"""["']action["']{SPACE}:{SPACE}["']?([0-9A-Za-z_]+)|Action:{SPACE}([0-9A-Za-z_]+)""")
_VALUE = re.compile(rf"""["']([A-Za-z_]+)["']{SPACE}:{SPACE}(?:'([^']*)'|"([^"]*)")""")
_FIELDS = {"direction": "direction", "app": "app", "app_name": "app"}

# RE2 is several times as fast without large sets, and if each character can only match one part of the pattern.
_HEADS = (r"^<think>[^<]*</think>[ \n]*<answer>", "^<answer>")
_NAMED = r" ?\[ ?\{ ?['\"]action['\"]: ?['\"](?P<action>[0-9A-Za-z_]+)['\"]"
_TAIL = r" ?\} ?\] ?</answer>[ \n]*$"
_TEXT = r"['\"]: ?'(?P<{}>[^'\"\\<,]*)'"
_X_Y = r"(?P<x>[0-9]+(?:\.[0-9]+)?) ?, ?(?P<y>[0-9]+(?:\.[0-9]+)?)"
_USUAL = tuple([f"{head}{_NAMED}{rest}{_TAIL}" for rest in (
    rf" ?, ?['\"]coordinate['\"]: ?\[ ?{_X_Y} ?\]",
    rf" ?, ?['\"]direction{_TEXT.format('direction')}",
    rf" ?, ?['\"](?:text|input_text|content){_TEXT.format('text')}",
    rf" ?, ?['\"]app(?:_name)?{_TEXT.format('app')}",
    "",
) for head in _HEADS])  # fmt: skip


def read_loose_action(text: str) -> list[Act] | None:
    """Read the first action of a text: its name, the first place in any notation, and its first text argument.

    It reads the first ``<answer>``, closed or not; without one all after the first ``</think>``, if the text thinks.
    The name follows ``'action':`` or ``Action:``. Places in box tokens go before ``start_box=``,
    then ``<point>``, brackets, braces, parentheses, ``(x=.., y=..)`` and a bare pair of numbers, the first two of as
    many as there are with commas between them. If the first of those is only the end of a number, as in -200 and 2e00,
    none of them is read; text after the second is not checked.

    >>> read_loose_action("<answer>[{'action': 'click', 'coordinate': [5, 6.5]}]</answer>")
    [Act(name='click', place=(5.0, 6.5), arguments={})]
    >>> read_loose_action("<answer>{'action': 'scroll', 'direction': 'up'}</answer>")
    [Act(name='scroll', place=(), arguments={'direction': 'up'})]
    >>> read_loose_action("-200, 150")
    """
    scope = _scope(text)
    named = _ACTION.search(scope)
    name = (named[1] or named[2]) if named else ""
    place, arguments = _place(scope), {}
    for match in _VALUE.finditer(scope):
        if match[1] != "action":
            arguments = {_FIELDS.get(match[1], "text"): match[2] if match[3] is None else match[3]}
            break
    return [Act(name, place, arguments)] if name or place else None


def _scope(text: str) -> str:
    """Return the part of a text that holds the answer."""
    start = text.find(_OPEN)
    if start >= 0:
        end = text.find(_CLOSE, start)
        return text[start + len(_OPEN) : end if end >= 0 else len(text)]
    start = text.find(_THOUGHT)
    if start >= 0:
        return text[start + len(_THOUGHT) :]
    return "" if _THINK in text else text


def _place(scope: str) -> tuple[float, ...]:
    for sign, pattern in _PLACES:
        if sign in scope and (match := pattern.search(scope)):
            return tuple([number(numeral) for numeral in match.groups() if numeral])
    for match in _BARE.finditer(scope):
        x, y = match[1], match[2]
        if x.isascii() and y.isascii() and not _CUT.search(scope, max(match.start() - 2, 0), match.start()):
            return number(x), number(y)
    return ()


UI_AGILE = ActionDialect("ui_agile", read_loose_action, patterns=_USUAL, signs=("ction", ",", "<point>"))
"""The first action and place in any of the usual notations."""
