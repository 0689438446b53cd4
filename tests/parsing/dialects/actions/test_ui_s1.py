"""UI-S1's answers: a JSON object between the first pair of action tags."""

import json
import time
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import UI_S1, parse
from grounding_rewards.parsing.published import read_action_tag
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from tests.cases import cases
from tests.parsing.acts import act, agree
from tests.parsing.fragments import NUMERALS, SPACES, responses

CLICK = '{"action": "click", "coordinate": [512, 384]}'
ONE = f"<action>{CLICK}</action>"
THOUGHT = "<think>left</think>\n"


def acts(text):
    found = read_action_tag(text)
    return None if found is None else [(each.name, each.place, dict(each.arguments)) for each in found]


@cases(
    ("content", "found"),
    [
        (CLICK, ("click", (512, 384), {})),
        ('\xa0\n{"action":"click","coordinate":[512,384]}\n', ("click", (512, 384), {})),
        ('{"coordinate": [1.5, -2e1, 7], "action": "Click"}', ("Click", (1.5, -20), {})),
        ('{"action": "type", "text": "a \\"b\\" <c>"}', ("type", (), {"text": 'a "b" <c>'})),
        ('{"action": "type", "text": ""}', ("type", (), {"text": ""})),
        ('{"action": "type", "text": 5}', ("type", (), {})),
        ('{"action": "system_button", "button": "Back"}', ("system_button", (), {"button": "Back"})),
        ('{"action": "terminate", "status": "success"}', ("terminate", (), {"status": "success"})),
        ('{"action": "wait", "time": 2}', ("wait", (), {})),
        (
            '{"action": "swipe", "coordinate": [500, 800], "coordinate2": [510, 200]}',
            ("swipe", (500, 800), {"to": (510, 200)}),
        ),
        ('{"action": "swipe", "coordinate2": [510, 200]}', ("swipe", (), {"to": (510, 200)})),
        (
            '{"action": "swipe", "coordinate": [5, 5], "coordinate2": [5, 5]}',
            ("swipe", (5, 5), {"to": (5, 5)}),
        ),
        *[
            (f'{{"action": "click", "coordinate": {pair}}}', ("click", (), {}))
            for pair in [
                "[512]", "[]", '["512", "384"]', "[null, 1]", "[true, 1]", "[NaN, 1]", "[Infinity, 1]", "[1e999, 1]",
                "[" + "9" * 400 + ", 1]", "512", '"512, 384"', '{"0": 1}', "[[1, 2]]",
            ]
        ],
        ('{"action": "click", "coordinate": [1e300, -1e300]}', ("click", (1e12, -1e12), {})),
    ],
)  # fmt: skip
def test_what_stands_between_the_tags(content, found):
    assert acts(f"<action>{content}</action>") == [found]


@cases(
    "content",
    [
        "", "click", "null", "[]", "[" * 10_000, CLICK[:-1], CLICK.replace('"', "'"), "{}", '{"action": null}',
        '{"action": ""}', '{"action": ["click"]}', f"[{CLICK}]", f"```json\n{CLICK}\n```", f"{CLICK} done",
        '{"action": "click", "coordinate": [.5, 1]}', '{"action": "click", "coordinate": [0512, 1]}',
        '{"action": "click", "coordinate": [５１２, 1]}', '{"action": "click", "coordinate": [' + "9" * 5000 + ", 1]}",
    ],
)  # fmt: skip
def test_what_is_no_action(content):
    assert acts(f"<action>{content}</action>") == []
    assert act(f"<action>{content}</action>", UI_S1) == "MALFORMED"


@cases(
    ("text", "names"),
    [
        ("", None),
        (CLICK, None),
        (ONE[:-1], None),
        (ONE.upper(), None),
        (f"</action>{CLICK}<action>", None),
        (f"Here: {ONE} done.", ["click"]),
        (f'<think>{ONE}</think><action>{{"action": "wait"}}</action>', ["click", "wait"]),
        (f"<action>x</action>{ONE}", []),
        (f"{ONE}<action>x</action>{ONE}", ["click"]),
        (f"<action>{ONE}", []),
    ],
)
def test_pairs_of_tags_count_up_to_the_first_that_holds_no_action(text, names):
    found = acts(text)
    assert (None if found is None else [name for name, _, _ in found]) == names


def test_policies_and_reasons():
    two = f'{ONE}<action>{{"action": "type", "text": "a"}}</action>'
    assert act(two, UI_S1, "first") == ("click", [512, 384], {})
    assert act(two, UI_S1, "last") == ("type", None, {"text": "a"})
    assert act(two, UI_S1) == "SEVERAL_ANSWERS"
    assert act("<action>", UI_S1) == "MALFORMED"
    assert act("click", UI_S1) == "NO_ANSWER"
    assert act(ONE * 300, UI_S1) == "TOO_MANY"
    assert act(ONE * 300, UI_S1, "first") == ("click", [512, 384], {})


