"""SE-GUI's rewards by hand: the hit, 1 - (d / dmax)² over the whole screen, and half a point for the format."""

import math
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
DMAX2 = 1.30015625


def near(dx, dy):
    return 1 - (dx * dx + dy * dy) / DMAX2


def parts(scores):
    return [scores.parts[name].tolist() for name in ("hit", "nearness", "point", "format")]


@pytest.mark.parametrize(
    ("numbers", "hit", "nearness", "form"),
    [
        ("[200, 150]", 1, 1.0, 1),
        ("[100, 100]", 1, near(0.1, 0.0625), 1),
        ("[300,200]", 1, near(0.1, 0.0625), 1),
        ("[300, 201]", 0, near(0.1, 0.06375), 1),
        ("[99, 150]", 0, near(0.101, 0), 1),
        ("[0, 0]", 0, near(0.2, 0.1875), 1),
        ("[1000, 150]", 0, near(0.8, 0), 1),
        ("[1000, 800]", 0, 0.0, 1),  # d = 1.14: beyond 1 the score is 0, even in the image
        ("[900, 750]", 0, near(0.7, 0.75) if math.hypot(0.7, 0.75) <= 1 else 0.0, 1),
        ("[-200, 150]", 0, near(0.4, 0), 0),
        ("[200.5, 150.25]", 1, near(0.0005, 0.0003125), 0),
        ("[300e0, 200e0]", 1, near(0.1, 0.0625), 0),
        ("[ 200 , 150 ]", 1, 1.0, 0),
        ("[200,\n150]", 1, 1.0, 1),
        ("[200, 150, 7]", 0, 0.0, 0),
        ("[200, 150], [1, 1]", 0, 0.0, 1),
        ('["200", "150"]', 0, 0.0, 0),
        ("[true, true]", 0, 0.0, 0),
        ("[NaN, 150]", 0, 0.0, 0),
        ("[0200, 00150]", 0, 0.0, 1),
        ("[２００, １５０]", 0, 0.0, 1),
        ("[200,\xa0150]", 0, 0.0, 1),
        ("[" + "9" * 5000 + ", 1]", 0, 0.0, 1),
        ("[" + "9" * 400 + ", 1]", 0, 0.0, 1),
    ],
)
@pytest.mark.parametrize("copies", [1, VECTOR_ROWS])
def test_one_call(numbers, hit, nearness, form, copies):
    scores = SE_GUI.score([CALL.format(numbers)] * copies, [TARGET] * copies)
    expected = [hit, nearness, hit + nearness, form]
    assert parts(scores) == [pytest.approx([part] * copies, abs=1e-12) for part in expected]
    assert scores.total.tolist() == pytest.approx([hit + nearness + 0.5 * form] * copies, abs=1e-12)
    assert scores.acc.tolist() == [hit] * copies


@pytest.mark.parametrize(
    ("text", "point", "form"),
    [
        ("", 0, 0),
        ("[200, 150]", 0, 0),
        ("<tool_call></tool_call>", 0, 0),
        ("<tool_call>{[1, 2]}</tool_call>", 0, 1),
        ("<tool_call>[1, 2]}{</tool_call>", 0, 0),
        ("{<tool_call>[1, 2]}</tool_call>", 0, 0),
        ("<tool_call>{}</tool_call> [1, 2] } </tool_call>", 0, 1),
        (CALL.format("[200, 150]")[:-1], 0, 0),
        (CALL.format("[200, 150]").upper(), 0, 0),
        (CALL.format("[200, 150]").replace('"', "'"), 0, 1),
        (CALL.format("[200, 150]").replace("coordinate", "point"), 0, 1),
        (f"The element is here: {CALL.format('[200, 150]')} done.", 2, 1),
        (CALL.format("[200, 150]") + CALL.format("[1, 1]"), 2, 1),
        (CALL.format("[200, 150") + CALL.format("[200, 150]"), 0, 1),
        ('<tool_call>{"arguments": {"coordinate": [200, 150]}}</tool_call>', 2, 1),
    ],
)
def test_what_is_read_and_what_is_well_formed(text, point, form):
    for copies in (1, VECTOR_ROWS):
        scores = SE_GUI.score([text] * copies, [TARGET] * copies)
        assert scores.parts["point"].tolist() == [point] * copies
        assert scores.parts["format"].tolist() == [form] * copies


def test_off_the_image_nothing_is_below_nothing():
    # Stated deviation: of a target in the middle, dmax² is 0.5, and the source gives 1 - d² / 0.5 up to d = 1.
    middle = [450, 450, 550, 550, 1000, 1000]
    points = ["[500, 0]", "[500, -200]", "[500, -210]", "[500, -499]", "[500, -501]", "[1207, 1207]", "[1300, 500]"]
    scores = SE_GUI.score([CALL.format(point) for point in points], [middle] * 7)
    assert scores.parts["nearness"].tolist() == pytest.approx([0.5, 1 - 0.49 / 0.5, 0, 0, 0, 0, 0])
    assert (SE_GUI.low, SE_GUI.high) == (0, 2.5)


def test_the_weight_of_the_format():
    texts = [CALL.format("[200, 150]"), CALL.format("[200.0, 150.0]"), "<tool_call>{[9, 9]}</tool_call>", "?"]
    for weight, totals in ((0, [2, 2, 0, 0]), (0.5, [2.5, 2, 0.5, 0]), (2, [4, 2, 2, 0])):
        scores = gr.recipe("se-gui", format_weight=weight).score(texts, [TARGET] * 4)
        assert scores.total.tolist() == totals
        assert scores.acc.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    "target",
    [
        tuple(TARGET), np.array(TARGET), "[100, 100, 300, 200, 1000, 800]",
        {"bbox": [100, 100, 300, 200], "model_image_size": [1000, 800]},
        {"bbox": [0.1, 0.125, 0.3, 0.25], "space": "unit", "model_image_size": [1000, 800]},
        {"bbox": [200, 200, 600, 400], "space": "pixel", "image_size": [2000, 1600], "model_image_size": [1000, 800]},
    ],
)  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    scores = SE_GUI.score([CALL.format("[300, 200]"), CALL.format("[301, 200]")], [target] * 2)
    assert scores.total.tolist() == pytest.approx([1.5 + near(0.1, 0.0625), 0.5 + near(0.101, 0.0625)])


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ([100, 100, 300, 200], "target"),
        ([100, 100, 300, 200, 1000], "target"),
        ([], "target"),
        ([100, 100, 300, 200, 0, 0], "model_image_size"),
        ([300, 200, 100, 100, 1000, 800], "bbox"),
        (["100", "100", "300", "200", 1000, 800], "bbox"),
        ({"bbox": [100, 100, 300, 200]}, "model_image_size"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_a_target_that_does_not_fit_is_an_error_and_no_silent_zero(target, field):
    with pytest.raises(gr.TargetError) as error:
        SE_GUI.score(CALL.format("[200, 150]"), target)
    assert error.value.field == field
    scores = SE_GUI.score(CALL.format("[200, 150]"), target, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0], [0])


def test_a_size_from_outside_serves_as_well():
    scores = SE_GUI.score(CALL.format("[200, 150]"), {"bbox": [100, 100, 300, 200]}, model_image_sizes=(1000, 800))
    assert scores.total.tolist() == [2.5]


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
    start = time.perf_counter()
    SE_GUI.score(text, TARGET)
    SE_GUI.score([text] * VECTOR_ROWS, [TARGET] * VECTOR_ROWS)
    assert time.perf_counter() - start < 5
