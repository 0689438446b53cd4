"""The dialect of actions: a reader and its patterns give the same, alone and in a batch."""

import json
import math

import numpy as np

from grounding_rewards import CoordSpace, Reason
from grounding_rewards.actions import Act
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.responses import parse
from tests.cases import cases

KEYS = ("text", "to", "keys", "button", "duration")


def read(text):
    """A list of objects, or one."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return [
        Act(item["action"], tuple(item.get("at", ())), {key: item[key] for key in KEYS if key in item})
        for item in (value if isinstance(value, list) else [value])
    ]


CLICK = r'^\{"action": "(?P<action>left_click|click)", "at": \[(?P<x>[0-9]{1,9}), (?P<y>[0-9]{1,9})\]\}$'
TYPE = r'^\{"action": "(?P<action>type)", "text": "(?P<text>[^"\\]*)"\}$'
PLAIN = Form("plain", read=read, usual=(CLICK, TYPE), signs=("action",))
COMMON = Form("common", read=read, usual=(CLICK, TYPE), signs=("action",), vocabulary=True)

TEXTS = [
    '{"action": "left_click", "at": [3, 4]}',
    '{"action": "type", "text": "hé \ud800"}',
    '{"action": "type", "text": "a\\nb"}',
    '{"action": "type", "text": ""}',
    '{"action": "swipe", "at": [10, 20, 30, 40], "to": [20, 90], "duration": 2}',
    '{"action": "teleport"}',
    "no act",
    "action!",
    '[{"action": "key", "keys": ["Ctrl", "c"]}, {"action": "click", "at": [7, 8]}]',
]


def rows(predictions):
    """Every column of each row, comparable."""
    count, arguments = len(predictions), predictions.arguments
    columns = [arguments.column(name, count).tolist() for name in ("text", "direction", "keys", "to", "duration")]
    points = [predictions.xy.tolist(), predictions.box.tolist(), predictions.actions.tolist()]
    return [repr(row) for row in zip(*points, predictions.reason.tolist(), *columns, strict=True)]


@cases("dialect", [PLAIN, COMMON])
@cases("answers", ["only", "first", "last", "all"])
def test_alone_in_few_and_in_many_are_the_same(dialect, answers):
    many = rows(parse(TEXTS * 10, dialect, space=CoordSpace.PIXEL, answers=answers))
    few = rows(parse(TEXTS, dialect, space=CoordSpace.PIXEL, answers=answers))
    alone = [rows(parse([text], dialect, space=CoordSpace.PIXEL, answers=answers))[0] for text in TEXTS]
    assert many == few * 10
    assert few == alone


def test_what_is_read():
    found = parse(TEXTS, COMMON, space=CoordSpace.PIXEL)
    assert found.actions.tolist() == ["click", "type", "type", "type", "scroll", "teleport", "", "", ""]
    assert [Reason(code).name for code in found.reason] == [
        "OK", "OK", "OK", "OK", "OK", "UNKNOWN_ACTION", "NO_ANSWER", "MALFORMED", "SEVERAL_ANSWERS",
    ]  # fmt: skip
    assert found.parsed.tolist() == [True] * 5 + [False] * 4
    assert found.arguments.text.tolist() == [None, "hé ?", "a\nb", "", None, None, None, None, None]
    assert found.arguments.direction is None  # found once spaces are converted
    assert found.arguments.to[4].tolist() == [20, 90]
    assert found.arguments.column("keys", 9).tolist() == [None] * 9, "of several answers none says anything"
    assert found.arguments.duration[4] == 2
    assert (found.xy[4].tolist(), found.box[4].tolist()) == ([20, 30], [10, 20, 30, 40])
    assert np.isnan(found.xy[[1, 2, 3, 5, 6, 7, 8]]).all()


def test_names_stay_as_written_without_the_vocabulary():
    found = parse(TEXTS, PLAIN, space=CoordSpace.PIXEL)
    assert found.actions.tolist()[:6] == ["left_click", "type", "type", "type", "swipe", "teleport"]
    assert found.reason.tolist()[5] == Reason.OK
    assert found.arguments.direction is None


def test_several_actions_by_policy():
    text = TEXTS[-1]
    first = parse([text], COMMON, space=CoordSpace.PIXEL, answers="first")
    assert (first.actions[0], first.arguments.keys[0]) == ("key", ("ctrl", "c"))
    last = parse([text], COMMON, space=CoordSpace.PIXEL, answers="last")
    assert (last.actions[0], last.xy[0].tolist()) == ("click", [7, 8])
    every = parse([text], COMMON, space=CoordSpace.PIXEL, answers="all")
    assert every.offsets.tolist() == [0, 2]
    assert repr(every.points.tolist()) == repr([[math.nan, math.nan], [7.0, 8.0]])


def test_numbers_beyond_any_screen_are_limited():
    found = parse(['{"action": "click", "at": [1e300, 5]}'], PLAIN, space=CoordSpace.PIXEL)
    assert found.xy[0].tolist() == [1e12, 5]
