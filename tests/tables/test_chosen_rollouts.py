"""Rows of a rollout table written again with further columns of any type."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_source import ChosenRollouts
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


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.parquet"])
def test_further_columns_go_on_from_file_to_file(tmp_path, name):
    files = [tmp_path / f"{letter}.jsonl" for letter in "ab"]
    for file in files:
        lines = [json.dumps({"sample_id": f"{file.stem}{row}", "acc": 1}) for row in range(3)]
        file.write_text("\n".join(lines) + "\n")
    rows, new, shown, path = np.array([0, 2, 4, 5]), {"bonus": np.array([0.0, 0.5, 1.0, 1.5])}, [], tmp_path / name
    with path.open("wb") as file:
        ChosenRollouts(open_rollouts(files)).write(file, path, rows, new, advance=shown.append)
    kept = pq.read_table(path).to_pylist() if name == "kept.parquet" else map(json.loads, path.read_text().splitlines())
    assert [(row["sample_id"], row["bonus"]) for row in kept] == [("a0", 0.0), ("a2", 0.5), ("b1", 1.0), ("b2", 1.5)]
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (0.5, 1.0)


def test_a_new_column_may_not_differ_from_one_in_case_alone(source):
    with pytest.raises(TableError, match=r"rollouts.jsonl: already has a column more; the method writes a column More"):
        ChosenRollouts(open_rollouts([source])).check_names(["batch", "More"])


def test_cells_of_csv_files_are_numbers_but_for_texts_of_rollouts(tmp_path):
    source, path = tmp_path / "rollouts.csv", tmp_path / "kept.jsonl"
    source.write_text("sample_id,acc,response,more\n1,1,7,8\n2,0,9,\n")
    with path.open("wb") as file:
        ChosenRollouts(open_rollouts([source])).write(file, path, np.array([0]), {})
    row = json.loads(path.read_text())
    assert (row["sample_id"], row["response"], row["acc"], row["more"]) == ("1", "7", 1, 8)
