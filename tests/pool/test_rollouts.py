"""Rollouts as columns: sorted, checked, and the same in any order of rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.methods import Choice, choose
from grounding_rewards.pool.rollouts import RolloutColumns, random_keys, read_columns
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from tests.cli.command import write_rows

ROWS = [
    {"sample_id": "b", "round": 1, "rollout": 0, "acc": 1, "total": 0.75, "x_unit": 0.5, "y_unit": 0.0},
    {"sample_id": "a", "round": 2, "rollout": 0, "acc": None, "total": None, "x_unit": None, "y_unit": None},
    {"sample_id": "a", "round": 1, "rollout": 1, "acc": 0, "total": 0.0, "x_unit": 1.0, "y_unit": 0.04},
    {"sample_id": "a", "round": 1, "rollout": 0, "acc": 0, "total": 0.25, "x_unit": 0.0, "y_unit": 9.0},
]


def table(file: Path, rows: list[dict[str, object]]) -> RolloutTable:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_rollouts([file])


def test_rollouts_are_sorted_by_sample_round_and_number(tmp_path):
    rollouts = read_columns(table(tmp_path / "r.jsonl", ROWS), ["total", "answer"])
    assert rollouts.sample_id.tolist() == ["a", "b"]
    assert rollouts.sample.tolist() == [0, 0, 0, 1]
    assert rollouts.row.tolist() == [3, 2, 1, 0]
    assert rollouts.answer.tolist() == [31 * 32, 1 * 32 + 31, -1, 16]
    assert np.array_equal(rollouts.total, [0.25, 0.0, np.nan, 0.75], equal_nan=True)
    assert np.array_equal(rollouts.acc, [0, 0, np.nan, 1], equal_nan=True)
    assert rollouts.step.tolist() == [-1] * 4
    assert rollouts.named(0) == "sample 'a', rollout 0"
    with pytest.raises(ValueError, match="read-only"):
        rollouts.total[0] = 1.0


def test_steps_of_the_trainer_are_read_where_a_table_has_them(tmp_path):
    rows = [{**row, "train_step": step} for row, step in zip(ROWS, (4, None, 2, 3), strict=True)]
    assert read_columns(table(tmp_path / "r.jsonl", rows), ()).train_step.tolist() == [3, 2, -1, 4]
    assert read_columns(table(tmp_path / "r.jsonl", ROWS), ()).train_step.tolist() == [-1] * 4


def test_rows_are_numbered_in_the_order_of_large_files(tmp_path):
    """Row groups are read by several threads at once."""
    file, rows = tmp_path / "r.parquet", 400_000
    numbers = np.arange(rows, dtype=np.float64)
    pq.write_table(
        pa.table({"sample_id": ["a"] * rows, "acc": [1.0] * rows, "total": numbers}), file, row_group_size=5000
    )
    rollouts = read_columns(open_rollouts([file, write_one(tmp_path / "s.jsonl")]))
    assert np.array_equal(rollouts.row, np.arange(rows + 1))
    assert np.array_equal(rollouts.total[:-1], numbers)


def write_one(file: Path) -> Path:
    """Write one rollout of another sample."""
    file.write_text(json.dumps({"sample_id": "b", "acc": 1, "total": 1}) + "\n")
    return file


def test_one_round_of_several(tmp_path):
    rollouts = read_columns(table(tmp_path / "r.jsonl", ROWS), ["total"], rounds=[2])
    assert (rollouts.sample_id.tolist(), rollouts.sample.tolist(), rollouts.row.tolist()) == (["a"], [0], [1])
    with pytest.raises(PoolError, match=r"no rollouts of round \[3\]"):
        read_columns(table(tmp_path / "r.jsonl", ROWS), rounds=[3])


def test_samples_without_a_rollout_of_the_round_have_no_name(tmp_path):
    rows = [{**row, "round": number} for row, number in zip(ROWS, (3, 2, 1, 1), strict=True)]
    rollouts = read_columns(table(tmp_path / "r.jsonl", rows), rounds=[3])
    assert (rollouts.sample_id.tolist(), rollouts.sample.tolist(), rollouts.row.tolist()) == (["b"], [0], [0])


def test_rows_without_numbers_keep_their_order_in_the_table(tmp_path):
    rows = [{"sample_id": name, "acc": 1} for name in "ab" * 50]
    rollouts = read_columns(table(tmp_path / "r.jsonl", rows), ())
    assert rollouts.row.tolist() == [*range(0, 100, 2), *range(1, 100, 2)]


def test_a_later_round_may_come_first_where_samples_alternate(tmp_path):
    rows = [{"sample_id": name, "round": number, "acc": 1} for name, number in (("a", 2), ("b", 1), ("a", 1))]
    assert read_columns(table(tmp_path / "r.jsonl", rows), ()).row.tolist() == [2, 0, 1]


def test_clicks_beside_the_image_are_in_its_outermost_cells_and_half_a_click_is_none(tmp_path):
    clicks = [(-3.0, 0.0), (0.0, -3.0), (7.0, 0.0), (0.5, None), (None, 0.5)]
    rows = [{"sample_id": "a", "acc": 1, "x_unit": x, "y_unit": y} for x, y in clicks]
    assert read_columns(table(tmp_path / "r.jsonl", rows), ["answer"]).answer.tolist() == [0, 0, 31, -1, -1]


def test_an_answer_key_goes_before_the_cell_and_trajectories_are_numbered(tmp_path):
    rows = [{**row, "answer_key": key, "trajectory": key} for row, key in zip(ROWS, ("x", None, "y", "x"), strict=True)]
    rollouts = read_columns(table(tmp_path / "r.jsonl", rows), ["answer", "trajectory"])
    assert rollouts.answer.tolist() == [32 * 32, 32 * 32 + 1, -1, 32 * 32]
    assert rollouts.trajectory.tolist() == [0, 1, -1, 0]


@pytest.mark.parametrize(
    ("change", "columns", "error", "message"),
    [
        ({"acc": 0.5}, (), PoolError, "acc of sample 'b', rollout 0: got 0.5; expected 0 or 1"),
        ({"sample_id": None}, (), TableError, "sample_id is None; expected the name of the sample"),
        ({"sample_id": "a"}, (), PoolError, "sample 'a', round 1, rollout 0 is there 2 times"),
        ({"entropy": "high"}, ("entropy",), PoolError, "column entropy: .*'high'.*expected numbers, or null"),
        ({}, ("token_length",), TableError, "no column 'token_length'"),
    ],
)
def test_bad_rollouts_are_one_error(tmp_path, change, columns, error, message):
    rows = [{**ROWS[0], **change}, *ROWS[1:]]
    with pytest.raises(error, match=message):
        read_columns(table(tmp_path / "r.jsonl", rows), columns)


@pytest.mark.parametrize("total", [1e12, -1e12])
def test_a_total_beyond_all_rewards_is_named_by_its_row_in_all_files(tmp_path, total):
    write_rows(tmp_path / "a.jsonl", *ROWS)
    write_rows(tmp_path / "b.jsonl", {**ROWS[0], "rollout": 1}, {**ROWS[0], "rollout": 2, "total": total})
    with pytest.raises(PoolError, match=r"total of row 5: got -?1e\+12; expected a number of a size below 1e\+12"):
        read_columns(open_rollouts([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]))
    rows = [{**row, "entropy": 1e300} for row in ROWS]
    assert read_columns(table(tmp_path / "c.jsonl", rows), ["entropy"]).entropy.tolist() == [1e300] * 4


def test_names_that_are_numbers_in_one_file_and_texts_in_another_are_an_error(tmp_path):
    pq.write_table(pa.table({"sample_id": [1], "acc": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"sample_id": ["1"], "acc": [0.0]}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"sample_id is a whole number in .*a.parquet and a text in .*b.parquet"):
        read_columns(open_rollouts([tmp_path / "a.parquet", tmp_path / "b.parquet"]), ())


def test_parquet_without_a_name_is_an_error(tmp_path):
    file = tmp_path / "r.parquet"
    pq.write_table(pa.table({"sample_id": ["a", None], "acc": [1.0, 0.0]}), file)
    with pytest.raises(PoolError, match=r"r.parquet: some rollouts have no sample_id"):
        read_columns(open_rollouts([file]), ())


def test_a_rollout_without_a_number_has_other_random_bits_than_the_one_of_its_place():
    rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(2, int), np.zeros(2), rollout=np.array([-1, 0]))
    assert len(set(random_keys(rollouts, 0, "a test").tolist())) == 2


def test_choices_are_checked():
    rollouts = RolloutColumns(np.array(["a"], dtype=object), np.array([0, 0]), np.array([0.0, 1.0]))

    def returns(kept: list[int], **columns: list[float]) -> Choice:
        return Choice(np.array(kept, dtype=np.int64), {name: np.array(column) for name, column in columns.items()})

    assert choose(rollouts, lambda _: returns([0, 1], bonus=[0.5, 0.0])).kept.tolist() == [0, 1]
    for chosen, message in (
        (returns([1, 0]), "expected ascending ones below 2"),
        (returns([0, 0]), "expected ascending"),
        (returns([2]), "expected ascending"),
        (returns([0], bonus=[1.0, 2.0]), "returned 2 values of bonus; expected 1"),
        (returns([0], bonus=[np.nan]), "returned a bonus that is not finite"),
    ):
        with pytest.raises(PoolError, match=message):
            choose(rollouts, lambda _, chosen=chosen: chosen)


def test_rows_of_a_file_without_keys_have_cells(tmp_path):
    keyed = write_rows(tmp_path / "a.jsonl", {"sample_id": "a", "rollout": 9, "acc": 1, "answer_key": "0"})
    clicks = [{"sample_id": "a", "rollout": each, "acc": 1, "x_unit": each / 8, "y_unit": 0.0} for each in range(8)]
    both = open_rollouts([keyed, write_rows(tmp_path / "b.jsonl", *clicks)])
    assert read_columns(both, ["answer"]).answer.tolist() == [*range(0, 32, 4), 32 * 32]
    assert stats_of(both).cells.tolist() == [9]


def test_scattered_rows_and_stretches_of_samples_give_the_same_columns(tmp_path):
    rng = np.random.default_rng(3)
    numbers = np.arange(600)
    rows = pa.table({
        "sample_id": [f"s{number * 7 // 8 % 50}" for number in numbers // 12], "rollout": numbers,
        "round": numbers % 3, "acc": (numbers % 5 == 0) * 1.0, "total": rng.random(600),
    })  # fmt: skip
    read = []
    for name, order in (("stretches", numbers), ("scattered", rng.permutation(600)), ("reversed", numbers[::-1])):
        pq.write_table(rows.take(order), tmp_path / f"{name}.parquet")
        columns = read_columns(open_rollouts([tmp_path / f"{name}.parquet"]))
        assert np.array_equal(order[columns.row], columns.rollout)
        read.append([getattr(columns, each).tolist() for each in ("sample_id", "sample", "round", "rollout", "total")])
    assert read[0] == read[1] == read[2]
    keys = list(zip(*read[0][1:4], strict=True))
    assert keys == sorted(keys)
