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


@pytest.mark.parametrize(
    ("box", "hit", "iou", "edges"),
    [
        ((100, 100, 300, 200), 1, 1.0, 1.0),
        ((200, 150, 400, 250), 1, 5_000 / 35_000, 4 / (2 / 0.9 + 2 / 0.95)),  # centre on the corner
        ((201, 150, 401, 250), 0, 4_950 / 35_050, 4 / (2 / 0.899 + 2 / 0.95)),
        ((0, 50, 400, 250), 1, 0.25, 4 / (2 / 0.9 + 2 / 0.95)),  # twice as wide and high
        ((300, 100, 500, 200), 0, 0.0, 4 / (2 / 0.8 + 2)),  # touching
        ((299, 100, 499, 200), 0, 0.0, 4 / (2 / 0.801 + 2)),  # one pixel shared counts as none
        ((298, 100, 498, 200), 0, 200 / 39_800, 4 / (2 / 0.802 + 2)),
        ((300, 200, 100, 100), 1, 0.0, 4 / (2 / 0.8 + 2 / 0.9)),  # inverted
        ((200, 150, 200, 150), 1, 0.0, 4 / (2 / 0.9 + 2 / 0.95)),  # a point
        ((0, 0, 1000, 1000), 0, 0.02, 4 / (2 / 0.9 + 1 / 0.3 + 1 / 0.2)),
        ((100.5, 100.5, 300.5, 200.5), 1, 199.5 * 99.5 / (40_000 - 199.5 * 99.5), 0.9995),
    ],
)
def test_parts_and_total(box, hit, iou, edges):
    found = score(fenced(*box))
    assert parts(fenced(*box)) == pytest.approx((hit, iou, edges), abs=1e-12)
    assert found.total.tolist() == pytest.approx([hit + iou / 4 + edges / 8], abs=1e-12)
    assert found.acc.tolist() == [hit]


def test_weights():
    built = gr.recipe("gui-g1", iou_weight=1.0, box_weight=0.0)
    assert (built.low, built.high) == (0.0, 2.0)
    found = built.score(fenced(200, 150, 400, 250), TARGET, image_sizes=SIZE)
    assert found.total.tolist() == pytest.approx([1 + 1 / 7])
    assert built.exploits[0].name == "giant-box"
    assert len(built.exploits) == 1
    assert (GUI_G1.low, GUI_G1.high, GUI_G1.parts) == (0.0, 1.375, ("hit", "iou", "box"))


