"""Forms of places that are one pattern, one a row: name, pattern of an answer, signs, and what makes it fast."""

from __future__ import annotations

from grounding_rewards.parsing.patterns import BRACKETED_POINT, COMMA, X1_Y1, X2_Y2, X_Y, either_case
from grounding_rewards.parsing.reading import FirstOf, Form
from grounding_rewards.parsing.texts import SPACE


def form(name: str, pattern: str, *signs: str, usual: str = "", whole: bool = False) -> Form:
    """A row of the table."""
    return Form(name, pattern=pattern, signs=signs, whole=whole, usual=(usual,) if usual else ())


def alone(pattern: str) -> str:
    """The whole text is one such answer."""
    return f"^{SPACE}{pattern}{SPACE}$"


# Refusals: refusal | None. | <answer>[-1, -1]</answer>
_GONE = "|".join(rf"{number}{SPACE},{SPACE}{number}" for number in ("-1", "-100"))
_WORD = f"(?:{either_case('refusal|null|none|there are none')})"
_ANSWER = rf"""["'`*]*(?:{_WORD}|[(\[]{SPACE}(?:{_GONE}){SPACE}[)\]])["'`*.]*"""
_FENCED = rf"```[a-z]*\n{SPACE}{_ANSWER}{SPACE}```"
REFUSAL = form(
    "refusal", rf"(?:[Aa]nswer:{SPACE})?{_ANSWER}|{_FENCED}|<answer>{SPACE}{_ANSWER}{SPACE}</answer>", whole=True
)

# Parentheses: (512, 384) of GTA1, Gelato, UGround
_PAIR = rf"\({SPACE}{X_Y}{SPACE}\)"
BARE_TUPLE = form("bare_tuple", _PAIR, "(", usual=alone(_PAIR))
BARE_TUPLE_WHOLE = form(
    "bare_tuple_whole", rf"\({SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\)", "(", whole=True
)

# Square brackets: [512, 384] of UI-Venus, GUI-G2, UI-Ins
_BOX = rf"\[{SPACE}{X1_Y1}(?:{COMMA}|{SPACE}\]{COMMA}\[{SPACE}){X2_Y2}{SPACE}\]"
INTEGER_LIST = form("integer_list", rf"\[{SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\]", "[")
LIST_BOX = form("list_box", _BOX, "[", usual=alone(_BOX))
LIST_POINT = form("list_point", BRACKETED_POINT, "[", usual=alone(BRACKETED_POINT))
LIST_REFUSAL = form("list_refusal", rf"\[{SPACE}-1{COMMA}-1{SPACE}\]", "[", whole=True)
LIST_POINT_OR_REFUSAL = FirstOf((LIST_REFUSAL, LIST_POINT), name="list_point_or_refusal")

# Tags: <point>(5, 3)</point>, or in a list, of whole numbers, of NeMo Gym
POINT_PAIR = form(
    "point_pair",
    rf"<point>{SPACE}(?:\[{SPACE})?\({SPACE}(?P<x>[0-9]+){COMMA}(?P<y>[0-9]+){SPACE}\){SPACE}(?:\]{SPACE})?</point>",
    "<point>",
)
