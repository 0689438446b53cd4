"""From one format into the other."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from tests.tables.passing import scored


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
        "f": pa.array([float("nan"), 1.5]),
        "l": pa.array([[1, None], None]),
        "s": pa.array([{"a": "é"}, None]),
        "d": pa.array([datetime.date(2024, 2, 29), None]),
        "t": pa.array([datetime.datetime(2024, 2, 29, 1, 2, 3), None]),
        "n": pa.array([Decimal("1.50"), None]),
    }
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
