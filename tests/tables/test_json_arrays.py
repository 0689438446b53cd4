"""JSON files: an array of objects, or an object that holds one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import TableError
from grounding_rewards.tables import json_lines, open_table
from tests.tables.passing import scored


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1, "b": null}, {"a": "é", "c": [2]}]',
        '\ufeff\n[{"a": 1, "b": null},\n {"a": "é", "c": [2]}]\n',
        '{"version": 1, "names": ["x"], "none": [], "rows": [{"a": 1, "b": null}, {"a": "é", "c": [2]}]}',
    ],
)
def test_the_rows_of_an_array(lines, text):
    table = open_table(lines(text, "in.json"))
    assert table.columns == ("a", "b", "c")
    (batch,) = table.batches()
    assert batch.rows == [{"a": 1, "b": None}, {"a": "é", "c": [2]}]
    assert (batch.place(1), batch.lines, batch.done) == ("row 1", None, 1.0)


def test_batches_and_the_share_that_is_done(lines, monkeypatch):
    monkeypatch.setattr(json_lines, "BATCH_ROWS", 2)
    table = open_table(lines(json.dumps([{"a": number} for number in range(5)]), "in.json"))
    assert [(batch.start, batch.column("a"), batch.done) for batch in table.batches()] == [
        (0, [0, 1], 0.4), (2, [2, 3], 0.8), (4, [4], 1.0),
    ]  # fmt: skip


def test_rows_pass_through(lines, tmp_path):
    scored(lines('[{"b": 1.5, "a": {"z": [1, NaN]}}]', "in.json"), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == ('{"b": 1.5, "a": {"z": [1, null]}, "total": 0.5, "reason": "OK"}\n')


TWICE = '[{"a": 1}, 3, {"a": {"b": [{"c": 1, "c": 2}]}}, {"a": 2}]'


def test_rows_that_cannot_be_read_are_rows_where_that_is_wanted(lines):
    source = lines(TWICE, "in.json")
    (batch,) = open_table(source, tolerant=True).batches()
    assert batch.rows == [{"a": 1}, {}, {}, {"a": 2}]
    assert batch.unread == {
        1: "got a number; expected a JSON object",
        2: "not JSON that can be read (the key 'c' comes twice in one object)",
    }
    with pytest.raises(TableError, match=r"in\.json, row 1: got a number; expected a JSON object$"):
        open_table(source)


EXPECTED = "expected an array of objects, or an object that holds one such array; one object a line is a .jsonl file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n {"a": ]', ", line 2: not JSON (Expecting value at character 8)"),
        ('{"a": 1}\n{"a": 2}', ", line 2: not JSON (Extra data at character 1); one object a line is a .jsonl file"),
        ('[{"a": "x', ", line 1: not JSON (Unterminated string starting at character 8)"),
        ('[{"a": 1}', ", line 1: not JSON (Expecting ',' delimiter at character 10)"),
        (b'[{"a": "\xff"}]', ": not UTF-8 (invalid start byte at byte 9)"),
        ('{"a": 1}', f": got an object without an array of objects; {EXPECTED}"),
        ('{"a": [1], "b": []}', f": got an object without an array of objects; {EXPECTED}"),
        ('"x"', f": got a string; {EXPECTED}"),
        ('{"train": [{}], "about": 1, "test": [{"a": 1}]}', ": holds several arrays of objects: 'train', 'test'; "
         "expected one: write the one with the rows to a file of its own"),
        ('{"a": [{"b": 1}], "a": [{"b": 2}]}', ": not JSON that can be read (the key 'a' comes twice in one object)"),
        ('[{"a": 1}, {"b": 1, "b": 2}]', ", row 1: not JSON that can be read (the key 'b' comes twice in one object)"),
        ("[1" + "0" * 5000 + "]", ": not JSON that can be read (Exceeds the limit (4300 digits) for integer string "
         "conversion: value has 5001 digits; use sys.set_int_max_str_digits() to increase the limit)"),
        ("[" * 200_000, ": nested too deeply"),
        ("[]", ": no rows"),
        ("", ": is empty"),
        (" \n", ", line 2: not JSON (Expecting value at character 1)"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(lines, text, message):
    path = lines(text, "in.json")
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value) == f"{path}{message}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(rows=st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=6))
def test_an_array_is_read_as_its_lines_are(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("rows")
    (folder / "in.json").write_text(json.dumps(rows, indent=1))
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, other = ([row for batch in open_table(folder / name).batches() for row in batch.rows] for name in
                  ("in.json", "in.jsonl"))  # fmt: skip
    assert one == other == rows