@pytest.mark.parametrize("target", [
    (100, 100, 300, 200), "[100, 100, 300, 200]", np.array(TARGET), {"bbox": TARGET}, '{"bbox": [100, 100, 300, 200]}',
    {"bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit"}, {"bbox": TARGET, "image_size": SIZE},
    {"bbox": [50, 50, 150, 100], "space": "model_pixel", "model_image_size": [500, 500]},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert score(fenced(*TARGET), target=target).total.tolist() == pytest.approx([1.375])


@pytest.mark.parametrize("target", [
    [300, 200, 100, 100], [1, 2, 3], [], None, ["100", "100", "300", "200"], [0.1, 0.1, 0.12, 0.11], [math.nan] * 4,
    {"polygon": [0, 0, 9, 0, 9, 9]}, {"point": [1, 2]}, {"circle": [5, 5, 3]}, {"refusal": True}, [2000, 0, 2100, 50],
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_other_targets_are_errors(target):
    with pytest.raises(gr.TargetError):
        score(fenced(*TARGET), target=target)
    abstained = score(fenced(*TARGET), target=target, bad_target="abstain")
    assert (abstained.total.tolist(), abstained.valid.tolist()) == ([0], [0])


def test_without_the_size_of_the_image_there_is_an_error_and_no_silent_zero():
    with pytest.raises(gr.TargetError, match="image_size"):
        GUI_G1.score(fenced(*TARGET), TARGET)
    assert GUI_G1.score(fenced(*TARGET), {"bbox": TARGET, "image_size": SIZE}).total.tolist() == [1.375]
    sizes = [SIZE, (math.nan, math.nan)]
    abstained = GUI_G1.score([fenced(*TARGET)] * 2, [TARGET] * 2, image_sizes=sizes, bad_target="abstain")
    assert (abstained.total.tolist(), abstained.valid.tolist()) == ([1.375, 0], [1, 0])


@pytest.mark.parametrize("box", [
    (-1233.34, 100, 300, 200), (-1233.3334, 100, 300, 200), (-1233.2, 100, 300, 200), (-2000, 100, 300, 200),
    (1e6, 100, 300, 200), (1e308, 1e308, 1e308, 1e308), (10**400, 100, 300, 200), (-(10**400), 0, 10**400, 1),
    (-900, 100, 300, 200), (100, 100, 300, 1200),
])  # fmt: skip
def test_edges_a_whole_image_away_score_0_and_no_response_dominates_a_batch(box):
    # Stated deviation: the source gives 8333.5, 833333.5, -416.5, 0.24, -1.25e304 and the like.
    hit, iou, edges = parts(fenced(*box))
    assert edges == 0
    assert 0 <= iou < 0.2
    assert score(fenced(*box)).total[0] == pytest.approx(hit + iou / 4, abs=1e-15)


def test_numbers_that_json_has_none_for():
    assert parts('[{"bbox_2d": [1e309, -1e309, 1e309, 1e309]}]') == (0, 0, 0)
    assert parts('[{"bbox_2d": [nan, 100, 300, 200]}]') == parts('[{"bbox_2d": [NaN, 100, 300, 200]}]') == (0, 0, 0)


@pytest.mark.parametrize("response", [
    f"```json \n{json.dumps([{'bbox_2d': TARGET}])}\n```",  # a blank after the fence
    f" ```json\n{json.dumps([{'bbox_2d': TARGET}])}\n```", f"```json\n  {json.dumps([{'bbox_2d': TARGET}])}\n  ```",
    '{"bbox_2d": [100, 100, 300, 200]}', '```json\n{"bbox_2d": [100, 100, 300, 200]}\n```',  # a dict that is in no list
    '[{"bbox_2d": [100, 100, 300, 200], "clickable": true, "text": null}]',  # JSON's words
    "[{'bbox_2d': (100, 100, 300, 200)}]", '[{"bbox_2d": [1e2, 1e2, 3e2, 2e2, 9]}]', f"{fenced(*TARGET)}\n",
])  # fmt: skip
def test_right_answers_that_a_slip_would_cost_everything(response):
    assert score(response).total.tolist() == [1.375]


@pytest.mark.parametrize("response", [
    "", None, "I cannot find it", "[100, 100, 300, 200]", '[{"bbox": [100, 100, 300, 200]}]', "[[100, 100, 300, 200]]",
    f"It is {json.dumps([{'bbox_2d': TARGET}])}", '[{"bbox_2d": ["100", "100", "300", "200"]}]',
    '[{"bbox_2d": [100, 100, 300]}]', '[{"bbox_2d": [0100, 0100, 0300, 0200]}]', '[{"bbox_2d": [100*1,100,300,200]}]',
    "[{'bbox_2d': __import__('os').abort()}]",
])  # fmt: skip
def test_what_is_no_list_of_boxes_scores_nothing(response):
    found = score(response)
    assert (found.total.tolist(), found.acc.tolist(), found.valid.tolist()) == ([0], [0], [1])


def test_the_first_box_counts():
    near, far = {"bbox_2d": TARGET}, {"bbox_2d": [0, 0, 1, 1]}
    assert score(json.dumps([near, far])).acc.tolist() == [1]
    assert score(json.dumps([far, near])).acc.tolist() == [0]
    assert score(json.dumps([{"label": "x"}, near])).total.tolist() == [0]


@pytest.mark.parametrize("target", [[100, 100, 101, 200], [100, 100, 300, 100], [200, 150, 200, 150]])
def test_a_thin_target_answered_exactly_has_full_overlap(target):
    # Stated deviation: the source scores 0, because it wants two or more columns and rows of pixels.
    assert parts(fenced(*target), target) == (1, 1, 1)
    assert parts(fenced(*target[:3], target[3] + 1), target)[1] == 0


def test_the_size_of_a_box_is_free():
    # Listed exploit: the hit looks at the centre alone. The source gives -1.1 for the edges here, we give 0.
    giant = fenced(-1200, -1250, 1600, 1550)
    assert parts(giant) == pytest.approx((1, 20_000 / 2800**2, 0))
    assert score(giant).total[0] == pytest.approx(1 + 0.25 * 20_000 / 2800**2)


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


@pytest.mark.parametrize("response", [f"\u3000```json\n{LIST}\n```", f"{LIST}\xa0", f"{LIST}\u2028", f"\x0b{LIST}"])
def test_blanks_that_python_does_not_know_score_nothing(response):
    assert score(response).total.tolist() == [0]
