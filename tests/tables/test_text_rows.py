"""Rows of texts: JSON lines, JSON files and CSV, in and out, in any encoding."""

from __future__ import annotations

import csv
import itertools
import json
import math
from contextlib import suppress

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import TableError
from grounding_rewards.tables import text_rows
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.rows import Batch, NoRowsError, joined, numbers_of
from grounding_rewards.tables.writing import write_table
from tests.tables.passing import scored


def reads(encoding):
    """The end of an error about bytes that are text in an encoding."""
    return f"; as {encoding} it can be read: --encoding {encoding}, or iconv -f {encoding} -t utf-8"


def test_keys_and_their_order_are_kept(lines, tmp_path):
    source = lines('{"b": 1, "a": {"z": [1, 2.5], "y": null}}\n\n  \n\f\n{"c": "é\\u0000", "b": true}\n')
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


def test_byte_order_mark_and_windows_line_ends(lines, tmp_path):
    table = open_table(lines(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n'))
    assert [batch.column("a") for batch in table.batches()] == [[1, 2]]


def test_line_separators_inside_a_text_do_not_split_it(lines):
    assert next(open_table(lines('{"a": "x\u2028y"}\n')).batches()).column("a") == ["x\u2028y"]


def test_batches_know_their_rows_and_lines(lines, monkeypatch):
    monkeypatch.setattr(text_rows, "_STEP", 1)
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
    assert third.unread[0] == "not UTF-8 (invalid start byte at byte 8)" + reads("cp1252")
    with pytest.raises(TableError, match=r"in\.jsonl, line 3: not JSON"):
        open_table(source)


def test_long_lines_make_small_batches(lines, monkeypatch):
    monkeypatch.setattr(text_rows, "BATCH_BYTES", 100)
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


@pytest.fixture(params=[None, 1, 7, 1 << 20], ids="step={}".format)
def streams(request, monkeypatch):
    """Hold a JSON file in memory, or read it a few bytes at once."""
    if request.param is not None:
        monkeypatch.setattr(text_rows, "_HELD", 0)
        monkeypatch.setattr(text_rows, "_STEP", request.param)


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1, "b": null}, {"a": "é", "c": [2]}]',
        '\ufeff\n[{"a": 1, "b": null},\n {"a": "é", "c": [2]}]\n',
        '{"version": 1, "names": ["x"], "none": [], "rows": [{"a": 1, "b": null}, {"a": "é", "c": [2]}]}',
    ],
)
def test_the_rows_of_an_array(lines, streams, text):
    table = open_table(lines(text, "in.json"))
    assert table.columns == ("a", "b", "c")
    (batch,) = table.batches()
    assert batch.rows == [{"a": 1, "b": None}, {"a": "é", "c": [2]}]
    assert (batch.place(1), batch.lines, batch.done) == ("row 1", None, 1.0)


def test_batches_and_the_share_that_is_done(lines, monkeypatch):
    monkeypatch.setattr(text_rows, "BATCH_ROWS", 2)
    table = open_table(lines(json.dumps([{"a": number} for number in range(5)]), "in.json"))
    assert [(batch.start, batch.column("a"), batch.done) for batch in table.batches()] == [
        (0, [0, 1], 0.4), (2, [2, 3], 0.8), (4, [4], 1.0),
    ]  # fmt: skip


TWICE = '[{"a": 1}, 3, {"a": {"b": [{"c": 1, "c": 2}]}}, {"a": 2}]'


def test_objects_that_cannot_be_read_are_rows_where_that_is_wanted(lines, streams):
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


