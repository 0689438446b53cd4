"""UI-R1's answers: the action and its coordinates between the first pair of answer tags."""

import time
from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import parse
from grounding_rewards.parsing.published import UI_R1, UI_R1_BRACED, read_answer_action, read_braced_action
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from tests.cases import cases
from tests.parsing.fragments import NUMERALS, SPACES, responses
from tests.parsing.reading import read, read_action
from tests.parsing.test_paths_agree import agree

CLICK = "[{'action': 'click', 'coordinate': [512, 384]}]"
ONE = f"<answer>{CLICK}</answer>"
THOUGHT = "<think>left</think>\n"


def acts(text):
    found = read_answer_action(text)
    return None if found is None else [(act.name, act.place) for act in found]


@cases(
    ("answer", "name", "places"),
    [
        (CLICK, "click", [(512, 384)]),
        (CLICK.replace("'", '"'), "click", [(512, 384)]),
        ("{'action':'click','coordinate':[512,384]}", "click", [(512, 384)]),
        ("[{'action' : click, 'coordinate': [ 512 , 384 ]}]", "click", [(512, 384)]),
        ("'action': 'click' [512,\n384]", "click", [(512, 384)]),
        ("'action': 'click' [512,\xa0384]", "click", [(512, 384)]),
        ("'action': 'click' [0512, 00384]", "click", [(512, 384)]),
        ("'action': 'click' [512.5, .25] [-7., -.5]", "click", [(512.5, 0.25), (-7, -0.5)]),
        ("'action': 'click', [1, 2], [3, 4]", "click", [(1, 2), (3, 4)]),
        ("'action': 'scroll', 'action': 'click', [1, 2]", "scroll", [(1, 2)]),
        ("\"action\": 'scroll', 'action' : 'wait', 'action': 'click', [1, 2]", "click", [(1, 2)]),
        ("\"action\" : 'scroll', 'action': \"wait\"", "scroll", [()]),
        ("'action': '', 'action': 'click', [1, 2]", "click", [(1, 2)]),
        ("'action': 'two words', [1, 2]", "", [(1, 2)]),
        ("'Action': 'click', [1, 2]", "", [(1, 2)]),
        ("'action': 'input_text', 'text': 'a'", "input_text", [()]),
        ("'action': '点击'", "点击", [()]),
        ("action: click, [1, 2]", "", [(1, 2)]),
        *[
            (f"'action': 'click', 'coordinate': {pair}", "click", [()])
            for pair in [
                "[512]", "[512, 384, 7]", "[1, 2, 3, 4]", "[x, y]", "[512 384]", "[512; 384]", "['512', '384']",
                "[NaN, 1]", "[true, 1]", "[+512, +384]", "[5_12, 384]", "[５１２, 384]", "[512， 384]", "[1e2, 3]",
                "[]", "(512, 384)", "[--1, 2]", "[1.2.3, 4]", "[., 1]",
            ]
        ],
    ],
)  # fmt: skip
def test_what_stands_between_the_tags(answer, name, places):
    assert acts(f"<answer>{answer}</answer>") == [(name, place) for place in places]


@cases(
    ("text", "found"),
    [
        ("", None),
        (CLICK, None),
        (ONE[:-1], None),
        (ONE.upper(), None),
        (f"</answer>{CLICK}<answer>", None),
        ("<answer></answer>", []),
        ("<answer>I see nothing.</answer>", []),
        (f"Here: {ONE} done.", [("click", (512, 384))]),
        (f"<think>{ONE}</think><answer>[1, 2]</answer>", [("click", (512, 384))]),
        (f"<answer>x</answer>{ONE}", []),
        (f"<answer>{ONE}", [("click", (512, 384))]),
        ("'action': 'click' <answer>[1, 2]</answer>", [("", (1, 2))]),
        ("<answer>'action': 'click'</answer> [1, 2]", [("click", ())]),
    ],
)
def test_the_first_pair_of_tags_counts_wherever_it_stands(text, found):
    assert acts(text) == found


@cases(
    ("answer", "places", "braced"),
    [
        (CLICK, [(512, 384)], [(512, 384)]),
        ("'action': 'click' [5, 6] { [7, 8]", [(5, 6), (7, 8)], [(7, 8)]),
        ("'action': 'click' [5, 6]", [(5, 6)], [()]),
        ("'action': 'click' [5, 6] {", [(5, 6)], [()]),
        ("'action': 'click' { [1.5, 2] [ 5, 6 ] [7, 8]", [(7, 8)], [(7, 8)]),
        ("'action': 'click' { [1.5, 2] [ 5, 6 ] [7 ,8]", [(5, 6), (7, 8)], [(5, 6), (7, 8)]),
        ("'action': 'click' [7, 8] { [1.5, 2]", [(7, 8)], [(1.5, 2)]),
    ],
)
def test_pairs_as_the_source_writes_them_go_first(answer, places, braced):
    text = f"{{<answer>{answer}</answer>"
    assert acts(text) == [("click", place) for place in places]
    assert [act.place for act in read_braced_action(text)] == braced


