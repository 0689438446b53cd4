"""Forms of places that are one pattern, one a row: name, pattern of an answer, signs, and what makes it fast.

And usual forms of whole texts, of places and of actions, in which ``auto`` reads a text in less time.
"""

from __future__ import annotations

from typing import NamedTuple

from grounding_rewards.actions import Act
from grounding_rewards.parsing.calls import AT_PLACES, END, PYAUTOGUI_CLICK, STEP
from grounding_rewards.parsing.candidates import BLANKS, HEAD, NAMES
from grounding_rewards.parsing.objects import CLICK, NUMERAL, PLAIN_TEXT, TYPE
from grounding_rewards.parsing.patterns import AXES, BRACKETED_POINT, COMMA, X1_Y1, X2_Y2, X_Y, either_case
from grounding_rewards.parsing.reading import FirstOf, Form
from grounding_rewards.parsing.sentences import FOREIGN_STEMS
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, number


def form(name: str, pattern: str, *signs: str, usual: str = "", whole: bool = False) -> Form:
    """A row of the table."""
    return Form(name, pattern=pattern, signs=signs, whole=whole, usual=(usual,) if usual else ())


def alone(pattern: str) -> str:
    """The whole text is one such answer."""
    return f"^{SPACE}{pattern}{SPACE}$"


# Refusals: refusal | None. | <answer>[-1, -1]</answer>
_GONE = "|".join(rf"{each}{SPACE},{SPACE}{each}" for each in ("-1", "-100"))
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


# Whole texts in their usual forms
_PROSE = r"[^()\[\]{}<>0-9:=`|]*"
_WAYS = tuple([f"{way}{verb}" for way in ("right", "middle", "long") for verb in ("-", " cl", " ta", "cl", "ta")])
_VERBS = (
    "drag", "scroll", "swipe", "slide", "hover", "type", "typing", "move", "mouse", "write", "input", "fill",
    "action", "function", "triple", *_WAYS, "not ", "n't ", "n’t ", "never ", "avoid", "instead of",
    "rather than", "without", "refrain", *FOREIGN_STEMS,
)  # fmt: skip
"""Words, small, whose presence in prose tells of more than its sole place."""
_SIZES = either_case("size|resolution|dimensions?|max(?:imum)?[ _](?:x ?, ?y|coordinates)")
_MORE = rf"{either_case('enter')}[ \t]+[\"'“`]|(?:{_SIZES})(?: is| are| of)?[^A-Za-z0-9]*[(\[]"
_GUARDS = (
    rf"[A-Za-z]_|_[A-Za-z]|[a-z][A-Z]|[A-Za-z_][(\[]|{_MORE}",
    rf"(?:^|\n)(?:user|assistant)\n|(?:^|\n){BLANKS}[a-z_]+{BLANKS},|(?:^|\n){BLANKS}[A-Z_]+{BLANKS}(?:\n|$)",
    rf"(?:^|\n){BLANKS}(?:{HEAD}{BLANKS})?{NAMES}(?:[ \t]+(?:at|on))?[ \t]*(?:[:,][ \t]*)?[(\[]",
    "[\uff08-\uff5d\u3010\u3011\u25c1\u0400-\u04ff\u3041-\u30ff\uac00-\ud7a3双雙右长長悬懸滑滚滾拖输輸不别別勿避两]",
)
"""Prose in which one of these occurs holds more than its sole place."""


class Usual(NamedTuple):
    """A usual form of whole texts: a substring of all of them, its form, its patterns, and what must not occur.

    ``words`` must not, either, in small letters or large: one text is searched for them faster than for patterns.
    """

    sign: str
    form: str
    patterns: tuple[str, ...]
    guards: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def act(self, text: str) -> Act | None:
        """Return the act of a text in this form; None of any other."""
        for pattern in self.patterns:
            match = compiled(pattern).search(text)
            if match and not self._guarded(text):
                groups = match.groupdict()
                place = [number(groups.pop(key)) for key in AXES if key in groups]
                return Act(groups.pop("action", ""), tuple(place), groups)
        return None

    @property
    def never(self) -> tuple[str, ...]:
        """Patterns of all that must not occur, the words in the first: of many texts each pattern costs a search."""
        if not self.words:
            return self.guards
        first, *others = self.guards
        return (f"{either_case('|'.join(self.words))}|{first}", *others)

    def _guarded(self, text: str) -> bool:
        small = text.lower() if self.words else ""
        return any(map(small.__contains__, self.words)) or any(compiled(guard).search(text) for guard in self.guards)


