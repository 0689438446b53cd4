"""``grounding-rewards pool stats``."""

import json

import pyarrow.parquet as pq
import pytest

from tests.cli.command import read_rows, write_rows

ROWS = [
    *({"sample_id": "easy", "acc": 1, "source": "web", "rollout": each} for each in range(4)),
    *({"sample_id": "hard", "acc": 0, "source": "app", "rollout": each} for each in range(4)),
    *({"sample_id": "some", "acc": each % 2, "source": "app", "rollout": each} for each in range(4)),
    {"sample_id": "some", "acc": None, "source": "app", "rollout": 4},
]


def test_rows_with_a_name_and_a_verdict_are_enough(run, tmp_path):
    rows = [{"sample_id": "a", "correct": True}, {"sample_id": "a", "correct": False}, {"sample_id": "b", "correct": 1}]
    result = run("pool", "stats", write_rows(tmp_path / "r.jsonl", *rows), "--json")
    found = json.loads(result.out)
    assert (found["samples"], found["rollouts"], found["all_correct"], found["none_correct"], found["mixed"]) == (
        2, 3, 1, 0, 1,
    )  # fmt: skip


def test_samples_are_counted_and_written(run, tmp_path):
    path, out = write_rows(tmp_path / "r.jsonl", *ROWS), tmp_path / "stats.parquet"
    result = run("pool", "stats", path, "--out", out, "--pass-at", 2, "--json")
    found = json.loads(result.out)
    assert (found["samples"], found["rollouts"], found["unscored"]) == (3, 13, 1)
    assert (found["all_correct"], found["none_correct"], found["mixed"]) == (1, 1, 1)
    assert [(each["source"], each["samples"], each["none_correct"]) for each in found["by_source"]] == [
        ("app", 2, 1), ("web", 1, 0),
    ]  # fmt: skip
    rows = {row["sample_id"]: row for row in pq.read_table(out).to_pylist()}
    assert [(rows[name]["n"], rows[name]["num_correct"]) for name in ("easy", "hard", "some")] == [
        (4, 4),
        (4, 0),
        (4, 2),
    ]
    assert rows["some"]["pass_at_2"] == pytest.approx(5 / 6)
    again = run("pool", "stats", out.with_name("r.jsonl"), "--out", tmp_path / "again.parquet", "--pass-at", 2)
    assert again.code == 0
    assert "3 samples written to" in again.err
    assert (tmp_path / "again.parquet").read_bytes() == out.read_bytes()


def test_the_table_says_how_each_source_fared(run, tmp_path):
    result = run("pool", "stats", write_rows(tmp_path / "r.jsonl", *ROWS), "--pass-at", 4)
    lines = [line.split() for line in result.out.splitlines()]
    assert ["web", "1", "4", "1", "0", "0", "-", "100.0", "%", "-"] in lines
    assert ["all", "3", "13", "1", "1", "1", "-", "50.0", "%", "-"] in lines
    assert "pass@4: 66.7 % of 3 samples with 4 rollouts or more" in result.out
    assert "1 rollout is not scored" in result.out


def test_one_round_counts_alone(run, tmp_path):
    rows = [{"sample_id": "a", "acc": number, "round": number} for number in (0, 1)]
    path = write_rows(tmp_path / "r.jsonl", *rows)
    found = json.loads(run("pool", "stats", path, "--round", 1, "--json").out)
    assert (found["rollouts"], found["all_correct"], found["rounds"]) == (1, 1, {"1": 1})
    out = tmp_path / "s.jsonl"
    run("pool", "stats", path, "--round", 0, "--out", out)
    assert [(row["sample_id"], row["num_correct"]) for row in read_rows(out)] == [("a", 0)]


