"""GroundNext's clipped reward by hand: six steps over the distance to corners inside, and to the box outside."""

import copy
import os
import time

import numpy as np
import pytest
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.recipes.published.groundnext import is_well_formed
from tests.parsing.fragments import responses

GROUNDNEXT = gr.recipe("groundnext")
CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
TARGET = {"x1": 100, "y1": 100, "x2": 300, "y2": 200}
SIZE = {"image_sizes": (1000, 800)}
DIAGONAL, FARTHEST = 50000**0.5, 850000**0.5


def columns(scores, row=0):
    parts = {name: float(part[row]) for name, part in scores.parts.items()}
    return {"total": float(scores.total[row]), "acc": float(scores.acc[row]), **parts}


@pytest.mark.parametrize(
    ("point", "total", "acc", "norm"),
    [
        ((200, 150), 1, 1, 1.0),
        ((200, 101), 1, 1, 2 * 10001**0.5 / DIAGONAL),  # a pixel from a long edge's middle: full score
        ((200, 100), 1, 0, 200 / DIAGONAL),  # on that edge: full score and no success
        ((100, 150), 0.5, 0, 100 / DIAGONAL),
        ((102, 150), 0.5, 1, 2 * 2504**0.5 / DIAGONAL),
        ((110, 110), 0.5, 1, 2 * 200**0.5 / DIAGONAL),
        ((101, 101), 0.1, 1, 2 * 2**0.5 / DIAGONAL),
        ((300, 200), 0.1, 0, 0.0),
        ((301, 150), -0.1, 0, -1 / FARTHEST),
        ((392, 150), -0.1, 0, -92 / FARTHEST),
        ((393, 150), -0.5, 0, -93 / FARTHEST),
        ((0, 0), -0.5, 0, -(20000**0.5) / FARTHEST),
        ((760, 150), -0.5, 0, -460 / FARTHEST),
        ((761, 150), -1, 0, -461 / FARTHEST),
        ((-1, -1), -0.5, 0, -(20402**0.5) / FARTHEST),
        ((1000, 800), -1, 0, -1.0),
        ((99999999, 99999999), -1, 0, -1.0),
    ],
)
def test_steps_of_the_distance(point, total, acc, norm):
    for copies in (1, VECTOR_ROWS):
        scores = GROUNDNEXT.score([CALL.format(list(point))] * copies, [TARGET] * copies, **SIZE)
        expected = {"total": total, "acc": acc, "norm_distance": norm, "clipped": total, "format": 1}
        assert columns(scores, copies - 1) == pytest.approx(expected, abs=1e-15)


def test_the_steps_begin_at_their_edges():
    # A box of 60 by 80 has a diagonal of 100: a corner 25, 5 and 0 away is at 0.5, 0.1 and 0.
    box = {"x1": 100, "y1": 100, "x2": 160, "y2": 180}
    points = [[115, 120], [114, 120], [103, 104], [103, 103], [100, 100]]
    scores = GROUNDNEXT.score([CALL.format(point) for point in points], [box] * 5, **SIZE)
    assert scores.parts["norm_distance"].tolist() == pytest.approx([0.5, 0.488262, 0.1, 0.084853, 0], abs=1e-6)
    assert scores.total.tolist() == [1, 0.5, 0.5, 0.1, 0.1]
    # A box whose farthest corner of the image is 1000 away: 100 outside is at -0.1, 500 at -0.5.
    far = {"x1": 0, "y1": 0, "x2": 400, "y2": 200}
    outside = [[500, 100], [501, 100], [900, 100], [901, 100]]
    scores = GROUNDNEXT.score([CALL.format(point) for point in outside], [far] * 4, image_sizes=(1000, 1000))
    assert scores.parts["norm_distance"].tolist() == pytest.approx([-0.1, -0.101, -0.5, -0.501])
    assert scores.total.tolist() == [-0.1, -0.5, -0.5, -1]


LOWEST = {"total": -1, "acc": 0, "norm_distance": -1, "clipped": -1, "format": -1}


