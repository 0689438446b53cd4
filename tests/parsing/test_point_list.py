"""Lists of points, as InfiGUI-G1 answers: many of one point are read at once, without reading one."""

import json

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
    # The thinking may hold anything but "<"; the point comes first in its object, then at most a label.
    lists = [
        ONE,
        '[{"point_2d":[1,2]}]',
        '[\n  {"point_2d": [\n 7, -8.25 ], "label": "b, c" }\n]\n',
        f"```json\n{ONE}\n```",
    ]
    texts = [f"<think>\nI see [3] at 5, 6 > 2.\n</think>\n{items}" for items in lists] * VECTOR_ROWS
    monkeypatch.setattr(type(POINT_LIST), "one", None)
    for some, dialect in ((texts, THOUGHT_POINT_LIST), (lists * VECTOR_ROWS, POINT_LIST)):
        found = parse(some, dialect, space=CoordSpace.PIXEL, answers="all", thinking="read")
        assert found.xy[:4].tolist() == [[520, 219], [1, 2], [7, -8.25], [520, 219]]
        assert found.points.tolist() == found.xy.tolist()


def test_several_points_are_read():
    assert points(TWO) == ([[1, 2], [3.5, 4]], "OK")