def test_mistakes_are_one_line_and_nothing_is_written(run, tmp_path):
    path, out = write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "corect": 1}), tmp_path / "s.parquet"
    assert "no column 'acc'; did you mean 'corect'?" in run.error("pool", "stats", path, "--out", out)
    good = write_rows(tmp_path / "g.jsonl", {"sample_id": "a", "acc": 1})
    assert "is the input itself" in run.error("pool", "stats", good, "--out", good)
    assert "a file of rows ends in" in run.error("pool", "stats", good, "--out", tmp_path / "s.csv")
    assert "there is no directory" in run.error("pool", "stats", good, "--out", tmp_path / "none" / "s.parquet")
    assert "--pass-at: got 0; expected a whole number above 0" in run.error("pool", "stats", good, "--pass-at", 0)
    assert not out.exists()
    within = good.parent / "within.parquet"
    assert "lies in the input" in run.error("pool", "stats", good.parent, "--out", within)
    assert not within.exists()


def test_no_digit_is_cut_off_at_eighty_columns(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "a_source_with_a_name_of_many_letters"
    rows = [{"sample_id": f"s{each}", "acc": each % 2, "total": 0.5, "source": long} for each in range(12_345)]
    out = run("pool", "stats", write_rows(tmp_path / "r.jsonl", *rows)).out
    for whole in ("12,345", "6,172", "6,173", "50.0 %", "rollouts", "no signal", "accuracy", "parsed"):
        assert whole in out


def test_a_column_that_is_null_everywhere_is_reported(run, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", *({**row, "policy": None} for row in ROWS))
    result = run("pool", "stats", path, "--by", "policy", "--json")
    assert json.loads(result.out)["by_source"] == []
    assert result.err == (
        "warning: --by: no rollout has a value in the column policy, so samples are counted together alone\n"
    )
    assert run("pool", "stats", path, "--by", "source").err == ""


def test_mixed_temperatures_are_a_warning(run, tmp_path):
    rows = [{"sample_id": "a", "acc": 1, "rollout": place, "temperature": place / 2} for place in (1, 2)]
    mixed = write_rows(tmp_path / "mixed.jsonl", *rows, {"sample_id": "a", "acc": 0, "rollout": 5})
    text = "rollouts at temperatures 0.5, 1 count together, and pass rates mix them"
    result = run("pool", "stats", mixed, "--json")
    assert (json.loads(result.out)["warnings"], result.err) == ([text], f"warning: {text}\n")
    assert run("pool", "stats", mixed, "--strict").code == 1
    assert run("pool", "stats", write_rows(tmp_path / "one.jsonl", rows[0], {"sample_id": "b", "acc": 0})).err == ""


def test_inputs_and_rounds_that_count_together_are_reported(run, tmp_path):
    first = write_rows(tmp_path / "first.jsonl", {"sample_id": "a", "acc": 1})
    second = write_rows(tmp_path / "second.jsonl", {"sample_id": "a", "acc": 0})
    result = run("pool", "stats", first, second, "--json")
    assert json.loads(result.out)["mixed"] == 1
    assert result.err == (
        "note: rollouts of all inputs count together, for they name no round; where inputs are rounds, give one alone, "
        "or rows a column round\n"
    )
    assert run("pool", "stats", first).err == ""
    both = write_rows(tmp_path / "both.jsonl", *({"sample_id": "a", "acc": 1, "round": number} for number in (1, 2)))
    assert run("pool", "stats", both).err == "note: rollouts of rounds 1, 2 count together; --round N chooses one\n"
    assert run("pool", "stats", both, "--round", 1, "--round", 2).err == ""


def test_statistics_are_no_rollouts(run, tmp_path):
    out = tmp_path / "stats.parquet"
    run("pool", "stats", write_rows(tmp_path / "r.jsonl", *ROWS), "--out", out)
    assert run.error("pool", "stats", out) == (
        f"{out}: holds statistics of samples; give the rollouts that they were counted from"
    )


def test_a_space_that_is_none_is_an_error_that_names_its_option(run, tmp_path):
    path = write_rows(tmp_path / "r.jsonl", *ROWS)
    for command in (["stats", path], ["next", path, "--out", tmp_path / "p.jsonl"]):
        message = run.error("pool", *command, "--target-space", "pixels")
        assert "'--target-space'" in message
        assert "'pixels' is not one of 'pixel', 'model_pixel', 'unit', 'thousandths'" in message
