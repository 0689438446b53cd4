"""Lists of points, as InfiGUI-G1 answers: many of them are read at once, without reading one."""

import json

import numpy as np

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import POINT_LIST, THOUGHT_POINT_LIST, parse
from grounding_rewards.parsing.reading import MAX_ANSWERS
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason

ONE = '[{"point_2d": [520, 219], "label": "e"}]'
TWO = '[{"point_2d": [1, 2], "label": "a"}, {"point_2d": [3.5, 4]}]'


def points(text, dialect=POINT_LIST):
    found = parse([text], dialect, space=CoordSpace.PIXEL, answers="all", thinking="read")
    return found.points.tolist(), Reason(found.reason[-1]).name


def test_more_points_than_are_read():
    full = json.dumps([{"point_2d": [step, 1]} for step in range(MAX_ANSWERS)])
    assert (len(points(full)[0]), points(full)[1]) == (MAX_ANSWERS, "OK")
    assert points(full[:-1] + ', {"point_2d": [1, 1]}]') == ([], "TOO_MANY")
    assert points("[" * 60_000) == points("[1] " * 15_000) == points('[{"a": ' * 20_000) == ([], "NO_ANSWER")


def test_the_usual_forms_need_no_reading(monkeypatch):
    # The thinking may hold anything but "<"; the points come first in their objects, then at most a label.
    spaced = '[\n  {"point_2d": [\n 7, -8.25 ], "label": "b, c" }\n]\n'
    lists = [ONE, TWO, '[{"point_2d":[1,2]}]', spaced, f"```json\n{TWO}\n```"]
    texts = [f"<think>\nI see [3] at 5, 6 > 2.\n</think>\n{items}" for items in lists] * VECTOR_ROWS
    monkeypatch.setattr(type(POINT_LIST), "points", None)
    found = parse(texts, THOUGHT_POINT_LIST, space=CoordSpace.PIXEL, answers="all", thinking="read")
    assert found.xy[:5].tolist() == [[520, 219], [1, 2], [1, 2], [7, -8.25], [1, 2]]
    assert found.points[:5].tolist() == [[520, 219], [1, 2], [3.5, 4], [1, 2], [7, -8.25]]
    found = parse(lists * VECTOR_ROWS, POINT_LIST, space=CoordSpace.PIXEL, answers="all")
    assert np.diff(found.offsets).tolist() == [1, 2, 1, 1, 2] * VECTOR_ROWS
