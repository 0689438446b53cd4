"""Compact JSON by hand, and its patterns against its reader."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.parsing import AGENTCPM, parse
from grounding_rewards.parsing.published import is_compact_action, is_fenced, read_compact_action
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, compiled
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing import check_dialect
from tests.cases import cases
from tests.parsing.fragments import NUMERALS, SPACES, responses

FIELDS = ("text", "direction", "button", "status", "duration", "to")


def found(texts):
    return parse(texts, AGENTCPM, space=CoordSpace.THOUSANDTHS, thinking="read")


def rows(predictions):
    """Return everything read from each row, as plain values that can be compared."""
    count = len(predictions)
    fields = [predictions.arguments.column(name, count).tolist() for name in FIELDS]
    columns = [each.tolist() for each in (predictions.reason, predictions.actions, predictions.xy)]
    return [repr(row) for row in zip(*columns, *fields, strict=True)]


@cases(
    ("text", "name", "place", "arguments"),
    [
        ('{"thought":"t","POINT":[200, 150]}', "POINT", (200, 150), {}),
        (' {"POINT":[0,1000]}\n', "POINT", (0, 1000), {}),
        ("{POINT: [200.0, 15e1,], 'thought': 'it\\'s'} // there", "POINT", (200, 150), {}),
        ("```json\n{'POINT': [1, 2]}\n```", "POINT", (1, 2), {}), ('```json{"POINT":[1,2]}```', "POINT", (1, 2), {}),
        ('{"to":"up","POINT":[500,700]}', "POINT", (500, 700), {"direction": "up"}),
        ('{"POINT":[500,700],"to":[500,100]}', "POINT", (500, 700), {"to": (500, 100)}),
        ('{"POINT":[1,2],"duration":1000}', "POINT", (1, 2), {"duration": 1000}), ('{"to":"left"}', "to", (),
                                                                                  {"direction": "left"}),
        ('{"TYPE":"hello"}', "TYPE", (), {"text": "hello"}), ('{"TYPE":""}', "TYPE", (), {"text": ""}),
        ('{"PRESS":"ENTER"}', "PRESS", (), {"button": "ENTER"}),
        ('{"STATUS":"need_feedback"}', "STATUS", (), {"status": "need_feedback"}),
        ('{"duration":1' + "0" * 400 + "}", "duration", (), {"duration": COORDINATE_LIMIT}),
        ('{"duration":0,"STATUS":"finish","PRESS":"HOME","TYPE":"a","POINT":[1,2],"to":"up"}', "POINT", (1, 2),
         {"duration": 0, "status": "finish", "button": "HOME", "text": "a", "direction": "up"}),
    ],
)  # fmt: skip
def test_what_is_read(text, name, place, arguments):
    (act,) = read_compact_action(text)
    assert (act.name, act.place, act.arguments) == (name, place, arguments)
    assert found([text]).reason.tolist() == [Reason.OK]


@cases("text", ["{}", '{"thought":"a"}', "{/**/}", "```json {} ```"])
def test_an_object_without_an_action_is_none(text):
    assert read_compact_action(text) == []
    assert found([text]).reason.tolist() == [Reason.MALFORMED]


@cases(
    "text",
    [
        '{"POINT":[200]}', '{"POINT":[1,2,3]}', '{"POINT":[200.5,1]}', '{"POINT":[-1,1]}', '{"POINT":[1,1001]}',
        '{"POINT":[true,false]}', '{"POINT":["1","2"]}', '{"POINT":[null,1]}', '{"POINT":[Infinity,1]}',
        '{"POINT":[NaN,1]}', '{"POINT":{}}', '{"POINT":"1,2"}', f'{{"POINT":[{"9" * 400},1]}}', '{"POINT":[[1],[2]]}',
        '{"POINT":[1,2],"to":"UP"}', '{"POINT":[1,2],"to":[1]}', '{"POINT":[1,2],"to":null}', '{"TYPE":5}',
        '{"TYPE":null}',
        '{"PRESS":"home"}', '{"PRESS":["HOME"]}', '{"STATUS":"done"}', '{"STATUS":{}}', '{"duration":"1000"}',
        '{"duration":-1}', '{"duration":1.5}', '{"duration":true}', '{"duration":1e999}', '{"thought":5,"POINT":[1,2]}',
        '{"CLEAR":true}', '{"POINT":[1,2],"x":1}', '{"point":[1,2]}', '{"POINT":[1,2],"POINT":[1,2]}',
        '{"POINT":[1,2]}{"POINT":[1,2]}', 'So: {"POINT":[1,2]}', '{"POINT":[1,2]} done.', '```\n{"POINT":[1,2]}\n```',
        '```json\n{"POINT":[1,2]}', '{"POINT":[1,2]}\n```', '[{"POINT":[1,2]}]', '{"POINT":[1,2]', "", "```json",
        "```json```", "```json``", "null", '"POINT"',
    ],
)  # fmt: skip
def test_what_is_not_read(text):
    assert read_compact_action(text) is None
    assert found([text, text]).reason.tolist()[0] in (Reason.MALFORMED, Reason.NO_ANSWER, Reason.EMPTY)


def test_a_fence_goes_from_the_start_to_the_end():
    fences = ["```json{}```", " ```json\n{}\n``` ", "```json```"]
    assert [is_fenced(text) for text in fences] == [True] * 3
    assert not any(map(is_fenced, ["```json``", "```{}```", "a```json{}```", "```json{}``` a", "", "```"]))


def test_the_schema_asks_for_no_key():
    assert is_compact_action({})
    assert is_compact_action({"thought": ""})
    assert not any(map(is_compact_action, [None, [], "POINT", 5, {"thought": None}]))


gaps = st.sampled_from([*SPACES[:8], "/**/", "x"])
numerals = st.sampled_from([*NUMERALS, "0", "7", "42", "999", "1000", "1001", "01"])
points = st.builds("{}[{},{}{}]".format, gaps, numerals, gaps, numerals)
texts = st.sampled_from(['"a"', '"é\\n"', '""', "'a'", '"a\x00"', '"a', '"\ud800"', '"\x7f"'])
words = st.sampled_from(['"up"', '"HOME"', '"finish"', '"continue"', '"UP"', "5"])
fields = st.one_of(
    st.builds('"POINT"{}:{}'.format, gaps, points),
    st.builds('"{}":{}'.format, st.sampled_from(["thought", "TYPE"]), texts),
    st.builds('"{}":{}{}'.format, st.sampled_from(["to", "PRESS", "STATUS", "duration"]), gaps, words | numerals),
)  # fmt: skip
objects = st.builds(
    "{}{}{{{}{}{}}}{}{}".format, gaps, st.sampled_from(["", "", "```json"]), gaps,
    st.lists(fields, max_size=3).map(",".join), gaps, st.sampled_from(["", "", "```"]), gaps,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(objects, responses), min_size=1, max_size=6))
@example(['{"thought":"t","POINT":[1,2]}', '{"TYPE":"a\ud800"}', '{"PRESS":"HOME"}', '{"POINT":[1,2],"to":"up"}'])
def test_many_texts_are_read_like_one(some):
    many = rows(found(some * VECTOR_ROWS))
    assert many == [rows(found([text]))[0] for text in some] * VECTOR_ROWS


@settings(max_examples=300, deadline=None)
@given(objects)
@example('{"thought":"t","POINT":[1,1000]}')
@example('{ "thought" : "t" , "POINT" : [ 1 , 2 ] , "to" : "left" }')
@example('{"TYPE":""}')
@example('{"PRESS":"BACK"}')
@example('{"STATUS":"satisfied"}')
def test_what_a_pattern_captures_is_what_reading_finds(text):
    for pattern in AGENTCPM.usual:
        captured = compiled(pattern).search(text)
        if captured:
            groups = captured.groupdict()
            (act,) = read_compact_action(text)
            assert act.name == groups.pop("action")
            assert act.place == tuple(float(groups.pop(name)) for name in ("x", "y") if name in groups)
            assert dict(act.arguments) == groups


def test_the_patterns_take_the_usual_forms():
    usual = [
        {"thought": "There it is, at the top.", "POINT": [200, 150]}, {"POINT": [5, 5], "to": "up"}, {"TYPE": "hello"},
        {"thought": "ö", "PRESS": "HOME"}, {"STATUS": "finish"},
    ]  # fmt: skip
    for value in usual:
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(value, separators=separators, ensure_ascii=False)
            assert sum(bool(compiled(pattern).search(text)) for pattern in AGENTCPM.usual) == 1
    assert not any(compiled(pattern).search("{}") for pattern in AGENTCPM.usual)


def test_it_keeps_what_dialects_promise():
    wild = ['{"POINT":[' * 5000, '{"thought":"' * 5000, '{"TYPE":"' + "\\" * 20_000, "{" * 20_000, "/*" * 20_000]
    check_dialect(AGENTCPM, [*Texts(wild), '{"POINT":[1,2]}', "```json\n{TYPE:'a'}\n```"])