@pytest.mark.parametrize(
    "target", [TARGET, {"x1": 0, "y1": 0, "x2": 300, "y2": 200}, {"x1": -10, "y1": -10, "x2": 300, "y2": 200}]
)
@pytest.mark.parametrize(
    "text",
    [
        "", None, "garbage", "[200, 150]", "<tool_call>[]</tool_call>", "<tool_call>{}</tool_call>",
        *map(CALL.format, ("[200]", "[200, 150, 7]", "[200.0, 150.0]", "[true, true]", "[+200, 150]", "[2_00, 150]",
                           "[x, y]", "[NaN, 1]", "[" + "9" * 5000 + ", 1]", "[２００, 150]")),
        CALL.format("[200, 150]").replace('"', "'"), CALL.format("[200, 150]")[:-1],
        "<tool_call>x</tool_call>" + CALL.format("[200, 150]"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_no_click_at_the_origin(text, target):
    # Stated deviation: the source reads such texts as (0, 0), which gives 0.1 at a box that touches the origin.
    assert columns(GROUNDNEXT.score([text], [target], **SIZE)) == LOWEST


def test_unparsed_text_is_never_better_than_a_bad_guess():
    texts = ["garbage", CALL.format("[999, 799]"), CALL.format("[0, 0]")]
    for target in (TARGET, {"x1": 0, "y1": 0, "x2": 300, "y2": 200}):
        totals = GROUNDNEXT.score(texts, [target] * 3, **SIZE).total
        assert totals[0] <= totals.min()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (CALL.format("[200, 150]"), 1),
        (f"The element is here: {CALL.format('[ 200 ,150 ]')} done. (5, 5)", 1),
        (f"```json\n{CALL.format('[200, 150]')}\n```", 1),
        (CALL.format("[-200, 150]"), 1),
        (CALL.format("[" + "9" * 400 + ", 1]"), 1),
        (CALL.format("[200, 150]") + CALL.format("[200, 150]"), -1),
        (CALL.format("[200, 150]") + "<tool_call>", 1),
        (CALL.format("[200, 150]").replace("computer", "mobile"), -1),
        (CALL.format("[200, 150]").replace("left_click", "true, null and NaN"), 1),
        (CALL.format("[200, 150]").replace('"left_click"', "null"), -1),
        (CALL.format('[200, 150], "x": true'), -1),
        (CALL.format('[200, 150], "x": "true"'), 1),
        (CALL.format('[200, 150], "x": -Infinity'), -1),
        (CALL.format("[200, 150]").replace('"action": "left_click", ', ""), -1),
        ('<tool_call>{"arguments": {"action": "left_click", "coordinate": [200, 150]}}</tool_call>', -1),
        (CALL.format("[200.0, 150]"), -1),
        ("", -1),
    ],
)
def test_the_format_that_the_source_logs(text, form):
    for copies in (1, VECTOR_ROWS):
        scores = GROUNDNEXT.score([text] * copies, [TARGET] * copies, **SIZE)
        assert scores.parts["format"].tolist() == [form] * copies
        assert scores.total.tolist() == scores.parts["clipped"].tolist()
    assert is_well_formed(text) == (form == 1)


def test_the_format_can_be_weighed_in():
    mixed = gr.recipe("groundnext", format_weight=0.25)
    texts = [CALL.format("[200, 150]"), CALL.format("[110, 110]").replace("computer", "mobile"), "?"]
    assert mixed.score(texts, [TARGET] * 3, **SIZE).total.tolist() == [1, 0.125, -1]
    assert (mixed.low, mixed.high) == (GROUNDNEXT.low, GROUNDNEXT.high) == (-1, 1)


def test_code_in_a_call_is_not_run(tmp_path):
    path = tmp_path / "written"
    code = f"open({str(path)!r},'w').write('x')"
    for text in (
        f"<tool_call>{code}</tool_call>",
        CALL.format(f"[{code}, 1]"),
        CALL.format(f'[200, 150], "x": {code}'),
    ):
        assert columns(GROUNDNEXT.score([text], [TARGET], **SIZE))["format"] == -1
    assert not os.path.exists(path)


@pytest.mark.parametrize("box", [(200, 150, 200, 150), (100, 150, 300, 150)])
def test_a_box_without_extent_is_never_right(box):
    target = dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))
    scores = GROUNDNEXT.score([CALL.format("[200, 150]"), CALL.format("[0, 0]")], [target] * 2, **SIZE)
    assert scores.total.tolist() == scores.parts["norm_distance"].tolist() == [-1, -1]
    assert scores.acc.tolist() == [0, 0]


