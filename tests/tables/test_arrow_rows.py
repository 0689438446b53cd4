"""Parquet in batches, with its types and metadata, and from JSON into it and back."""

from __future__ import annotations

import datetime
import json
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import arrow_rows
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.rows import in_parts
from grounding_rewards.tables.writing import write_table
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
    pq.write_table(pa.table({"image": [b"x"] * 33_000}), tmp_path / "in.parquet")
    assert [len(batch) for batch in open_table(tmp_path / "in.parquet").batches()] == [32_768, 232]


def test_a_text_that_many_rows_repeat_is_read_for_few_of_them_at_once(tmp_path):
    same = pa.DictionaryArray.from_arrays(pa.array([0] * 40_000, pa.int32()), ["x" * 4096])
    pq.write_table(pa.table({"tools": same}), tmp_path / "in.parquet", store_schema=False)
    before = pa.total_allocated_bytes()
    first = next(iter(open_table(tmp_path / "in.parquet").batches()))
    assert (len(first), first.rows[0]) == (2048, {"tools": "x" * 4096})
    assert pa.total_allocated_bytes() - before < 8192 * 5000  # of all 40,000 rows it would be 134 MB


def test_a_large_batch_in_parts_has_its_rows_and_their_places(tmp_path):
    pq.write_table(pa.table({"a": range(42_000), "b": range(42_000)}), tmp_path / "in.parquet")
    parts = list(in_parts(open_table(tmp_path / "in.parquet").batches(["a"])))
    assert [(part.start, len(part)) for part in parts] == [
        (0, 8192), (8192, 8192), (16_384, 8192), (24_576, 8192), (32_768, 8192), (40_960, 1040)
    ]  # fmt: skip
    last = parts[4]
    assert (last.number(1), last.place(1), last.rows[1], last.whole.column("b")[1].as_py()) == (
        32_769, "row 32769", {"a": 32_769}, 32_769
    )  # fmt: skip


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


def test_views_are_read_as_texts_and_bytes(tmp_path):
    """So newer versions of Arrow's users write texts; Arrow itself cannot take rows of them."""
    inner = [pa.field("text", pa.string_view()), pa.field("more", pa.list_(pa.string_view()))]
    schema = pa.schema({"a": pa.string_view(), "b": pa.struct(inner), "c": pa.binary_view()}, {"note": "x"})
    rows = [{"a": each, "b": {"text": each, "more": [each]}, "c": b"c"} for each in ("x", "y", None)]
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "in.parquet")
    table = open_table(tmp_path / "in.parquet")
    kinds = ["string", "struct<text: string, more: list<element: string>>", "binary"]
    assert ([*map(str, table.schema.types)], table.schema.metadata) == (kinds, {b"note": b"x"})
    (batch,) = table.batches()
    assert [*batch.take([2, 0]).rows] == [rows[2], rows[0]]
    assert [[*each.rows] for each in table.between([1, 3])] == [rows[1:]]


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (pa.list_(pa.string_view(), 1), ["x"], "fixed_size_list<element: string>[1]"),
        (pa.map_(pa.string(), pa.string_view()), [("k", "x")], "map<string, string>"),
    ],
    ids=str,
)
def test_views_in_lists_of_one_length_and_in_maps(tmp_path, kind, value, read):
    pq.write_table(pa.table({"a": pa.array([value, value], kind)}), tmp_path / "in.parquet")
    (batch,) = open_table(tmp_path / "in.parquet").batches()
    assert str(batch.whole.schema.field("a").type) == read
    assert [*batch.take([1]).rows] == [{"a": value}]


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


def test_natural_types(lines, tmp_path):
    source = lines(
        '{"response": "(1, 2)", "size": [1920, 1080], "ok": true, "none": null, "target": {"bbox": [1, 2, 3, 4]}}\n'
        '{"response": null, "size": [1, 2.5], "ok": null, "none": null, "target": {"refusal": true}}\n'
    )
    assert scored(source, tmp_path / "out.parquet") == []
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.names == ["response", "size", "ok", "none", "target", "total", "reason"]
    assert table.schema.field("response").type == pa.string()
    assert table.schema.field("ok").type == pa.bool_()
    assert table.to_pylist() == [
        {
            "response": "(1, 2)", "size": [1920.0, 1080.0], "ok": True, "none": None,
            "target": {"bbox": [1, 2, 3, 4], "refusal": None}, "total": 0.5, "reason": "OK",
        },
        {
            "response": None, "size": [1.0, 2.5], "ok": None, "none": None,
            "target": {"bbox": None, "refusal": True}, "total": None, "reason": "OK",
        },
    ]  # fmt: skip


