"""BTL-UI's answers: the link holds the action. ``btl_ui`` reads the first link, ``action_blink`` the last."""

import json
import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import ACTION_BLINK, BTL_UI, parse
from grounding_rewards.parsing.published import fenced, read_fenced_link
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from tests.cases import cases
from tests.parsing.acts import act, agree
from tests.parsing.fragments import NUMERALS, SPACES

LOOK = '<blink>```json\n[{"bbox_2d": [500, 370, 524, 398]}]\n```</blink>\n<think>It saves the file.</think>\n'
TAP = '[{"Plan": "Save it", "Action": {"function": "Tap", "point_2d": [512, 384]}}]'


def link(items, before=LOOK):
    return f"{before}<link>```json\n{items}\n```</link>"


def action(**fields):
    return json.dumps([{"Plan": "p", "Action": fields}])


@cases(
    ("items", "found"),
    [
        (TAP, ("Tap", [512, 384], {})),
        ('[{"point_2d": [512.5, -3]}]', ("", [512.5, -3], {})),
        ('[{"point_2d": [1, 2], "Action": {"function": "Home"}}]', ("", [1, 2], {})),
        (action(function="Type", text="hello <b>"), ("Type", None, {"text": "hello <b>"})),
        (action(function="Type", text=""), ("Type", None, {"text": ""})),
        (action(function="Swipe", direction="up"), ("Swipe", None, {"direction": "up"})),
        (action(function="Home"), ("Home", None, {})),
        (action(function="Wait", time=2), ("Wait", None, {"raw": {"function": "Wait", "time": 2}})),
        (action(function="Tap", point_2d=[1]), ("Tap", None, {"raw": {"function": "Tap", "point_2d": [1]}})),
        ('[{"point_2d": [1, 2]}, {"point_2d": [3, 4]}]', ("", [1, 2], {})),
        ('[{"point_2d": [1, 2]}, 5]', ("", [1, 2], {})),
        ('[{"point_2d": [' + "9" * 400 + ", NaN]}]", ("", [1e12, 1e12], {})),
        *[
            (items, "MALFORMED")
            for items in (
                "[]", "{}", "null", "", '{"point_2d": [1, 2]}', "[5, {}]", '[{"point_2d": [1]}]', '[{"point_2d": 1}]',
                '[{"point_2d": ["1", "2"]}]', '[{"point_2d": [1, 2, 3]}]', '[{"point_2d": [1 2]}]', "[{}]",
                '[{"point_2d": [' + "9" * 5000 + ", 1]}]", '[{"Action": "Tap"}]', '[{"Action": {"function": ""}}]',
                '[{"Action": {"function": 5}}]', "[{'point_2d': [1, 2]}]", '[{"point_2d": [１, 2]}]', "[" * 5000,
            )
        ],
    ],
)  # fmt: skip
def test_the_items_of_a_link(items, found):
    assert act(link(items), BTL_UI, "first", "read") == found
    agree([link(items)], BTL_UI, "first")


@cases(
    ("text", "found"),
    [
        (link(TAP, ""), ("Tap", [512, 384], {})),
        (f" Here: {link(TAP)} done.", ("Tap", [512, 384], {})),
        (link('[{"point_2d": [1, 2]}]') + link(TAP), ("", [1, 2], {})),
        (f"<link>{TAP}</link>{link(TAP)}", ("Tap", [512, 384], {})),
        (f"<link> \n```json{TAP}``` </link>", ("Tap", [512, 384], {})),
        (f"<think>{link(TAP)}</think>", ("Tap", [512, 384], {})),
        (link(TAP).replace("json", "js·on"), "MALFORMED"),
        (link(TAP).replace("</link>", ""), "MALFORMED"),
        (link(TAP).upper(), "NO_ANSWER"),
        (TAP, "NO_ANSWER"),
        (LOOK, "NO_ANSWER"),
        ("", "EMPTY"),
    ],
)
def test_the_first_fenced_link_counts_wherever_it_is(text, found):
    assert act(text, BTL_UI, "first", "read") == found


def test_several_items_are_several_answers():
    two = link('[{"point_2d": [1, 2]}, {"point_2d": [3, 4]}]')
    assert act(two, BTL_UI, "only", "read") == "SEVERAL_ANSWERS"
    assert act(two, BTL_UI, "last", "read") == ("", [3, 4], {})


def test_thinking_may_be_dropped():
    assert act(link(TAP), BTL_UI, "only", "closed") == ("Tap", [512, 384], {})


