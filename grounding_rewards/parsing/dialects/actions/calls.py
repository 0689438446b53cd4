r"""Actions as calls: UI-TARS, pyautogui, UI-Venus, Holo and others. Several calls are several actions.

Thought: I will save it.
Action: click(start_box='<|box_start|>(512,384)<|box_end|>')

type(content='it\'s')
drag(start_point='<point>512 384</point>', end_point='<point>600 384</point>')
pyautogui.hotkey('ctrl', 'c')
Scroll(start=(512, 900), end=(512, 100), direction='down')
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

from grounding_rewards.actions import Act, is_known
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.base import MAX_ANSWERS
from grounding_rewards.parsing.dialects.actions._call_arguments import acts_of_call
from grounding_rewards.parsing.dialects.actions._several import Call, acts_of_calls
from grounding_rewards.parsing.dialects.actions.json_actions import NUMERAL
from grounding_rewards.parsing.texts import SPACE

MOST = MAX_ANSWERS + 1
"""Calls that are read; more are too many."""

_ANSWER = re.compile(r"(?:^|\n)[ \t]*Action:")
_FIRST_CALL = re.compile(rf"{_ANSWER.pattern}{SPACE}(?:[A-Za-z]+\.)?([A-Za-z_]+)\(")
_WORD = string.ascii_letters + string.digits + "_."
_TOKEN = re.compile(r"""[^()\[\],'"]+|[()\[\],'"]""")
# A quote without a comma or bracket after it is part of the text, as in 'it's'.
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\]+|\\.|{quote}(?!{SPACE}[,)\]]))*", re.DOTALL) for quote in ("'", '"')}
_KEY = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*){SPACE}={SPACE}")


class Argument(NamedTuple):
    """An argument of a call: its key, "" if it has none; its text; and True if that was in quotes."""

    key: str
    text: str
    quoted: bool


def read_calls(text: str) -> list[Act]:
    r"""Return the acts of all calls in a text, in order; if a line begins with ``Action:``, only of calls after it.

    A call of an unknown name counts if an argument has a key, if it is pyautogui's, or right after ``Action:``.

    >>> read_calls("Thought: Not click(1, 2).\nAction: type(content='it\\'s')")
    [Act(name='type', place=(), arguments={'text': "it's"})]
    >>> [act.name for act in read_calls("pyautogui.click(5, 6)\npyautogui.write('a')")]
    ['click', 'write']
    """
    answer = _ANSWER.search(text)
    position = start = answer.end() if answer else 0
    calls: list[Call] = []
    bracket = text.find("(", position)
    first = True
    while bracket >= 0 and len(calls) < MOST:
        head = text[position:bracket]
        name = head[len(head.rstrip(_WORD)) :]  # dots, too, as in pyautogui.click
        position = bracket + 1
        if name:
            arguments, position = arguments_of(text, position)
            library, _, short = name.rpartition(".")
            behind = answer is not None and first and text[start:bracket].strip() == name
            meant = is_known(short) or library == "pyautogui" or behind
            if arguments is None and position < len(text) and short and is_known(short):
                return []  # the call stands in something that is no argument
            if short and arguments is not None and (meant or any([argument.key for argument in arguments])):  # noqa: C419
                acts = acts_of_call(short, arguments, library == "pyautogui")
                calls += [Call(library, short, act) for act in acts]
        bracket, first = text.find("(", position), False
    return acts_of_calls(calls)


def calls_go_first(text: str, _name: str = "") -> bool:
    r"""Return True if a line begins with ``Action:`` and a call of a known name: objects elsewhere are then no answer.

    >>> calls_go_first("It says {}.\nAction: type(content='{}')"), calls_go_first("Action: wait for (5, 6)")
    (True, False)
    """
    return any(is_known(match[1]) for match in _FIRST_CALL.finditer(text))


def arguments_of(text: str, position: int) -> tuple[list[Argument] | None, int]:
    """Return the arguments of the call whose bracket is just before ``position``, and its end.

    If they are no arguments, return None and the position to continue from.

    >>> arguments_of("click(point='5 6', 7)", 6)
    ([Argument(key='point', text='5 6', quoted=True), Argument(key='', text='7', quoted=False)], 21)
    >>> arguments_of("not(click(5, 6))", 4)
    (None, 4)
    """
    arguments: list[Argument] = []
    start, depth, quoted, before = position, 0, "", "("
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            return None, len(text)
        sign, first, position = token[0], position, token.end()
        if sign in _QUOTED:
            if before not in "(=[,":  # an apostrophe in a text without quotes
                continue
            end = _QUOTED[sign].match(text, position).end()  # type: ignore[union-attr]
            if text[end : end + 1] != sign:
                return None, len(text)
            if depth == 0:
                quoted = text[first : end + 1]
            position = end + 1
        elif sign in "([":
            if sign == "(" and before in _WORD:  # a call in a call
                # Go on at the name of the inner call, which may be an answer of its own.
                return None, first - len(text[start:first]) + len(text[start:first].rstrip(_WORD))
            depth += 1
        elif depth and sign in ")]":
            depth -= 1
        elif sign == "]":
            return None, position
        elif not depth and sign in ",)":
            written = text[start:first].strip()
            if written or sign == ",":
                arguments.append(_argument(written, quoted))
            if sign == ")":
                return arguments, position
            start, quoted = position, ""
        before = sign.rstrip()[-1:] or before  # blanks do not part a bracket or comma from a quote


def _argument(written: str, quoted: str) -> Argument:
    key = _KEY.match(written)
    value = written[key.end() :] if key else written
    if quoted and value.startswith(quoted):
        return Argument(key[1] if key else "", quoted[1:-1], True)
    return Argument(key[1] if key else "", value, False)


_OPENING = r"^(?:Thought:[^(\n]*\n)?(?:Action: ?)?"
_POINT = rf"'(?:<\|box_start\|>|<point>)?\(?(?P<x>{NUMERAL})(?:, ?| )(?P<y>{NUMERAL})\)?(?:<\|box_end\|>|</point>)?'"
_PYAUTOGUI = r"^[^(]*pyautogui\.(?P<action>click|doubleClick|rightClick|moveTo)"
_CLICKS = "click|left_double|right_single|left_single|double_click|right_click|long_press|hover"

ACTION_CALLS = ActionDialect(
    name="action_calls",
    read=read_calls,
    patterns=(
        rf"{_OPENING}(?P<action>{_CLICKS})\((?:start_box|point)={_POINT}\)[ \n]*$",
        rf"{_OPENING}(?P<action>scroll)\((?:start_box|point)={_POINT}, ?"
        r"direction='(?P<direction>up|down|left|right)'\)[ \n]*$",
        rf"{_OPENING}(?P<action>type)\(content='(?P<text>[^'\"\\()\n]+)'\)[ \n]*$",
        rf"{_PYAUTOGUI}\((?P<x>{NUMERAL}), ?(?P<y>{NUMERAL})\)[ \n`]*$",
        rf"{_PYAUTOGUI}\(x=(?P<x>{NUMERAL}), ?y=(?P<y>{NUMERAL})\)[ \n`]*$",
    ),
    signs=("(",),
    must=(")",),
    vocabulary=True,
)
"""``name(key=value, ...)``, values in quotes or not. pyautogui's dot before the name does not matter."""
