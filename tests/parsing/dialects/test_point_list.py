import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import JSON_2D, POINT_LIST, THOUGHT_POINT_LIST, parse
from grounding_rewards.parsing.reading import MAX_ANSWERS
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing import check_dialect
from tests.cases import cases
from tests.parsing.fragments import NUMERALS, SPACES, responses
from tests.parsing.reading import read
from tests.parsing.test_paths_agree import agree

ONE = '[{"point_2d": [520, 219], "label": "e"}]'
TWO = '[{"point_2d": [1, 2], "label": "a"}, {"point_2d": [3.5, 4]}]'
THOUGHT = "<think>left</think>\n"


def points(text, dialect=POINT_LIST):
    """All points of a text and the name of the reason, read alone; many texts must give the same."""
    read = []
    for rows in (1, VECTOR_ROWS):
        found = parse([text] * rows, dialect, space=CoordSpace.PIXEL, answers="all", thinking="read")
        answers = found.points[found.offsets[rows - 1] : found.offsets[rows]].tolist()
        read.append((answers, gr.Reason(found.reason[-1]).name))
    assert read[0] == read[1]
    return read[0]


@cases(
    ("text", "found"),
    [
        (ONE, [[520, 219]]), (TWO, [[1, 2], [3.5, 4]]), (f"Here: {ONE} done.", [[520, 219]]),
        (f"```json\n{ONE}\n```", [[520, 219]]), (f"{ONE} {TWO}", [[520, 219]]), (f"{TWO}(5, 5)", [[1, 2], [3.5, 4]]),
        ('[{"point_2d": [520,\n219]}]', [[520, 219]]), (f"See [1]: {ONE}", [[520, 219]]),
        (f"See [1] and [the [2]: {ONE}", None), (f"Tick [x] [ y ]\n{ONE}", [[520, 219]]), (f"[[{ONE}]]", None),
        ('[{"point_2d": [1, 2], "label": "a]"}]', [[1, 2]]), ('[{"label": "[[\\"", "point_2d": [1, 2]}] ]', [[1, 2]]),
        ('[{"point_2d": [true, false]}]', [[1, 0]]), ('[{"point_2d": [Infinity, 1]}]', [[1e12, 1]]),
        ('[{"point_2d": [NaN, 1]}]', [[1e12, 1]]), (f'[{{"point_2d": [{"9" * 400}, 1]}}]', [[1e12, 1]]),
        (f'[{{"point_2d": [{"9" * 5000}, 1]}}]', None), ('[{"point_2d": [1, 2]}, {"point_2d": [1]}]', None),
        ('[{"point_2d": [1, 2]}, 5]', None), ('[{"point_2d": [1, 2]}, ]', None), ("[{}]", None), ("[1]", None),
        ('[{"point_2d": [1, 2]}', None), ('[{"point_2d": [1, 2]]', None), ('[{"point_2d": [.5, 1]}]', None),
        ("[{'point_2d': [1, 2]}]", None), ('[{"point_2d": ["1", "2"]}]', None), ('[{"point_2d": "1, 2"}]', None),
        ('[{"bbox_2d": [1, 2, 3, 4]}]', None), ('{"point_2d": [200, 150]}', None), ("[" * 60_000, None),
        ('[{"a": ' * 20_000, None), ("[1] " * 15_000, None),
    ],
)  # fmt: skip
def test_the_first_list_of_points(text, found):
    read, reason = points(text)
    assert read == (found or [])
    assert reason == ("OK" if found else "MALFORMED" if "point_2d" in text else "NO_ANSWER")


@cases("text", ["[]", "[ \n]", "Nothing fits: [] (sorry)", "See [1]: []"])
def test_an_empty_list_is_a_refusal(text):
    assert points(text) == ([], "REFUSED")


@cases(
    ("text", "good"),
    [
        (f"<think>left</think>{ONE}", True), (f"<think>\nleft\n</think>\n\n{ONE}\n", True),
        (f"\t {THOUGHT}{ONE}", True), (f"<think>[1] a > b</think>{ONE}", True), (f"<think>a < b</think>{ONE}", True),
        (f"<think>{ONE}</think>{ONE}", True), (f"<think>思考</think>{ONE}", True), (f"{THOUGHT}<b>{ONE}", True),
        (f"<think>\u3000思</think>Here: {ONE}", True), (f"<think>left</think><{ONE}", True),
        (ONE, False), (f"<think></think>{ONE}", False), (f"<think> \n\u3000</think>{ONE}", False),
        (f"a<think>b</think>{ONE}", False), (f"think>left</think>{ONE}", False), (f"<think>left{ONE}", False),
        (f"{THOUGHT}{THOUGHT}{ONE}", False), (f"<think>a<think>b</think>{ONE}", False),
        (f"{THOUGHT}</think>{ONE}", False), (f"{THOUGHT}{ONE}</think>", False), (f"{THOUGHT}{ONE}<think>", False),
        (f"</think>left<think>{ONE}", False), (f"<THINK>left</THINK>{ONE}", False), ("", False),
        (f"<think>left</think >{ONE}", False), (THOUGHT, False), (f"<<think>left</think>{ONE}", False),
    ],
)  # fmt: skip
def test_one_closed_block_of_thinking_that_says_something(text, good):
    assert points(text, THOUGHT_POINT_LIST)[0] == ([[520, 219]] if good else [])


