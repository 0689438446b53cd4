"""Actions of one line: OS-Atlas's, OSWorld's words, and a name in front of a place."""

import time

import pytest
from hypothesis import strategies as st

from grounding_rewards.parsing import ACTION_OS_ATLAS, AUTO_ACTION
from grounding_rewards.parsing.bare_places import names_another
from grounding_rewards.parsing.lines import read_line
from grounding_rewards.parsing.objects import objects
from grounding_rewards.parsing.responses import MAX_LENGTH
from tests.cases import cases
from tests.parsing.acts import act, agree
from tests.parsing.fragments import SPACES

READ = [
    ("TYPE [hello]", ("type", None, {"text": "hello"})),
    ("thoughts:\nx\nactions:\nTYPE [a [1] b]", ("type", None, {"text": "a [1] b"})),
    ("actions:\nTYPE []", ("type", None, {"text": ""})),
    ("thoughts:\nTYPE [a]\nactions:\nSCROLL [DOWN]", ("scroll", None, {"direction": "down"})),
    ("Actions: SCROLL [left]\n", ("scroll", None, {"direction": "left"})),
    ("actions:\nPRESS_BACK", ("back", None, {})),
    ("PRESS_HOME", ("home", None, {})),
    ("PRESS_RECENT", ("recent", None, {})),
    ("ENTER", ("enter", None, {})),
    ("actions:\nOPEN_APP [Chrome]", ("open_app", None, {"app": "Chrome"})),
    ("actions:\nCOMPLETE", ("finished", None, {})),
    ("IMPOSSIBLE", ("finished", None, {"status": "impossible"})),
    ("thoughts:\nhold it\nactions:\nLONG_PRESS <point>[[550,320]]</point>", ("long_press", [550, 320], {})),
    ("WAIT", ("wait", None, {})),
    ("```WAIT```", ("wait", None, {})),
    ("```\nDONE\n```", ("finished", None, {})),
    ("```python\nFAIL\n```", ("finished", None, {"status": "impossible"})),
    ("Action: WAIT", ("wait", None, {})),
    ("right_click [5, 6]", ("right_click", [5, 6], {})),
    ("long press (5, 6)", ("long_press", [5, 6], {})),
    ("double click at (5,6)", ("double_click", [5, 6], {})),
    ("Double-click: <point>5 6</point>", ("double_click", [5, 6], {})),
    ("hover [0, 0, 10, 20]", ("hover", [5, 10], {})),
    ("middle click on <|box_start|>(5,6)<|box_end|>", ("middle_click", [5, 6], {})),
]


@cases(("text", "expected"), READ)
def test_what_is_read(text, expected):
    assert act(text, ACTION_OS_ATLAS) == expected


def test_a_click_is_read_too():
    assert act("actions:\nCLICK <point>[[5,6]]</point>", ACTION_OS_ATLAS) == ("click", [5, 6], {})
    assert act("tap 5 6", ACTION_OS_ATLAS) == ("click", [5, 6], {})


@cases(
    "text",
    [
        "I WAIT", "wait", "WAIT!", "WAIT WAIT", "DONE\nFAIL", "TYPE hello", "TYPE [a", "TYPE [a\nb]", "type [hello]",
        "SCROLL [away]", "SCROLL", "CLICK", "LONG_PRESS [5]", "long press", "I long press (5, 6)",
        "long press (5, 6) now",
        "right press (5, 6)", "scroll [5, 6]", "action WAIT", "", "The action: is WAIT",
    ],
)  # fmt: skip
def test_what_is_more_or_less_is_not_read(text):
    assert act(text, ACTION_OS_ATLAS) in ("NO_ANSWER", "MALFORMED", "EMPTY")


WORDS = ["TYPE [a]", "TYPE [", "]", "WAIT", "FAIL", "```", "actions:", "Action:", "\n", " ", "SCROLL [UP]", "[5, 6]",
         "long", " press ", "CLICK ", "double_click ", "(5, 6)",
         "scroll ", "wait(", "type(", "'action': '", "<point>5 6</point>",
         "at ", "5 6", "{'x': 5, 'y': 6}", ","]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS) | st.sampled_from(SPACES), max_size=7).map("".join)


def test_a_dotless_i_is_no_i_alone_or_in_a_batch():
    # Under (?i: Python's re would take it for one, and RE2 would not.
    texts = ["cl\u0131ck [5, 6]", "act\u0131on: right click (5, 6)", "SCROLL [r\u0130ght]"]
    assert [act(text, ACTION_OS_ATLAS) for text in texts] == ["NO_ANSWER"] * 3
    agree(texts, ACTION_OS_ATLAS, "only")
    agree(["act\u0131on: scroll (5, 6)"], AUTO_ACTION, "only")


UNITS = [
    "'", "'a", "' ", "'a': 'b', ", "\"'", "\\'", "{'a': 'it's', ", "a ", "aB ", "action: ", "action>\n", "Action:\n",
    "\nactions:", "\nactions: TYPE [", "TYPE [", "TYPE [a]", "TYPE [] ", "``` ", "WAIT\n", "(", "a(", "type(",
    "scroll (", "scroll at ", "scroll  ",
    "scroll:", "long press ", "type': ", "(5", "scroll((", "click [1, 2] ", "\u3000", "\n",
    "action=\u3000", "\nAction:a(", "Action:\u3000",
]  # fmt: skip


@pytest.mark.slow
@cases("unit", UNITS)
@cases("before", ["", "{'action': 'type', 'text': '", "actions:\n", "TYPE [", "(5, 6) "])
def test_64_ki_take_linear_time(unit, before):
    # A quadratic reader takes seconds.
    text = before + unit * (MAX_LENGTH // len(unit))
    start = time.thread_time()
    for end in ("", "'}", "](5, 6)"):
        objects(text + end)
        read_line(text + end)
        names_another(text + end)
    assert time.thread_time() - start < 1.5