def test_an_image_beside_the_one_array_of_an_object_changes_nothing(lines):
    table = open_table(lines('{"logo": "a.png", "rows": [{"a": 1}, {"a": 2}]}', "in.json"))
    assert list(next(table.batches()).rows) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n {"a": ]', ", line 2: not JSON (Expecting value at character 8)"),
        ('{"a": 1}\n{"a": 2}', ", line 2: not JSON (Extra data at character 1); one object a line is a .jsonl file"),
        ('[{"a": "x', ", line 1: not JSON (Unterminated string starting at character 8)"),
        ('[{"a": 1}', ", line 1: not JSON (Expecting ',' delimiter at character 10)"),
        (b'[{"a": "\xff"}]', ": not UTF-8 (invalid start byte at byte 9)" + reads("cp1252")),
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
def test_arrays_that_cannot_be_read(lines, streams, text, message):
    path = lines(text, "in.json")
    with pytest.raises(TableError) as caught:
        list(open_table(path).batches())
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "_HELD", 0)
        patch.setattr(text_rows, "_STEP", 5)
        assert [row for batch in open_table(folder / "in.json").batches() for row in batch.rows] == rows


CSV = 'sample_id,response,target,size\r\n007,512,"[1, 2, 3, 4]",\r\n1e3,"a ""b"",\nc",true,"[9, 9]"\r\n,,,0.10\r\n'
CELLS_READ = [
    {"sample_id": "007", "response": "512", "target": "[1, 2, 3, 4]", "size": None},
    {"sample_id": "1e3", "response": 'a "b",\nc', "target": "true", "size": "[9, 9]"},
    {"sample_id": None, "response": "", "target": None, "size": "0.10"},
]


@pytest.mark.parametrize("text", [CSV, "\ufeff" + CSV, CSV.replace("\r\n", "\n\n")])
def test_cells_are_texts_and_empty_ones_null_but_for_responses(lines, text):
    table = open_table(lines(text, "in.csv"))
    assert table.columns == ("sample_id", "response", "target", "size")
    (batch,) = table.batches()
    assert batch.rows == CELLS_READ
    assert batch.texts


def test_rows_know_their_lines(lines):
    (batch,) = open_table(lines(CSV, "in.csv")).batches()
    assert [batch.place(row) for row in range(3)] == ["row 0 (line 2)", "row 1 (line 3)", "row 2 (line 5)"]
    assert [len(each) for each in open_table(lines(CSV, "in.csv")).batches(size=2)] == [2, 1]


def test_numbers_are_read_where_they_are_wanted(lines):
    text = "n,m\n1,a\n0.5,007\nTrue,\nfalse,2\n"
    (batch,) = open_table(lines(text, "in.csv")).batches()
    assert batch.numbers("n") == [1, 0.5, True, False]
    assert batch.numbers("m") == ["a", "007", None, 2]
    (batch,) = open_table(lines('{"n": "1"}')).batches()
    assert batch.numbers("n") == ["1"]


def test_texts_stay_texts_in_outputs(lines, tmp_path):
    source = lines(CSV, "in.csv")
    scored(source, tmp_path / "out.jsonl")
    first, _, last = (json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["sample_id"], first["response"], first["size"]) == ("007", "512", None)
    assert (last["sample_id"], last["response"], last["size"]) == (None, "", "0.10")
    scored(source, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").select(list(CELLS_READ[0])).to_pylist() == CELLS_READ


CELLS = "; expected 2, as in the header; quote a cell with"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", f", line 3: got 1 cells{CELLS} line breaks, or the file is cut off"),
        ('a,b\n"1\n2",2\n3,4,5\n', f", line 4: got 3 cells{CELLS} commas"),
        ('a,b\n1,2\n"3,4\n5,6\n', ", line 3: not CSV (a quote is never closed)"),
        ('a,b\n"1"2,3\n', ", line 2: not CSV (',' expected after '\"')"),
        (b"a,b\n1,2\n1,\xff\n", ", line 3: not UTF-8" + reads("cp1252")),
        (b"a\xff,b\n1,2\n", f", line 1: not UTF-8{reads('cp1252')}; expected the names of the columns"),
        ("a,b".encode("utf-16"), f", line 1: not UTF-8{reads('utf-16')}; expected the names of the columns"),
        ("\n1,2\n", ", line 1: is empty; expected the names of the columns"),
        ("a,b,a,b,c\n1,2,3,4,5\n", ": has several columns a, b; rename them first"),
        ("a,b\n", ": no rows"),
        ("", ": is empty"),
    ],
)
def test_csv_that_cannot_be_read(lines, text, message):
    path = lines(text, "in.csv")
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("name", "text", "there", "fix"),
    [
        ("in.csv", "a;b\n(1, 2);3\n", "semicolons", "commas: write the file again with commas"),
        ("in.csv", "a\tb\n(1, 2)\t3\n", "tabs", "commas: end its name in .tsv"),
        ("in.tsv", "a,b\n1,2\n", "commas", "tabs: end its name in .csv"),
        ("in.tsv", "a;b\n1;2\n", "semicolons", "tabs: write the file again with tabs"),
    ],
)
def test_other_signs_between_cells(lines, name, text, there, fix):
    path = lines(text, name)
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value) == f"{path}, line 1: got {there} between the names of the columns; expected {fix}"


