"""Objects in a text, in JSON or in Python, and the arguments of calls."""

import json
import time

from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.parsing.calls import arguments_of
from grounding_rewards.parsing.objects import MOST, decoded, object_spans
from tests.cases import cases
from tests.parsing.fragments import responses


def objects(text):
    return [value for _, _, value in object_spans(text) if value is not None]


@cases(
    ("text", "found"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ("{'a': 1}", [{"a": 1}]),
        ('```json\n[{"a": {"b": 2}}, {"c": 3}]\n```', [{"a": {"b": 2}}, {"c": 3}]),
        ("I'd say {'a': 1}, don't I? {\"b\": \"it's }\"}", [{"a": 1}, {"b": "it's }"}]),
        ('{"a": "}", "b": "\\"}"} {"c": 1}', [{"a": "}", "b": '"}'}, {"c": 1}]),
        ('{ see {"a": 1} and {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('{"a": {"b": 1}, {"c": 2}', [{"b": 1}, {"c": 2}]),
        ('{"a": 1', []), ("}{", []), ("", []), ("{a}", []), ("{}", [{}]), ("{} {'a': 1}", [{"a": 1}]),
        ('{1, 2} {"a": 1}', [{"a": 1}]),
        ("{'a': True, 'b': None, 'c': (1, 2),}", [{"a": True, "b": None, "c": (1, 2)}]),
        ('{"a": true, "b": null}', [{"a": True, "b": None}]), ("{'a': 'it\\'s'}", [{"a": "it's"}]),
        ("{'a': 'it's', 'b': 1}", [{"a": "it's", "b": 1}]),
        ("{'a': 'it's', he said', 'b': \"don't, 'so'\"}", [{"a": "it's', he said", "b": "don't, 'so'"}]),
        ("{'a': 'it's}", []), ("{'a': {'b': 'it's'}}", []), ("{'a': 'c:\\d's'}", [{"a": "c:\\d's"}]),
        ('{"a": "b\nc\td"}', [{"a": "b\nc\td"}]), ('{"a": ' + "[" * 300 + "]" * 300 + "}", []),
        ('{"a": ' + "9" * 5000 + "}", []), ('{"a": 1} }{ {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('{"a": open("x")}', []), ("{'a': __import__('os')} {'b': 1}", [{"b": 1}]),
    ],
)  # fmt: skip
def test_the_outermost_objects(text, found):
    assert objects(text) == found


def test_of_too_many_the_first_and_the_last_are_read():
    found = objects("".join(f'{{"n": {number}}}' for number in range(2000)))
    assert [item["n"] for item in found] == [*range(MOST), *range(2000 - MOST, 2000)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=3), st.text("ab '.,\n", max_size=5))
def test_an_object_is_found_whatever_is_around_it(value, around):
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert objects(around + written + around) == [value]
    assert decoded(repr(value)) == value


@given(responses)
def test_whatever_the_text(text):
    assert all(isinstance(item, dict) for item in objects(text))


def test_quotes_between_objects_do_not_cost_time():
    text = "{}" + '\\"{}' * 16_000 + '{"action": "wait"}'
    start = time.thread_time()
    assert objects(text)[-1] == {"action": "wait"}
    assert time.thread_time() - start < 2  # a quadratic reader takes 17 seconds


@cases(
    ("text", "position", "found"),
    [
        ("f()", 2, ([], 3)), ("f(,)", 2, ([("", "", False)], 4)), ("f( a = 1 )", 2, ([("a", "1", False)], 10)),
        ("f('a', b='c')", 2, ([("", "a", True), ("b", "c", True)], 13)), ("f([1, (2)], 'a')", 2,
         ([("", "[1, (2)]", False), ("", "a", True)], 16)), ("f(a", 2, (None, 3)), ("f(g(1))", 2, (None, 2)),
        ("f(1, g(1))", 2, (None, 5)), ("f(1]", 2, (None, 4)), ("f('a", 2, (None, 4)),
        ("f(it's)", 2, ([("", "it's", False)], 7)),
    ],
)  # fmt: skip
def test_the_arguments_of_a_call(text, position, found):
    assert arguments_of(text, position) == found
