"""Paths, and outputs that are whole or absent."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import open_table, write_table
from tests.disks import full_disk
from tests.tables.passing import NEW, scored


def test_paths_that_are_no_table(tmp_path):
    with pytest.raises(TableError, match=r"a\.jsonl: no such file$"):
        open_table(tmp_path / "a.jsonl")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(TableError, match=r"folder\.parquet: is a directory; expected a file$"):
        open_table(tmp_path / "folder.parquet")
    with pytest.raises(
        TableError,
        match=r"a\.txt: a file of rows ends in \.jsonl, .*, \.csv or \.tsv, also with \.gz or \.zst, or in \.parquet$",
    ):
        open_table(tmp_path / "a.txt")
    with pytest.raises(TableError, match=r"a: a file of rows ends in"):
        open_table(tmp_path / "a")


def test_outputs_that_cannot_be_written(lines, tmp_path):
    table = open_table(lines('{"a": 1}'))
    (tmp_path / "folder.jsonl").mkdir()
    for name, message in {
        "out.csv": r"out\.csv: a file of rows ends in",
        "folder.jsonl": r"folder\.jsonl: is no file, so it cannot be written",
        "nowhere/out.jsonl": r"out\.jsonl: there is no directory .*nowhere$",
    }.items():
        with pytest.raises(TableError, match=message), write_table(tmp_path / name, like=table, new=NEW):
            pytest.fail("opened")


@pytest.mark.parametrize("link", ["in.jsonl", "soft.jsonl", "hard.jsonl", "folder/../in.jsonl"])
def test_the_input_is_never_the_output(lines, tmp_path, link):
    source = lines('{"a": 1}')
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft.jsonl").symlink_to(source)
    (tmp_path / "hard.jsonl").hardlink_to(source)
    with pytest.raises(TableError, match="is the input itself; write to another file"):
        scored(source, tmp_path / link)
    assert source.read_text() == '{"a": 1}'


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
def test_a_name_that_is_taken(lines, tmp_path, out):
    source = lines('{"total": 1, "reason": 2}')
    with pytest.raises(TableError, match=r"in\.jsonl: already has columns total, reason; give .* --prefix gr_"):
        scored(source, tmp_path / out)
    pq.write_table(pa.table({"total": [1]}), tmp_path / "in.parquet")
    with pytest.raises(TableError, match=r"in\.parquet: already has a column total; give"):
        scored(tmp_path / "in.parquet", tmp_path / out)


def test_a_name_that_is_taken_late(lines, tmp_path):
    source = lines('{"a": 1}\n' * 9000 + '{"total": 1}\n')
    with pytest.raises(TableError, match=r"already has a column total"):
        scored(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("rows", [1, 9000])
def test_a_full_disk_is_said_with_the_file(lines, tmp_path, out, rows):
    source = lines('{"a": 1}\n' * rows)  # one row is written when the file is closed
    with full_disk(), pytest.raises(OSError, match="File too large") as caught:
        scored(source, tmp_path / out)
    assert caught.value.filename == str(tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