def test_signs_in_a_header_of_several_names(lines):
    (batch,) = open_table(lines("a;b,c\n1;2,3\n", "in.csv")).batches()
    assert batch.rows == [{"a;b": "1;2", "c": "3"}]


@pytest.mark.parametrize(("name", "head"), [("in.csv", "a, b"), ("in.tsv", "a\tb")])
def test_the_sign_itself_in_a_quoted_name(lines, name, head):
    (batch,) = open_table(lines(f'"{head}"\n1\n', name)).batches()
    assert batch.rows == [{head: "1"}]


def test_csv_rows_that_cannot_be_read_are_rows_where_that_is_wanted(lines):
    source = lines(b'a,b\n1,2\n3\n"x"y,1\n\xff,1\n5,6\n"7,8\n', "in.csv")
    (batch,) = open_table(source, tolerant=True).batches()
    assert batch.rows == [{"a": "1", "b": "2"}, {}, {}, {}, {"a": "5", "b": "6"}, {}]
    assert batch.lines == [2, 3, 4, 5, 6, 7]
    assert list(batch.unread) == [1, 2, 3, 5]


@given(rows=st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0"))] * 3), min_size=1))
def test_every_text_comes_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "in.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("sample_id", "response", "more"), *rows])
    read = [tuple(row.values()) for batch in open_table(path).batches() for row in batch.rows]
    assert read == [(name or None, response, more or None) for name, response, more in rows]


@pytest.fixture
def limit():
    """A limit of cells that nothing else in the process has set."""
    before = csv.field_size_limit(1234)
    yield 1234
    csv.field_size_limit(before)


def test_a_long_cell_is_read_and_the_limit_of_the_process_stays(lines, limit):
    text = "a" * 200_000
    (batch,) = open_table(lines(f"response,id\n{text},1\n", "long.csv")).batches()
    assert batch.rows == [{"response": text, "id": "1"}]
    assert csv.field_size_limit() == limit
    with pytest.raises(TableError, match="line 3: got 1 cells; expected 2"):
        list(open_table(lines(f"response,id\n{text},1\nb\n", "ragged.csv")).batches())
    assert csv.field_size_limit() == limit


ANSWERS = "response,n\n点击 (150 60),1\n你好,2\n"
ENCODED = {
    "in.csv": ANSWERS,
    "in.jsonl": '{"response": "点击 (150 60)", "n": "1"}\n{"response": "你好", "n": "2"}\n',
    "in.json": '[{"response": "点击 (150 60)", "n": "1"},\n {"response": "你好", "n": "2"}]',
}


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "utf-16", "utf-16-le", "big5", "utf-8"])
@pytest.mark.parametrize("name", ENCODED)
def test_texts_of_another_encoding(lines, name, encoding):
    text = ENCODED[name].replace("点击", "點擊") if encoding == "big5" else ENCODED[name]
    (batch,) = open_table(lines(text.encode(encoding), name), encoding=encoding).batches()
    assert [(row["response"][2:], row["n"]) for row in batch.rows] == [(" (150 60)", "1"), ("", "2")]


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_an_error_names_the_encoding_that_reads_a_text(lines, name, encoding):
    text = ENCODED[name].replace("response", "answer点") if encoding == "gbk" else ENCODED[name]
    with pytest.raises(TableError) as caught:
        open_table(lines(text.encode(encoding), name))
    assert reads(encoding) in str(caught.value)


