"""The first action and place in any notation."""

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.actions import ARGUMENTS
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import UI_AGILE, parse
from grounding_rewards.parsing.published import read_loose_action
from grounding_rewards.parsing.responses import MAX_LENGTH
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason
from tests.cases import cases


def read(text):
    found = read_loose_action(text)
    return (found[0].name, found[0].place, dict(found[0].arguments)) if found else None


@cases(
    ("text", "name", "place"),
    [
        ("<answer>[{'action': 'click', 'coordinate': [200, 150]}]</answer>", "click", (200, 150)),
        ('<answer>[{"action":"click","coordinate":[200.5,150.25]}]</answer>', "click", (200.5, 150.25)),
        ("<answer>[{'action': 'click', 'coordinate': (200,\n150)}]</answer>", "click", (200, 150)),
        ("<answer>{'action': click, 'coordinate': {200, 150}}", "click", (200, 150)),
        ("<answer>[{'action': 'click', 'coordinate': [1, 2, 3, 4]}]</answer>", "click", (1, 2, 3, 4)),
        ("<answer>[{'action': 'click', 'coordinate': [1, 2, 3]}]</answer>", "click", (1, 2)),
        ("<answer>[{'action': 'click', 'coordinate': [5, 6], [7, 8]}]</answer>", "click", (5, 6)),
        ("Thought: x\nAction: click(start_box='(200,150)')", "click", (200, 150)),
        ("[7, 8] Action: click(start_box='(1,2,3,4)')", "click", (1, 2, 3, 4)),
        ("click(start_box='<|box_start|>(200,150)<|box_end|>')", "", (200, 150)),
        ("<|box_start|>(100,100),(300,200)<|box_end|>", "", (100, 100, 300, 200)),
        ("Action: click(point='<point>200 150</point>')", "click", (200, 150)),
        ("<point> 200 , 150 </point>", "", (200, 150)), ("pyautogui.click(x=200, y=150)", "", (200, 150)),
        ("(5, 5) and [6, 7]", "", (6, 7)), ("at 200, 150", "", (200, 150)), ("a, 200, 150", "", (200, 150)),
        ("[200,\u00a0150]", "", (200, 150)), ("[0200, 00150]", "", (200, 150)), ("200, 150.", "", (200, 150)),
        ("[" + "9" * 400 + ", 1]", "", (1e12, 1)),
        ("[200, 150e0]", "", (200, 150)), ("[200, 1_50]", "", (200, 1)), ("[200, 15.5.5]", "", (200, 15.5)),
        ("+200, 150", "", (200, 150)), ("[+200.5, 150]", "", (200.5, 150)), ("[1, 2, 3, 4, 5]", "", (1, 2)),
        ("[-300, 200] or 5, 6", "", (5, 6)), ("２, 3 or 5, 6, ７", "", (5, 6)),
        ("<answer>[{'action': 'wait'}]</answer>", "wait", ()),
    ],
)  # fmt: skip
def test_notations(text, name, place):
    found = read(text)
    assert found[:2] == (name, place)


@cases("text", [
    "-200, 150", "[-200, 150]", "[200, -150]", "2_00, 150", "[200e0, 150e0]", "2e+200, 150", "x200, 150",
    "[1e400, 100, 300, 200]", "[-1, 2, 3.5e0, 300, 200]",
    "[.2, .15]", "[200., 150.]", "[200 150]", "[200; 150]", "[x=200, y=150]", '["200", "150"]', "[200]", "[]",
    "[-5, 100, 300, 200]", "[-1, 2, 3, 4, 5]", "２００, １５０", "２00, 150", "[200, 15０]", "200， 150", "２.5, 6",
    "[５, 6, 7, 8]", "200, 15０, 7, 8", "[x, y]",
    "I see nothing.", "",
])  # fmt: skip
def test_pieces_of_numbers_and_lists_are_no_place(text):
    assert read(text) is None


