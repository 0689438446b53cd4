"""Places of the names of samples in training rows."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import open_table
from grounding_rewards.tables.sample_ids import sample_names


def table(path, *rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_table(path)


PACKED = json.dumps({"bbox": [0, 0, 1, 1], "id": "a7"})


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    "row",
    [
        {"sample_id": "a7", "id": "row 1"},
        {"sample_id": None, "target": PACKED},
        {"extra_info": {"index": 3, "id": "a7"}, "reward_model": {"ground_truth": "{}"}},
        {"extra_info": {"index": 3}, "reward_model": {"style": "rule", "ground_truth": PACKED}},
        {"problem": "<image>", "answer": PACKED},
        {"prompt": "p", "target": PACKED},
        {"target": {"bbox": [0, 0, 1, 1], "id": "a7"}, "id": "row 1"},
        {"id": "a7", "target": "[0, 0, 1, 1]"},
    ],
)
def test_places_of_names(tmp_path, suffix, row):
    assert sample_names(table(tmp_path / f"rows.{suffix}", row)) == ["a7"]


def test_numbers_are_names_and_rows_may_have_none(tmp_path):
    rows = table(tmp_path / "rows.jsonl", {"sample_id": 1}, {"sample_id": 2.0}, {"prompt": "x"}, {"sample_id": "é"})
    assert sample_names(rows) == ["1", "2", None, "é"]


def test_a_column_that_is_named_or_a_field_of_one(tmp_path):
    rows = table(tmp_path / "rows.parquet", {"sample_id": "x", "uid": "a", "info": {"key": "b"}, "a.b": "c"})
    assert [sample_names(rows, name) for name in ("uid", "info.key", "a.b")] == [["a"], ["b"], ["c"]]


def test_what_names_nothing_or_twice_is_an_error(tmp_path):
    rows = table(tmp_path / "rows.jsonl", {"uid": "a"}, {"uid": "b"}, {"uid": "a"})
    with pytest.raises(TableError, match=r"rows.jsonl: no row says which sample it is \(looked into sample_id, extra_"):
        sample_names(rows)
    with pytest.raises(TableError, match=r"no column 'uidd' \(--id-column\); did you mean 'uid'\?"):
        sample_names(rows, "uidd")
    with pytest.raises(
        TableError, match=r"row 2 \(line 3\): sample 'a' is in row 0 already; expected one row a sample"
    ):
        sample_names(rows, "uid")
