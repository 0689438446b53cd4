"""JSON lines in and out: keys, order and odd characters."""

from __future__ import annotations

import json

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import json_lines, open_table
from tests.tables.passing import scored


def test_keys_and_their_order_are_kept(lines, tmp_path):
    source = lines('{"b": 1, "a": {"z": [1, 2.5], "y": null}}\n\n  \n{"c": "é\\u0000", "b": true}\n')
    assert scored(source, tmp_path / "out.jsonl") == []
    assert (tmp_path / "out.jsonl").read_text("utf-8") == (
        '{"b": 1, "a": {"z": [1, 2.5], "y": null}, "total": 0.5, "reason": "OK"}\n'
        '{"c": "é\\u0000", "b": true, "total": null, "reason": "OK"}\n'
    )


def test_lone_surrogates_get_through(lines, tmp_path):
    source = lines('{"response": "\\ud800 (1, 2) é"}\n')
    assert open_table(source).columns == ("response",)
    scored(source, tmp_path / "out.jsonl")
    text = (tmp_path / "out.jsonl").read_text("utf-8")
    assert text == '{"response": "\\ud800 (1, 2) é", "total": 0.5, "reason": "OK"}\n'
    assert json.loads(text)["response"] == "\ud800 (1, 2) é"


def test_nan_and_infinity_become_null(lines, tmp_path):
    scored(lines('{"a": [NaN, {"b": -Infinity}], "c": 1e999}\n'), tmp_path / "out.jsonl")
    expected = '{"a": [null, {"b": null}], "c": null, "total": 0.5, "reason": "OK"}\n'
    assert (tmp_path / "out.jsonl").read_text() == expected


def test_byte_order_mark_and_windows_line_ends(lines, tmp_path):
    table = open_table(lines(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n'))
    assert [batch.column("a") for batch in table.batches()] == [[1, 2]]


def test_line_separators_inside_a_text_do_not_split_it(lines):
    assert next(open_table(lines('{"a": "x\u2028y"}\n')).batches()).column("a") == ["x\u2028y"]


def test_batches_know_their_rows_and_lines(lines):
    table = open_table(lines('{"a": 0}\n\n{"a": 1}\n{"b": 2}'))
    batches = list(table.batches(size=2))
    assert [batch.start for batch in batches] == [0, 2]
    assert [batch.lines for batch in batches] == [[1, 3], [4]]
    assert batches[1].column("a") == [None]
    assert batches[1].place(0) == "row 2 (line 4)"
    assert batches[-1].done == 1.0
    assert 0 < batches[0].done < 1


def test_lines_that_cannot_be_read_are_rows_where_that_is_wanted(lines):
    source = lines(b'\xef\xbb\xbf{"a": 0}\n\n{\n{"a": 1}\n[1]\n{"a": "\xff"}\n')
    (first, second, third) = open_table(source, tolerant=True).batches(size=2)
    assert [batch.rows for batch in (first, second, third)] == [[{"a": 0}, {}], [{"a": 1}, {}], [{}]]
    assert (first.place(1), second.place(1), third.place(0)) == ("row 1 (line 3)", "row 3 (line 5)", "row 4 (line 6)")
    assert second.unread == {1: "got a list; expected one JSON object a line"}
    assert first.unread[1].startswith("not JSON (Expecting")
    assert third.unread[0] == "not UTF-8 (invalid start byte at byte 8)"
    with pytest.raises(TableError, match=r"in\.jsonl, line 3: not JSON"):
        open_table(source)


def test_long_lines_make_small_batches(lines, monkeypatch):
    monkeypatch.setattr(json_lines, "BATCH_BYTES", 100)
    table = open_table(lines('{"a": "0123456789"}\n' * 12))
    assert [len(batch) for batch in table.batches()] == [5, 5, 2]
    assert [batch.start for batch in table.batches()] == [0, 5, 10]
    assert [len(batch) for batch in table.batches(size=12)] == [12]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json-lines", ".JSONL"])
def test_suffixes_of_json_lines(lines, suffix):
    assert open_table(lines('{"a": 1}', f"in{suffix}")).columns == ("a",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": \n', r"in\.jsonl, line 2: not JSON \(Expecting value at character 8\)"),
        ('{"a": 1}\n\n[1]\n', r"in\.jsonl, line 3: got a list; expected one JSON object a line"),
        ("3", r"line 1: got a number; expected one JSON object a line"),
        ('"x"', r"line 1: got a string; expected"),
        ("null", r"line 1: got null; expected"),
        ("true", r"line 1: got true or false; expected"),
        (b'{"a": 1}\n{"a": "\xff"}', r"line 2: not UTF-8 \(invalid start byte at byte 8\)"),
        ('{"a": 1}'.encode("utf-16"), r"line 1: not UTF-8"),
        ("[" * 100_000, r"line 1: (nested too deeply|not JSON)"),
        ('{"a": ' + "9" * 5000 + "}", r"line 1: not JSON that can be read \(Exceeds the limit"),
        ("", r"in\.jsonl: is empty$"),
        ("\n \n", r"in\.jsonl: no rows$"),
    ],
)
def test_lines_that_cannot_be_read(lines, text, message):
    with pytest.raises(TableError, match=message):
        open_table(lines(text))


def test_a_bad_line_late_in_the_file_leaves_no_output(lines, tmp_path):
    source = lines('{"a": 1}\n' * 9000 + "{\n")
    with pytest.raises(TableError, match=r"line 9001: not JSON"):
        scored(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
