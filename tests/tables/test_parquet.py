"""Parquet in and out: columns, types and metadata."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import arrow_rows, open_table, write_table
from tests.tables.passing import NEW, scored


def test_columns_types_and_metadata_are_kept(tmp_path):
    image = pa.array(
        [{"bytes": b"\x89PNG", "path": None}, None], pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    )
    features = {"info": {"features": {"image": {"_type": "Image"}}}}
    schema = pa.schema(
        [
            pa.field("image", image.type, metadata={"of": "field"}),
            pa.field("size", pa.list_(pa.int32(), 2)),
            pa.field("when", pa.timestamp("ns", "UTC")),
            pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
            pa.field("text", pa.large_string()),
            pa.field("name", pa.string(), nullable=False),
        ],
        metadata={"huggingface": json.dumps(features), "note": "x"},
    )
    when = pa.array([1, None], pa.timestamp("ns", "UTC"))
    size = pa.array([[1, 2], None], schema.field("size").type)
    kind, text = pa.array(["a", "b"]).dictionary_encode(), pa.array(["t", None], pa.large_string())
    columns = [image, size, when, kind, text, pa.array(["x", "y"])]
    before = pa.Table.from_arrays(columns, schema=schema)
    pq.write_table(before, tmp_path / "in.parquet")

    table = open_table(tmp_path / "in.parquet")
    with write_table(tmp_path / "out.parquet", like=table, new=NEW) as writer:
        for batch in table.batches(["name"]):
            assert [*batch.rows] == [{"name": "x"}, {"name": "y"}]
            writer.write(batch, {"total": [0.5, None], "reason": ["OK", "EMPTY"]})

    after = pq.read_table(tmp_path / "out.parquet")
    assert after.schema.metadata == schema.metadata
    assert json.loads(after.schema.metadata[b"huggingface"]) == features
    assert after.schema.names == [*schema.names, "total", "reason"]
    for field in schema:
        assert after.schema.field(field.name).equals(field)
    assert after.schema.field("image").metadata[b"of"] == b"field"
    assert after.select(schema.names).equals(before)
    assert after.column("total").to_pylist() == [0.5, None]
    assert after.column("reason").to_pylist() == ["OK", "EMPTY"]


def test_parquet_is_read_in_batches_across_row_groups(tmp_path):
    pq.write_table(pa.table({"a": range(10)}), tmp_path / "in.parquet", row_group_size=3)
    table = open_table(tmp_path / "in.parquet")
    assert [len(batch) for batch in table.batches(size=4)] == [4, 4, 2]
    assert [batch.start for batch in table.batches(size=4)] == [0, 4, 8]
    assert [batch.place(1) for batch in table.batches(size=5)] == ["row 1", "row 6"]
    assert [len(batch) for batch in table.batches(size=10**6)] == [10]


def test_large_rows_make_small_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_rows, "BATCH_BYTES", 100_000)
    same = os.urandom(10_000)  # written once, by the dictionary that Parquet makes of a column
    fields = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    repeated = pa.array([{"bytes": same, "path": "a.png"}] * 40, fields)
    texts = pa.array([os.urandom(5_000).hex() for _ in range(40)])
    for images in (pa.array([os.urandom(10_000) for _ in range(40)]), repeated, pa.array([[b""], [same]] * 20), texts):
        pq.write_table(pa.table({"image": images}), tmp_path / "in.parquet")
        table = open_table(tmp_path / "in.parquet")
        batches = list(table.batches())
        assert [row["image"] for batch in batches for row in batch.rows] == images.to_pylist()
        assert max(len(batch) for batch in batches) <= 20
        assert max(sum(map(_size, batch.rows)) for batch in batches) <= 100_000
        assert min(sum(map(_size, batch.rows)) for batch in batches[:-1]) >= 50_000
        assert [len(batch) for batch in table.batches(size=30)] == [30, 10]


def _size(row):
    image = row["image"]
    image = image["bytes"] if isinstance(image, dict) else image
    return sum(map(len, image)) if isinstance(image, list) else len(image)


def test_rows_are_put_together_where_they_are_small(tmp_path):
    pq.write_table(pa.table({"image": [b"x"] * 9000}), tmp_path / "in.parquet")
    assert [len(batch) for batch in open_table(tmp_path / "in.parquet").batches()] == [8192, 808]


def test_a_value_that_rows_share_counts_for_each_of_them():
    image, text = b"x" * 1000, "y" * 10
    shared = pa.array([image] * 8).dictionary_encode()
    fields = pa.StructArray.from_arrays([shared, pa.array([text] * 8)], ["bytes", "path"])
    rows = pa.record_batch({"image": shared, "fields": fields})
    assert shared.nbytes < 2000
    assert 16_000 < arrow_rows.unpacked_bytes(rows) < 16_400
    assert 4_000 < arrow_rows.unpacked_bytes(rows.slice(3, 2)) < 4_100


def test_only_the_wanted_columns_are_read(tmp_path):
    pq.write_table(pa.table({"a": [1], "b": [2], "c": [3]}), tmp_path / "in.parquet")
    batch = next(open_table(tmp_path / "in.parquet").batches(["c", "a", "d"], whole=False))
    assert [*batch.rows] == [{"a": 1, "c": 3}]
    assert batch.whole.schema.names == ["a", "c"]
    assert batch.column("d") == [None]
    assert [*next(open_table(tmp_path / "in.parquet").batches(["d"])).rows] == [{}]


def test_broken_parquet(tmp_path):
    path = tmp_path / "in.parquet"
    path.write_bytes(b"PAR1 or not")
    with pytest.raises(TableError, match=r"in\.parquet: cannot be read as Parquet \(") as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


def test_parquet_broken_in_the_middle(tmp_path):
    pq.write_table(pa.table({"a": [os.urandom(50).hex() for _ in range(5000)]}), tmp_path / "in.parquet")
    content = bytearray((tmp_path / "in.parquet").read_bytes())
    content[4:4000] = b"\xff" * 3996
    (tmp_path / "in.parquet").write_bytes(content)
    with pytest.raises(TableError, match=r"in\.parquet: cannot be read as Parquet \("):
        scored(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_parquet_without_rows_or_with_a_name_twice(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    with pytest.raises(TableError, match=r"none\.parquet: no rows"):
        open_table(tmp_path / "none.parquet")
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), tmp_path / "twice.parquet")
    with pytest.raises(TableError, match=r"twice\.parquet: has several columns a; rename them first"):
        open_table(tmp_path / "twice.parquet")