def test_bytes_that_are_no_text_in_the_encoding_spoil_one_row(lines):
    source = lines("response,n\n点,1\n".encode("gbk") + b"\xff\xff,2\nc,3\n", "in.csv")
    with pytest.raises(TableError, match=r"line 3: not gbk$"):
        open_table(source, encoding="gbk")
    (batch,) = open_table(source, encoding="gbk", tolerant=True).batches()
    assert ([row.get("n") for row in batch.rows], batch.unread) == (["1", None, "3"], {1: "not gbk"})
    with pytest.raises(TableError, match=r"in\.csv: not utf-16 \("):
        open_table(lines(b"\xff\xfea", "in.csv"), encoding="utf-16")


def test_line_separators_of_other_encodings_do_not_split_a_text(lines):
    table = open_table(lines('{"a": "x\u2028y\x85z"}\n'.encode("gb18030")), encoding="gb18030")
    assert next(table.batches()).column("a") == ["x\u2028y\x85z"]


def test_rows_that_are_taken_and_joined_keep_their_places(lines):
    table = open_table(lines("".join(f'{{"a": {number}}}\n\n' for number in range(5))))
    first, second, third = (batch.take([len(batch) - 1, 0]) for batch in table.batches(size=2))
    every = joined([first, second, third.take([1])])
    assert every.column("a") == [row["a"] for row in every.whole] == [1, 0, 3, 2, 4]
    assert [every.number(index) for index in range(5)] == [1, 0, 3, 2, 4]
    assert [every.place(index) for index in (0, 3, 4)] == ["row 1 (line 3)", "row 2 (line 5)", "row 4 (line 9)"]
    assert joined(table.batches(size=2)).take([4, 2], whole=False).place(0) == "row 4 (line 9)"
    assert Batch(0, [{"n": "1"}, {"n": "2"}], None, 1.0, texts=True).take([1]).numbers("n") == [2]


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1, "a": 2}', '{"a" : 1, "a":2, "b": "\\":"}', '{"b": {"a": 1, "a": 2}, "c": ":"}',
        '{"a\\\\": 1, "a\\\\": 2, "b": ":\\":"}', '{"b": [[{"a": 1, "a": 2}]], "c": "x: y"}', '{"a": 1, "a": 2}\n{}',
    ],
)  # fmt: skip
def test_keys_that_come_twice_are_found_whatever_else_a_line_holds(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"a": 0}}\n{line}\n')
    with pytest.raises(TableError, match=r"line 2: not JSON that can be read \(the key .* comes twice"):
        open_table(path)


@pytest.mark.parametrize(
    "line",
    [
        '{"a":1.50,"b":"\\u00e9","c":{"d":[1,2]}}',
        "{}",
        '{"url": "https://x", "r": "{\\"a\\": 1}"}',
        '{"n": 123456789012345678901234567890}',
    ],
)
def test_lines_are_written_as_they_stand(tmp_path, line):
    path, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text(f"  {line} \n")
    table = open_table(path)
    with write_table(out, like=table, new={"t": float, "s": str}) as writer:
        for batch in table.batches():
            writer.write(batch, {"t": [0.1], "s": ['"\ud800']})
    comma = ", " if len(line) > 2 else ""
    assert out.read_text() == f'{line[:-1]}{comma}"t": 0.1, "s": "\\"\\ud800"}}\n'


def test_numbers_that_json_lacks_become_null_also_where_lines_stand(tmp_path):
    path, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text('{"a": [NaN, {"b": -Infinity}]}\n{"a":1}\n{"a": 1e999}\n')
    table = open_table(path)
    with write_table(out, like=table, new={"t": float}) as writer:
        for batch in table.batches():
            writer.write(batch, {"t": np.array([math.inf, -0.0, math.nan])})
    assert out.read_text() == '{"a": [null, {"b": null}], "t": null}\n{"a":1, "t": 0.0}\n{"a": null, "t": null}\n'


@pytest.mark.parametrize("two", ['{"b": 1} {"c": 2}', '{"b": 1}{"c": 2}'])
def test_two_objects_in_a_line_are_an_error_beside_one_in_two_lines(lines, two):
    with pytest.raises(TableError, match=r"line 1: not JSON \(Extra data"):
        open_table(lines(f'{two}\n{{"a":\n1}}\n'))


