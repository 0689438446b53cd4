"""BTL-UI: what stands in the link is the answer, whatever was looked at and thought before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing import ACTION_BLINK
from tests.parsing.acts import act, agree
from tests.parsing.fragments import responses

BLINK = '<blink>```json\n[{"bbox_2d": [1, 2, 3, 4]}]\n```</blink>\n<think>t</think>\n'


def link(items, fence="```json"):
    return f"{BLINK}<link>{fence}\n{items}\n```</link>"


def done(function, rest=""):
    return link(f'[{{"Plan": "p", "Action": {{"function": "{function}"{rest}}}}}]')


READ = [
    (done("Tap", ', "point_2d": [5, 6]'), ("click", [5, 6], {})),
    (done("LongPress", ', "point_2d": [5, 6]'), ("long_press", [5, 6], {})),
    (done("Swipe", ', "direction": "up"'), ("scroll", None, {"direction": "down", "swiped": True})),
    (
        done("Swipe", ', "point_2d": [5, 9], "end_point": [5, 1]'),
        ("scroll", [5, 9], {"direction": "down", "to": [5, 1], "swiped": True}),
    ),
    (done("Type", ', "text": "hello world"'), ("type", None, {"text": "hello world"})),
    (done("Home"), ("home", None, {})),
    (done("Back"), ("back", None, {})),
    (done("Wait"), ("wait", None, {})),
    (done("Teleport"), ("Teleport", None, {})),
    (link('[{"point_2d": [5, 6]}]'), ("", [5, 6], {})),
    (link('[{"point_2d": [5, 6]}]', "```js·on"), ("", [5, 6], {})),
    (link("[{'Plan': 'p', 'Action': {'function': 'Back'}}]", ""), ("back", None, {})),
    ('<link>[{"point_2d": [1, 2]}]</link><link>{"Action": {"function": "Back"}}</link>', ("back", None, {})),
    ('<link>{"Action": {"function": "Back"}}', ("back", None, {})),
    ('<link>{"Action": {"function": "Back"}}</link> {"point_2d": [1, 2]}', ("back", None, {})),
]


@pytest.mark.parametrize(("text", "expected"), READ)
@pytest.mark.parametrize("thinking", ["closed", "read"])
def test_what_is_read(text, expected, thinking):
    assert act(text, ACTION_BLINK, thinking=thinking) == expected


@pytest.mark.parametrize("items", ["", "[]", '[{"point_2d": [5]}]', '[{"Plan": "p"}]', '[{"point_2d": "5, 6"}]', "{"])
def test_what_cannot_be_used_is_malformed(items):
    assert act(link(items), ACTION_BLINK) == "MALFORMED"


def test_without_a_link_nothing_was_begun():
    assert act(BLINK, ACTION_BLINK, thinking="read") == "NO_ANSWER"


def test_several_items():
    text = link('[{"Action": {"function": "Back"}}, {"Action": {"function": "Home"}}]')
    assert act(text, ACTION_BLINK) == "SEVERAL_ANSWERS"
    assert act(text, ACTION_BLINK, "last") == ("home", None, {})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds("{}<link>{}</link>{}".format, responses, responses, responses), min_size=1, max_size=4),
       st.sampled_from(["only", "first", "last", "all"]))  # fmt: skip
def test_alone_and_in_a_batch_whatever_the_text(texts, answers):
    agree([*texts, *(text for text, _ in READ)], ACTION_BLINK, answers)
