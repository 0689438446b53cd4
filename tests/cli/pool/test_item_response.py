"""``pool stats --item-response``: difficulties of samples in the file of statistics, and ``pool next`` by them."""

import json

import pyarrow.parquet as pq
import pytest

from tests.cli.command import read_rows, write_rows

COUNTS = [("a", "weak", 1, 4), ("a", "strong", 3, 4), ("b", "weak", 2, 4), ("c", "strong", 2, 4)]


def rows_of(counts, column="policy"):
    return [
        {"sample_id": sample, column: value, "rollout": number, "acc": int(number < right)}
        for sample, value, right, n in counts
        for number in range(n)
    ]


def by_sample(path):
    return {row["sample_id"]: row["item_difficulty"] for row in read_rows(path)}


@pytest.fixture
def rollouts(tmp_path):
    unscored = [{"sample_id": "d", "policy": "weak", "acc": None, "rollout": 0}]
    return write_rows(tmp_path / "rollouts.jsonl", *unscored, *without_numbers(rows_of(COUNTS)))


def without_numbers(rows):
    """Rollouts of two policies would have the same numbers."""
    return [{key: value for key, value in row.items() if key != "rollout"} for row in rows]


def test_difficulties_are_written_and_abilities_shown(run, rollouts, tmp_path):
    out = tmp_path / "stats.jsonl"
    result = run("pool", "stats", rollouts, "--item-response", "policy", "--out", out)
    assert result.code == 0
    assert "abilities by policy: strong +0.72, weak -0.72; difficulty at their mean" in result.out
    difficulty = by_sample(out)
    assert difficulty.pop("d") is None
    assert difficulty == pytest.approx({"a": 50.0, "b": 35.97, "c": 64.03}, abs=0.01)
    summary = json.loads(run("pool", "stats", rollouts, "--item-response", "policy", "--out", out, "--json").out)
    assert summary["item_response"]["abilities"] == pytest.approx({"strong": 0.717, "weak": -0.717}, abs=1e-3)
    assert (summary["item_response"]["column"], summary["item_response"]["at"]) == ("policy", None)


def test_rows_in_another_order_give_the_same_bytes(run, rollouts, tmp_path):
    back = write_rows(tmp_path / "back.jsonl", *reversed(read_rows(rollouts)))
    for path, out in ((rollouts, "one.parquet"), (back, "other.parquet")):
        assert run("pool", "stats", path, "--item-response", "policy", "--out", tmp_path / out).code == 0
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


def test_rounds_are_measured_at_the_latest_and_some_may_count_alone(run, tmp_path):
    rows = rows_of(
        [(sample, number, right, 4) for sample in "ab" for number, right in ((1, 1), (2, 2), (10, 3))], "round"
    )
    path, out = write_rows(tmp_path / "r.jsonl", *rows), tmp_path / "s.parquet"
    result = run("pool", "stats", path, "--item-response", "round", "--out", out)
    assert "difficulty at round 10" in result.out
    latest = pq.read_table(out)["item_difficulty"].to_pylist()
    summary = json.loads(
        run("pool", "stats", path, "--item-response", "round", "--out", out, "--round", 1, "--round", 2, "--json").out
    )["item_response"]
    assert (summary["at"], list(summary["abilities"])) == ("2", ["1", "2"])
    assert max(latest) < 50.0 <= min(pq.read_table(out)["item_difficulty"].to_pylist()) + 1e-6


def test_one_round_counts_beside_a_fit_of_all(run, tmp_path):
    rows = rows_of([(sample, number, number, 4) for sample in "ab" for number in (1, 3)], "round")
    path, out = write_rows(tmp_path / "r.jsonl", *rows), tmp_path / "s.jsonl"
    result = run("pool", "stats", path, "--item-response", "round", "--out", out, "--round", 1, "--json")
    assert list(json.loads(result.out)["item_response"]["abilities"]) == ["1", "3"]
    assert [(row["num_correct"], row["n"]) for row in read_rows(out)] == [(1, 4), (1, 4)]


def test_temperatures_are_those_of_any_type_of_float(run, tmp_path):
    rows = without_numbers(rows_of([("a", 0.7, 1, 4), ("a", 0.7000000001, 1, 4), ("a", 1.0, 3, 4)], "temperature"))
    path, out = write_rows(tmp_path / "r.jsonl", *rows), tmp_path / "s.jsonl"
    summary = json.loads(run("pool", "stats", path, "--item-response", "temperature", "--out", out, "--json").out)
    assert list(summary["item_response"]["abilities"]) == ["0.7", "1.0"]


def test_rollouts_without_a_policy_do_not_count_and_are_reported(run, tmp_path):
    rows = [*without_numbers(rows_of(COUNTS)), {"sample_id": "e", "acc": 1, "policy": None}]
    path, out = write_rows(tmp_path / "r.jsonl", *rows), tmp_path / "s.jsonl"
    result = run("pool", "stats", path, "--item-response", "policy", "--out", out)
    assert "warning: 1 scored rollouts have no policy, and do not count for the difficulty\n" in result.err
    assert by_sample(out)["e"] is None


def test_the_next_pool_is_drawn_by_difficulty(run, rollouts, tmp_path):
    stats, out = tmp_path / "stats.parquet", tmp_path / "pool.jsonl"
    run("pool", "stats", rollouts, "--item-response", "policy", "--out", stats)
    nearest = '{"name": "moving_target", "batch": 1, "target": 60}'
    assert run("pool", "next", stats, "--zero-share", 0, "--selector", nearest, "--out", out).code == 0
    assert [row["sample_id"] for row in read_rows(out)] == ["c"]
    assert run("pool", "next", stats, "--zero-share", 0, "--selector", "item_response", "--out", out).code == 0
    assert len(read_rows(out)) == 3
    error = run.error("pool", "next", rollouts, "--selector", "item_response", "--out", out)
    assert "no sample has a difficulty; `grounding-rewards pool stats ROLLOUTS --item-response policy" in error


def test_what_cannot_be_fitted_is_one_line_and_nothing_is_written(run, rollouts, tmp_path):
    out = tmp_path / "s.jsonl"
    assert "name a file by --out" in run.error("pool", "stats", rollouts, "--item-response", "policy")
    stats = ("pool", "stats", rollouts, "--out", out)
    assert "got 'source'; expected one of policy, round, temperature" in run.error(*stats, "--item-response", "source")
    assert "no column 'round'" in run.error(*stats, "--item-response", "round")
    one = write_rows(tmp_path / "one.jsonl", *without_numbers(rows_of(COUNTS[:1])))
    error = run.error("pool", "stats", one, "--out", out, "--item-response", "policy")
    assert "--item-response policy: got weak in all scored rollouts; expected two different values" in error
    apart = write_rows(tmp_path / "apart.jsonl", *without_numbers(rows_of(COUNTS[2:])))
    error = run.error("pool", "stats", apart, "--out", out, "--item-response", "policy")
    assert "rollouts of 'strong' and of 'weak' share no sample" in error
    assert not out.exists()
