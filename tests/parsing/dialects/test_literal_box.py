"""Boxes in a list of dicts, fenced or not: GUI-G1."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import LITERAL_BOX, parse
from grounding_rewards.parsing.readers import read_literal_boxes
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from tests.cases import cases
from tests.parsing.fragments import GLUE, NUMERALS, SPACES
from tests.parsing.reading import read, read_box

BOX = [500, 370, 524, 398]
LIST = '[{"bbox_2d": [500, 370, 524, 398], "label": "save"}]'


@cases(
    "text",
    [
        f"```json\n{LIST}\n```", '```json\n[\n\t{"bbox_2d": [500, 370, 524, 398], "label": "save"}\n]\n```', LIST,
        "[{'bbox_2d': [500, 370, 524, 398], 'label': 'it\\'s'}]",
        '[{"label": "save", "bbox_2d": [500, 370, 524, 398]}]',
        '[{"bbox_2d": (500, 370, 524, 398)},]', '[{"bbox_2d": [500, 370, 524, 398, 9, "x"]}]',
        '({"bbox_2d": [500, 370, 524, 398]},)', '{"bbox_2d": [500, 370, 524, 398]}',
        '({"bbox_2d": [5e2, 370, 524, 398]})',
        f"Sure.\n```json\n{LIST}\n``` there", f"[0, 0, 1, 1]\n```json\n{LIST}\n```\n[1, 2]", f"```json\n{LIST}",
        f" ```json \n{LIST}\n  ```", f"```json\n\n  {LIST}\n", f"\t{LIST}\n  ", f"```json\r\n{LIST}\r\n```",
        f"Sure.\u2028```json\x0b{LIST}\x1c```", LIST.replace("save", "\u2028"),
        LIST.replace('"save"', "r'a' \"\"\"\n\"\"\""),
        '[{"bbox_2d": [500, 370, 524, 398], "found": true, "of": null}]', f"```json\n{LIST}\n``` ```json\n[1]\n```",
        "[{'bbox_2d': [+500, 3_70, 0x20c, 398.0]}]  # this one", "[{'bbox_2d': [500.0, 370., 52.4e1, 398]}]",
        '[{"bbox_2d": [500, 370, 524, 398]}, {"bbox_2d": [1, 2, 3, 4]}]', '[{"bbox_2d": [500, 370, 524, 398]}, 7]',
    ],
)  # fmt: skip
def test_reads(text):
    found = parse([text], LITERAL_BOX, space=CoordSpace.PIXEL, answers="first", thinking="read")
    assert found.box.tolist() == [BOX]
    assert found.xy.tolist() == [[512, 384]]


@cases(
    "text",
    [
        f"Here: ```json\n{LIST}\n```", f"```\n{LIST}\n```", f"``json\n{LIST}\n```", f"```json\n{LIST}\n``",
        f"{LIST}\n```",
        f"```json\n```json\n{LIST}\n```", f"{LIST} ok", f"It is {LIST}", f"{LIST}\n{LIST}", f"{LIST} {LIST}", LIST[:-1],
        LIST[1:], '[{"bbox_2d": [500, 370, 524]}]', '[{"bbox_2d": ["500", "370", "524", "398"]}]', '[{"bbox_2d": 7}]',
        '[{"bbox_2d": [500, 370, null, 398]}]', '[{"bbox_2d": [0500, 370, 524, 398]}]',
        '[{"bbox_2d": "500 370 524 398"}]',
        '[{"bbox_2d": [５００, 370, 524, 398]}]', '[{"bbox_2d": [1, 1, 2, 2], [500, 370, 524, 398]}]',
        '[{"bbox_2d": [500, 370, 524, 398 # x]}]', '[{"bbox_2d": [100*5, 370, 524, 398]}]',
        '[7, {"bbox_2d": [1, 2, 3, 4]}]',
        '[{"label": "x"}, {"bbox_2d": [1, 2, 3, 4]}]', '[["bbox_2d", [500, 370, 524, 398]]]', '"bbox_2d"', "bbox_2d",
        f"\u3000```json\n{LIST}\n```", f"```json\xa0\n{LIST}\n```", f"{LIST}\xa0", f"\x0b{LIST}", f"{LIST}\u2028",
        f"```json\n{LIST.replace('save', chr(0x2028))}\n```",
        '[{"bbox_2d": [NaN, 1, 2, 3]}]', '[{"bbox_2d": {"x": 1}}]', '[[{"bbox_2d": [500, 370, 524, 398]}]]',
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_malformed(text):
    assert read(text, LITERAL_BOX, "first", "read") == (None, "MALFORMED")


@cases("text", ["[500, 370, 524, 398]", '[{"bbox": [500, 370, 524, 398]}]', "(1, 2)", "```json\n[]\n```"])
def test_without_the_key_there_is_no_answer(text):
    assert read(text, LITERAL_BOX, "first", "read") == (None, "NO_ANSWER")


def test_numbers_of_all_sizes_and_booleans_are_numbers():
    assert read_box(f'[{{"bbox_2d": [{"9" * 400}, -{"9" * 400}, 1e309, -1e309]}}]', LITERAL_BOX) == [1e12, -1e12] * 2
    assert read_box('[{"bbox_2d": [True, False, true, 1]}]', LITERAL_BOX) == [1, 0, 1, 1]
    assert read_box(f'[{{"bbox_2d": [{"9" * 4301}, 1, 2, 3]}}]', LITERAL_BOX) is None


def test_the_first_dict_is_the_first_answer():
    two = '[{"bbox_2d": [0, 0, 2, 2]}, {"label": "x"}, {"bbox_2d": [4, 4, 8, 8]}]'
    assert read(two, LITERAL_BOX, "first") == ([1, 1], "OK")
    assert read(two, LITERAL_BOX, "last") == ([6, 6], "OK")
    assert read(two, LITERAL_BOX, "only") == (None, "SEVERAL_ANSWERS")


plain = st.integers(-2000, 5000).map(str) | st.floats(-3000, 3000).map("{:.3f}".format) | st.sampled_from(NUMERALS)
gaps = st.sampled_from(["", "", " ", "\n", "\t", "\r\n", *SPACES])
labels = st.sampled_from(
    ["", "save", "点击", "it's", "a ] b", "\\n", "`", "```", '\\"', "\u2028", "\x1c", "\ud800", "\x00"]
)
fences = st.sampled_from(
    ["```json\n", "```json\n\n", " ```json\n", "```json \n", "```json\r\n", "", "``json\n", "Sure.\n"]
)
ends = st.sampled_from(["\n```", "```", "", "\n", "\n  ", "\n``", "``` ok\n", " ok", "\n```json\n[1]", "]"])
answers = st.builds(
    '{}[{}{{{}"bbox_2d"{}:{}[{}{},{}{}{},{},{}]{}{}}}]{}'.format,
    fences, gaps, gaps, gaps, gaps, gaps, plain, gaps, plain, gaps, plain, plain, gaps,
    st.just("") | labels.map(', "label": "{}"'.format) | st.just(", 'label': 'x'"), ends,
)  # fmt: skip
texts = answers | st.lists(st.sampled_from([LIST, "```json\n", "```", *GLUE, *SPACES]), max_size=8).map("".join)


@settings(max_examples=500, deadline=None)
@given(texts)
@example('```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "\ud800"}]\n```')
@example('```json\n[{"bbox_2d": [-0, 0.5, 3, 4]}]``` ```json')
def test_where_the_pattern_matches_read_finds_the_same(text):
    found = compiled(LITERAL_BOX.usual[0]).search(text)
    if found:
        assert read_literal_boxes(text) == [[float(number) for number in found.group("x1", "y1", "x2", "y2")]]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_many_texts_read_as_each_alone(some):
    many = parse(some * VECTOR_ROWS, LITERAL_BOX, space=CoordSpace.PIXEL, answers="first", thinking="read")
    for row, text in enumerate(some):
        alone = parse([text], LITERAL_BOX, space=CoordSpace.PIXEL, answers="first", thinking="read")
        assert many.box[row].tobytes() == alone.box[0].tobytes()
        assert many.xy[row].tobytes() == alone.xy[0].tobytes()
        assert many.reason[row] == alone.reason[0]


def test_a_bare_list_is_read_as_in_its_fence():
    # The bare form has a quick path of its own.
    for text in (LIST, f" \n{LIST}\n ", '[{"bbox_2d": [-1.5, 0, 3, 999999999999999]}]', '[ { "bbox_2d":[1,2,3,4] } ]'):
        assert read_literal_boxes(text) == read_literal_boxes(f"```json\n{text}\n```")
        assert np.array(read_literal_boxes(text)).shape == (1, 4)
