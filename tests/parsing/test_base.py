"""Dialects of plugins: a function that reads, or a class with ``find``, which this release still takes."""

from dataclasses import dataclass

import numpy as np
import pytest

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import DialectError, RecipeError, TargetError
from grounding_rewards.parsing import BARE_LIST, FirstOf, Form, Found, PatternDialect, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason
from tests.cases import cases

TEXTS = ["tap 1 2", "tap 3 4, tap 5 6", "tap", "none", "no place"]
NAN = float("nan")


@dataclass(frozen=True)
class Taps:
    """Columns of n texts, as dialects of plugins returned them before they had ``one``."""

    changes: object = None
    name: str = "taps"
    names: tuple = ("taps",)

    def find(self, texts, answers):
        if isinstance(self.changes, BaseException):
            raise self.changes
        places = [[[float(each) for each in part.split()] for part in text.split("tap ")[1:]] for text in
                  (text.replace(",", "") for text in texts)]  # fmt: skip
        count = np.array([len(each) for each in places])
        last = -1 if answers == "last" else 0
        found = {
            "xy": np.array([each[last] if each else [NAN, NAN] for each in places]),
            "box": np.full((len(texts), 4), NAN),
            "count": np.minimum(count, 1) if answers in ("first", "last") else count,
            "begun": np.array(["tap" in text for text in texts]),
            "refused": np.array([text.startswith("no ") for text in texts]),
            "actions": np.array(["tap" if each else "" for each in places], dtype=object),
            "dialect": np.where(count, 0, -1).astype(np.int8),
            "points": dict(enumerate(map(np.array, places))) if answers == "all" else None,
            "arguments": {"text": np.array(["a"] * len(texts), dtype=object)},
        }
        found["count"] += found["refused"]
        return Found(**found | self.changes) if isinstance(self.changes, dict | None) and self.changes != 5 else 5


def read(answers="only", rows=1, dialect=None):
    found = parse(TEXTS * rows, dialect or Taps({}), space=CoordSpace.PIXEL, answers=answers)
    return found, [Reason(code).name for code in found.reason[-len(TEXTS) :]]


@cases("rows", [1, VECTOR_ROWS])
def test_a_class_with_find_reads_as_before(rows):
    found, reasons = read("only", rows)
    assert reasons == ["OK", "SEVERAL_ANSWERS", "MALFORMED", "NO_ANSWER", "REFUSED"]
    assert found.xy[-5].tolist() == [1, 2]
    assert (found.actions[-5], found.arguments.text[-5]) == ("tap", "a")
    assert read("last", rows)[0].xy[-4].tolist() == [5, 6]
    every, _ = read("all", rows)
    assert every.points[:3].tolist() == [[1, 2], [3, 4], [5, 6]]


@cases(
    ("changes", "message"),
    [
        (5, "raised TypeError: find returned 5; expected a Found on 'tap 1 2'"),
        ({"dialect": np.array([7])}, "find returned dialect 7 and count 1; expected a dialect that it names"),
        ({"count": np.array([-1])}, "find returned dialect 0 and count -1"),
        ({"xy": np.zeros(0)}, "raised .*Error: .* on 'tap 1 2'"),
        (SystemExit(2), "raised SystemExit: 2 on 'tap 1 2'"),
        (TargetError("a", "bbox", 1, "2"), "raised TargetError: target of sample 'a'"),
    ],
)
def test_what_is_not_what_was_found_is_an_error_that_says_so(changes, message):
    for dialect in (Taps(changes), FirstOf((BARE_LIST, Taps(changes)), name="mixed")):
        with pytest.raises(DialectError, match=f"^dialect 'taps' .*{message}"):
            read(dialect=dialect)


@cases(
    ("place", "message"),
    [
        ((1.0,), "read returned a place of 1 number; expected 2 or 4, or an act without a place"),
        ((1.0, 2.0, 3.0), "read returned a place of 3 numbers"),
        ((1.0, "2"), "raised TypeError"),
        (5, "raised TypeError"),
    ],
)
def test_what_a_function_reads_is_a_place(place, message):
    with pytest.raises(DialectError, match=f"^dialect 'own' .*{message}.* on 'tap 1 2'"):
        read(dialect=Form("own", read=lambda text: [place]))


def test_a_place_that_is_no_number_is_far_away():
    for act in ((NAN, 5.0), Act("click", (NAN, 5.0))):
        dialect = Form("own", read=lambda text, act=act: [act], signs=("n",))
        assert parse(["none"], dialect, space=CoordSpace.PIXEL).xy.tolist() == [[1e12, 5.0]]


def test_a_pattern_without_a_place_is_an_error():
    with pytest.raises(RecipeError, match=r"^dialect own: got groups"):
        parse(TEXTS, PatternDialect("own", "(?P<x>1)"), space=CoordSpace.PIXEL)