words = st.text(st.sampled_from('aé "\\<>`[{:\n\ud800'), max_size=5)
numbers = st.sampled_from([*NUMERALS, "7", "512", "0.25", "999999999999", "1000000000000"])
blank = st.sampled_from(["", "", "\n", *SPACES])
points = st.builds('"point_2d": [{},{}{}]'.format, numbers, blank, numbers)
beside = st.one_of(
    points, st.builds('"text":{}"{}"'.format, blank, words), st.builds('"direction": "{}"'.format, words),
    st.builds('"text": {}'.format, words.map(json.dumps)), st.just('"text": "hello"'), st.just('"direction": "up"'),
)  # fmt: skip
actions = st.builds(
    '{}"Action":{}{{"function": "{}"{}}}'.format,
    st.sampled_from(['"Plan": "Go on", ', "", '"Plan": "a", "Plan": "b", ', '"Plan": 1, ']),
    blank, st.sampled_from(["Tap", "Type", "Swipe", "Home", "tap", "", "A B"]),
    st.lists(beside, max_size=2).map(lambda fields: "".join(f", {field}" for field in fields)),
)  # fmt: skip
items = st.one_of(points, actions).map("{{{}}}".format)
links = st.builds(
    "{}<link>{}```json{}[{}]{}```{}</link>{}".format,
    st.sampled_from(["", LOOK, f" \n{LOOK}", LOOK.replace("saves", "<saves>"), LOOK[:-10], f"{LOOK}\t"]),
    blank, blank, st.lists(items, max_size=2).map(", ".join), blank, blank, st.sampled_from(["", "\n", " ", "x", "`"]),
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(links)
@example(link(TAP))
@example(link('[{"Plan": "p", "Action": {"function": "Type", "text": ""}}]'))
def test_a_pattern_takes_only_what_the_reader_reads_alike(text):
    for pattern in BTL_UI.usual:
        found = compiled(pattern).search(text)
        if found:
            groups = found.groupdict()
            place = (float(groups.pop("x")), float(groups.pop("y"))) if "x" in groups else ()
            assert read_fenced_link(text) == [(groups.pop("action"), place, groups)]


def test_the_usual_forms_are_taken_by_a_pattern():
    arguments = [{}, {"point_2d": [1, 2]}, {"text": "hello world"}, {"direction": "up"}]
    for text in [link('[{"point_2d": [1, 2]}]'), *(link(action(function="Tap", **fields)) for fields in arguments)]:
        for written in (text, text.replace(LOOK, ""), text.replace(", ", ",").replace(": ", ":")):
            assert sum(compiled(pattern).search(written) is not None for pattern in BTL_UI.usual) == 1, written


@cases("part", [
    "<link>", "<link> ```json ", "```</link>", "``` ", "<blink>", "</think>", "<link>```json [[",
    '{"point_2d": [1, 2]},', LOOK, "<link>```json\n", " ", "`", "<think>", '<link>```json [{"Action": {"function": "',
])  # fmt: skip
@cases("rows", [1, VECTOR_ROWS])
def test_time_is_linear(part, rows):
    for before in ("", "<link>```json ", "<link>```json [{", "<blink>```json", "<link>"):
        text = (before + part * (60_000 // len(part)))[:60_000]
        start = time.process_time()
        parse([text] * rows, BTL_UI, space=CoordSpace.PIXEL, answers="first", thinking="read")
        assert time.process_time() - start < 0.05 * rows + 0.5, (before, part)


def test_a_fence_fills_its_tag():
    assert fenced("<blink>```json [1] ```</blink>", "<blink>") == "[1]"
    assert fenced("<blink>x```json [1]```</blink>", "<blink>") is None
    assert fenced("<blink>```json [1]```x</blink>", "<blink>") is None
    assert fenced("<blink>```json [1] ``` [2] ```</blink>", "<blink>") == "[1] ``` [2]"


LOOKED = '<blink>```json\n[{"bbox_2d": [1, 2, 3, 4]}]\n```</blink>\n<think>t</think>\n'


def last_link(items, fence="```json"):
    return f"{LOOKED}<link>{fence}\n{items}\n```</link>"


def done(function, rest=""):
    return last_link(f'[{{"Plan": "p", "Action": {{"function": "{function}"{rest}}}}}]')


READ = [
    (done("Tap", ', "point_2d": [5, 6]'), ("click", [5, 6], {})),
    (done("LongPress", ', "point_2d": [5, 6]'), ("long_press", [5, 6], {})),
    (done("Swipe", ', "direction": "up"'), ("scroll", None, {"direction": "down", "swiped": True})),
    (
        done("Swipe", ', "point_2d": [5, 9], "end_point": [5, 1]'),
        ("scroll", [5, 9], {"to": [5, 1]}),
    ),
    (done("Type", ', "text": "hello world"'), ("type", None, {"text": "hello world"})),
    (done("Home"), ("home", None, {})),
    (done("Back"), ("back", None, {})),
    (done("Wait"), ("wait", None, {})),
    (done("Teleport"), ("Teleport", None, {})),
    (last_link('[{"point_2d": [5, 6]}]'), ("", [5, 6], {})),
    (last_link('[{"point_2d": [5, 6]}]', "```js·on"), ("", [5, 6], {})),
    (last_link("[{'Plan': 'p', 'Action': {'function': 'Back'}}]", ""), ("back", None, {})),
    (
        '<link>[{"point_2d": [1, 2]}]</link><link>{"Action": {"function": "Back"}}</link>',
        ("back", None, {}),
    ),
    ('<link>{"Action": {"function": "Back"}}', ("back", None, {})),
    ('<link>{"Action": {"function": "Back"}}</link> {"point_2d": [1, 2]}', ("back", None, {})),
]


@cases(("text", "expected"), READ)
@cases("thinking", ["closed", "read"])
def test_what_is_read_in_the_last_link(text, expected, thinking):
    assert act(text, ACTION_BLINK, thinking=thinking) == expected


@cases("items", ["", "[]", '[{"point_2d": [5]}]', '[{"Plan": "p"}]', "{"])
def test_a_last_link_that_cannot_be_used_is_malformed(items):
    assert act(last_link(items), ACTION_BLINK) == "MALFORMED"


def test_without_a_link_nothing_was_begun():
    assert act(LOOKED, ACTION_BLINK, thinking="read") == "NO_ANSWER"


def test_several_items_of_the_last_link():
    text = last_link('[{"Action": {"function": "Back"}}, {"Action": {"function": "Home"}}]')
    assert act(text, ACTION_BLINK) == "SEVERAL_ANSWERS"
    assert act(text, ACTION_BLINK, "last") == ("home", None, {})
