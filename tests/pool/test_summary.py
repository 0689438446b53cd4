"""Summary of the statistics of samples, and the table of them."""

import json

import numpy as np
import pyarrow as pa
import pytest

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool import sample_stats, stats_table
from grounding_rewards.pool.aggregate import ALL
from grounding_rewards.pool.stats import summary
from grounding_rewards.pool.stats_table import from_table, in_tables, read_stats, to_table
from grounding_rewards.tables.writing import write_file
from tests.pool.made import counted


def test_samples_are_counted_by_how_they_fared():
    stats = counted(
        [8, 0, 3, 2, 0], [8, 8, 8, 4, 0], source=["web", "web", "app", None, "app"], unscored=[0, 1, 0, 0, 2]
    )
    found = summary(stats, ks=[1, 8])
    counts = ("samples", "rollouts", "unscored", "unscored_samples", "all_correct", "none_correct", "mixed")
    assert [found[name] for name in counts] == [5, 31, 3, 1, 1, 1, 2]
    assert found["accuracy"] == (1 + 0 + 3 / 8 + 0.5) / 4
    assert found["num_correct"] == [
        {"n": 4, "num_correct": 2, "samples": 1},
        {"n": 8, "num_correct": 0, "samples": 1},
        {"n": 8, "num_correct": 3, "samples": 1},
        {"n": 8, "num_correct": 8, "samples": 1},
    ]
    by_source = [(each["source"], each["samples"], each["none_correct"]) for each in found["by_source"]]
    assert by_source == [("app", 2, 0), ("web", 2, 1), (None, 1, 0)]
    assert found["pass_at_k"]["8"] == {"samples": 3, "mean": 2 / 3}
    assert (found["zero_signal"], found["mean_total"], found["parse_rate"]) == (None, None, None)


def test_totals_that_differ_in_their_last_bits_alone_teach_nothing():
    stats = sample_stats(["a"] * 3 + ["b"] * 2, [0, 0, 0, 1, 0], [0.1, 0.1 + 1e-12, 0.1, 1.0, 0.0])
    assert summary(stats)["zero_signal"] == 1
    assert summary(stats.taken([]))["samples"] == 0


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_statistics_written_and_read_are_the_same(tmp_path, suffix):
    stats = sample_stats(["a", "a", "b", "c"], [1, 0, 1, None], [0.5, 0.25, 1.0, None])
    path = tmp_path / f"stats{suffix}"
    write_file(path, [to_table(stats, ks=[2])])
    found = read_stats(path)
    for name in ALL:
        assert repr(getattr(found, name).tolist()) == repr(getattr(stats, name).tolist()), name
    with pytest.raises(TableError, match="holds statistics of samples, which cannot be parted by round"):
        read_stats(path, rounds=[1])


def test_what_follows_from_statistics_stands_beside_them():
    stats = counted([1, 0], [8, 0], dispersion=[0.1, 0.2], target_diagonal=[0.4, 0.0])
    first, second = to_table(stats, ks=[4]).to_pylist()
    assert (first["pass_rate"], first["pass_at_4"], first["dispersion_target"]) == (0.125, 0.5, 0.25)
    assert [round(first[name], 4) for name in ("wilson_low", "wilson_high")] == [0.0224, 0.4709]
    assert [second[name] for name in ("pass_rate", "pass_at_4", "dispersion_target")] == [None, None, None]
    assert (second["wilson_low"], second["wilson_high"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sample_id": ["a"], "n": [1]}, "no column 'num_correct'"),
        ({"sample_id": ["a", "a"], "n": [1, 1], "num_correct": [1, 0]}, "sample 'a' has several rows"),
        ({"sample_id": ["a"], "n": ["x"], "num_correct": [1]}, "column n holds string; expected numbers"),
        ({"sample_id": ["a"], "n": [3], "num_correct": [5]}, "sample 'a': got num_correct 5 of n 3; expected 0 <="),
        ({"sample_id": ["a"], "n": [3], "num_correct": [-2]}, "sample 'a': got num_correct -2 of n 3"),
        ({"sample_id": ["a"], "n": [2.5], "num_correct": [1]}, "n of row 0: got 2.5; expected a whole number"),
        ({"sample_id": ["a"], "n": [float("inf")], "num_correct": [1]}, "n of row 0: got inf"),
        ({"sample_id": ["a", None], "n": [1, 1], "num_correct": [1, 0]}, "sample_id of row 1: got None; expected"),
    ],
)
def test_tables_that_are_no_statistics_are_named(columns, message):
    with pytest.raises(PoolError, match=message):
        from_table(pa.table(columns))


def test_files_are_distinguished_by_their_columns(tmp_path):
    rollouts = tmp_path / "r.jsonl"
    rollouts.write_text('{"sample_id": "a", "acc": 1, "n": 8, "num_correct": 3}\n')
    assert read_stats(rollouts).n.tolist() == [1]
    bad = tmp_path / "s.jsonl"
    rows = [{"sample_id": "a", "n": 1, "num_correct": 2}, {"sample_id": "b", "n": 1, "num_correct": 1, "source": "web"}]
    bad.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PoolError, match=r"s\.jsonl, statistics of samples: sample 'a': got num_correct 2 of n 1"):
        read_stats(bad)
    bad.write_text("".join(json.dumps(row | {"n": 2}) + "\n" for row in rows))
    assert read_stats(bad).source.tolist() == [None, "web"]


def test_tables_of_some_rows_each(monkeypatch):
    stats = sample_stats(["a", "b", "c", "c", "d"], [1, 0, 1, 0, None])
    monkeypatch.setattr(stats_table, "_AT_ONCE", 2)
    assert [table["sample_id"].to_pylist() for table in in_tables(stats)] == [["a", "b"], ["c", "d"]]
    chosen = list(in_tables(stats, np.array([3, 0, 2]), ks=[1]))
    assert pa.concat_tables(chosen).equals(to_table(stats.taken([3, 0, 2]), [1]))
    assert [table.num_rows for table in in_tables(stats.taken([]))] == [0]
