"""Results that a plugin's dialect may return, and the errors for anything else."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import DialectError, RecipeError, TargetError
from grounding_rewards.parsing import BARE_LIST, BARE_TUPLE, AutoDialect, PatternDialect, parse
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.reader_dialect import ReaderDialect
from tests.cases import cases

TEXTS = ["(1, 2)", "(3, 4)", "none"]
NAN = float("nan")


@dataclass(frozen=True)
class Spoilt:
    """Tuples, with something changed in what was found."""

    changes: object
    name: str = "spoilt"
    names: tuple = ("spoilt",)

    def find(self, texts, answers):
        if isinstance(self.changes, BaseException):
            raise self.changes
        found = BARE_TUPLE.find(texts, answers)
        return replace(found, **self.changes) if isinstance(self.changes, dict) else self.changes


def read(changes, answers="only"):
    return parse(TEXTS, Spoilt(changes), space=CoordSpace.PIXEL, answers=answers)


def places(*rows):
    return np.array([*rows, [NAN] * len(rows[0])])


@cases(
    ("changes", "message"),
    [
        (None, "returned None on 3 texts; expected a Found"),
        (
            {"xy": np.zeros((1, 2))},
            r"returned xy: float64 of shape \(1, 2\) on 3 texts; expected floats of shape \(3, 2\)",
        ),
        ({"xy": np.zeros((3, 2), dtype=int)}, r"xy: int64 of shape \(3, 2\) on 3 texts; expected floats"),
        ({"count": np.ones(3)}, r"count: float64 of shape \(3,\) on 3 texts; expected signed integers of shape \(3,\)"),
        ({"begun": np.array([True])}, r"begun: bool of shape \(1,\)"),
        ({"refused": [False] * 3}, r"refused: \[False, False, False\]"),
        ({"actions": np.array(["a", "b", "c"])}, r"actions: <U1 of shape \(3,\)"),
        ({"usual": np.array([1, 0, 0])}, r"usual: int64 .* expected booleans"),
        ({"arguments": {"txt": np.full(3, None)}}, "arguments {'txt': .* expected a dict of columns, of text, dir"),
        ({"arguments": {"text": np.full(2, None)}}, r"arguments\['text'\]: object of shape \(2,\) .* shape \(3,\)"),
        ({"points": {}}, r"points {} \(answers='only'\)"),
        ({"count": np.array([1, -1, 0])}, r"returned count .*-1.* on '\(3, 4\)'; expected 0 or more answers"),
        ({"dialect": np.array([0, 99, -1])}, r"dialect .*99.* on '\(3, 4\)'; expected -1 or an index into its 1 names"),
        ({"actions": np.array(["", 5, ""], dtype=object)}, r"actions 5 on '\(3, 4\)'; expected a name"),
        (
            {"xy": places([1.0, 2.0], [20.0, NAN])},
            r"xy array.* nan\]\) on '\(3, 4\)'; expected two numbers, or NaN twice",
        ),
        ({"xy": places([1.0, 2.0], [NAN, NAN])}, r"on '\(3, 4\)'; expected a place, or an action's name without any"),
        (
            {"xy": places([1.0, 2.0], [np.inf, 1.0])},
            r"xy .*inf.* on '\(3, 4\)'; expected at most 1e\+12 on either side",
        ),
        ({"xy": places([1.0, 2.0], [1e300, 1.0])}, r"xy .*1\.e\+300.* expected at most 1e\+12"),
        ({"box": places([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, NAN])}, r"box .* on '\(3, 4\)'; expected four numbers"),
        ({"box": places([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 1e13])}, r"box .* expected at most 1e\+12"),
        (SystemExit(2), "raised SystemExit: 2 on 3 texts"),
        (TargetError("a", "bbox", 1, "2"), "raised TargetError: target of sample 'a'"),
    ],
)
def test_what_is_not_what_was_found_is_an_error_that_says_so(changes, message):
    with pytest.raises(DialectError, match=f"^dialect 'spoilt' .*{message}"):
        read(changes)


@cases(
    ("changes", "message"),
    [
        ({"points": None}, r"points None \(answers='all'\)"),
        ({"points": {9: np.zeros((2, 2))}}, r"points {9: [^;]*; expected points by row"),
        ({"count": np.array([1, 2, 0])}, r"points\[1\]: None on '\(3, 4\)'; .* floats of shape \(2, 2\)"),
        ({"points": {0: np.zeros((2, 2))}}, r"points\[0\]: float64 of shape \(2, 2\) .* floats of shape \(1, 2\)"),
        ({"points": {0: np.array([[np.inf, 0.0]])}}, r"points\[0\]: .* at most 1e\+12"),
    ],
)
def test_the_list_of_answers_belongs_to_the_rows(changes, message):
    with pytest.raises(DialectError, match=message):
        read(changes, "all")


def test_what_does_not_count_may_be_anything():
    far = {"xy": np.array([[1.0, 2.0], [3.0, 4.0], [np.inf, NAN]])}
    assert read(far).xy[:2].tolist() == [[1, 2], [3, 4]]
    named = {"xy": places([1.0, 2.0], [NAN, NAN]), "actions": np.array(["", "wait", ""], dtype=object)}
    assert read(named).actions.tolist() == ["", "wait", ""]
    assert np.isnan(read({**far, "refused": np.array([False, False, True])}).xy[2]).all()


def test_a_dialect_that_another_one_tries_is_named_itself():
    mixed = AutoDialect((BARE_LIST, Spoilt({"count": np.array([1, -1, 0])})), name="mixed")
    with pytest.raises(DialectError, match=r"^dialect 'spoilt' returned count"):
        parse(TEXTS, mixed, space=CoordSpace.PIXEL)
    with pytest.raises(DialectError, match=r"^dialect 'spoilt' raised SystemExit"):
        parse(TEXTS, AutoDialect((Spoilt(SystemExit()),)), space=CoordSpace.PIXEL)


def test_a_place_that_is_no_number_is_far_away():
    for dialect in (
        ReaderDialect("own", read=lambda text: [(NAN, 5.0)], pattern="^(?P<x>1)(?P<y>2)$", signs=("n",)),
        ActionDialect("own", read=lambda text: [Act("click", (NAN, 5.0))], signs=("n",)),
    ):
        assert parse(["none"], dialect, space=CoordSpace.PIXEL).xy.tolist() == [[1e12, 5.0]]


def test_a_dialect_of_this_package_says_itself_what_is_wrong_with_it():
    with pytest.raises(RecipeError, match=r"^dialect own: got groups"):
        parse(TEXTS, PatternDialect("own", "(?P<x>1)"), space=CoordSpace.PIXEL)


@dataclass(frozen=True)
class Trusted(Spoilt):
    trusted = True


@dataclass(frozen=True)
class Made(PatternDialect):
    """Made of one that is trusted, and says nothing itself."""

    def find(self, texts, answers):
        return replace(super().find(texts, answers), dialect=np.array([7, 7, 7]))


def test_a_class_is_checked_unless_it_says_itself_that_it_can_be_trusted():
    spoilt = {"dialect": np.array([7, 7, -1])}
    trusted = parse(TEXTS, Trusted(spoilt), space=CoordSpace.PIXEL)
    assert trusted.dialect.tolist() == [7, 7, -1]
    for dialect in (Spoilt(spoilt), Made("made", BARE_TUPLE.pattern)):
        with pytest.raises(DialectError, match=r"expected -1 or an index into its 1 names"):
            parse(TEXTS, dialect, space=CoordSpace.PIXEL)