@cases(
    ("text", "place"),
    [
        ("<think>[1, 1]</think><answer>[{'action': 'click', 'coordinate': [5, 6]}]</answer>", (5, 6)),
        ("<think>[1, 1]</think>[5, 6]", (5, 6)),
        ("<think>a</think><answer>(5, 6)</answer><answer>(7, 8)</answer>", (5, 6)),
        ("(7, 8)<answer>(5, 6)", (5, 6)), ("<think>a</think>(5, 6)<think>b</think>(7, 8)", (5, 6)),
    ],
)  # fmt: skip
def test_thinking_and_what_follows_the_answer_are_not_read(text, place):
    assert read(text)[1] == place


@cases("text", ["<think>[1, 1]</think>none", "<think>maybe [1, 1]", "[1, 1]<answer>none</answer>"])
def test_no_place_is_taken_from_thinking_or_beside_the_answer(text):
    assert read(text) is None


@cases(
    ("answer", "arguments"),
    [
        ("{'action': 'scroll', 'direction': 'up'}", {"direction": "up"}),
        ("{'direction': 'up', 'action': 'scroll'}", {"direction": "up"}),
        ("{'action': 'input_text', 'input_text': 'a b', 'app': 'x'}", {"text": "a b"}),
        ('{"action": "input_text", "text": "it\'s"}', {"text": "it's"}),
        ("{'action': 'open_app', 'app_name': 'Maps'}", {"app": "Maps"}),
        ("{'action': 'click', 'coordinate': [1, 2], 'why': 'x'}", {"text": "x"}),
        ("{'action': 'wait', 'seconds': 3}", {}), ("{'action': 'scroll', 'direction': ''}", {"direction": ""}),
    ],
)  # fmt: skip
def test_the_first_text_beside_the_action(answer, arguments):
    assert read(f"<answer>[{answer}]</answer>")[2] == arguments


quotes, spaces = st.sampled_from("'\""), st.sampled_from(["", " ", "  ", "\n", "\u00a0"])
numerals = st.sampled_from(["0", "12", "7.5", "-3", "1e3", ".5", "5.", "９", "1_0", "999999999999999"])
values = st.sampled_from(["up", "", "it's", 'a"b', "1, 2", "a,b", "\\", "\ud800", "<b>", "Maps"])


@st.composite
def answers(draw):
    quote, gap = draw(quotes), lambda: draw(spaces)
    key = draw(
        st.sampled_from(["coordinate", "direction", "text", "input_text", "content", "app", "app_name", "other", ""])
    )
    if key == "coordinate":
        value = f"[{gap()}{draw(numerals)}{gap()},{gap()}{draw(numerals)}{gap()}]"
    else:
        value = f"{draw(quotes)}{draw(values)}{draw(quotes)}"
    name = f"{quote}{draw(st.sampled_from(['click', 'scroll', '', 'a b', 'CLICK']))}{quote}"
    more = f"{gap()},{gap()}{quote}{key}{quote}:{gap()}{value}" if key else ""
    body = f"[{gap()}{{{gap()}{quote}action{quote}:{gap()}{name}{more}{gap()}}}{gap()}]"
    head = draw(
        st.sampled_from(["", "<think>a [1, 2]</think>", "<think>a</think>\n", "<think>\n", "(5, 5)", "</think>"])
    )
    tail = draw(st.sampled_from(["", "\n", " ", "(5, 5)", "<answer>[3, 4]</answer>"]))
    return f"{head}<answer>{body}{draw(st.sampled_from(['</answer>', '', '</answer']))}{tail}"


