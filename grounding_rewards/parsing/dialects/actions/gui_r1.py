"""Python's dicts between answer tags, with a point and a text beside the action, as GUI-R1 answers.

<think>At the top.</think> <answer>[{'action': 'click', 'point': [512, 384], 'input_text': 'no input text'}]</answer>
"""

from __future__ import annotations

import re

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.parsing.texts import SPACE, tag_span

OPEN, CLOSE = "<answer>", "</answer>"
WHOLE = "(?:0|[1-9][0-9]{0,14})"  # Python reads no leading zeros
PLAIN_TEXT = r"[^'\\\[\]{}<\r\n\x00]*"

_NUMERAL = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PAIR = re.compile(rf"\[([0-9]+),{SPACE}([0-9]+)\]")  # as the published code reads it
_ANY_PAIR = re.compile(rf"\[{SPACE}{_NUMERAL}{SPACE},{SPACE}{_NUMERAL}{SPACE}\]")
_ACTION = re.compile(rf"""(?:'action'|"action"){SPACE}:{SPACE}(?:'([^'"\n]+)'|"([^'"\n]+)")""")
_TEXT = re.compile(rf"""(?:'input_text'|"input_text"){SPACE}:{SPACE}(?=["'])""")
_STRING = "|".join(rf"{quote}[^{quote}\\\r\n]*(?:\\[^\r\n][^{quote}\\\r\n]*)*{quote}" for quote in ("'", '"'))
_STRINGS = re.compile(rf"(?:(?:{_STRING}){SPACE})+(?=[,}}])")

_NAMED = r"\[\{'action': ?'(?P<action>[A-Za-z_]{1,40})', ?'point': ?"
_TYPED = rf", ?'input_text': ?'(?P<text>{PLAIN_TEXT})'\}}\]"
_NOWHERE = rf"\[(?:-{WHOLE}, ?-?{WHOLE}|{WHOLE}, ?-{WHOLE})\]"


def usual_answer(answer: str) -> str:
    """Return the pattern of a whole text: thinking, then answer tags with only this answer between them."""
    return rf"^{SPACE}<think>[^<]*</think>{SPACE}{OPEN}{answer}{CLOSE}{SPACE}$"


def read_answer_point(text: str) -> list[Act] | None:
    """Read the action in the first pair of answer tags: the first name and text, and the last ``[x, y]`` in braces.

    Quotes are single or double, and a text may hold apostrophes. Where no pair is of whole numbers, numbers may have
    decimals, and spaces around them. A number with a sign is no coordinate: in the published data [-100, -100] means
    that there is no place.

    >>> read_answer_point("<answer>[{'action': 'click', 'point': [5, 6.5], 'input_text': 'x'}]</answer>")
    [Act(name='click', place=(5.0, 6.5), arguments={'text': 'x'})]
    >>> read_answer_point('<answer>[{"action": "wait", "point": [-100, -100]}]</answer>')
    [Act(name='wait', place=(), arguments={})]
    """
    span = tag_span(text, "answer")
    if span is None:
        return None
    named = _ACTION.search(text, *span)
    if named is None:
        return []
    written = _text(text, *span)
    return [Act(named[1] or named[2], _place(text, *span), {} if written is None else {"text": written})]


def _place(text: str, start: int, end: int) -> tuple[float, ...]:
    """Return the last pair of numbers in braces, of whole numbers if any is; () if there is none."""
    first, last = text.find("{", start, end), text.rfind("}", start, end)
    if not 0 <= first < last:
        return ()
    pairs = _PAIR.findall(text, first, last) or _ANY_PAIR.findall(text, first, last)
    return (float(pairs[-1][0]), float(pairs[-1][1])) if pairs else ()


def _text(text: str, start: int, end: int) -> str | None:
    """Return the first text that ends on its line, as Python reads it, or as it stands if Python does not."""
    for key in _TEXT.finditer(text, start, end):
        strings = _STRINGS.match(text, key.end(), end)
        if strings is not None:
            return _joined(strings[0].rstrip())
        line = text.find("\n", key.end(), end)
        close = _close(text, key.end(), end if line < 0 else line)
        if close >= 0:
            return text[key.end() + 1 : close]
    return None


def _close(text: str, start: int, end: int) -> int:
    """Return the end of the text that opens at ``start``: its first quote that is no apostrophe in a word; else -1."""
    first = close = text.find(text[start], start + 1, end)
    while 0 <= close < end - 1 and text[close - 1].isalnum() and text[close + 1].isalnum():
        close = text.find(text[start], close + 1, end)
    return first if close < 0 else close


def _joined(strings: str) -> str:
    """Join one or more of Python's strings, side by side, to one text."""
    inside = strings[1:-1]
    if "\\" not in inside and strings[0] not in inside:
        return inside
    try:
        return str(read_literal(f"({strings})"))
    except LiteralError:
        return inside


GUI_R1 = ActionDialect(
    "gui_r1",
    read_answer_point,
    patterns=(
        rf"^{OPEN}{_NAMED}\[(?P<x>{WHOLE}), ?(?P<y>{WHOLE})\]{_TYPED}{CLOSE}{SPACE}$",
        f"^{OPEN}{_NAMED}{_NOWHERE}{_TYPED}{CLOSE}{SPACE}$",
    ),
    signs=(OPEN,),
    must=(CLOSE,),
    begin=OPEN,
)
"""An action with its point and text in the first pair of answer tags; thinking is not treated apart."""
