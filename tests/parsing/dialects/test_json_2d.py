"""``point_2d`` and ``bbox_2d``: Qwen2.5-VL, InfiGUI-G1, UI-RFT, GUI-G1."""

import pytest

from grounding_rewards.parsing import JSON_2D
from tests.parsing.reading import read, read_box


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ('[{"point_2d": [200, 150], "label": "save"}]', [200, 150]),
        ('{"point_2d": [512, 384], "label": "save"}', [512, 384]),
        ('<think>t</think>\n```json\n[\n\t{"point_2d": [200, 150], "label": "save"}\n]\n```', [200, 150]),
        ("[{'point_2d': [200, 150], 'label': 'save'}]", [200, 150]),
        ('{"label": "a ] or (b)", "point_2d":[ 3.5 , -2 ]}', [3.5, -2]),
        ('{"bbox_2d": [100, 200, 300, 250]}', [200, 225]),
        ('```json\n[{"bbox_2d": [1, 2, 4, 3], "label": "x"}]\n```', [2.5, 2.5]),
        ('{"Plan": "..", "Action": {"function": "Tap", "point_2d": [7, 8]}}', [7, 8]),
    ],
)
def test_reads_points_and_the_centres_of_boxes(text, point):
    assert read(text, JSON_2D) == (point, "OK")


def test_a_box_stays_as_it_was_written_even_inverted():
    assert read_box('{"bbox_2d": [300, 200, 100, 100]}', JSON_2D) == [300, 200, 100, 100]
    assert read_box('{"point_2d": [300, 200]}', JSON_2D) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"point_2d": ["a", "b"]}', '{"point_2d": [1]}', '{"point_2d": [1, 2, 3]}', '{"bbox_2d": [1, 2, 3]}',
        '{"bbox_2d": [[1, 2], [3, 4]]}', '{"point_2d": [1, 2', "point_2d: [1, 2]", '{"point_2d": {"x": 1, "y": 2}}',
        '{"point_2d": [NaN, Infinity]}', '{"point_2d": [1e3, 2]}', '{"my_point_2d": [1, 2]}',
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_malformed(text):
    assert read(text, JSON_2D) == (None, "MALFORMED")


@pytest.mark.parametrize("text", ['{"coordinate": [1, 2]}', "[1, 2]", '{"POINT": [1, 2]}', '{"point2d": [1, 2]}'])
def test_other_keys_are_no_answer(text):
    assert read(text, JSON_2D) == (None, "NO_ANSWER")


def test_points_and_boxes_count_together():
    text = '[{"point_2d": [1, 2]}, {"bbox_2d": [0, 0, 4, 8]}]'
    assert read(text, JSON_2D) == (None, "SEVERAL_ANSWERS")
    assert read(text, JSON_2D, "first") == ([1, 2], "OK")
    assert read(text, JSON_2D, "last") == ([2, 4], "OK")
