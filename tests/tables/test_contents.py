"""Compressed files, and streams, which are copied because rows are read twice."""

from __future__ import annotations

import gc
import gzip
import io
import os
import tempfile
import types

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.contents import Contents
from grounding_rewards.tables.opening import open_table
from tests.tables.written import FORMATS, parquet, write, zstd

ROWS = [{"sample_id": f"s{number}", "response": f"({number}, {number * number})"} for number in range(3000)]


@pytest.mark.parametrize("suffix", FORMATS)
def test_all_formats_hold_the_same_rows(tmp_path, suffix):
    table = open_table(write(tmp_path, suffix, ROWS))
    assert table.columns == ("sample_id", "response")
    for _ in range(2):
        assert [row for batch in table.batches() for row in batch.rows] == ROWS


@pytest.mark.parametrize("suffix", ["jsonl.gz", "csv.zst", "JSONL.GZ", "ndjson.zst"])
def test_progress_counts_compressed_bytes(tmp_path, suffix):
    path = tmp_path / f"in.{suffix}"
    path.write_bytes(FORMATS.get(suffix, FORMATS["jsonl.zst" if "zst" in suffix else "jsonl.gz"])(ROWS))
    done = [batch.done for batch in open_table(path).batches(size=500)]
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert all(0 < each <= 1 for each in done)
    with Contents(path, compression="gzip" if "g" in path.suffix.lower() else "zstd").opened() as (stream, share):
        assert share() == 0.0
        stream.read(10)
        assert 0 < share() <= 1
        stream.read()
        assert share() == 1.0


def test_members_one_behind_the_other(lines):
    two = gzip.compress(b'{"a": 1}\n', mtime=0) + gzip.compress(b'{"a": 2}\n', mtime=0)
    assert [batch.column("a") for batch in open_table(lines(two, "in.jsonl.gz")).batches()] == [[1, 2]]


@pytest.mark.parametrize("suffix", ["jsonl.gz", "jsonl.zst", "json.gz", "csv.zst"])
def test_a_file_that_is_cut_off(tmp_path, suffix):
    path = write(tmp_path, suffix, ROWS)
    content = path.read_bytes()
    kind = "gzip" if suffix.endswith("gz") else "zstd"
    for length in (len(content) // 2, len(content) - 3):
        path.write_bytes(content[:length])
        start = rf"in\.{suffix}: cannot be unpacked as {kind} beyond byte \d+ of its content \(Truncated"
        with pytest.raises(TableError, match=start):
            list(open_table(path).batches())


@pytest.mark.parametrize(
    ("name", "content"), [("in.jsonl.gz", b'{"a": 1}\n'), ("in.jsonl.zst", gzip.compress(b'{"a": 1}\n', mtime=0))]
)
def test_a_file_that_is_called_compressed_and_is_not(lines, name, content):
    with pytest.raises(TableError, match=r"cannot be unpacked as (gzip|zstd) beyond byte 0 of its content"):
        open_table(lines(content, name))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.jsonl.gz", gzip.compress(b'{"a": 1}\n{\n', mtime=0), ", line 2: not JSON (Expecting property name"),
        ("in.csv.gz", gzip.compress(b"a,b\n1\n", mtime=0), ", line 2: got 1 cells; expected 2"),
        ("in.jsonl.zst", zstd(b"\n"), ": no rows"),
        ("in.parquet.gz", b"x", ": is Parquet within gzip, where its parts cannot be read one by one; unpack it first"),
        ("in.parquet.zst", b"x", ": is Parquet within zstd"),
        ("in.gz", b"x", ": a file of rows ends in .jsonl"),
        ("in.txt.gz", b"x", ": a file of rows ends in .jsonl"),
    ],
)
def test_what_is_within_is_checked(lines, name, content, message):
    path = lines(content, name)
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value).startswith(f"{path}{message}")


def standing_in(monkeypatch, content):
    """Let standard input give these bytes."""
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(content)))


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder of its own for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0"])
@pytest.mark.parametrize("made", [FORMATS["jsonl"], parquet])
def test_standard_input_is_copied_and_the_copy_goes(monkeypatch, temporary, name, made):
    standing_in(monkeypatch, made(ROWS))
    table = open_table(name)
    assert str(table.path) == name
    for _ in range(2):
        assert [row for batch in table.batches() for row in batch.rows] == ROWS
    (copy,) = temporary.iterdir()
    assert copy.stat().st_mode & 0o077 == 0
    del table
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "-: is empty"),
        (b'{"a": 1}\n[]\n', "-, line 2: got a list; expected one JSON object a line"),
        (b"a,b\n1,2\n", "-, line 1: not JSON (Expecting value at character 1)"),
        (b"PAR1 and no more", "-: cannot be read as Parquet ("),
    ],
)
def test_what_standard_input_may_not_be(monkeypatch, temporary, content, message):
    standing_in(monkeypatch, content)
    with pytest.raises(TableError) as caught:
        open_table("-")
    assert str(caught.value).startswith(message)
    del caught
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TableError, match=r"^-: standard input is closed; name a file$"):
        open_table("-")


def test_what_a_shell_passes_by_its_number(temporary):
    reading, writing = os.pipe()
    os.write(writing, FORMATS["jsonl"](ROWS[:100]))
    os.close(writing)
    try:
        table = open_table(f"/dev/fd/{reading}")
        assert [row for batch in table.batches() for row in batch.rows] == ROWS[:100]
    finally:
        os.close(reading)
    with pytest.raises(TableError, match=r"^/dev/fd/987654: cannot be read \(Bad file descriptor\)"):
        open_table("/dev/fd/987654")


def test_a_copy_that_cannot_be_made(monkeypatch, temporary):
    def full(_: int) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=types.SimpleNamespace(read=full)))
    with pytest.raises(TableError, match=r"^-: cannot be copied to .* \(No space left on device\); TMPDIR names"):
        open_table("-")
