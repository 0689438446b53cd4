"""``grounding-rewards eval`` beside its session: widths, batches, streams and terminals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import result_of, write_rows

EXAMPLES = Path(__file__).parents[2] / "examples"
BOX = {"bbox": [0, 0, 9, 9]}


def row(response, target=BOX, **fields):
    return {"sample_id": "s", "response": response, "target": target, "image_size": [100, 100], **fields}


@pytest.fixture
def files(tmp_path):
    return [write_rows(tmp_path / "run-one.jsonl", row("(5, 5)"), row("hm"))]


@pytest.mark.parametrize("width", [80, 120])
def test_tables_keep_to_the_width(run, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    long = write_rows(tmp_path / f"{'long-name-' * 9}.jsonl", row("(5, 5)", kind="very long value " * 9))
    out = run("eval", long, "--response-space", "pixel", "--by", "kind").out
    assert max(map(len, out.splitlines())) <= width
    assert "95 % interval" in out
    assert "20.7 - 100.0" in out


def test_same_names_in_two_directories_are_distinguished(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths.append(write_rows(tmp_path / name / "r.jsonl", row("(5, 5)")))
    out = run("eval", *paths, "--response-space", "pixel").out
    assert [out.count(str(path)) for path in paths] == [2, 2]


def test_parquet_reads_only_what_it_needs(run, tmp_path):
    rows = [{"response": "(500, 500)", "target": BOX, "image_size": [10, 10], "image": b"\x89PNG", "kind": ["a", "b"]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    words = ("eval", tmp_path / "a.parquet", "--response-space", "thousandths", "--by", "kind", "--json")
    found = result_of(run(*words).out)[0]
    assert (found["valid"], found["correct"], list(found["by"]["kind"])) == (1, 1, ["a", "b"])


def test_batches_add_up(run, tmp_path):
    rows = [row("(5, 5)" if number % 4 else "hm", kind=str(number % 3)) for number in range(20_000)]
    source = write_rows(tmp_path / "a.jsonl", *rows)
    found = result_of(run("eval", source, "--response-space", "pixel", "--by", "kind", "--json").out)[0]
    assert (found["valid"], found["correct"], found["parse_rate"]) == (20_000, 15_000, 0.75)
    assert {value: part["valid"] for value, part in found["by"]["kind"].items()} == {"0": 6667, "1": 6667, "2": 6666}


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(files):
    for reader in ("head -c 5", "true"):
        command = f"{sys.executable} -m grounding_rewards eval {files[0]} --response-space pixel --json | {reader}"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_plain_ascii_terminals(files):
    command = [sys.executable, "-m", "grounding_rewards", "eval", str(files[0]), "--response-space", "pixel"]
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "run-one" in done.stdout
    assert done.stdout.isascii()


def test_what_looks_wrong_is_printed_below_the_tables(run, monkeypatch, tmp_path):
    rows = [{"response": "no idea", "target": {"bbox": [1, 2, 3, 4]}}] * 9
    source = write_rows(tmp_path / "in.jsonl", *rows)
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    text = run("eval", source, "--response-space", "pixel").out
    assert 0 < text.index("Responses by reason") < text.index("warning: 0 of 9 responses were read")


def test_examples_are_silent(run):
    for name in ("clicks", "rollouts"):
        result = run("eval", EXAMPLES / f"{name}.jsonl", "--response-space", "thousandths", "--strict")
        assert (result.code, result.err) == (0, "")
