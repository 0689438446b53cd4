"""``[x1,y1,x2,y2]``, ``[x,y]`` and ``[-1,-1]``, each alone."""

import pytest

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import LIST_BOX, LIST_POINT, LIST_POINT_OR_REFUSAL, LIST_REFUSAL, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.plugins.registry import collect
from tests.parsing.reading import read, read_box
from tests.parsing.test_paths_agree import agree

DIALECTS = (LIST_BOX, LIST_POINT, LIST_REFUSAL, LIST_POINT_OR_REFUSAL)


def test_each_is_registered_under_its_name():
    names = ["list_box", "list_point", "list_refusal", "list_point_or_refusal"]
    assert [dialect.name for dialect in DIALECTS] == names
    parsers = collect([]).parsers
    assert all(parsers[dialect.name] is dialect for dialect in DIALECTS)
    assert LIST_POINT_OR_REFUSAL.names == ("list_refusal", "list_point")


@pytest.mark.parametrize(
    ("text", "point", "box"),
    [
        ("[500,370,524,398]", [512, 384], [500, 370, 524, 398]),
        ("[500,370],[524,398]", [512, 384], [500, 370, 524, 398]),
        ("at [ 1 , .5 ] , [ 3.0 ,\n2.5 ].", [2, 1.5], [1, 0.5, 3, 2.5]),
        ("[-1,-1,-1,-1]", [-1, -1], [-1, -1, -1, -1]),
    ],
)
def test_boxes(text, point, box):
    assert read(text, LIST_BOX) == (point, "OK")
    assert read_box(text, LIST_BOX) == box


@pytest.mark.parametrize("text", ["[1,2]", "[1,2,3]", "[1,2,3,4,5]", "[1,2][3,4]", "[1,2,3,x]", "[1,2,3,4"])
def test_what_is_no_box(text):
    assert read(text, LIST_BOX) == (None, "MALFORMED")


@pytest.mark.parametrize(("text", "point"), [("[512,384]", [512, 384]), ("at [ .5 , -2. ]", [0.5, -2])])
def test_points(text, point):
    for dialect in (LIST_POINT, LIST_POINT_OR_REFUSAL):
        assert read(text, dialect) == (point, "OK")
        assert read_box(text, dialect) is None


@pytest.mark.parametrize("text", ["[1]", "[1,2,3]", "[1 2]", "[1,x]", "[1,2"])
def test_what_is_no_point(text):
    assert read(text, LIST_POINT) == read(text, LIST_POINT_OR_REFUSAL) == (None, "MALFORMED")


def test_a_refusal_is_minus_one_twice_and_nothing_else():
    for text in ("[-1,-1]", " [ -1 , -1 ]\n"):
        assert read(text, LIST_REFUSAL) == read(text, LIST_POINT_OR_REFUSAL) == (None, "REFUSED")
        assert read(text, LIST_POINT) == ([-1, -1], "OK")
    for text in ("not there: [-1,-1]", "[-1.0,-1.0]"):
        assert read(text, LIST_REFUSAL) == (None, "MALFORMED")
        assert read(text, LIST_POINT_OR_REFUSAL) == ([-1, -1], "OK")
    assert read("[-100,-100]", LIST_POINT_OR_REFUSAL) == ([-100, -100], "OK")
    assert read("refusal", LIST_POINT_OR_REFUSAL) == (None, "NO_ANSWER")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("answers", ["only", "first", "last", "all"])
def test_many_are_read_as_one(dialect, answers):
    agree(["[1,2]", "[-1,-1]", "[1,2,3,4]", "[1,2],[3,4]", "a [1,2] [3,4]", "[", ""], dialect, answers, "closed")
    found = parse(["[1,2,3,4]", "[1,2]"] * VECTOR_ROWS, dialect, space=CoordSpace.PIXEL, answers=answers)
    assert found.parsed[:2].tolist() == [dialect is LIST_BOX, dialect in (LIST_POINT, LIST_POINT_OR_REFUSAL)]