_POINT = rf"(?P<x>{NUMERAL}), ?(?P<y>{NUMERAL})"
_CORNER_1, _CORNER_2 = (rf"(?P<x{end}>{NUMERAL}), ?(?P<y{end}>{NUMERAL})" for end in "12")


def _object(fields: str) -> tuple[str, ...]:
    """Return patterns of texts that are one object, in a list, in tags, or both."""
    body, listed = rf"\{{{fields}\}}", rf"\[\{{{fields}\}}\]"
    return tuple([f"^{each}{END}" for each in (body, listed, f"<answer>{body}</answer>", f"<answer>{listed}</answer>")])


_TYPING_CALL = (
    r'^<tool_call>[ \n]*\{"name": ?"(?:mobile|computer)_use", ?"arguments": ?'
    rf"\{{{TYPE[0]}\}}\}}[ \n]*</tool_call>{END}"
)
USUAL = (
    Usual("(", "bare_tuple", (BARE_TUPLE.usual[0].replace(NUMBER, NUMBER.removeprefix("-?")),)),
    Usual("tool_call", "tool_call", (
        r'^(?:<tool_call>)?[ \n]*\{"name": ?"[A-Za-z_]*", ?"arguments": ?\{"action": ?"(?P<action>(?:left_)?click)", ?'
        rf'"coordinate": ?\[{_POINT}\]\}}\}}[ \n]*(?:</tool_call>[ \n]*)?$',
    )),
    Usual("point_2d", "json_2d", (
        rf'^(?:```(?:json)?)?[ \n]*(?:\[[ \n]*)?\{{"point_2d": ?\[{_POINT}\](?:, ?"label": ?"[^()"\[\]{{}}]*")?\}}'
        r"[ \n]*(?:\][ \n]*)?(?:```[ \n]*)?$",
    )),
    Usual("[", "bare_list", (rf"^[ \n]*\[{_POINT}\]{END}", rf"^\[{_CORNER_1}, ?{_CORNER_2}\]{END}")),
    Usual("='", "ui_tars", AT_PLACES),
    Usual("<point>", "point_tag", (rf"^<point>(?P<x>{NUMERAL})(?:, ?| )(?P<y>{NUMERAL})</point>{END}",)),
    Usual("_start|>", "box_tokens", (
        rf"^<\|box_start\|>\({_CORNER_1}\), ?\({_CORNER_2}\)<\|box_end\|>(?:<\|im_end\|>)?{END}",
    )),
    Usual("pyautogui.", "pyautogui", tuple([
        f"^{before}{PYAUTOGUI_CLICK}{place}\\){after}{END}"
        for before, after in (("", ""), ("```(?:python)?\n", "\n```"))
        for place in (_POINT, f"x={_POINT.replace(', ?', ', ?y=')}")
    ])),
    Usual('"action"', "json_coordinate", _object(CLICK[0])),
    Usual("'action'", "json_coordinate", _object(CLICK[1])),
    Usual("(", "bare_tuple", (rf"^{_PROSE}\({_POINT}\){_PROSE}$",), _GUARDS, _VERBS),
    Usual("[", "bare_list", (rf"^{_PROSE}\[{_POINT}\]{_PROSE}$",), _GUARDS, _VERBS),
)  # fmt: skip
"""Those of places, in the order in which ``auto`` looks for them, before it reads a text with care."""
USUAL_ACTIONS = (
    Usual("type", "action_json", (*_object(TYPE[0]), *_object(TYPE[1]), _TYPING_CALL)),
    Usual("(", "action_calls", (
        rf"{STEP}(?P<action>type|finished)\(content='(?P<text>{PLAIN_TEXT})'\){END}",
        rf"{STEP}(?P<action>wait|finished|press_home|press_back)\(\){END}",
    )),
)  # fmt: skip
"""Those of actions without a place."""
