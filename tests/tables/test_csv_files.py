"""CSV files: cells are texts, and a row that does not fit is an error of its line."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import TableError
from grounding_rewards.tables import open_table
from tests.tables.passing import scored

TEXT = 'sample_id,response,target,size\r\n007,512,"[1, 2, 3, 4]",\r\n1e3,"a ""b"",\nc",true,"[9, 9]"\r\n,,,0.10\r\n'
ROWS = [
    {"sample_id": "007", "response": "512", "target": "[1, 2, 3, 4]", "size": None},
    {"sample_id": "1e3", "response": 'a "b",\nc', "target": "true", "size": "[9, 9]"},
    {"sample_id": None, "response": "", "target": None, "size": "0.10"},
]


@pytest.mark.parametrize("text", [TEXT, "\ufeff" + TEXT, TEXT.replace("\r\n", "\n\n")])
def test_cells_are_texts_and_empty_ones_null_but_for_responses(lines, text):
    table = open_table(lines(text, "in.csv"))
    assert table.columns == ("sample_id", "response", "target", "size")
    (batch,) = table.batches()
    assert batch.rows == ROWS
    assert batch.texts


def test_rows_know_their_lines(lines):
    (batch,) = open_table(lines(TEXT, "in.csv")).batches()
    assert [batch.place(row) for row in range(3)] == ["row 0 (line 2)", "row 1 (line 3)", "row 2 (line 5)"]
    assert [len(each) for each in open_table(lines(TEXT, "in.csv")).batches(size=2)] == [2, 1]


def test_numbers_are_read_where_they_are_wanted(lines):
    text = "n,m\n1,a\n0.5,007\nTrue,\nfalse,2\n"
    (batch,) = open_table(lines(text, "in.csv")).batches()
    assert batch.numbers("n") == [1, 0.5, True, False]
    assert batch.numbers("m") == ["a", "007", None, 2]
    (batch,) = open_table(lines('{"n": "1"}')).batches()
    assert batch.numbers("n") == ["1"]


def test_texts_stay_texts_in_outputs(lines, tmp_path):
    source = lines(TEXT, "in.csv")
    scored(source, tmp_path / "out.jsonl")
    first, _, last = (json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["sample_id"], first["response"], first["size"]) == ("007", "512", None)
    assert (last["sample_id"], last["response"], last["size"]) == (None, "", "0.10")
    scored(source, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").select(list(ROWS[0])).to_pylist() == ROWS


def test_long_cells(lines):
    text = "x" * 300_000
    (batch,) = open_table(lines(f"response\n{text}\n", "in.csv")).batches()
    assert batch.column("response") == [text]


CELLS = "; expected 2, as in the header; quote a cell with"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", f", line 3: got 1 cells{CELLS} line breaks, or the file is cut off"),
        ('a,b\n"1\n2",2\n3,4,5\n', f", line 4: got 3 cells{CELLS} commas"),
        ('a,b\n1,2\n"3,4\n5,6\n', ", line 3: not CSV (a quote is never closed)"),
        ('a,b\n"1"2,3\n', ", line 2: not CSV (',' expected after '\"')"),
        (b"a,b\n1,2\n1,\xff\n", ", line 3: not UTF-8"),
        (b"a\xff,b\n1,2\n", ", line 1: not UTF-8; expected the names of the columns"),
        ("a,b".encode("utf-16"), ", line 1: not UTF-8; expected the names of the columns"),
        ("\n1,2\n", ", line 1: is empty; expected the names of the columns"),
        ("a,b,a,b,c\n1,2,3,4,5\n", ": has several columns a, b; rename them first"),
        ("a,b\n", ": no rows"),
        ("", ": is empty"),
    ],
)
def test_files_that_cannot_be_read(lines, text, message):
    path = lines(text, "in.csv")
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value) == f"{path}{message}"


def test_rows_that_cannot_be_read_are_rows_where_that_is_wanted(lines):
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
