"""Crops about places, and places in crops as places in the image."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.coords.crops import crops_about, from_crops

SHARE = st.floats(0, 1)
SIDES = st.integers(1, 5000)


@pytest.mark.parametrize(
    ("point", "ratio", "size", "crop"),
    [
        ((0.5, 0.5), 0.5, (1920, 1080), [480, 270, 1440, 810]),
        ((0.0, 1.0), 0.5, (1920, 1080), [0, 540, 960, 1080]),
        ((1.7, -0.2), 0.25, (400, 200), [300, 0, 400, 50]),  # an answer beside the image
        ((0.3, 0.3), 0.5, (3, 1), [0, 0, 2, 1]),
        ((0.9, 0.9), 0.001, (100, 100), [90, 90, 91, 91]),  # a pixel at least
    ],
)
def test_a_crop_lies_about_the_place_and_inside(point, ratio, size, crop):
    assert crops_about(np.array([point]), ratio, np.array([size], dtype=float)).tolist() == [crop]


@given(SHARE, SHARE, st.floats(0.01, 0.99), SIDES, SIDES)
def test_every_place_of_the_image_lies_in_its_crop_and_is_mapped_back(x, y, ratio, width, height):
    size, point = np.array([[width, height]], dtype=float), np.array([[x, y]])
    [crop] = crops = crops_about(point, ratio, size)
    assert (crop == np.round(crop)).all()
    assert (crop[:2] >= 0).all()
    assert (crop[2:] <= size[0]).all()
    pixel = point * size
    assert (crop[:2] - 1 <= pixel[0]).all()  # of crops of a pixel the edges are rounded
    assert (pixel[0] <= crop[2:] + 1).all()
    shown = (pixel - crop[:2]) / (crop[2:] - crop[:2])
    assert np.allclose(from_crops(shown, crops, 1.0), pixel, rtol=0, atol=1e-9)
    assert np.allclose(from_crops(shown * 1000, crops / np.tile(size, 2), 1000.0), point, rtol=0, atol=1e-12)


TURNS = """<tool_call>
{"name": "image_zoom_in_tool", "arguments": {"bbox_2d": [600, 250, 800, 400], "label": "bar"}}
</tool_call>
user
<tool_response><image></tool_response>
assistant
<answer>(560, 450)</answer>"""


@pytest.mark.parametrize(
    ("extent", "place"),
    [
        (1000.0, [712.0, 317.5]),  # thousandths of the crop
        (np.array([[200.0, 150.0]]), [1160.0, 700.0]),  # its pixels, as GUI-Spotlight adds the corner
        (np.array([[1024.0, 768.0]]), [709.375, 337.890625]),  # of a crop that was scaled up
    ],
)
def test_a_crop_in_a_conversation_is_read_back(extent, place):
    crop = json.loads(re.search(r'"bbox_2d": (\[.*?\])', TURNS)[1])
    answer = json.loads("[" + re.search(r"<answer>\((.*)\)", TURNS)[1] + "]")
    assert from_crops(np.array([answer], dtype=float), np.array([crop], dtype=float), extent).tolist() == [place]


def test_a_crop_of_a_crop_and_a_box_are_read_back_from_the_innermost_outward():
    inner = from_crops(np.array([[0.5, 0.5, 1.0, 1.0]]), np.array([[100.0, 100.0, 300.0, 200.0]]), 1.0)
    assert inner.tolist() == [[200.0, 150.0, 300.0, 200.0]]
    box = from_crops(np.array([[0.0, 0.0, 0.5, 0.5]]), inner, 1.0)
    assert box.tolist() == [[200.0, 150.0, 250.0, 175.0]]