def test_policies():
    for rows in (1, VECTOR_ROWS):
        texts = [TWO] * rows
        first, last, only = (
            parse(texts, POINT_LIST, space=CoordSpace.PIXEL, answers=answers) for answers in ("first", "last", "only")
        )
        assert (first.xy[-1].tolist(), last.xy[-1].tolist()) == ([1, 2], [3.5, 4])
        assert Reason(only.reason[-1]) is Reason.SEVERAL_ANSWERS
        assert first.points is last.points is only.points is None
    assert read(TWO, POINT_LIST) == (None, "SEVERAL_ANSWERS")
    assert read(f"<think>{TWO}</think>{ONE}", POINT_LIST) == ([520, 219], "OK")


def test_more_points_than_are_read():
    full = json.dumps([{"point_2d": [step, 1]} for step in range(MAX_ANSWERS)])
    assert (len(points(full)[0]), points(full)[1]) == (MAX_ANSWERS, "OK")
    assert points(full[:-1] + ', {"point_2d": [1, 1]}]') == ([], "TOO_MANY")


def test_the_usual_forms_need_no_reading(monkeypatch):
    # The thinking may hold anything but "<"; the points come first in their objects, then at most a label.
    lists = [ONE, TWO, '[{"point_2d":[1,2]}]', '[\n  {"point_2d": [\n 7, -8.25 ], "label": "b, c" }\n]\n']
    texts = [f"<think>\nI see [3] at 5, 6 > 2.\n</think>\n{items}" for items in lists] * VECTOR_ROWS
    monkeypatch.setattr(type(POINT_LIST), "points", None)
    found = parse(texts, THOUGHT_POINT_LIST, space=CoordSpace.PIXEL, answers="all", thinking="read")
    assert found.xy[:4].tolist() == [[520, 219], [1, 2], [1, 2], [7, -8.25]]
    assert found.points[:5].tolist() == [[520, 219], [1, 2], [3.5, 4], [1, 2], [7, -8.25]]
    found = parse(lists * VECTOR_ROWS, POINT_LIST, space=CoordSpace.PIXEL, answers="all")
    assert np.diff(found.offsets).tolist() == [1, 2, 1, 1] * VECTOR_ROWS


numbers = st.one_of(st.integers(-5, 2000).map(str), st.sampled_from(NUMERALS), st.floats(0, 999).map(str))
gaps = st.one_of(st.just(""), st.just(" "), st.sampled_from(SPACES[:12]))
labels = st.sampled_from(
    ["", ', "label": "e"', ', "label": "a, 5"', ', "label": "a]"', ',"label":"\\""', ', "x": [1]', ","]
)
items = st.builds('{{{}"point_2d"{}:[{},{}{}]{}{}}}'.format, gaps, gaps, numbers, gaps, numbers, gaps, labels)
lists = st.builds("[{}{}{}]".format, gaps, st.lists(items, max_size=4).map(", ".join), gaps)
thoughts = st.sampled_from(
    ["", THOUGHT, "<think></think>", "<think>\n</think>", "<think>a</think>[1]", " <think>é [2]</think>", "<think>",
     "</think>", "<think>a<b</think>", "<think><b</think>", "x<think>a</think>", "<think>a</think>\n" * 2,
     "See [1]: ", "\ud800", "\x00"]
)  # fmt: skip
texts = st.builds(
    "{}{}{}{}".format, thoughts, gaps, st.one_of(lists, responses), st.sampled_from(["", "\n", " done", "]"])
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(texts, min_size=1, max_size=6), st.sampled_from([POINT_LIST, THOUGHT_POINT_LIST]),
    st.sampled_from(["only", "first", "last", "all"]), st.sampled_from(["read", "closed"]),
)  # fmt: skip
@example([f"{THOUGHT}{ONE}", f"{THOUGHT}{TWO}", "[]", ""], THOUGHT_POINT_LIST, "all", "read")
@example(['[{"point_2d": [-0, 0]}]', '[{"point_2d": [999999999999.5, 1]}]', "\ud800"], POINT_LIST, "all", "read")
def test_many_texts_are_read_like_one(texts, dialect, answers, thinking):
    agree(texts, dialect, answers, thinking)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9999), st.integers(0, 9999)), min_size=1, max_size=9))
def test_what_was_written_is_read(written):
    text = json.dumps([{"point_2d": list(point), "label": "e"} for point in written])
    assert points(f"{THOUGHT}{text}", THOUGHT_POINT_LIST) == ([[float(x), float(y)] for x, y in written], "OK")


def test_json_2d_reads_the_same_points_from_a_plain_list():
    assert read(ONE, JSON_2D) == read(ONE, POINT_LIST)


@pytest.mark.parametrize("dialect", [POINT_LIST, THOUGHT_POINT_LIST], ids=lambda dialect: dialect.name)
def test_they_keep_every_dialects_promises(dialect):
    check_dialect(
        dialect, [ONE, TWO, THOUGHT + ONE, THOUGHT + TWO, "[]", None, "", "\ud800" + ONE, THOUGHT + "é" + TWO]
    )
