"""Literals and JSON5 against Python's own reading, the depth of brackets, and what no text can do to the readers."""

import ast
import json
import math
import time
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.literal import (
    DEEPEST,
    LARGEST_KEY,
    SHALLOW,
    UNREAD,
    LiteralError,
    is_shallow,
    read_call,
    read_json,
    read_json5,
    read_literal,
)
from tests.cases import cases

REFUSED = object()


def ours(text, read=read_literal):
    try:
        return read(text)
    except LiteralError:
        return REFUSED


def five(text):
    return ours(text, read_json5)


def pythons(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(text)
        except Exception:
            return REFUSED


@cases(
    ("text", "value"),
    [
        ('[{"bbox_2d": [100, 100, 300, 200], "label": "x"}]', [{"bbox_2d": [100, 100, 300, 200], "label": "x"}]),
        ("({'a': (1, 2.5)},)", ({"a": (1, 2.5)},)),
        ("({'a': 1})", {"a": 1}),
        ('{"a": true, "b": false, "c": null, "d": True, "e": False, "f": None}',
         {"a": True, "b": False, "c": None, "d": True, "e": False, "f": None}),
        ("\n\t [ 1 ,\r\n2,\f]  \n", [1, 2]),
        ("[1, # one\n 2] # two", [1, 2]),
        ("{'a': 1}, [2]", ({"a": 1}, [2])),
        ("1,", (1,)),
        ("()", ()),
        ("{}", {}),
        ("{1, 2}", {1, 2}),
        ("{'a': 1, 'a': 2}", {"a": 2}),
        (r'"a\n\t\"\\\x41\u0042\U00000043\101\q\/"', 'a\n\t"\\ABCA\\q\\/'),
        (r"'it\'s'", "it's"),
        ("['a' 'b'\n\"c\", 'd' # and\n'e']", ["abc", "de"]),
        ("{'a' 'b': 'c' 'd', ('e' 'f'): ('g' 'h',)}", {"ab": "cd", "ef": ("gh",)}),
        ('"""a "b" \n\'c\'""" \'\'\'""\'\'\' ""', "a \"b\" \n'c'\"\""),
        ('""""a"""', '"a'), ('""""""', ""), ("'' ''", ""), ('"""a\r\nb\rc\\\r\nd"""', "a\nb\ncd"), ("'a\\\r\nb'", "ab"),
        (r"u'\x41' U'b' r'\x41\'' R'\n'", "Ab\\x41\\'\\n"), ("r'a\\\rb'", "a\\\nb"),
        ("'a\\\nb'", "ab"),
        ("[1_000, 0x1F, 0o17, 0b11, 00, 1e3, .5, 5., 1_0.5_0, 0200e1, - 5, +7]",
         [1000, 31, 15, 3, 0, 1000.0, 0.5, 5.0, 10.5, 2000.0, -5, 7]),
    ],
)  # fmt: skip
def test_reads(text, value):
    assert read_literal(text) == value
    assert repr(read_literal(text)) == repr(value), "types count: 1 is not 1.0"


@cases(
    "text",
    [
        "", " ", "#", "x", "[x1]", "nan", "Infinity", "NULL", "TRUE", "[", "]", "[1", "1]", "[1)", "[[1]", "{1: 2",
        "[1]]",
        "[1 2]", "[,]", "(,)", "{,}", "[1,,2]", ",1", "1 2", "[1]\n[2]", "1\n2", "1,\n2", "{1: 2, 3}", "{1, 2: 3}",
        "{1:}", "{:1}", "{1:2:3}", "[1:2]", "(1:2)", "{[1]: 2}", "{{}}", "0200", "1__0", "_1", "1_", "0x", "0b12", "1e",
        "1.2.3", "5a", "--5", "-+5", "+True", "100*1", "1+2", "[1][0]", "f(1)", "'a", '"a\nb"', "'a\"", "'\\x4'",
        "'\\u12'", "'\\U00110000'", "'\\N{DIGIT ONE}'", "[\x001]", "'\x00'", "[1]\xa0", "[1,\u30002]", "\ufeff[1]",
        "[１]",
        "[100，200]", "1j", "...", "[*a]", "{**a}", "`", "\\", "__import__('os')", "9" * 4301,
        "b'a'", "bR'a'", "f'a'", "f''", "ur'a'", "bb'a'", "u 'a'", "'a'\n'b'", "'a' 1",
        "1 'a'", "['a' ['b']]",
        "[['a'] 'b']", "('a') 'b'", "'a'True", "True'a'", '"""', '""""', '"""a""', '"""a""""', '"""a"', "'''a",
        '"""\\"""',
        "r'a\\'", "-'a'", "'a' -", "{'a' 'b' 1}", "\"'''", '"""\0"""',
    ],
)  # fmt: skip
def test_refuses(text):
    with pytest.raises(LiteralError):
        read_literal(text)


def test_numbers_beyond_all_bounds_are_numbers():
    assert read_literal("[1e309, -1e309]") == [math.inf, -math.inf]
    assert read_literal("9" * 4300) == 10**4300 - 1
    assert read_literal("0x" + "f" * 20_000) == 16**20_000 - 1


def test_depth_is_limited_as_python_limits_it():
    assert ours("[" * DEEPEST + "]" * DEEPEST) is not REFUSED
    assert ours("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)) is REFUSED
    assert pythons("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)) is REFUSED


def test_keys_of_one_hash_are_refused():
    # 2**61 - 1 and its multiples all hash to 0; thousands of them in a dict take quadratic time.
    assert ours(f"{{{LARGEST_KEY}: 1}}") == {LARGEST_KEY: 1}
    for text in (f"{{{2**61 - 1}: 1}}", "{(1,): 2}", "{0x" + "f" * 20_000 + ": 1}", f"{{{2**61 - 1}, 0}}"):
        assert ours(text) is REFUSED


TOKENS = [
    "[", "]", "(", ")", "{", "}", ",", ":", "1", "-2", "+3", "0x10", "0200", "1e3", ".5", "- 1", "1_0", "'a'", '"b"',
    "True", "None", "x", " ", "\n", "\t", "\r", "\f", "#c", "'\\n'", "'\\x41'", "'", '"', "*", "\x00", "é", "１",
    '"""', "'''", "r", "R", "U", "\\", "u'c'", "r'\\n'", "\\\n", "\\x41", "\\777", "\\u0041",
]  # fmt: skip


def has_tuple_as_key(value):
    if isinstance(value, dict | set) and any(isinstance(key, tuple) for key in value):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(has_tuple_as_key(each) for each in inner)


def continued(text):
    """Python goes on behind a backslash at the end of a line; outside strings we do not. It reads bytes, too."""
    return any(part in text.lower() for part in ("\\\n", "\\\r", "b'", 'b"', "br'", 'br"', "rb'", 'rb"'))


@settings(max_examples=1500)
@given(st.lists(st.sampled_from(TOKENS), max_size=9).map("".join))
@example("{1:{2:(3,),},}")
@example("(1),(2)")
@example("[{()}]")
@example("[1]\n#c\n")
def test_what_python_reads_is_read_alike(text):
    mine, theirs = ours(text), pythons(text)
    if theirs is not REFUSED:
        assert repr(mine) == repr(theirs) or (mine is REFUSED and (continued(text) or has_tuple_as_key(theirs)))
    elif mine is not REFUSED:
        # All that we read beyond Python is an indented line outside brackets; a form feed starts one.
        assert set(text) & set("\n\r\f")
        assert repr(pythons(text.strip())) == repr(mine) or "#" in text


@settings(max_examples=1500)
@given(
    st.sampled_from(["", "r", "R", "U", "u"]),
    st.sampled_from(["'", '"', "'''", '"""']),
    st.text("ab'\"\\\n\r017xuN{ é", max_size=12),
    st.sampled_from(["", " 'c'", "u'c'", ' """c"""']),
)
def test_strings_are_read_as_python_reads_them(prefix, quotes, body, more):
    text = f"[{prefix}{quotes}{body}{quotes}{more}]"
    mine, theirs = ours(text), pythons(text)
    assert repr(mine) == repr(theirs) or (mine is REFUSED and (continued(text) or "\\N" in text))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300)
@given(values)
@example(["\ud800", "\u2028", "'\"\\", "\x7f"])
def test_a_value_survives_being_written_down(value):
    assert repr(read_literal(repr(value))) == repr(value)


@settings(max_examples=300)
@given(st.text(max_size=40) | st.text("[](){},:'\"\\#0123456789.eE+-xabNTul \n", max_size=40))
def test_no_text_raises_anything_else(text):
    ours(text)


@cases(
    "text",
    [
        "[" * 65536, "[]" * 32768, "[" * 100 + "1," * 32000, '"' * 65536, '"\\' * 32768, "'" + "\\a" * 32000,
        "#" * 65536,
        "1" * 65536, "1," * 32768, "((),(" * 13000, "-" * 65536, "-1" * 32768, "{" + "1:1," * 16000 + "}", "[-" * 32768,
        "{" + "".join(f"{n * (2**61 - 1)}:0," for n in range(2800)) + "}", "9" * 4300 + ("," + "9" * 4300) * 14,
        " " * 65536, "\n" * 65536, "1e" * 32768, "a" * 65536, "'a'" * 21000, ". " * 32768, "+ " * 32768,
        "-" + " " * 65000,
        "'" + "a" * 65000, "{'a':" * 13000,
        "''" * 32768, "u'a' " * 13000, '"""' * 21845, '""" ' * 16384, '"""' + '"\\' * 32000,
        '"' * 65535,
        '"""' + "a" * 65000, '"""' + '"" ' * 21000, "r'\\" * 16384, "['a' " * 13000, ("'" + "\\\r\n" * 3) * 6000,
        "u" * 65536,
        "b'" + "\\x4" * 16000, "/*" * 32768, "/* *" * 16384, "/**/" * 16384, "//" * 32768, "0x1" * 21845,
        "a:1," * 16384,
        '{"a":' * 13000, "$" * 65536, "a\u200d" * 32768, "\u2028" * 65536, '"\\u0041' * 9362, "Infinity" * 8192,
    ],
)  # fmt: skip
def test_long_texts_take_linear_time(text):
    for around in ("", "[", "'", "/*"):
        start = time.process_time()
        ours(around + text)
        five(around + text)
        assert time.process_time() - start < 1.0


BOX = {"ui-rft": [100, 100, 300, 200], "infigui-g1": {"x1": 100, "y1": 100, "x2": 300, "y2": 200}}


@cases(
    ("text", "shallow"),
    [
        ("", True), ("[" * SHALLOW, True), ("[" * (SHALLOW + 1), False), ("[]" * 1000, True), ("{[" * 20, False),
        ('"' + "[" * 1000 + '"', True), ('"\\"' + "[" * 1000 + '"', True), ("]" * 1000, True),
        ("[" * 30 + "]" * 30 + "[" * 32, True), ("[" * 1_000_000, False),
    ],
)  # fmt: skip
def test_depth_is_counted_outside_strings(text, shallow):
    assert is_shallow(text) is shallow


def scored(recipe, text, frames):
    return recipe.score(text, BOX[recipe.name]).total.tolist() if frames == 0 else scored(recipe, text, frames - 1)


@cases("levels", [20, 500, 900, 960])
def test_the_score_does_not_depend_on_the_depth_of_the_callers_stack(levels):
    nested = "[" * levels + "]" * levels
    rft = f'{{"point_2d": [200, 150], "x": {nested}}}'
    infigui = f'<think>a</think>[{{"point_2d": [200, 150], "x": {nested}}}]'
    for name, text, total in (("ui-rft", rft, 1.0), ("infigui-g1", infigui, 2.0)):
        recipe = gr.recipe(name)
        expected = [total if levels < SHALLOW else recipe.low]
        assert [scored(recipe, text, frames) for frames in (0, 30, 300)] == [expected] * 3


def test_a_string_that_never_closes_costs_little():
    # The search for the end of each of its quotes would take minutes.
    text = "[]" * (SHALLOW + 1) + '"' + '\\"' * 32_000
    start = time.thread_time()
    assert is_shallow(text) is True
    assert time.thread_time() - start < 0.5


def test_json_that_nests_too_deeply_or_is_none_is_not_null():
    assert read_json("null", UNREAD) is None
    assert read_json("[1", UNREAD) is read_json("[" * 40 + "]" * 40, UNREAD) is UNREAD


BLANKS = "\t\n\v\f\r \xa0\ufeff\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


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
def test_what_is_read_as_json5(text, value):
    found = five(text)
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
def test_what_is_no_json5(text):
    assert five(text) is REFUSED


def test_nan_is_a_number_in_json5():
    assert [repr(read_json5(text)) for text in ("NaN", "-NaN", "+NaN")] == ["nan"] * 3


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200)
@given(plain, st.sampled_from([None, 1]))
def test_all_json_is_read_as_json(value, indent):
    text = json.dumps(value, indent=indent)
    assert repr(read_json5(text)) == repr(value)
    # A comment in front takes the other way through the reader, on which no JSON is left to Python.
    assert repr(read_json5(f"/**/{text}")) == repr(value)
    assert repr(read_json5(f"/**/{json.dumps(value, ensure_ascii=False)}//")) == repr(value)


pieces = st.text("{}[],:'\"\\/*.-+e0x1 \nabu") | st.lists(
    st.sampled_from(['"a"', "'b'", "12", "null", "NaN", "//", "/*c*/", "\\u0041", "\\ud800", "é", *"{}[],:"]),
    max_size=12,
).map("".join)


@settings(max_examples=500)
@given(pieces)
@example('{"a":1,"a":1}')
@example("[1\x00]")
def test_a_comment_in_front_changes_nothing_and_nothing_but_its_error_is_raised(text):
    assert repr(five(text)) == repr(five(f"/**/{text}"))


def test_depth_is_limited_alike_in_json_and_json5():
    for depth in (SHALLOW, SHALLOW + 1, DEEPEST, DEEPEST + 1):
        text = "[" * depth + "]" * depth
        assert (five(text) is REFUSED) == (five(f"{text}//") is REFUSED) == (depth > DEEPEST)


def test_many_keys_of_one_object_are_compared_in_linear_time():
    start = time.process_time()
    text = "{" + ",".join(f'"a{number}":1' for number in range(20_000))
    assert len(read_json5(text + "}")) == 20_000
    assert five(text + ',"a19999":1}') is REFUSED
    assert time.process_time() - start < 3


@cases(
    ("text", "call"),
    [
        ("click(400, 300)", ("click", [400, 300], {})),
        (" click (200*2, 8 - -1/2.0 - 3, )", ("click", [400, 5.5], {})),
        ("f(2*3*4/5, 1+2*3-4)", ("f", [4.8, 3], {})),
        ("wait()  # done", ("wait", [], {})),
        ("f([1, (2, 'a, b)')], key=\"x=1\", n =+3)", ("f", [[1, (2, "a, b)")]], {"key": "x=1", "n": 3})),
        ("press(['ctrl', 'v'],\n double=True)", ("press", [["ctrl", "v"]], {"double": True})),
    ],
)
def test_reads_a_call(text, call):
    assert repr(read_call(text)) == repr(call)


@pytest.mark.parametrize(
    "text",
    [
        "", "click", "click 1", "1(2)", "a.b(1)", "f(1)(2)", "f(1); g", "f(1", "f(1]", "f((1)", "f(1,,2)", "f(,)",
        "f(x)", "f(float('nan'))", "f(open('x').write('y'))", "f(true)", "f(a=1, 2)", "f(a=1, a=2)", "f(a=)", "f(a==1)",
        "f(*[1])", "f(1 2)", "f(*2)", "f(2*)", "f(1/0)", "f(2**3)", "f(9e9999*0)", "f(" + "9" * 30 + "*1)", "f\n(1)",
    ],
)  # fmt: skip
def test_reads_no_other_text_as_a_call(text):
    with pytest.raises(LiteralError):
        read_call(text)
