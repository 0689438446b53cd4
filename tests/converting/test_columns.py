"""Which column holds what: named, guessed, missing, and more than one."""

import re

import pytest

from grounding_rewards.converting.columns import Columns, find_columns, value_at
from grounding_rewards.errors import ConvertError


def row(*names):
    return [dict.fromkeys(names, 1)]


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (
            ("bbox", "instruction", "image", "width", "height", "id"),
            Columns("instruction", "bbox", "image", ("width", "height"), "id"),
        ),
        (("target", "prompt", "img_filename", "img_size"), Columns("prompt", "target", "img_filename", ("img_size",))),
        (("answer", "problem", "images", "data_source"), Columns("problem", "answer", "images", source="data_source")),
        (("solution", "question", "sample_id", "id"), Columns("question", "solution", id="sample_id")),
    ],
)
def test_usual_names_are_found(names, columns):
    found, guesses = find_columns(row(*names), {})
    assert found == columns
    assert guesses["target"] == columns.target
    assert guesses["instruction"] == columns.instruction
    assert guesses.get("image-size") == (",".join(columns.image_size) or None)


def test_what_options_name_is_no_guess():
    given = {"target": "where", "instruction": None, "image-size": "w,h"}
    found, guesses = find_columns(row("where", "bbox", "query", "w", "h"), given)
    assert found == Columns("query", "where", image_size=("w", "h"))
    assert guesses == {"instruction": "query"}


def test_a_field_of_a_column():
    rows = [{"reward_model": {"ground_truth": [1, 2, 3, 4], "style": "rule"}, "prompt": "Save", "a,b": [1, 2]}]
    found, guesses = find_columns(rows, {"image-size": "a,b"})
    assert found == Columns("prompt", "reward_model.ground_truth", image_size=("a,b",))
    assert found.read == ("reward_model", "prompt", "a,b")
    assert guesses["target"] == "reward_model.ground_truth"
    assert value_at(rows[0], "reward_model.ground_truth") == [1, 2, 3, 4]
    assert value_at(rows[0], "reward_model.nothing") is None
    assert value_at(rows[0], "prompt.text") is None
    assert value_at({"a.b": 1, "a": {"b": 2}}, "a.b") == 1


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (("bbox", "answer", "query"), {}, "which column holds the target: answer or bbox? Give --target-column"),
        (("box", "query"), {"target": "bbx"}, "no column 'bbx' (--target-column); did you mean 'box'? There are: box"),
        (("box", "query"), {"image-size": "w,h"}, "no column 'w' (--image-size-column). There are: box, query"),
        (("where", "query"), {}, "which column holds what counts as right? Give --target-column; there are: where"),
        (("box", "ask"), {}, "holds what is asked, a text or a conversation? Give --instruction-column; there are"),
        (("box", "query", "image", "img"), {}, "which column holds the image: image or img? Give --image-column"),
    ],
)
def test_what_cannot_be_told_is_an_error_that_names_the_option(names, given, message):
    with pytest.raises(ConvertError, match=re.escape(message)):
        find_columns(row(*names), given)


def test_a_target_that_there_need_not_be():
    assert find_columns(row("query"), {}, optional={"target"})[0] == Columns("query")
