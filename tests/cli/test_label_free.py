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


def test_eval_counts_agreement(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *[{**row, "kind": row["sample_id"]} for row in ROWS])
    (found,) = result_of(run("eval", source, *RCPO, "--by", "kind", "--json").out)
    assert (found["n"], found["correct"], found["not_valid"]) == (5, 1, 0)
    assert {value: (part["n"], part["correct"]) for value, part in found["by"]["kind"].items()} == {
        "a": (3, 1), "b": (2, 0),
    }  # fmt: skip


def test_acc_is_not_called_right(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *[{**row, "kind": row["sample_id"]} for row in ROWS])
    note = "note: gui-rcpo compares nothing with targets: its acc does not say that a response is right\n"
    found = run("eval", source, *RCPO, "--by", "kind")
    assert found.out.count("acc = 1   mean acc") == 2
    assert "correct" not in found.out
    assert found.err == note
    scored = run("score", source, *RCPO, "--out", tmp_path / "out.jsonl")
    assert "mean acc 20.0 %, parse rate 80.0 %" in scored.err
    assert scored.err.endswith(note)
    assert result_of(run("eval", source, *RCPO, "--json").out)[0]["label_free"] is True


def test_what_is_still_needed(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *ROWS)
    out = ("--out", tmp_path / "out.jsonl")
    message = run.error("score", source, *RCPO, *out, "--target-column", "truth")
    assert message.startswith(f"{source}: no column 'truth' (--target-column)"), "named, so it must be there"
    unnamed = write_rows(tmp_path / "unnamed.jsonl", {"response": "(1, 2)"})
    assert "no column 'sample_id' (--id-column)" in run.error("score", unnamed, *RCPO, *out)
    message = run.error("score", source, "--recipe", "gui-rcpo", "--response-space", "unit", *out)
    assert message.startswith(f"{source}, row 0 (line 1): target of sample 'a', field 'image_size': got nothing")
    assert "the file has no column 'image_size'" in message


def test_other_recipes_still_need_targets(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", *ROWS)
    message = run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl")
    assert message.startswith(f"{source}: no column 'target' (--target-column)")


def test_groups_of_one_are_said(run, tmp_path):
    lone = [{**row, "sample_id": str(place)} for place, row in enumerate(ROWS)]
    note = "warning: gui-rcpo compares the rollouts of one sample, and no sample here has two"
    for rows, said in ((lone, 1), (ROWS, 0), (ROWS[:1], 0)):
        result = run("score", write_rows(tmp_path / "in.jsonl", *rows), *RCPO, "--out", tmp_path / "out.jsonl")
        assert (result.code, result.err.count(note)) == (0, said)