def bits(found, row):
    arguments = [found.arguments.column(name, len(found))[row] for name in ARGUMENTS if name not in ("to", "duration")]
    return (
        found.xy[row].tobytes(), found.box[row].tobytes(), int(found.reason[row]), found.actions[row], arguments
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(answers() | st.text("<answer>/{}[]'\"action:, 12.-xy()", max_size=40), min_size=1, max_size=8))
def test_many_texts_are_read_as_one(texts):
    many = parse(texts * VECTOR_ROWS, UI_AGILE, space=CoordSpace.PIXEL, answers="first", thinking="read")
    for row, text in enumerate(texts):
        one = parse([text], UI_AGILE, space=CoordSpace.PIXEL, answers="first", thinking="read")
        assert bits(many, row) == bits(one, 0), text


@settings(max_examples=300, deadline=None)
@given(answers())
def test_what_a_pattern_takes_is_what_is_read(text):
    for pattern in UI_AGILE.usual:
        found = re.search(pattern.replace("$", r"\Z"), text)
        if found:
            groups = found.groupdict()
            name, place, arguments = read(text)
            assert name == groups.pop("action")
            assert place == tuple(min(float(groups.pop(key)), 1e12) for key in ("x", "y") if key in groups)
            assert arguments == groups


def test_the_usual_forms_are_taken():
    usual = ["'coordinate': [1, 2]", "'direction': 'up'", "'input_text': 'a b'", "'app': 'Maps'"]
    bodies = [f"{{'action': 'a', {each}}}" for each in usual] + ["{'action': 'wait'}"]
    for body in bodies:
        for text in (f"<think>b</think>\n<answer>[{body}]</answer>", f"<answer>[{body}]</answer>\n"):
            assert sum(re.search(pattern, text) is not None for pattern in UI_AGILE.usual) == 1, text


@cases(("text", "reason"), [
    ("", Reason.EMPTY), ("I cannot", Reason.NO_ANSWER), ("[x, y]", Reason.MALFORMED), ("[1, 2]", Reason.OK),
    ("{'action': 'wait'}", Reason.OK),
])  # fmt: skip
def test_reasons(text, reason):
    found = parse([text], UI_AGILE, space=CoordSpace.PIXEL, answers="first", thinking="read")
    assert found.reason.tolist() == [reason]
    assert np.isnan(found.xy).all() == (text != "[1, 2]")


OPENERS = [
    "1", "1,", "1, ", "-1, 1", "[", "[1", "[1, ", "[1, 1, 1, 1", "(", "( ", "{1, ", "<point>", "<point>1 ", " ",
    "1 ", "'", "'action'", "'action': ", "'a': '", "'a':\"", "Action: ", "<|box_start|>(1,2)", "start_box",
    "start_box='[1, 2", "(x=1, ", "1.", "1_1, ", "1.1, -", "１", "<answer>", "</think>", "5, -1, 2 ", "1,\u00a0",
    "１, ", "'direction': '",
]  # fmt: skip
ANSWERS = [
    "<answer>[ { 'action' : 'click' , 'coordinate' : [ 1 , 2 , 3 , 4 ] } ]</answer>",
    "Action: a start_box = ' ( 1 , 2 )",
    "<point> 1 2 </point>", "<|box_start|> ( 1 , 2 ) , ( 3 , 4 )", "( x = 1 , y = 2 )", "1 , 2", "{ 1 , 2 }",
]  # fmt: skip


@cases("opener", OPENERS)
def test_openers_take_linear_time(opener):
    text = (opener * MAX_LENGTH)[:MAX_LENGTH]
    assert seconds(text) < 0.5


@pytest.mark.slow
@cases("answer", ANSWERS)
def test_an_answer_that_goes_on_for_ever_at_any_character_costs_little(answer):
    for end in range(1, len(answer)):
        for filler in (" ", "1", answer[end - 1]):
            assert seconds(answer[:end] + filler * MAX_LENGTH) < 0.5, (answer[:end], filler)


def seconds(text):
    """The best of a few, where one is not enough."""
    times = []
    for _ in range(5):
        start = time.thread_time()
        read_loose_action(text)
        times.append(time.thread_time() - start)
        if times[-1] < 0.05:
            break
    return min(times)
