"""Many texts run through arrow and RE2, few through Python's re: both must read the same, to the last bit."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing import BARE_TUPLE, FirstOf, PatternDialect, parse
from grounding_rewards.parsing.reading import Form, check_patterns
from grounding_rewards.parsing.texts import SPACE, VECTOR_ROWS
from grounding_rewards.rollouts import Predictions, Reason
from grounding_rewards.testing import check_dialect
from tests.cases import cases

pytestmark = pytest.mark.slow


POLICIES = ["only", "first", "last", "all"]


def read(texts, dialect, answers, thinking) -> Predictions:
    return parse(texts, dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking)


def bits(found: Predictions, row: int) -> tuple:
    """Everything about a row, floats as their bytes, so that -0.0 is not 0.0 and NaN is NaN."""
    points = b""
    if found.points is not None:
        points = found.points[found.offsets[row] : found.offsets[row + 1]].tobytes()
    return (
        found.xy[row].tobytes(), found.box[row].tobytes(), int(found.reason[row]), int(found.dialect[row]),
        found.actions[row], points,
    )  # fmt: skip


def agree(texts, dialect, answers, thinking):
    assert len(texts) < VECTOR_ROWS
    # Each text often enough that those that one dialect leaves for the next are again many: arrow takes rows of arrow.
    many = texts * VECTOR_ROWS
    vectorised = read(many, dialect, answers, thinking)
    for row, text in enumerate(texts):
        alone = bits(read([text], dialect, answers, thinking), 0)
        assert bits(vectorised, row) == alone
        assert bits(vectorised, row + len(texts)) == alone, "the same text further down"


@cases(
    "numeral",
    [
        "9" * 400, "9" * 5000, "-" + "9" * 400, "0." + "0" * 400 + "1", "0." + "3" * 800, "1" * 17, "9007199254740993",
        "0.1000000000000000055511151231257827021181583404541015625", "123456789.123456789", "12.", ".5", "-0",
        "00000000001",
        "4.35", "2.675", "1.0000000000000002220446049250313", "1.00000000000000011102230246251565",
    ],
)  # fmt: skip
def test_numerals_become_the_nearest_float_on_both_paths(numeral):
    agree([f"({numeral}, {numeral})"], BARE_TUPLE, "first", "read")
    found = read([f"({numeral}, 1)"] * VECTOR_ROWS, BARE_TUPLE, "first", "read")
    assert (found.xy[:, 0] == np.clip(float(numeral), -1e12, 1e12)).all()


def test_a_pattern_with_an_anchor_inside_is_counted_alike():
    anchored = PatternDialect("anchored", r"(?:^|;)@(?P<x>[0-9]+):(?P<y>[0-9]+)", signs=("@",))
    for text, reason in (("@1:2@3:4", "OK"), ("@1:2;@3:4", "SEVERAL_ANSWERS")):
        for rows in (1, 60):
            found = parse([text] * rows, anchored, space=CoordSpace.PIXEL)
            assert {Reason(code).name for code in found.reason} == {reason}


XY = "(?P<x>[0-9]+):(?P<y>[0-9]+)"


@cases(
    ("options", "message"),
    [
        ({"pattern": r"@(?P<x>[0-9]+)"}, r"dialect own: got groups \['x'\]; expected x and y"),
        ({"pattern": r"@(?P<left>[0-9]+):(?P<top>[0-9]+)"}, r"got groups \['left', 'top'\]; expected x and y"),
        ({"pattern": r"@([0-9]+):([0-9]+)"}, r"got the pattern '@.*'; expected a name for each group"),
        ({"pattern": r"(refusal)"}, "expected a name for each group"),
        ({"pattern": None}, "dialect own: got the pattern None; expected a pattern"),
        ({"pattern": None, "whole": True}, "dialect own: got the pattern None; expected a pattern"),
        ({"pattern": "(?P<x>"}, r"expected a pattern \(missing \)"),
        ({"pattern": r"@(?P<x>\d+):(?P<y>\d+)"}, r"without \\d: write a set of ASCII characters, such as \[0-9\]"),
        ({"pattern": f"@{XY}(?=;)"}, r"a pattern without \(\?="),
        ({"pattern": f"(?i:at){XY}"}, r"without \(\?i:: write both cases, such as \[Cc\]lick"),
        ({"pattern": f"@{XY}", "usual": (rf"^@{XY}\s*$",)}, r"without \\s"),
        ({"pattern": f"@{XY}", "usual": ("^(?P<x1>1)$",)}, r"got groups \['x1'\]; expected x and y"),
        ({"pattern": f"@{XY}", "signs": "@"}, r"dialect own: signs: got '@'; expected texts, such as \(\"<tap>\",\)"),
    ],
)
@cases("rows", [1, VECTOR_ROWS])
def test_a_pattern_that_cannot_be_used_is_an_error_however_many_texts(options, message, rows):
    with pytest.raises(RecipeError, match=message):
        parse(["@1:2"] * rows, PatternDialect("own", **options), space=CoordSpace.PIXEL)


@dataclass(frozen=True)
class Tap(Form):
    """Reads one text by one pattern and many by another."""

    name: str = "tap"
    pattern: str = f"^{SPACE}<{XY}>{SPACE}$"
    usual: tuple = (f"^{SPACE}<{XY}>{SPACE}$",)
    alone: str = ""

    def one(self, text, answers):
        match = re.search(self.alone, text)
        return (0, True, [Act("", (int(match["x"]), int(match["y"])))]) if match else (-1, False, ())


@cases(
    ("alone", "text"),
    [(r"^\s*<(?P<x>\d+):(?P<y>\d+)>\s*\Z", "<\uff11:\uff12>"), (r"^<(?P<x>[0-9]+):(?P<y>[0-9]+)>\Z", r"<1:2>\\n")],
)
def test_check_dialect_also_tries_other_letters(alone, text):
    with pytest.raises(AssertionError, match=f"dialect tap .* alone from '{text}'"):
        check_dialect(Tap(alone=alone), ["<1:2>"])
    check_dialect(Tap(alone=r"^\s*<(?P<x>[0-9]+):(?P<y>[0-9]+)>\s*\Z"), ["<1:2>"])


@cases(
    ("dialect", "message"),
    [
        (Form("own", read=len, usual=(rf"^{XY}\b",), signs=("@",)), r"without \\b"),
        (Form("own", read=len, usual=("^(?P<x>1)$",), signs=("@",)), r"got groups \['x'\]; expected action, and more"),
        (Form("own", read=len, usual=(f"^{XY}$",), signs="@"), "signs: got '@'; expected texts"),
        (Form("own", read=len, usual=("^(?P<action>a)(?P<key>b)$",)), r"\['action', 'key'\]; expected"),
        (Form("own", read=len, usual=(r"^(?P<action>\S+)$",)), r"without \\S"),
        (FirstOf((BARE_TUPLE, PatternDialect("own", rf"@{XY}\Z"))), r"dialect own: .* without \\Z"),
    ],
)
def test_patterns_are_checked_before_there_are_texts(dialect, message):
    with pytest.raises(RecipeError, match=message):
        check_patterns(dialect)
