"""Inputs of ``pool next``: statistics in place of rollouts, and files that name no round."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from grounding_rewards.pool.command import next_round
from grounding_rewards.tables.reporting import Reporting
from tests.cli.command import names, read_rows, write_rows
from tests.cli.pool.test_next import GELATO, digest, manifest_of


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "rollouts.jsonl", *({**row, "round": 3, "temperature": 1.1} for row in GELATO))


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_statistics_give_the_pool_of_their_rollouts(run, source, tmp_path, suffix):
    kept, out = tmp_path / f"stats.{suffix}", tmp_path / "pool.jsonl"
    run("pool", "stats", source, "--out", kept)
    words = ("--out", out, "--seed", 7, "--limit", 10, "--control", "--min-rollouts", 8)
    assert run("pool", "next", source, *words).code == 0
    expected = read_rows(out), read_rows(tmp_path / "pool.control.jsonl"), manifest_of(out)
    assert run("pool", "next", kept, *words).err.startswith("10 of 50 samples")
    assert (read_rows(out), read_rows(tmp_path / "pool.control.jsonl")) == expected[:2]
    said = manifest_of(out)
    size = kept.stat().st_size
    assert said.pop("inputs") == [
        {"role": "statistics", "path": str(kept), "files": 1, "bytes": size, "sha256": digest(kept)}
    ]
    stated = {name: said.pop(name) for name in ("rounds", "temperatures", "by")}
    assert stated == {"rounds": None, "temperatures": [1.1], "by": None}
    assert {name: expected[2][name] for name in stated} == {"rounds": [3], "temperatures": [1.1], "by": "source"}
    assert said == {name: value for name, value in expected[2].items() if name not in {"inputs", *stated}}


def test_temperatures_of_the_rounds_that_count_may_be_unknown(run, tmp_path):
    warm = ({**row, "round": 3, "temperature": 1.1 if row["sample_id"] < "s2" else None} for row in GELATO)
    source, out = write_rows(tmp_path / "rollouts.jsonl", *warm), tmp_path / "pool.jsonl"
    assert run("pool", "next", source, "--round", 3, "--out", out).code == 0
    assert manifest_of(out)["temperatures"] == [None, 1.1]


def test_progress_begins_with_the_names_of_rows(tmp_path):
    source = write_rows(tmp_path / "rollouts.jsonl", *GELATO)
    data = write_rows(tmp_path / "data.jsonl", *({"id": name} for name in sorted({row["sample_id"] for row in GELATO})))
    shares = []
    reporting = Reporting(progress=lambda what: nullcontext(shares.append))
    next_round([source], tmp_path / "pool.jsonl", data=data, reporting=reporting)
    assert shares[0] == pytest.approx(0.2)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_what_statistics_cannot_tell_is_an_error(run, source, tmp_path):
    kept = tmp_path / "stats.parquet"
    run("pool", "stats", source, "--out", kept)
    stated = f"{kept}: holds statistics of samples, which do not go with "
    for name, words in {
        "other inputs": [source],
        "--round": ["--round", 3],
        "--target-space": ["--target-space", "pixel"],
        "--by": ["--by", "application"],
    }.items():
        assert run.error("pool", "next", kept, *words, "--out", tmp_path / "pool.jsonl") == (
            f"{stated}{name}; give rollouts"
        )
    assert "is the input itself" in run.error("pool", "next", kept, "--out", kept)
    assert names(tmp_path) == ["rollouts.jsonl", "stats.parquet"]


def test_inputs_without_rounds_count_together_and_that_is_reported(run, tmp_path):
    first = write_rows(tmp_path / "first.jsonl", *GELATO)
    second = write_rows(tmp_path / "second.jsonl", *({**row, "rollout": row["rollout"] + 8} for row in GELATO))
    result = run("pool", "next", first, second, "--out", tmp_path / "pool.jsonl", "--json")
    assert json.loads(result.out)["rollouts"] == 800
    assert result.err.startswith("note: rollouts of all inputs count together, for they name no round; where inputs")


def test_a_source_that_a_selector_names_must_be_there(run, source, tmp_path):
    for text in (
        '{"name": "source", "exclude": ["essy"]}',
        '{"name": "every", "selectors": ["unsolved", {"name": "source", "only": ["essy", "part"]}]}',
    ):
        message = run.error("pool", "next", source, "--out", tmp_path / "pool.jsonl", "--selector", text)
        assert message == ("--selector: no sample is from 'essy'; did you mean 'easy'? There are: easy, part, zero")
    # All samples from it are gone before the selector sees any.
    words = ("--out", tmp_path / "pool.jsonl", "--selector", '{"name": "source", "exclude": ["easy"]}')
    assert run("pool", "next", source, *words).code == 0


def test_what_samples_are_counted_by_can_be_left_out(run, tmp_path):
    rows = [{**row, "application": "word" if row["sample_id"] < "g" else "excel"} for row in GELATO]
    source, out = write_rows(tmp_path / "rollouts.jsonl", *rows), tmp_path / "pool.jsonl"
    words = ("pool", "next", source, "--out", out, "--exclude-source", "word")
    assert "--exclude-source: no sample is from 'word'. There are: easy, part, zero" in run.error(*words)
    assert run(*words, "--by", "application").code == 0
    assert {row["source"] for row in read_rows(out)} == {"excel"}
    assert manifest_of(out)["by"] == "application"
