"""The recipe returns the values that gui-r1's deviations state."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing.published import read_answer_point
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.golden import harness
from tests.golden.departures import gui_r1 as gui_r1_deviations
from tests.recipes.published.test_gui_r1 import BOX, GUI_R1, answer, answered, parts, target


def stated(response, truth):
    """The deviation that applies, ``matched`` as it states it, and as it is."""
    line = {"response": response, "ground_truth": truth, "extra": {}}
    found, ours = harness.deviation("guir1", line), harness.score("guir1", GUI_R1, line)
    value = harness.stated("guir1", GUI_R1, found, line) if found else ours
    assert {name: ours[name] for name in value} == value
    return found and found.name, value["matched"], ours["matched"]


@pytest.mark.parametrize(
    ("content", "truth", "expected"),
    [
        ("[{\"action': 'click', 'point': [200, 150]}]", target("click", place=[0, 0, 300, 200]), (None, 0, 0)),
        ("[{'action': 'cl\"ick'}, {'action': 'click', 'point': [200, 150]}]", BOX, ("target", 1, 1)),
        ("[{'action': ''}, {'action': \"click\", 'point': [200, 150]}]", json.dumps(BOX), ("quotes", 1, 1)),
        ("[{'action': ''}, {'action': 'click', 'point': [200, 150]}]", json.dumps(BOX), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': u'hello'}]", target("type", "hello"), (None, 0, 0)),
        ("[{'action': 'type', 'input_text': 'a' 'b'}]", target("type", "ab"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': 'a c'\n\"'d e\", }]", target("type", "x c'd y"), ("quotes", 0, 0)),
        ("[{'action': 'type', 'input_text': 'a c'\n\"'d e\", }]", target("type", "a c'd x"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': '''hello there'''}]", target("type", "hello there"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': 'hello', 'input_text': 'bye'}]", target("type", "hello"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'hi you' 'x': 'y', 'z': 'a'}]", target("type", "hi you"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'I don't, you won't'}]", target("type", "I don't, x"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': 'the dogs' tail'}]", target("type", "the dogs"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'don't}]", target("type", "don"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'a\nb', 'input_text': 'red hat'}]", target("type", "hat"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': '\\x \\'b\\''}]", target("type", "\\x \\'b\\'"), ("quotes", 1, 1)),
        ("[open('x')]", target("click", place=None), ("target", 0, 0)),
        ("[{'action': 'wait', 'point': [1 + 1, 2], 'input_text': ''}]", {"action": "wait"}, ("target", 1, 1)),
        ("[]", '{"action": "click"}', ("target", 0, 0)),
        ("[{'action': 'type', 'input_text': ''}]", '{"action": "type"}', ("target", 1, 1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\n"])
def test_what_a_deviation_states_is_what_is_returned(content, truth, expected, end):
    name, *values = expected
    assert stated(answered(content) + end, truth) == ("white-space" if end else name, *values)


FRAGMENTS = st.lists(
    st.sampled_from([
        "'", '"', "\\", "\n", " ", ",", "}", "{", "[", "]", "a", "don't", "'input_text': '", "'input_text': \"",
        '"input_text": "', "'action': '", '"action": "', "click", "[1, 2]", "[3.5, 4]", "[ 5 , 6 ]", "\t", "\r", "\xa0",
        "\x00", "é", "_", "'" * 3, "#", "\\n", "\\x", "u'", ":", "'}",
    ]),
    max_size=14,
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(FRAGMENTS, st.sampled_from(["click", "type"]))
def test_what_deviations_read_is_what_the_dialect_reads(fragments, name):
    text = answered(f"[{{'action': '{name}', " + "".join(fragments))
    found = gui_r1_deviations._as_read({"response": text, "ground_truth": ""})
    (act,) = read_answer_point(text)
    assert (act.name, act.arguments.get("text", "no input text"), act.place) == (
        found.name, found.text, found.point or (),
    )  # fmt: skip


@pytest.mark.parametrize("text", ["[5.5, 6]", "see [ 5 , 6 ] here", "v [1.0, 2.0]", "[1., .2]", "[1.5, 2]}"])
@pytest.mark.parametrize("count", [1, VECTOR_ROWS])
def test_numbers_in_a_text_are_no_point_beside_one_as_the_source_reads_it(text, count):
    scores = GUI_R1.score([answer(text=text)] * count, [BOX] * count)
    assert (scores.total.tolist(), stated(answer(text=text), json.dumps(BOX))[0]) == ([1] * count, None)
    assert parts(answer(text=text, point=(200.5, 150)))[0] == 0  # which is no such one
