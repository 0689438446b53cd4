"""Rows parted into files: order, columns, types and metadata as they were, in few pieces."""

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.opening import open_rows, open_table
from grounding_rewards.tables.text_rows import JsonLinesTable
from grounding_rewards.tables.writing import write_parts, write_tables

IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), metadata={b"about": b"names"}),
        pa.field("image", IMAGE),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        pa.field("sizes", pa.list_(pa.int16()), nullable=False),
    ],
    metadata={b"huggingface": b'{"info": {"features": {"image": {"_type": "Image"}}}}', b"pandas": b"{}", b"own": b"x"},
)


def rows(count):
    ids = [f"s{row}" for row in range(count)]
    images = [{"bytes": bytes([row % 256]) * 10, "path": None} for row in range(count)]
    kinds = pa.array(["web" if row % 2 else "app" for row in range(count)]).cast(SCHEMA.field("kind").type)
    columns = [
        pa.array(ids), pa.array(images, IMAGE), kinds, pa.array([[row] for row in range(count)], pa.list_(pa.int16())),
    ]  # fmt: skip
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def parted(tmp_path, table, names, suffix="parquet", **parts):
    with atomic_files() as files:
        paths = {tmp_path / f"{name}.{suffix}": chosen for name, chosen in parts.items()}
        return write_parts(files, paths, table, names)


def test_rows_keep_their_order_their_columns_and_the_metadata(tmp_path):
    whole = rows(100)
    pq.write_table(whole, tmp_path / "in.parquet", row_group_size=7)
    names = [f"s{row}" for row in range(100)]
    found = parted(
        tmp_path, open_table(tmp_path / "in.parquet"), names, pool=["s70", "s3", "s4", "x"], all=names, none=["x"]
    )
    assert [(each.path.name, each.rows) for each in found] == [("pool.parquet", 3), ("all.parquet", 100)]
    pool = pq.read_table(tmp_path / "pool.parquet")
    assert pool["id"].to_pylist() == ["s3", "s4", "s70"]
    read = pq.read_table(tmp_path / "in.parquet")
    assert pool.schema.equals(read.schema, check_metadata=True)
    assert pool.schema.metadata == SCHEMA.metadata
    assert pool.equals(read.take([3, 4, 70]))
    assert pq.read_table(tmp_path / "all.parquet").equals(read)
    assert pq.read_metadata(tmp_path / "pool.parquet").num_row_groups == 1
    assert found[0].sha256 == hashlib.sha256((tmp_path / "pool.parquet").read_bytes()).hexdigest()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.parquet", "in.parquet", "pool.parquet"]


def test_json_lines_stay_as_they_were_and_become_parquet(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": f"s{row}", "n": [row]}) + "\n" for row in range(9)))
    names = [f"s{row}" for row in range(9)]
    parted(tmp_path, open_table(source), names, "jsonl", pool=["s7", "s2"])
    assert (tmp_path / "pool.jsonl").read_text() == '{"id": "s2", "n": [2]}\n{"id": "s7", "n": [7]}\n'
    parted(tmp_path, open_table(source), names, pool=["s7", "s2"])
    assert pq.read_table(tmp_path / "pool.parquet").to_pylist() == [{"id": "s2", "n": [2]}, {"id": "s7", "n": [7]}]


def test_shards_are_one_table_and_rows_without_a_name_are_in_no_part(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for shard in range(2):
        pq.write_table(pa.table({"n": [2 * shard, 2 * shard + 1]}), folder / f"train-0000{shard}-of-00002.parquet")
    parted(tmp_path, open_rows(folder), ["a", None, "c", "a2"], pool=["c", "a"])
    assert pq.read_table(tmp_path / "pool.parquet")["n"].to_pylist() == [0, 2]


def test_what_json_cannot_hold_leaves_nothing_behind(tmp_path):
    pq.write_table(rows(3), tmp_path / "in.parquet")
    with pytest.raises(TableError, match="JSON lines cannot hold the bytes in column image"):
        parted(tmp_path, open_table(tmp_path / "in.parquet"), ["s0", "s1", "s2"], "jsonl", pool=["s1"])
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_tables_without_rows_are_not_written(tmp_path):
    table = pa.table({"n": [1, 2]})
    with atomic_files() as files:
        found = write_tables(
            files,
            [
                (tmp_path / "a.jsonl", [table, table]),
                (tmp_path / "b.parquet", [table.slice(0, 0)]),
                (tmp_path / "c.parquet", [table, table]),
            ],
        )
    assert [(each.path.name, each.rows) for each in found] == [("a.jsonl", 4), ("c.parquet", 4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "c.parquet"]
    assert pq.read_table(tmp_path / "c.parquet")["n"].to_pylist() == [1, 2, 1, 2]


def test_types_of_json_lines_are_found_once_for_all_files(tmp_path, monkeypatch):
    lines = [{"id": f"s{row}", "mixed": row if row else "none"} for row in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    passes, notes, batches = [], [], JsonLinesTable.batches

    def counted(self, *given, **named):
        passes.append(self.path.name)
        return batches(self, *given, **named)

    table = open_table(tmp_path / "in.jsonl")
    monkeypatch.setattr(JsonLinesTable, "batches", counted)
    with atomic_files() as files:
        paths = {tmp_path / "one.parquet": ["s0"], tmp_path / "two.parquet": ["s1", "s2"]}
        write_parts(files, paths, table, ["s0", "s1", "s2"], note=notes.append)
    assert len(passes) == 2  # for the types, and for the rows
    assert notes == ["written as JSON strings, for want of one Parquet type: mixed"]
    assert pq.read_table(tmp_path / "two.parquet")["mixed"].to_pylist() == ["1", "2"]
