"""Columns beside responses and targets: names of samples, lengths in tokens, columns for one's own terms."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import read_rows, result_of, write_rows

RCPO = ("--recipe", "gui-rcpo", "--response-space", "pixel")
OWN = """
import numpy as np

def easy(rollouts):
    return 1 - np.array(rollouts.extras["difficulty"], dtype=float)

def tokens(rollouts):
    return np.full(len(rollouts), 9.0) if rollouts.token_lengths is None else rollouts.token_lengths.astype(float)
"""
BOX = {"bbox": [0, 0, 9, 9]}


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return lambda name: (
        "composite", "--response-space", "pixel", "--option",
        f'parts={{"own": {{"verifier": "{path}:{name}", "weight": 1, "low": 0, "high": 9}}}}',
    )  # fmt: skip


def written(path, rows):
    if path.suffix == ".jsonl":
        return write_rows(path, *rows)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_ones_own_term_finds_every_column(run, own, tmp_path, suffix):
    rows = [{"response": "?", "target": BOX, "difficulty": each} for each in (0.25, 0.75)]
    source = written(tmp_path / f"in.{suffix}", rows)
    out = tmp_path / "out.jsonl"
    assert run("score", source, "--out", out, "--recipe", *own("easy")).code == 0
    assert [row["total"] for row in read_rows(out)] == [0.75, 0.25]
    assert run("eval", source, "--recipe", *own("easy")).code == 0
    found = run("explain", "--recipe", *own("easy"), source, "--row", "1", "--json")
    assert result_of(found.out)["total"] == 0.25


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_lengths_in_tokens(run, own, tmp_path, suffix):
    rows = [{"response": "?", "target": BOX, "token_length": 3, "n": each} for each in (5, 7)]
    source, out = written(tmp_path / f"in.{suffix}", rows), tmp_path / "out.jsonl"
    assert run("score", source, "--out", out, "--recipe", *own("tokens")).code == 0
    assert [row["total"] for row in read_rows(out)] == [3.0, 3.0]
    assert run("score", source, "--out", out, "--recipe", *own("tokens"), "--token-length-column", "n").code == 0
    assert [row["total"] for row in read_rows(out)] == [5.0, 7.0]
    found = run("explain", "--recipe", *own("tokens"), source, "--row", "1", "--token-length-column", "n", "--json")
    assert result_of(found.out)["total"] == 7.0
    message = run.error("eval", source, "--recipe", *own("tokens"), "--token-length-column", "tokens")
    assert message.startswith(f"{source}: no column 'tokens' (--token-length-column)")


@pytest.mark.parametrize("length", [-1, 3.5, "3", True, None])
def test_odd_lengths_are_errors_where_they_are_used(run, own, tmp_path, length):
    rows = [{"response": "?", "target": BOX, "token_length": each} for each in (3, length)]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    message = run.error("score", source, "--out", out, "--recipe", *own("tokens"))
    said = "null" if length is None else repr(length)
    assert message.startswith(f"{source}, row 1 (line 2): token_length: got {said}; expected how many tokens")
    assert run("score", source, "--out", out, "--recipe", "click", "--response-space", "pixel").code == 0


def agreed(run, source):
    (found,) = result_of(run("eval", source, *RCPO, "--json").out)
    return found["correct"]


@pytest.mark.parametrize("names", [(1, "1"), ("a", "a"), (1, 1.0)])
def test_one_name_is_one_sample_as_text_or_number(run, tmp_path, names):
    rows = [{"sample_id": name, "response": "(1, 1)"} for name in names]
    assert agreed(run, write_rows(tmp_path / "in.jsonl", *rows)) == 2
    targets = [{"target": {"id": name}, "response": "(1, 1)"} for name in names if not isinstance(name, float)]
    source = write_rows(tmp_path / "own.jsonl", *targets, {"sample_id": str(names[0]), "response": "(1, 1)"})
    assert agreed(run, source) == len(targets) + 1
    found = run("explain", "--recipe", "gui-rcpo", "--response-space", "pixel", source, "--row", "0", "--json")
    assert result_of(found.out)["acc"] == 1.0


@pytest.mark.parametrize("name", [None, 1.5, True, ["a"], {"a": 1}])
def test_a_sample_without_a_name_is_an_error(run, tmp_path, name):
    rows = [{"sample_id": "a", "response": "(1, 1)", "target": None}, {"sample_id": name, "response": "(1, 1)"}]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    said = "null" if name is None else repr(name)
    start = f"{source}, row 1 (line 2): sample_id: got {said}; expected the sample's name, a text or a whole number"
    assert run.error("eval", source, *RCPO).startswith(start)
    assert run.error("explain", "--recipe", "gui-rcpo", *RCPO[2:], source, "--row", "0").startswith(start)


def test_a_target_that_cannot_be_read_joins_no_sample(run, tmp_path):
    rows = [{"response": "(1, 1)", "target": each} for each in ({"id": "a"}, {"id": "a"}, {"idd": "a"}, {"ie": "a"})]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    (found,) = result_of(run("eval", source, *RCPO, "--bad-target", "abstain", "--json").out)
    assert (found["rows"], found["valid"], found["correct"]) == (4, 2, 2)
    assert "row 2 (line 3): target of row 2, field 'idd'" in run.error("eval", source, *RCPO)