@pytest.mark.parametrize(
    "target",
    [
        TARGET, {"x1": 300, "y1": 200, "x2": 100, "y2": 100}, {"x1": 300, "y1": 100, "x2": 100, "y2": 200},
        '{"x1": 100, "y1": 100, "x2": 300, "y2": 200}', {"x1": np.int64(100), "y1": 100.0, "x2": 300, "y2": 200},
        {"bbox": [100, 100, 300, 200]}, {"bbox": [0.1, 0.125, 0.3, 0.25], "space": "unit"},
    ],
)  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    before = copy.deepcopy(target)
    scores = GROUNDNEXT.score([CALL.format("[200, 150]"), CALL.format("[110, 110]")], [target] * 2, **SIZE)
    assert scores.total.tolist() == [1, 0.5]
    assert target == before, "the source swaps the corners in the caller's own dict"


@pytest.mark.parametrize(
    "target", [{}, None, {"x1": 1, "y1": 2, "x2": 3}, {"x1": "1", "y1": 2, "x2": 3, "y2": 4}, [1, 2, 3, 4]]
)
def test_a_target_that_does_not_fit_is_an_error_and_no_silent_zero(target):
    with pytest.raises(gr.TargetError):
        GROUNDNEXT.score(CALL.format("[200, 150]"), target, **SIZE)
    scores = GROUNDNEXT.score(CALL.format("[200, 150]"), target, bad_target="abstain", **SIZE)
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0], [0])


def test_the_image_size_is_asked_for():
    with pytest.raises(gr.TargetError, match="field 'image_size'"):
        GROUNDNEXT.score(CALL.format("[200, 150]"), TARGET)
    own = {"bbox": [100, 100, 300, 200], "image_size": [1000, 800]}
    assert GROUNDNEXT.score(CALL.format("[301, 150]"), own).parts["norm_distance"].tolist() == [-1 / FARTHEST]


def test_answers_in_pixels_of_a_resized_image():
    resized = gr.recipe("groundnext", response_space="model_pixel")
    scores = resized.score(CALL.format("[100, 75]"), TARGET, model_image_sizes=(500, 400), **SIZE)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([1], [1])


def test_exploits():
    assert {exploit.name: exploit.payoff for exploit in GROUNDNEXT.exploits} == {"long-edge": 1.0}


pieces = st.sampled_from(
    ["<tool_call>", "</tool_call>", "{", "}", '"', "true", "null", CALL.format("[200, 150]"), CALL.format("[1.5, 2]")]
)
texts = st.lists(st.one_of(pieces, pieces, responses), min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 6000, "<tool_call></tool_call>" * 2900, "</tool_call>" * 5000, "<" * 65536,
        '<tool_call>{"a":' * 4000 + "</tool_call>", "<tool_call>" + "[" * 65000 + "</tool_call>",
        CALL.format('[1, 2], "x": "' + '\\"' * 32000 + '"'),
        CALL.format('[1, 2], "x": [' + '"a",' * 16000 + "1]"),
        CALL.format("[" + "9" * 4200 + ", " + "9" * 4200 + "]"),
    ],
    ids=range(9),
)  # fmt: skip
def test_long_texts_take_no_longer_than_their_length(text):
    start = time.perf_counter()
    GROUNDNEXT.score(text, TARGET, **SIZE)
    GROUNDNEXT.score([text] * VECTOR_ROWS, [TARGET] * VECTOR_ROWS, **SIZE)
    assert time.perf_counter() - start < 5


def test_native_rows_may_carry_sizes_and_names():
    row = {"x1": 300, "y1": 100, "x2": 100, "y2": 200, "image_size": [1000, 500], "id": "a7"}
    recipe = gr.recipe("groundnext")
    (read,) = recipe.read_targets([row]).rows
    assert (read.id, read.image_size, read.regions[0].numbers) == ("a7", (1000.0, 500.0), (100.0, 100.0, 300.0, 200.0))
    with pytest.raises(gr.TargetError, match="field 'label'"):
        recipe.read_targets([{**row, "label": "save"}])
    with pytest.raises(gr.TargetError, match="field 'x1'"):
        recipe.read_targets([{**row, "bbox": [1, 2, 3, 4]}])


@pytest.mark.parametrize("edge", [float("nan"), float("inf"), 1e13, "200", None, True])
@pytest.mark.parametrize("key", ["x1", "y2"])
def test_an_edge_that_is_no_number_is_a_bad_target(key, edge):
    # Swapped corners are put in order: among NaN and 100 Python's max may well be 100.
    with pytest.raises(gr.TargetError, match=r"row 0, field '(bbox|x1|y1|y2)'"):
        GROUNDNEXT.score(CALL.format([200, 150]), {**TARGET, key: edge}, **SIZE)
