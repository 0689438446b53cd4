"""A dialect of what stands between a pair of tags."""

import pytest

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import DialectError, RecipeError
from grounding_rewards.parsing import AUTO_ACTION, BARE_TUPLE, Form, TaggedDialect, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing import check_dialect

TAGGED = TaggedDialect(BARE_TUPLE, "to")
TWO = "<to>(1, 2)</to> or <to>(3, 4)</to>"


def read(text, answers="only", dialect=TAGGED):
    predictions = parse([text], dialect, space=CoordSpace.PIXEL, answers=answers)
    reason = Reason(predictions.reason.item()).name
    return tuple(predictions.xy[0].tolist()) if reason == "OK" else reason


@pytest.mark.parametrize(
    ("text", "only", "first", "last"),
    [
        ("(9, 9)<to>(1, 2)</to>(9, 9)", (1, 2), (1, 2), (1, 2)),
        ("<to>(1, 2)</to><to> (1, 2)\n</to>", (1, 2), (1, 2), (1, 2)),
        (TWO, "SEVERAL_ANSWERS", (1, 2), (3, 4)),
        ("<to>(1, 2), no: (3, 4)</to>", "SEVERAL_ANSWERS", (1, 2), (3, 4)),
        ("<to>(1, 2)</to><to>left</to>", "SEVERAL_ANSWERS", (1, 2), "MALFORMED"),
        ("<to><to>(1, 2)</to></to>", (1, 2), (1, 2), (1, 2)),
        ("<to>(1, 2", *["MALFORMED"] * 3),
        ("<to></to>", *["MALFORMED"] * 3),
        ("(1, 2)</to>", *["NO_ANSWER"] * 3),
        ("(1, 2)", *["NO_ANSWER"] * 3),
        ("<to>(1, 2)</to></think>(9, 9)", *["NO_ANSWER"] * 3),
        ("", *["EMPTY"] * 3),
    ],
)
def test_the_answer_between_the_tags(text, only, first, last):
    assert (read(text), read(text, "first"), read(text, "last")) == (only, first, last)


def test_all_answers_of_one_tag_count_under_all():
    predictions = parse(["<to>(1, 2) (3, 4)</to>", TWO], TAGGED, space=CoordSpace.PIXEL, answers="all")
    assert (predictions.points.tolist(), predictions.offsets.tolist()) == ([[1, 2], [3, 4]], [0, 2, 2])
    assert Reason(predictions.reason[1]) is Reason.MALFORMED


def test_names_and_vocabulary_are_those_of_the_dialect_inside():
    actions = TaggedDialect(AUTO_ACTION, "to")
    assert (TAGGED.name, TAGGED.names, actions.names) == ("bare_tuple in <to>", ("bare_tuple",), AUTO_ACTION.names)
    predictions = parse(["<to>tap(1, 2)</to>", "<to>refusal</to>"], actions, space=CoordSpace.PIXEL)
    assert (predictions.actions[0], predictions.xy[0].tolist()) == ("click", [1, 2])
    assert Reason(predictions.reason[1]) is Reason.REFUSED
    assert (TAGGED.vocabulary, actions.vocabulary) == (False, True)


def broken(text):
    raise ValueError("no number")


def test_the_dialect_inside_is_checked_and_named():
    with pytest.raises(RecipeError, match="dialect own: got groups"):
        TaggedDialect(Form("own", "(?P<x>1)"), "to").check_patterns()
    with pytest.raises(DialectError, match=r"dialect 'broken' raised ValueError: no number on '\(1, 2\)'"):
        read("<to>(1, 2)</to>", dialect=TaggedDialect(Form("broken", read=broken), "to"))


@pytest.mark.parametrize("inner", [BARE_TUPLE, AUTO_ACTION], ids=lambda inner: inner.name)
def test_it_keeps_the_promises_of_dialects(inner):
    texts = [TWO, "<to>(1, 2)</to>", "<to>", "</to>", "<to>(1", "", None, "\x00<to>\ud800</to>", "<to>refusal</to>"]
    long = ["<to>" * 9000, "<to>(1, 2)</to>" * 4000, "<to>" + "(" * 60_000, f"{'a' * 70_000}<to>(1, 2)</to>"]
    check_dialect(TaggedDialect(inner, "to"), [*texts, *long, *[f"<to>({row}, 7)</to>" for row in range(VECTOR_ROWS)]])
