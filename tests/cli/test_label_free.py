"""Files without labels: the score of a group's agreement needs no column of targets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import result_of, write_rows

RCPO = ("--recipe", "gui-rcpo", "--response-space", "pixel")
ROWS = [
    {"sample_id": "a", "response": "(100, 80)"}, {"sample_id": "b", "response": "(5, 5)"},
    {"sample_id": "a", "response": "(125, 80)"}, {"sample_id": "a", "response": "(300, 280)"},
    {"sample_id": "b", "response": None},
]  # fmt: skip
TOTAL, ACC = [0.75, 1.0, 0.75, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]


def scored(path):
    rows = pq.read_table(path).to_pylist()
    return [row["total"] for row in rows], [row["acc"] for row in rows]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_file_without_targets(run, tmp_path, suffix):
    source = tmp_path / f"in.{suffix}"
    if suffix == "jsonl":
        write_rows(source, *ROWS)
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), source)
    result = run("score", source, *RCPO, "--out", tmp_path / "out.parquet", "--json")
    assert result.code == 0, result.err
    assert scored(tmp_path / "out.parquet") == (TOTAL, ACC)
    summary = result_of(result.out)
    assert (summary["rows"], summary["valid"], summary["accuracy"], summary["parse_rate"]) == (5, 5, 0.2, 0.8)


def test_targets_that_are_there_change_nothing_but_sizes(run, tmp_path):
    box = {"target": {"bbox": [300, 280, 310, 290]}}
    source = write_rows(tmp_path / "in.jsonl", *[{**row, **box, "image_size": [200, 200]} for row in ROWS])
    assert run("score", source, *RCPO, "--out", tmp_path / "out.parquet").code == 0
    total, acc = scored(tmp_path / "out.parquet")
    assert total == [0.75, 1.0, 0.75, 0.0, 0.0], "(300, 280) lies outside the image"
    assert acc == ACC