def test_mixed_types_become_json_strings_and_say_so_once(lines, tmp_path):
    rows = [[1, 2, 3, 4], {"bbox": [1, 2, 3, 4]}, "[1, 2, 3, 4]", None]
    source = lines("".join(json.dumps({"target": row}) + "\n" for row in rows))
    assert scored(source, tmp_path / "out.parquet") == ["written as JSON strings, for want of one Parquet type: target"]
    column = pq.read_table(tmp_path / "out.parquet").column("target").to_pylist()
    assert column == ["[1, 2, 3, 4]", '{"bbox": [1, 2, 3, 4]}', '"[1, 2, 3, 4]"', None]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("1", '"x"', ["1", '"x"']),
        ("1.5", "true", ["1.5", "true"]),
        ("{}", "{}", ["{}", "{}"]),
        ("99999999999999999999", "1", ["99999999999999999999", "1"]),
        ('{"a": 1}', '{"a": "x"}', ['{"a": 1}', '{"a": "x"}']),
        ('{"a": NaN}', "[1]", ['{"a": null}', "[1]"]),
        ('"\\ud800"', "1", ['"\\ud800"', "1"]),
    ],
)
def test_values_without_a_common_type(lines, tmp_path, first, second, kept):
    assert len(scored(lines(f'{{"a": {first}}}\n{{"a": {second}}}\n'), tmp_path / "out.parquet")) == 1
    assert pq.read_table(tmp_path / "out.parquet").column("a").to_pylist() == kept


def test_types_meet_across_batches(lines, tmp_path):
    late = '{"number": 2.5, "target": {"refusal": true}, "mixed": "x", "late": 1}\n'
    source = lines('{"number": 1, "target": {"bbox": [1, 2, 3, 4]}, "mixed": 1}\n' * 8192 + late)
    notes = scored(source, tmp_path / "out.parquet")
    assert notes == ["written as JSON strings, for want of one Parquet type: mixed"]
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert rows[0] == {
        "number": 1.0, "target": {"bbox": [1, 2, 3, 4], "refusal": None}, "mixed": "1", "late": None,
        "total": 0.5, "reason": "OK",
    }  # fmt: skip
    assert rows[8192]["target"] == {"bbox": None, "refusal": True}
    assert (rows[8192]["number"], rows[8192]["mixed"], rows[8192]["late"]) == (2.5, '"x"', 1)


def test_surrogates_in_parquet_are_replaced_and_said_so(lines, tmp_path):
    notes = scored(lines('{"a": "\\ud800x", "b": {"\\ud800": ["\\udfff"]}}\n'), tmp_path / "out.parquet")
    assert notes == [
        "lone surrogates, which Parquet cannot hold, are written as U+FFFD: a, b",
    ]
    row = pq.read_table(tmp_path / "out.parquet").to_pylist()[0]
    assert (row["a"], row["b"]) == ("\ufffdx", {"\ufffd": ["\ufffd"]})


def test_parquet_to_json_lines(tmp_path):
    columns = {
        "f": pa.array([float("nan"), 1.5]), "l": pa.array([[1, None], None]), "s": pa.array([{"a": "é"}, None]),
        "d": pa.array([datetime.date(2024, 2, 29), None]),
        "t": pa.array([datetime.datetime(2024, 2, 29, 1, 2, 3), None]), "n": pa.array([Decimal("1.50"), None]),
    }  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    assert scored(tmp_path / "in.parquet", tmp_path / "out.jsonl") == []
    assert (tmp_path / "out.jsonl").read_text("utf-8").splitlines() == [
        '{"f": null, "l": [1, null], "s": {"a": "é"}, "d": "2024-02-29", "t": "2024-02-29T01:02:03", "n": "1.50", '
        '"total": 0.5, "reason": "OK"}',
        '{"f": 1.5, "l": null, "s": null, "d": null, "t": null, "n": null, "total": null, "reason": "OK"}',
    ]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"x"]),
        pa.array([b"x"], pa.large_binary()),
        pa.array([b"x"], pa.binary(1)),
        pa.array([{"bytes": b"x", "path": "p"}]),
        pa.array([[b"x"]]),
        pa.array([b"x"]).dictionary_encode(),
    ],
)
def test_bytes_cannot_become_json_lines(tmp_path, column):
    pq.write_table(pa.table({"image": column, "a": [1]}), tmp_path / "in.parquet")
    message = r"in\.parquet: JSON lines cannot hold the bytes in column image; write Parquet"
    with pytest.raises(TableError, match=message):
        scored(tmp_path / "in.parquet", tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