@cases(
    "fields",
    [
        {"coordinate": [512, 384]}, {"coordinate": [0.25, -7]}, {"text": "a é > 'b'"}, {"text": ""}, {"button": "Back"},
        {},
    ],
)  # fmt: skip
def test_the_usual_forms_need_no_reading(fields):
    action = json.dumps({"action": "long_press", **fields}, ensure_ascii=False)
    tight = json.dumps({"action": "long_press", **fields}, ensure_ascii=False, separators=(",", ":"))
    texts = [f"<action>{action}</action>", f"{THOUGHT}<action>\n{tight}\n</action>\n", f"a {THOUGHT} b <action>{action}"
             "</action>."] * VECTOR_ROWS  # fmt: skip
    found = parse(texts, replace(UI_S1, read=int), space=CoordSpace.PIXEL, thinking="read")
    assert set(found.actions) == {"long_press"}
    agree(texts[:3], UI_S1, "first")


numbers = st.one_of(st.integers(-5, 2000).map(str), st.sampled_from(NUMERALS), st.floats(0, 999).map(str))
gaps = st.one_of(st.just(""), st.just(" "), st.just("\n"), st.sampled_from(SPACES[:12]))
names = st.sampled_from(['"click"', '"swipe"', '"type"', '""', '"é"', "null", '"a b"', '"\ud800"', '"a_b"'])
words = st.sampled_from(['"a"', '""', '"a\\"b"', '"a\tb"', '"\ud800é"', "5", '"<action>"', '"</action>"', '"a<b"'])
objects = st.one_of(
    st.builds('{{"action":{}{},{}"coordinate":{}[{}{},{}{}]}}'.format, gaps, names, gaps, gaps, gaps, numbers, gaps,
              numbers),
    st.builds('{{"action": {},{}"{}":{}{}{}}}'.format, names, gaps, st.sampled_from(["text", "button", "status"]), gaps,
              words, gaps),
    st.builds('{{{}"action": {}{}}}'.format, gaps, names, gaps),
    st.builds('{{"action": {}, "coordinate": [{}, {}], "coordinate2": [{}, {}]}}'.format, names, *[numbers] * 4),
)  # fmt: skip
thoughts = st.sampled_from(
    ["", THOUGHT, "<think></think>", "<think>a<b</think>", f"<think>{ONE}</think>", "a<think>é</think>", "\x00",
     "<action>", "</action>", "<think>"]
)  # fmt: skip
texts = st.builds(
    "{}{}<action>{}{}</action>{}".format,
    thoughts,
    gaps,
    st.one_of(objects, responses),
    gaps,
    st.sampled_from(["", "\n", " ", " done", ONE, "<"]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(texts, responses), min_size=1, max_size=6), st.sampled_from(["only", "first", "last", "all"]))
@example([f"{THOUGHT}{ONE}", ONE, f"{ONE}{ONE}", ""], "first")
def test_many_texts_are_read_like_one(texts, answers):
    agree(texts, UI_S1, answers, "read")


@settings(max_examples=300, deadline=None)
@given(texts)
@example(f"{THOUGHT}{ONE}")
@example('<action>{"action": "type", "text": "\u2028\x7f"}</action>')
def test_where_a_pattern_matches_reading_finds_the_same_and_nothing_more(text):
    matched = [found for found in (compiled(pattern).search(text) for pattern in UI_S1.usual) if found]
    assert len(matched) <= 1
    for found in matched:
        groups = found.groupdict()
        place = (float(groups.pop("x")), float(groups.pop("y"))) if "x" in groups else ()
        assert acts(text) == [(groups.pop("action"), place, groups)]


OPENERS = [
    "<action>", "</action>", '<action>{"action": "a"}</action>', '{"action": "', '"action"', "[", "[1", "[1, ", "{",
    "a", " ", "\n", "<think>", "</think>", "<", '"', "\\", '"text": "', "1",
]  # fmt: skip


@cases("opener", OPENERS)
def test_long_texts_take_no_longer_than_their_length(opener):
    start = time.perf_counter()
    for head in ("", "<action>", "<think>", '<action>{"action": "', '<action>{"action": "a", "text": "'):
        text = f"{head}{opener * (60_000 // len(opener))}</action>"
        parse([text], UI_S1, space=CoordSpace.PIXEL, answers="first", thinking="read")
        parse([text] * 3 + [""] * VECTOR_ROWS, UI_S1, space=CoordSpace.PIXEL, answers="last", thinking="read")
    assert time.perf_counter() - start < 10