_KEYS = [
    '"a"', '"\\u0061"', '"b"', '"\\u0022"', '"\\""', '"\\\\"', '"\\\\u0022"', '":"', '""', '"a" ', '"b"\t', '"b"\r',
]  # fmt: skip
_SCALARS = [
    *("1", "-0", "-0.0", "1e5", "1e400", "5e-324", "0.1", "01", "NaN", "-Infinity", "true", "null", "nil", ""),
    *("9007199254740993", "18446744073709551616", "123456789012345678901234567890", "1" * 5000),
    *('"x"', '"\\u0022:\\""', '"\\\\"', '"\\\\u0022"', '"\\ud800"', '"\\ud83d\\ude00"', '"é"', '"a\tb"', '"\\x"', '"'),
]
_values = st.recursive(
    st.sampled_from(_SCALARS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]"),
        st.lists(st.tuples(st.sampled_from(_KEYS), inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=6,
)
_objects = st.lists(st.tuples(st.sampled_from(_KEYS), _values), max_size=4).map(
    lambda pairs: "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"
)
_lines = st.one_of(
    _objects, _values, st.sampled_from(["", "  ", '{"a":', "1}", '\ufeff{"a": 1}', '{"a": 1} {"a": 2}', '{"a": 1}\r'])
)


@given(st.lists(_lines, min_size=1, max_size=6), st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([1, 20, 1 << 20]))
def test_lines_that_are_read_at_once_are_read_as_with_care(tmp_path_factory, texts, end, step):
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_bytes(end.join(text.encode() for text in texts) + end)
    table = text_rows.JsonLinesTable(path, tolerant=True)

    def read():
        with suppress(NoRowsError):
            return [(repr(each.rows), each.lines, each.unread, each.done) for each in table.batches(size=2)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "_STEP", step)
        at_once = read()
        patch.setattr(text_rows, "_objects", lambda text, lines: None)
        assert read() == at_once


@pytest.mark.parametrize("step", [1, 1 << 20])
@pytest.mark.parametrize("last", ['{"a": 3}', ' {"a": 3}', "[3]", " ", ""])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\ufeff\n"])
def test_parts_of_lines_have_the_rows_of_the_whole(tmp_path, monkeypatch, step, last, end, begin):
    monkeypatch.setattr(text_rows, "_STEP", step)
    path = tmp_path / "a.jsonl"
    path.write_text(begin + '{"a": 1}\n\n \t\n{"a": 2}\n' + last + end)
    table = text_rows.JsonLinesTable(path, tolerant=True)

    def read(batches):
        rows = [zip(itertools.count(each.start), each.rows, each.lines, strict=False) for each in batches]
        return [row for each in rows for row in each]

    whole = read(table.batches())
    first = 1 + begin.count("\n")
    assert whole[:2] == [(0, {"a": 1}, first), (1, {"a": 2}, first + 3)]
    assert read(batch for part in table.parts() for batch in part.batches()) == whole


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["[1, 2.5]", "[-0, 4e1]"], [[1.0, 2.5], [0.0, 40.0]]),
        (["[1,2],[3,4]", "[5,6]"], None),
        (["[1", "2],[3,4]"], None),
        (["[1,2],[3,4]", "[]"], None),
        (["[1, 2]", ""], None),
        (["[1, 2]", [3, 4]], None),
        (["[1, true]", "[3, 4]"], None),
        (['[1, "2"]', "[3, 4]"], None),
        (["[1, 9007199254740992]", "[3, 4]"], None),
        (["[1, 1e400]", "[3, 4]"], None),
        (["[1, \ud800]", "[3, 4]"], None),
        (["[1, 2, 3]", "[3, 4]"], None),
    ],
)
def test_lists_of_numbers_in_texts_are_read_at_once_where_each_surely_is_one(cells, read):
    numbers = numbers_of([{"a": cell} for cell in cells], "a", 2, texts=True)
    assert (None if numbers is None else numbers.tolist()) == read
    assert numbers_of([{"a": "[1, 2]"}], "a", 2) is None
