"""GTA1's reward by hand: 1 inside any box, edges first cut to whole pixels; several tuples are a miss."""

import json

import numpy as np
import pytest

import grounding_rewards as gr
from tests.golden import harness

GTA1 = gr.recipe("gta1")
# A 1920 x 1080 image: edges 192, 108, 576, 216 in pixels.
ONE = [[100, 100, 300, 200], 1.08, 1.92]
TWO = [[[100, 100, 300, 200], [0, 900, 50, 1000]], 1.08, 1.92]


@pytest.mark.parametrize(
    ("response", "hit"),
    [
        ("(192, 108)", 1), ("(576, 216)", 1), ("(300,150)", 1), ("(191, 108)", 0), ("(577, 216)", 0), ("(300, 217)", 0),
        ("The button is at (300, 150).", 1), ("<think>a</think><answer>(300,150)</answer>", 1),
        ("(300, 150) or (300, 150)", 0), ("(1, 1) (300, 150)", 0), ("", 0), ("300, 150", 0), ("[300, 150]", 0),
        ("(300.7, 150)", 1), ("( 300 , 150 )", 1), ("(-300, 150)", 0), ("(300, 150, 7)", 0),
    ],
)  # fmt: skip
def test_one_box(response, hit):
    scores = GTA1.score(response, ONE)
    assert (scores.total.tolist(), scores.acc.tolist(), scores.parts["hit"].tolist()) == ([hit], [hit], [hit])


def test_any_of_several_boxes():
    responses = ["(300, 150)", "(96, 1080)", "(97, 1080)", "(0, 972)", "(0, 971)"]
    assert GTA1.score(responses, [TWO] * 5).acc.tolist() == [1, 1, 0, 1, 0]


def test_edges_are_cut_to_whole_pixels():
    # 300.9 counts as 300, and 100.9 as 100: the box loses on the right and gains on the left.
    target = [[100.9, 0, 300.9, 50], 1.0, 1.0]
    assert GTA1.score(["(300, 5)", "(301, 5)", "(300.5, 5)", "(100, 5)", "(99, 5)"], [target] * 5).acc.tolist() == [
        1,
        0,
        0,
        1,
        0,
    ]


def test_several_tuples_are_a_miss_even_where_a_box_holds_minus_one():
    # Stated deviation: the source reads them as (-1, -1).
    target = {"bbox": [-5, -5, 5, 5], "space": "model_pixel"}
    assert GTA1.score(["(1, 1) (2, 2)", "(-1, -1)", "(1, 1)"], [target] * 3).acc.tolist() == [0, 1, 1]


@pytest.mark.parametrize("target", [
    json.dumps(ONE), ([100, 100, 300, 200], 1.08, 1.92), [np.array([100, 100, 300, 200]), np.float64(1.08), 1.92],
    [[[100, 100, 300, 200]], 1.08, 1.92], {"bbox": [100, 100, 300, 200], "model_image_size": [1920, 1080]},
    {"bbox": [192, 108, 576, 216], "space": "model_pixel"}, {"regions": [[192, 108, 576, 216]], "space": "model_pixel"},
    {"bbox": [384, 216, 1152, 432], "space": "pixel", "image_size": [3840, 2160], "model_image_size": [1920, 1080]},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert GTA1.score(["(576, 216)", "(577, 216)"], [target] * 2).acc.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("response", "format_part", "hit"),
    [
        ("<think>left</think><answer>(300,150)</answer>", 1, 1),
        ("<think>left\nright</think>\n<answer>(300, 150)</answer>\n", 1, 1),
        ("<think>a</think><answer>(1,1)</answer>", 1, 0),
        ("(300,150)", 0, 1),
        ("<think>a</think>(300,150)", 0, 1),
        ("<answer>(300,150)</answer>", 0, 1),
        ("<think>a</think><answer>(300.5,150)</answer>", 0, 1),
        ("x<think>a</think><answer>(300,150)</answer>", 0, 1),
        ("", 0, 0),
    ],
)
def test_the_unused_format_reward_can_be_weighed_in(response, format_part, hit):
    scores = gr.recipe("gta1", format_weight=0.25).score(response, ONE)
    assert {name: part.tolist() for name, part in scores.parts.items()} == {"hit": [hit], "format": [format_part]}
    assert scores.total.tolist() == [0.75 * hit + 0.25 * format_part]
    assert scores.acc.tolist() == [hit]


@pytest.mark.parametrize(
    ("response", "acc"),
    [
        ("(200,150) ٣", 1.0), ("第１步: (200,150)", 1.0), ("(200,150) (300,１50)", 1.0), ("(２００,150)", 0.0),
        ("(２,２) (3,3)", 0.0),
    ],
)  # fmt: skip
def test_digits_of_other_scripts_are_no_digits_and_spoil_nothing_beside_them(response, acc):
    target = [[100, 100, 300, 200], 1.0, 1.0]
    line = {"response": response, "ground_truth": target, "extra": {}}
    assert gr.recipe("gta1").score(response, target).acc.tolist() == [acc]
    found = harness.deviation("gta1", line)
    if found is not None:
        stated = harness.stated("gta1", gr.recipe("gta1"), found, line)
        assert stated["acc"] == acc
