"""Rows of a rollout table written anew with further columns of any type."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.chosen_rollouts import ChosenRollouts
from grounding_rewards.tables.rollout_table import open_rollouts

NEW = {"batch": np.array(["one", "two"], dtype=object), "stored": np.array([0, 1]), "bonus": np.array([0.5, 0.0])}


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(json.dumps({"sample_id": name, "acc": 1, "more": name}) + "\n" for name in "abc"))
    return file


def written(source, path, rows=(0, 2), new=NEW):
    with path.open("wb") as file:
        ChosenRollouts(open_rollouts([source])).write(file, path, np.array(rows), new)
    return path


def test_texts_and_numbers_are_further_columns_in_both_formats(source, tmp_path):
    expected = [
        {"sample_id": "a", "acc": 1, "more": "a", "batch": "one", "stored": 0, "bonus": 0.5},
        {"sample_id": "c", "acc": 1, "more": "c", "batch": "two", "stored": 1, "bonus": 0.0},
    ]
    lines = written(source, tmp_path / "kept.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == expected
    table = pq.read_table(written(source, tmp_path / "kept.parquet"))
    assert table.to_pylist() == expected
    assert [table.schema.field(name).type for name in NEW] == [pa.string(), pa.int64(), pa.float64()]


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.parquet"])
def test_a_file_that_changes_is_an_error(source, tmp_path, name):
    chosen, path = ChosenRollouts(open_rollouts([source])), tmp_path / name
    with source.open("a") as file:
        file.write('{"sample_id": "d", "acc": 0}\n')
    with path.open("wb") as file, pytest.raises(TableError, match=r"rollouts.jsonl: was written to while it was read"):
        chosen.write(file, path, np.array([0, 2]), NEW)


def test_parts_of_a_file_are_written_in_order_and_progress_is_shown(tmp_path):
    source, path, shown = tmp_path / "rollouts.parquet", tmp_path / "kept.parquet", []
    pq.write_table(pa.table({"sample_id": ["a"] * 30_000, "acc": [1.0] * 30_000, "place": range(30_000)}), source)
    rows = np.arange(1, 30_000, 3)
    with path.open("wb") as file:
        ChosenRollouts(open_rollouts([source])).write(file, path, rows, {}, advance=shown.append)
    assert np.array_equal(pq.read_table(path)["place"].to_numpy(), rows)
    assert shown == sorted(shown)
    assert shown[-1] == 1.0
