"""AgentCPM-GUI's compact JSON as actions, and as places for those who only click."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing import ACTION_COMPACT, JSON_COMPACT
from grounding_rewards.parsing.objects import read_compact
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.recipes.click import click
from tests.cases import cases
from tests.parsing.acts import act, agree
from tests.parsing.fragments import NUMERALS, SPACES
from tests.parsing.reading import read, read_action

READ = [
    ('{"thought":"save {it}","POINT":[300,200]}', ("click", [300, 200], {})),
    ("{'POINT' : [ 300 ,\n200.5 ]}", ("click", [300, 200.5], {})),
    ('```json\n{"POINT":[1,2]}\n```', ("click", [1, 2], {})),
    ('{"POINT":[1,2],"STATUS":"continue"}', ("click", [1, 2], {})),
    ('{"POINT":[1,2],"STATUS":"finish"}', ("click", [1, 2], {"status": "finish"})),
    ('{"POINT":[500,500],"duration":1000}', ("long_press", [500, 500], {"duration": 1000})),
    ('{"POINT":[500,500],"to":"up"}', ("scroll", [500, 500], {"direction": "down", "swiped": True})),
    ('{"to":"left","POINT":[500,500]}', ("scroll", [500, 500], {"direction": "right", "swiped": True})),
    ('{"POINT":[500,500],"to":[500,100],"duration":9}',
     ("scroll", [500, 500], {"to": [500, 100], "duration": 9})),
    ('{"TYPE":"it\'s {"}', ("type", None, {"text": "it's {"})),
    ('{"TYPE":""}', ("type", None, {"text": ""})),
    ('{"TYPE":"a","POINT":[1,2]}', ("type", [1, 2], {"text": "a"})),
    ('{"PRESS":"HOME"}', ("home", None, {})),
    ('{"PRESS":"BACK"}', ("back", None, {})),
    ('{"PRESS":"ENTER"}', ("enter", None, {})),
    ('{"PRESS":"APPSELECT"}', ("recent", None, {})),
    ('{"CLEAR":true}', ("clear", None, {})),
    ('{"STATUS":"finish"}', ("finished", None, {"status": "finish"})),
    ('{"thought":"a","STATUS":"impossible"}', ("finished", None, {"status": "impossible"})),
    ('{"duration":1000}', ("wait", None, {"duration": 1000})),
    ('{"POINT":[500,500],"POINT":[1,1]}', ("click", [1, 1], {})),
]  # fmt: skip


@cases(("text", "expected"), READ)
def test_what_is_read(text, expected):
    assert act(text, ACTION_COMPACT) == expected


@cases(
    "text",
    [
        '{"POINT":[x,y]}', '{"POINT":[1]}', '{"POINT":[1,2', '{"TYPE":["a"]}',
        '{"TYPE":7}', '{"PRESS":7}', '{"CLEAR":false}', '{"STATUS":"continue"}', '{"STATUS":7}', '{"duration":"long"}',
        '{"POINT":[1,2],"to":[1]}', '{"POINT":[1,2],"to":7}', '{"POINT":[1,2],"duration":"long"}', '{"TYPE":',
        '{"to":"up","TYPE":"a"}', '{"action":"wait","duration":5}', '{"POINT":[NaN,1]}', '{"duration":1e999}',
        '{"PRESS":["HOME"]}', '{"POINT":null}',
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_malformed(text):
    assert act(text, ACTION_COMPACT) == "MALFORMED"


def test_without_its_keys_nothing_was_begun():
    assert act("{POINT:[1,2]}", ACTION_COMPACT) == "NO_ANSWER"
    assert act('{"action":"click"}', ACTION_COMPACT) == "NO_ANSWER"


def test_several_actions():
    text = '{"POINT":[1,2]} {"TYPE":"a"}'
    assert act(text, ACTION_COMPACT) == "SEVERAL_ANSWERS"
    assert act(text, ACTION_COMPACT, "first") == ("click", [1, 2], {})
    assert act(text, ACTION_COMPACT, "last") == ("type", None, {"text": "a"})


@cases(
    "text",
    [
        '{"POINT":[200,150],"to":"up"}', '{"to":"up","POINT":[200,150]}', '{"POINT":[200,150],"duration":9,"to":[1,2]}',
        '{"to" : "up", "thought":"a", "POINT":[200,150]}', "{'to': 'up', 'POINT': [200, 150]}",
    ],
)  # fmt: skip
@cases("rows", [1, 60])
def test_a_swipe_is_no_click_for_those_who_only_click(text, rows):
    recipe = click(response_space="pixel", dialect="json_compact")
    hits = [
        recipe.score([each] * rows, [{"bbox": [100, 100, 300, 200]}] * rows).acc
        for each in (text, '{"POINT":[200,150]}')
    ]
    assert [set(hit.tolist()) for hit in hits] == [{0.0}, {1.0}]
    assert read_action(text, JSON_COMPACT) == "to"


@cases("thought", ["a 'to' b", "'to': x", "a [1]", "say 'POINT': [3, 4]", "x: y", "to", "POINT", "a\\", "'"])
def test_whatever_the_thought_says_many_are_read_as_one(thought):
    text = f'{{"thought": "{thought}", "POINT": [1, 2]}}'
    agree([text], JSON_COMPACT)
    agree([text, text[:-1] + ', "to": "up"}'], JSON_COMPACT, "last")
    assert "POINT'" in thought or read(text, JSON_COMPACT) == ([1, 2], "OK")


KEYS = st.sampled_from(["POINT", "thought", "to", "duration", "TYPE", "PRESS", "CLEAR", "STATUS", "label"])
NUMBER = st.sampled_from(["5", "6.25", "-1", "0", *NUMERALS])
VALUES = st.one_of(
    st.builds("[{}{}{}]".format, NUMBER, st.sampled_from([",", ", ", *SPACES]), NUMBER),
    st.builds("[{}, {}]".format, NUMBER, NUMBER),
    st.builds('"{}"'.format, st.sampled_from(["up", "", "HOME", "finish", "a'b", 'a"b', "a\\", "{", "é", "\ud800"])),
    NUMBER,
)
OBJECTS = st.lists(
    st.builds('"{}": {}'.format, KEYS, VALUES) | st.builds("'{}':{}".format, KEYS, VALUES), max_size=4
).map(lambda fields: "{" + ", ".join(fields) + "}")
TEXTS = st.lists(OBJECTS | st.sampled_from(["", " ", "\n", "```", "{", "'", '"']), min_size=1, max_size=3).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.builds('{}{{{}"POINT": [{}, {}]}}{}'.format, st.sampled_from(["", "a ", "'", "{"]),
                 st.just("") | st.builds('"thought": "{}", '.format, st.text("ab' \"\\[{:", max_size=5)),
                 NUMBER, NUMBER, st.sampled_from(["", "\n", "'", "}", "{", '"'])))  # fmt: skip
def test_a_usual_form_is_what_the_function_reads(text):
    for pattern in ACTION_COMPACT.usual:
        found = compiled(pattern).search(text)
        if found:
            assert read_compact(text) == [("click", (float(found["x"]), float(found["y"])), {})]


def test_the_usual_form_is_taken():
    for text in (
        '{"POINT":[300,200]}',
        '{"thought":"it\'s [here]","POINT":[300,200]}',
        '```json\n{"POINT": [1, 2]}\n```',
    ):
        assert any(compiled(pattern).search(text) for pattern in ACTION_COMPACT.usual), text
