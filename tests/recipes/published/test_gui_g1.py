"""GUI-G1's reward by hand: hit + overlap / 4 + edges / 8, on a screen of 1000 x 1000."""

import ast
import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from tests.golden.departures import ORACLES

GUI_G1 = gr.recipe("gui-g1")
TARGET = [100, 100, 300, 200]
SIZE = (1000, 1000)


def fenced(*box):
    return f'```json\n[\n\t{{"bbox_2d": {json.dumps(box)}, "label": "x"}}\n]\n```'


def score(*responses, target=TARGET, **more):
    return GUI_G1.score(list(responses), [target] * len(responses), **{"image_sizes": SIZE, **more})


def parts(response, target=TARGET):
    scores = score(response, target=target)
    return tuple(float(scores.parts[name][0]) for name in ("hit", "iou", "box"))


def test_any_box_on_the_screen_scores_for_its_edges():
    # Listed exploit: the mean over targets all over the screen of always answering with its middle.
    rng = np.random.default_rng(7)
    corners = rng.integers(0, 900, (400, 2))
    targets = np.concatenate((corners, corners + rng.integers(10, 100, (400, 2))), axis=1).tolist()
    scores = GUI_G1.score([fenced(500, 500, 500, 500)] * 400, targets, image_sizes=SIZE).parts["box"]
    assert 0.65 < scores.mean() < 0.8
    assert scores.min() > 0.45


@settings(max_examples=150, deadline=None)
@given(st.tuples(*[st.floats(-3000, 3000) | st.integers(-(10**30), 10**30)] * 4))
def test_any_box_is_finite_and_within_bounds(box):
    hit, iou, edges = parts(fenced(*box))
    assert hit in (0, 1)
    assert 0 <= iou <= 1
    assert 0 <= edges <= 1


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
BLANKS = [
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\xa0",
    "\u2028",
    "\u3000",
    "\ufeff",
    "#c\n",
    "\n ",
    "\n\t",
]
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
@settings(max_examples=600, deadline=None)
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
