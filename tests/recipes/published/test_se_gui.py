"""SE-GUI's rewards by hand: the hit, 1 - (d / dmax)² over the whole screen, and half a point for the format."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.recipes.published.se_gui import is_well_formed
from tests.parsing.fragments import responses

SE_GUI = gr.recipe("se-gui")
CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
# Centre (0.2, 0.1875) in unit space; the farthest corner is (1, 1): dmax² = 0.64 + 0.66015625.
TARGET = [100, 100, 300, 200, 1000, 800]


def parts(scores):
    return [scores.parts[name].tolist() for name in ("hit", "nearness", "point", "format")]


def test_uniformly_random_clicks_earn_three_quarters_of_a_point():
    rng, rows = np.random.default_rng(1), 4000
    points = rng.integers(0, (1920, 1080), (rows, 2))
    corners = rng.integers(0, (1720, 1000), (rows, 2))
    extents = rng.integers((10, 8), (200, 80), (rows, 2))
    boxes = np.concatenate((corners, corners + extents), axis=1).tolist()
    targets = [[*box, 1920, 1080] for box in boxes]
    scores = SE_GUI.score([CALL.format(point.tolist()) for point in points], targets)
    assert 0.70 < scores.parts["point"].mean() < 0.78
    assert scores.acc.mean() < 0.02


pieces = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "{",
        "}",
        "[1,2]",
        "[1, 2]",
        "[１, 2]",
        "[1,\xa02]",
        "[1 ,2]",
        CALL.format("[7, 8]"),
    ]
)
texts = st.lists(st.one_of(pieces, pieces, responses), min_size=1, max_size=8).map("".join)


@settings(deadline=None)
@given(texts)
def test_the_format_is_that_of_the_published_pattern(text):
    import re

    published = r"<tool_call>.*?\{.*\[\d+,\s*\d+\].*\}.*?</tool_call>"
    assert is_well_formed(text) == bool(re.search(published, text, re.DOTALL))


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 6000, "<tool_call>{" * 5000, "<tool_call>{[1,2]" * 3800, "<tool_call>{[1,2]}" * 3600,
        "<tool_call>{" + "[1," * 20000, "<tool_call>{[" + "1" * 65000, "<tool_call>{[1," + " " * 65000,
        '<tool_call>{"a":' * 4000 + "</tool_call>", "<tool_call>" + "[" * 65000 + "</tool_call>",
        "<tool_call>{[1," + "1" * 65000 + "]}</tool_call>", "<" * 65536,
    ],
    ids=range(11),
)  # fmt: skip
def test_long_texts_take_no_longer_than_their_length(text):
    start = time.process_time()
    SE_GUI.score(text, TARGET)
    SE_GUI.score([text] * VECTOR_ROWS, [TARGET] * VECTOR_ROWS)
    assert time.process_time() - start < 5
