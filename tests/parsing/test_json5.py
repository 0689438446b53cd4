"""JSON5 by hand and against Python's JSON, and what no text can do to the reader."""

import json
import math
import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing.json5 import DEEPEST, Json5Error, read_json5
from grounding_rewards.parsing.literal import SHALLOW
from tests.cases import cases

REFUSED = object()
BLANKS = "\t\n\v\f\r \xa0\ufeff\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


def ours(text):
    try:
        return read_json5(text)
    except Json5Error:
        return REFUSED


@cases(
    ("text", "value"),
    [
        ('{"a": [1, -2.5e3, "b", true, false, null]}', {"a": [1, -2500.0, "b", True, False, None]}),
        ("{a: 1, $b_2: 2, é: 3, 'c': 4, \"d\": 5, true: 6, Infinity: 7, NaN1: 8, a\u0301\u200d: 9}",
         {"a": 1, "$b_2": 2, "é": 3, "c": 4, "d": 5, "true": 6, "Infinity": 7, "NaN1": 8, "a\u0301\u200d": 9}),
        ("[1,]", [1]), ("{a:1,}", {"a": 1}), ("[[],{},]", [[], {}]), ("{'':''}", {"": ""}),
        ("[.5, 5., +5, +.5, -.5e-1, 0x1F, -0xff, 0, -0, 1.e2, 0e1]",
         [0.5, 5.0, 5, 0.5, -0.05, 31, -255, 0, 0, 100.0, 0.0]),
        ("[Infinity, -Infinity, +Infinity, 1e999]", [math.inf, -math.inf, math.inf, math.inf]),
        ("/* a */ [1 // b\n, /**/ 2 /***/] // c", [1, 2]), ("/* * / */ 1", 1), ("//\u20281", 1),
        ("'it\\'s \\\"\\x41\\u0042\\n\\0\\q\\/\\\n\\\r\n\\\u2028'", "it's \"AB\n\0q/"), ("'\"'", '"'), ('"\'"', "'"),
        ("'\t\x00\u2028'", "\t\x00\u2028"), (f"{BLANKS}[{BLANKS}1{BLANKS}]{BLANKS}", [1]), ("5", 5), ("'a'", "a"),
        ("[" * DEEPEST + "]" * DEEPEST, json.loads("[" * DEEPEST + "]" * DEEPEST)),
        ("{'a': '{'}", {"a": "{"}),
    ],
)  # fmt: skip
def test_what_is_read(text, value):
    found = ours(text)
    assert found == value
    assert repr(found) == repr(value), "whole numbers stay whole"


@cases(
    "text",
    [
        "", " ", "// a", "/* a", "/*/", "[", "]", "{", "}", "[}", "{]", "[1", "[,]", "{,}", "[1,,2]", "{a}", "{a:}",
        "{a:,}", "{:1}", "{a 1}", "{a:1 b:2}", "{a:1;}", "[1 2]", "[1]]", "1 2", "{} {}", "{}x", "x", "True", "None",
        "undefined", "[x]", "{1:2}", "{a-b:1}", "{\\u0061:1}", "{\u0663:1}", "{\u200da:1}", "{[1]:2}", "00", "01",
        "-01", "0200", "1_0", "--1", "- 1", "+ 1", "+-1", ".", "-", "+", "0x", "0xg", "1e", "1e+", "1.2.3", "0x1.5",
        "２", "'a", '"a', "'a\n'", "'a\r'", '"\\1"', '"\\01"', '"\\8"', '"\\x4"', '"\\u004"', '"\\', "'\\'", "\x851",
        "\x1c1", "\u200b1", "\u180e1", "[1,\u00b2]", '{"a": 1, "a": 2}', "{a: 1, 'a': 1}",
        '[{"a": [{"b": 1, "b": 2}]}]',
        "9" * 4301, "['a', " + "9" * 4301 + "]", "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "`a`", "[1]\x00", "+'a'",
        "-true", "+null",
    ],
)  # fmt: skip
def test_what_is_not_read(text):
    assert ours(text) is REFUSED


def test_nan_is_a_number():
    assert [repr(read_json5(text)) for text in ("NaN", "-NaN", "+NaN")] == ["nan"] * 3


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(values, st.sampled_from([None, 1]))
def test_all_json_is_read_as_json(value, indent):
    text = json.dumps(value, indent=indent)
    assert repr(read_json5(text)) == repr(value)
    # A comment in front takes the other way through the reader, on which no JSON is left to Python.
    assert repr(read_json5(f"/**/{text}")) == repr(value)
    assert repr(read_json5(f"/**/{json.dumps(value, ensure_ascii=False)}//")) == repr(value)


pieces = st.lists(
    st.sampled_from(
        [
            *"{}[],:'\"\\/*.-+e0x1 \n",
            "a",
            '"a"',
            "'b'",
            "12",
            "null",
            "NaN",
            "//",
            "/*c*/",
            "\\u0041",
            "\\ud800",
            "é",
        ]
    ),
    max_size=12,
).map("".join)


@settings(max_examples=500, deadline=None)
@given(pieces)
@example('{"a":1,"a":1}')
@example("[1\x00]")
def test_a_comment_in_front_changes_nothing_and_nothing_but_its_error_is_raised(text):
    assert repr(ours(text)) == repr(ours(f"/**/{text}"))


def test_depth_is_limited_alike_in_json_and_json5():
    for depth in (SHALLOW, SHALLOW + 1, DEEPEST, DEEPEST + 1):
        text = "[" * depth + "]" * depth
        assert (ours(text) is REFUSED) == (ours(f"{text}//") is REFUSED) == (depth > DEEPEST)


@cases(
    "opener",
    [
        "[", "{", "/*", "/", "//", "*/", "'", '"', "\\", "[1,", "{a:", '{"a":', "1", "0x", "0x1", ".", "1.", "1e", "a",
        "$", "\u200d", "a\u200d", " ", "\u2028", "é", "'a',", "/**/", "/* *", '"\\u0041', "a:1,", "-", "Infinity",
    ],
)  # fmt: skip
def test_the_time_is_linear(opener):
    for text in (opener * 65_536, "[" + opener * 65_536, "'" + opener * 65_536, "/*" + opener * 65_536):
        text = text[:262_144]
        start = time.process_time()
        ours(text)
        assert time.process_time() - start < 2


def test_many_keys_of_one_object_are_compared_in_linear_time():
    start = time.process_time()
    text = "{" + ",".join(f'"a{number}":1' for number in range(20_000))
    assert len(read_json5(text + "}")) == 20_000
    assert ours(text + ',"a19999":1}') is REFUSED
    assert time.process_time() - start < 3
