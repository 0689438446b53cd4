"""Columns of a table: named, guessed, missing, and more than one."""

import re

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import columns_read, find_columns
from grounding_rewards.tables.rows import value_at

ROLES = ("target", "instruction", "image", "image-size", "id", "source")


def row(*names):
    return [dict.fromkeys(names)]


def find(rows, named=(), needed=("target", "instruction"), **more):
    """Find the columns that conversion needs."""
    return find_columns(rows, {**dict.fromkeys(ROLES), **dict(named)}, needed=needed, **more)


def names(instruction, target=None, image=None, size=None, id=None, source=None):
    """Return columns by role."""
    columns = zip(ROLES, (target, instruction, image, size, id, source), strict=True)
    return {role: column for role, column in columns if column is not None}


@pytest.mark.parametrize(
    ("there", "columns"),
    [
        (
            ("bbox", "instruction", "image", "width", "height", "id"),
            names("instruction", "bbox", "image", "width,height", "id"),
        ),
        (("target", "prompt", "img_filename", "img_size"), names("prompt", "target", "img_filename", "img_size")),
        (("answer", "problem", "images", "data_source"), names("problem", "answer", "images", source="data_source")),
        (("solution", "question", "sample_id", "id"), names("question", "solution", id="sample_id")),
    ],
)
def test_usual_names_are_found(there, columns):
    assert find(row(*there)) == (columns, columns, [])


def test_what_options_name_is_no_guess():
    given = {"target": "where", "instruction": None, "image-size": "w,h"}
    found, guesses, notes = find(row("where", "bbox", "query", "w", "h"), given)
    assert found == names("query", "where", size="w,h")
    assert (guesses, notes) == ({"instruction": "query"}, [])


def test_a_field_of_a_column():
    rows = [{"reward_model": {"ground_truth": [1, 2, 3, 4], "style": "rule"}, "prompt": "Save", "a,b": [1, 2]}]
    found, guesses, notes = find(rows, {"image-size": "a,b"})
    assert found == names("prompt", "reward_model.ground_truth", size="a,b")
    assert {"reward_model", "prompt", "a,b"} <= {*columns_read(found.values())}
    assert (guesses["target"], notes) == ("reward_model.ground_truth", [])
    assert value_at(rows[0], "reward_model.ground_truth") == [1, 2, 3, 4]
    assert value_at(rows[0], "reward_model.nothing") is None
    assert value_at(rows[0], "prompt.text") is None
    assert value_at({"a.b": 1, "a": {"b": 2}}, "a.b") == 1


def test_a_label_is_a_target_where_convert_packed_it():
    packed = {"label": '{"bbox": [1, 2, 3, 4], "space": "pixel", "id": "a"}', "bbox": [1, 2, 3, 4], "query": "Save"}
    assert find([packed, {"label": '{"refusal": true, "id": "b"}'}]).columns == names("query", "label")
    for other in (
        "Save",
        '{"bbox": [1, 2, 3, 4]}',
        '{"id": "a", "text": "Save"}',
        "{",
        {"bbox": [1, 2, 3, 4], "id": "a"},
    ):
        assert find([packed, {"label": other}]).columns == names("query", "bbox")


def test_a_conversation_in_input_is_an_instruction():
    talk = {"input": [{"role": "user", "content": "Click: Save"}], "bbox": None, "instruction": "Save"}
    assert find([talk]).columns == names("input", "bbox")
    assert find([talk, {"input": "Save"}]).columns == names("instruction", "bbox")
    assert find([{**talk, "input": []}]).columns == names("instruction", "bbox")


@pytest.mark.parametrize(
    ("there", "given", "message"),
    [
        (("bbox", "answer", "query"), {}, "which column holds the target: answer or bbox? Give --target-column"),
        (("box", "query"), {"target": "bbx"}, "no column 'bbx' (--target-column); did you mean 'box'? There are: box"),
        (("box", "query"), {"image-size": "w,h"}, "no column 'w' (--image-size-column). There are: box, query"),
        (("where", "query"), {}, "which column holds the target? Give --target-column; there are: where"),
        (("box", "ask"), {}, "holds the instruction, a text or a conversation? Give --instruction-column; there are"),
        (("where",), {}, "conversation? Give --target-column and --instruction-column; there are: where"),
        (("box", "query", "image", "img"), {}, "which column holds the image: image or img? Give --image-column"),
    ],
)
def test_ambiguous_and_missing_columns_are_errors_that_name_the_option(there, given, message):
    with pytest.raises(TableError, match=re.escape(message)):
        find(row(*there), given)


def test_a_target_that_there_need_not_be():
    assert find(row("query"), needed=("instruction",)).columns == names("query")


@pytest.mark.parametrize("no", ["none", ""])
def test_a_guess_is_refused_and_a_column_of_that_name_is_not(no):
    there = row("bbox", "query", "image", "id", "source", "width", "height")
    given = dict.fromkeys(("image", "id", "source", "image-size"), no)
    assert find(there, given) == (names("query", "bbox"), {"target": "bbox", "instruction": "query"}, [])
    assert find([{**there[0], no: "x"}], {**given, "source": no}).columns["source"] == no
    with pytest.raises(TableError, match="which column holds the target"):
        find(there, {"target": no})


def test_columns_that_are_dropped_are_no_guess():
    there = [{"bbox": None, "query": None, "id": 1, "extra_info": {"id": 2, "image_size": [4, 5]}}]
    found = find(there, dropped=("id", "extra_info"))
    assert found.columns == names("query", "bbox")
    assert find(there, {"id": "id"}, dropped=("id",)).columns["id"] == "id"


@pytest.mark.parametrize(
    ("role", "column", "value", "other"),
    [
        ("id", "sample_id", 1.5, "id"),
        ("id", "sample_id", True, "id"),
        ("source", "data_source", 3, "source"),
        ("image-size", "image_size", "1080p", "width,height"),
        ("image-size", "image_size", [0, 5], "width,height"),
    ],
)
def test_a_column_that_holds_something_else_is_no_guess(role, column, value, other):
    good = {"id": 7, "source": "web", "width": 640, "height": 480, "bbox": None, "query": None}
    found = find([{**good, column: None}, {column: value}])
    assert found.guesses[role] == other
    assert found.notes == [f"{role}: not column {column}, which holds {value!r}; --{role}-column names one"]
    assert find([{**good, column: value}], {role: column}).notes == []


def test_sides_that_are_no_numbers_are_no_guess():
    found = find([{"bbox": None, "query": None, "width": 640, "height": "tall"}])
    assert "image-size" not in found.columns
    assert found.notes == ["image-size: not column width,height, which holds 'tall'; --image-size-column names one"]


@pytest.mark.parametrize(
    "value", ["shots/1.PNG", ["a.jpg"], {"bytes": b"GIF", "path": None}, b"GIF89a\x01\0\x01\0", {"path": "a"}]
)
def test_a_column_that_looks_like_images_is_named(value):
    there = [{"bbox": None, "query": "Open a.png", "shot": value}]
    (note,) = find(there).notes
    assert note.startswith(
        "image: no column of a usual name, so that rows go without; shot looks like one: --image-column shot"
    )
    for quiet in (find(there, {"image": "none"}), find(there, dropped=("shot",))):
        assert quiet.notes == []
    assert find([{**there[0], "file_name": "b.png"}]).columns["image"] == "file_name"


def test_what_does_not_look_like_images():
    for value in ("Open the file called a.png", "", b"text", {"text": "see a.png"}, [], 7):
        assert find([{"bbox": None, "query": None, "other": value}]).notes == []