def test_policies_and_reasons():
    two = "<answer>'action': 'click', [1, 2], [3, 4]</answer>"
    assert [read(two, UI_R1, answers)[0] for answers in ("first", "last")] == [[1, 2], [3, 4]]
    assert read(two, UI_R1) == (None, "SEVERAL_ANSWERS")
    assert read(ONE, UI_R1) == ([512, 384], "OK")
    assert read("<answer>'action': wait</answer>", UI_R1) == (None, "OK")
    assert read_action("<answer>'action': wait</answer>", UI_R1) == "wait"
    assert read("<answer></answer>", UI_R1) == (None, "MALFORMED")
    assert read("<answer>", UI_R1) == (None, "MALFORMED")
    assert read("click", UI_R1) == (None, "NO_ANSWER")
    assert read(" \n", UI_R1) == (None, "EMPTY")
    assert read(f"<think>{ONE}</think>{two}", UI_R1, "first") == ([1, 2], "OK")
    assert read(f"<think>{ONE}</think>{two}", UI_R1, "first", "read") == ([512, 384], "OK")


def test_numbers_beyond_all_screens():
    huge = f"<answer>'action': 'click', [{'9' * 5000}, -{'9' * 400}.5]</answer>"
    assert read(huge, UI_R1)[0] == [1e12, -1e12]


def test_the_usual_forms_need_no_reading():
    # Whatever stands before the tag.
    texts = [ONE, f"{THOUGHT}{ONE}\n", f"<think>\n[1] é > 2, 'action': 'x'\n</think>{ONE}"] * VECTOR_ROWS
    found = parse(texts, replace(UI_R1, read=int), space=CoordSpace.PIXEL, thinking="read")
    assert found.xy.tolist() == [[512, 384]] * len(texts)
    assert set(found.actions) == {"click"}


numbers = st.one_of(st.integers(-5, 2000).map(str), st.sampled_from(NUMERALS), st.floats(0, 999).map(str))
gaps = st.one_of(st.just(""), st.just(" "), st.sampled_from(SPACES[:12]))
names = st.sampled_from(["'click'", "'click'", '"click"', "scroll", "''", "'é'", "'a b'", "'\ud800'"])
keys = st.sampled_from(["'action'", "'action'", '"action"', "action"])
dicts = st.builds(
    "[{{{}:{}{}, 'coordinate': [{}{},{}{}{}]{}}}]".format, keys, gaps, names, gaps, numbers, gaps, numbers, gaps, gaps
)
thoughts = st.sampled_from(
    ["", THOUGHT, "<think></think>", "<think>a<b</think>", "<think><answer>[1, 2]</answer></think>", "<think>é</think>",
     "<think>a</think>" * 2, "a<think>b</think>", "\x00", "<answer>", "</answer>"]
)  # fmt: skip
texts = st.builds(
    "{}{}<answer>{}{}</answer>{}".format,
    thoughts,
    gaps,
    st.one_of(dicts, responses),
    st.sampled_from(["", " ", "\n", ", [1, 2]"]),
    st.sampled_from(["", "\n", " ", " done", ONE]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(texts, responses), min_size=1, max_size=6), st.sampled_from(["only", "first", "last", "all"]))
@example([f"{THOUGHT}{ONE}", ONE, f"{ONE}{ONE}", ""], "first")
@example([f"{THOUGHT}<answer>[{{'action': 'click', 'coordinate': [9999999999999, -0]}}]</answer>"], "first")
def test_many_texts_are_read_like_one(texts, answers):
    agree(texts, UI_R1, answers, "read")
    agree(texts, UI_R1_BRACED, answers, "read")


@settings(max_examples=300, deadline=None)
@given(texts)
@example(f"{THOUGHT}{ONE}")
def test_where_a_pattern_matches_reading_finds_the_same_and_nothing_more(text):
    for pattern in UI_R1.usual:
        usual = compiled(pattern).search(text[max(text.find(UI_R1.begin), 0) :])
        if usual:
            x, y = (np.clip(float(usual[name]), -1e12, 1e12) for name in "xy")
            assert acts(text) == [(usual["action"], (x, y))]
            assert read_braced_action(text) == read_answer_action(text)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 9999), st.integers(0, 9999), st.from_regex("[a-z_]{1,12}", fullmatch=True))
def test_what_was_written_is_read(x, y, name):
    assert acts(f"<answer>{[{'action': name, 'coordinate': [x, y]}]}</answer>") == [(name, (x, y))]


OPENERS = [
    "{", "{[1, 2 ", '"action"',
    "<answer>", "</answer>", "<answer>'action': ", "'action'", "'action' ", "'action': '", "[", "[1", "[1, ", "[ ",
    "[1, 2], ", "[1.", "[1,1", "'action': 'a", "a", " ", "<think>", "</think>", "<", "1",
]  # fmt: skip


@cases("opener", OPENERS)
def test_long_texts_take_no_longer_than_their_length(opener):
    start = time.perf_counter()
    for head in ("", "<answer>", "<think>", "<answer>'action': '", "<answer>[1,"):
        text = f"{head}{opener * (60_000 // len(opener))}</answer>"
        parse([text], UI_R1, space=CoordSpace.PIXEL, answers="first", thinking="read")
        parse([text] * 3 + [""] * VECTOR_ROWS, UI_R1_BRACED, space=CoordSpace.PIXEL, answers="last", thinking="read")
    assert time.perf_counter() - start < 4
