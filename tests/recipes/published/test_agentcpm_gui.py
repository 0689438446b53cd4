"""AgentCPM-GUI's reward by hand: keys, values and fences; what its formula rewards in a miss."""

import difflib
import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.recipes.published.agentcpm_gui import forms_of
from grounding_rewards.verifiers.match import MOST_COMPARED

RECIPE = gr.recipe("agentcpm-gui")
SCREEN = [1080, 2400]
BOX = {"POINT": [546, 252], "bbox": [[567, 568], [612, 642]], "image_size": SCREEN}


def parts(response, target, **options):
    scores = RECIPE.score(response, target, **options)
    return {name: float(column[0]) for name, column in scores.parts.items()}


def args(response, target):
    return parts(response, target)["args"]


def point(x, y, **more):
    return json.dumps({"POINT": [x, y], **more})


def test_long_texts_are_compared_as_far_as_usual_ones_reach():
    usual, other = "go to the station " * 11, "went to a station " * 12
    assert len(usual) < MOST_COMPARED
    expected = difflib.SequenceMatcher(None, usual, other).ratio()
    assert args(json.dumps({"TYPE": usual}), {"TYPE": other}) == expected
    start = time.process_time()
    args(json.dumps({"TYPE": "ab" * 30_000}), {"TYPE": "ba" * 30_000})
    assert time.process_time() - start < 2


def test_the_box_stays_as_it_was_and_further_fields_are_kept():
    target = {**BOX, "id": "a7", "extra": {"kept": 1}}
    read = RECIPE.read_targets([target])
    assert read.rows[0].id == "a7"
    assert read.rows[0].extra["kept"] == 1
    assert forms_of(read) == [{"POINT": [546, 252]}]
    for width, height in ((1080, 2400), (333, 777), (1919, 1079)):
        box = [width // 3, height // 3, width // 3 + 40, height // 3 + 40]
        hits = [
            (x, y) for x in range(300, 480, 7) for y in range(300, 480, 7)
            if RECIPE.score(point(x, y), {"POINT": [1, 1], "bbox": box}, image_sizes=[width, height]).acc[0]
        ]  # fmt: skip
        assert hits == [
            (x, y) for x in range(300, 480, 7) for y in range(300, 480, 7)
            if box[0] <= int(x / 1000 * width) <= box[2] and box[1] <= int(y / 1000 * height) <= box[3]
        ]  # fmt: skip


@settings(max_examples=100)
@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 900), st.integers(0, 2000), st.integers(1, 4000))
@example(1000, 1000, 0, 0, 4000)
def test_points_follow_the_formula_and_stay_within_bounds(x, y, left, top, side):
    size = [2 * side + 1000, 3 * side + 2100]
    box = [left, top, left + side // 2, top + side]
    target = {"POINT": [400, 300], "bbox": box, "image_size": size}
    across, down = int(x / 1000 * size[0]), int(y / 1000 * size[1])
    worth = 1 - (abs(x - 400) + abs(y - 300)) / 2000
    if box[0] <= across <= box[2] and box[1] <= down <= box[3]:
        delta = max(abs(across - (box[0] + box[2]) / 2), abs(down - (box[1] + box[3]) / 2))
        worth = max(0.0, 0.95 + 0.05 * (1 - delta / 1000) ** 3)
    assert args(point(x, y), target) == pytest.approx(worth, abs=1e-9)
