"""GUI-G1's reward by hand: hit + overlap / 4 + edges / 8, on a screen of 1000 x 1000."""

import ast
import math
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from tests.golden.departures import ORACLES

GUI_G1 = gr.recipe("gui-g1")
TARGET = [100, 100, 300, 200]
SIZE = (1000, 1000)


def score(*responses, target=TARGET, **more):
    return GUI_G1.score(list(responses), [target] * len(responses), **{"image_sizes": SIZE, **more})


def sources_box(response):
    """The published reading: the lines behind the fence, Python's own literals, and the first item alone."""
    lines = response.splitlines()
    if "```json" in lines:
        response = "\n".join(lines[lines.index("```json") + 1 :]).split("```")[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            box = ast.literal_eval(response)[0]["bbox_2d"][:4]
        return [float(number) for number in box] if len(box) == 4 else []
    except Exception:
        return []


def our_box(response):
    return [number for number in score(response).predictions.box[0].tolist() if not math.isnan(number)]


LIST = '[{"bbox_2d": [100, 100, 300, 200], "label": "x"}]'
BLANKS = ["", " ", "\t", "\n", "\r\n", "\f", "\v", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "#c\n", "\n ",
          "\n\t"]  # fmt: skip
pieces = st.lists(st.sampled_from(BLANKS), max_size=2).map("".join)
written = st.one_of(
    st.builds('{}[{}{{"bbox_2d":{}[100, 100, 300, 200], "label": "a{}b"}}]{}'.format, *[pieces] * 5),
    st.builds('{}{{"bbox_2d": [100, 100, 300, 200], "of":{}null}}{}'.format, *[pieces] * 3),
    st.builds(
        "{}[{{'bbox_2d': (100, 100, 300, 200), 'of': 'a' {}b'a'}}]{}".format, pieces, st.just("r") | pieces, pieces
    ),
)
fences = st.builds("{}```json{}\n{}\n```{}".format, pieces, pieces, written, pieces)


@pytest.mark.slow
@settings(max_examples=600)
@given(written | fences)
@example(f"\u3000```json\n{LIST}\n```")
@example(f"{LIST}\xa0")
@example(f"\f {LIST}")
@example(f"#c\n {LIST}")
@example(f"{LIST}\n ")
@example(LIST.replace("x", "\u2028"))
@example(f"```json\n{LIST.replace('x', chr(0x2028))}\n```")
@example("[{'bbox_2d': [1, 2, 3, 4], 'label': \"\"\"it's null\"\"\", 'of': null}]")
def test_read_is_what_the_source_reads_or_a_deviation_says_what_else(response):
    line = {"response": response, "ground_truth": TARGET, "extra": {"image_width": 1000, "image_height": 1000}}
    read_on = [oracle for oracle in ORACLES["gui-g1"] if oracle.same_as]
    for _ in read_on:
        found = next((found for found in read_on if found.applies(line)), None)
        if found is None:
            break
        line = found.same_as(line)
        assert our_box(line["response"]) == our_box(response) != []
    assert our_box(response) == sources_box(line["response"])
