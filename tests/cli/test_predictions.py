"""``--predictions`` and ``--id`` beside their session: formats, directories, streams, the same verdicts as one file."""

from __future__ import annotations

import io
import json
import os
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grounding_rewards import catalogue
from grounding_rewards.batch.table_scorer import Columns, Scoring
from grounding_rewards.tables.matched import MatchedTable
from grounding_rewards.tables.opening import open_table
from tests.cli import test_published_verdicts as published
from tests.cli.command import read_rows, result_of, write_rows
from tests.tables.written import FORMATS

BOX = {"bbox": [100, 100, 300, 200]}
SIZE = {"image_size": [1000, 1000]}
CLICK = ("--response-space", "pixel")
SAMPLES = [{"sample_id": name, "target": BOX, **SIZE, "kind": kind} for name, kind in (("a", "icon"), ("b", "text"))]
ANSWERS = [
    {"sample_id": "b", "response": "(200, 150)", "model": "m"},
    {"sample_id": "a", "response": "(900, 150)", "model": "m"},
    {"sample_id": "b", "response": "?", "model": "m"},
]
COUNTS = {"annotations": 2, "predictions": 3, "without_prediction": 0, "without_annotation": 0}


@pytest.fixture
def files(tmp_path):
    return write_rows(tmp_path / "samples.jsonl", *SAMPLES), write_rows(tmp_path / "answers.jsonl", *ANSWERS)


def evaluated(run, samples, answers, *words):
    result = run("eval", samples, "--predictions", answers, *CLICK, "--json", *words)
    assert result.code == 0, result.err
    return result_of(result.out)[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("jsonl", "csv"), ("json", "parquet"), ("csv", "json"), ("csv", "csv.zst"), ("parquet", "jsonl"),
        ("jsonl.gz", "csv"),
    ],
)  # fmt: skip
def test_formats_on_both_sides(run, tmp_path, first, second):
    names = tmp_path / f"samples.{first}", tmp_path / f"answers.{second}"
    for name, rows, suffix in zip(names, (SAMPLES, ANSWERS), (first, second), strict=True):
        name.write_bytes(FORMATS[suffix](rows))
    figures = evaluated(run, *names, "--by", "kind", "--by", "model")
    assert (figures["joined"], figures["valid"], figures["correct"]) == (COUNTS, 3, 1)
    assert figures["reasons"] == {"OK": 2, "NO_ANSWER": 1}
    counts = {value: (part["valid"], part["correct"]) for value, part in figures["by"]["kind"].items()}
    assert counts == {"text": (2, 1), "icon": (1, 0)}


def test_directories_and_their_splits(run, tmp_path):
    for folder, rows in (("samples", SAMPLES), ("answers", ANSWERS)):
        (tmp_path / folder).mkdir()
        for split in ("test", "train"):
            for shard, part in enumerate((rows[:1], rows[1:])):
                write_rows(tmp_path / folder / f"{split}-0000{shard}-of-00002.jsonl", *part)
    single = write_rows(tmp_path / "samples.jsonl", *SAMPLES)
    assert evaluated(run, single, tmp_path / "answers", "--split", "test")["joined"] == COUNTS
    single = write_rows(tmp_path / "answers.jsonl", *ANSWERS)
    assert evaluated(run, tmp_path / "samples", single, "--split", "test")["joined"] == COUNTS
    shard = tmp_path / "samples/test-00000-of-00002.jsonl"
    write_rows(shard, {**SAMPLES[0], "target": {"bbox": [1]}})
    text = run.error("eval", tmp_path / "samples", "--predictions", single, "--split", "test", *CLICK)
    places = f"{tmp_path / 'samples'}, row 0 (line 1 of {shard.name}), with {single}, row 1 (line 2)"
    assert text.startswith(f"{places}: target of sample 'a', field 'bbox': got [1]")


@pytest.mark.parametrize("stream", [0, 1])
def test_one_side_may_be_standard_input(run, files, monkeypatch, stream):
    content = SimpleNamespace(buffer=io.BytesIO(files[stream].read_bytes()))
    monkeypatch.setattr("sys.stdin", content)
    names = ["-" if place == stream else file for place, file in enumerate(files)]
    figures = evaluated(run, *names)
    assert (figures["joined"], figures["correct"], figures["file"]) == (COUNTS, 1, str(names[0]))


def test_both_sides_may_be_what_a_shell_passes(run, files):
    handles = [os.open(file, os.O_RDONLY) for file in files]
    try:
        assert evaluated(run, *(f"/dev/fd/{handle}" for handle in handles))["joined"] == COUNTS
    finally:
        for handle in handles:
            os.close(handle)


@pytest.mark.parametrize("side", [0, 1])
def test_score_writes_over_neither_file_by_another_name(run, files, side):
    files[side].with_name("link.jsonl").hardlink_to(files[side])
    words = ("--recipe", "click", *CLICK, "--out", files[side].with_name("link.jsonl"))
    assert run.error("score", files[0], "--predictions", files[1], *words).endswith("write to another file")


@pytest.mark.parametrize(("recipe", "suffix"), [("click", "jsonl"), ("click", "parquet"), ("gui-rcpo", "jsonl")])
def test_score_leaves_bytes_out_with_a_note(run, files, tmp_path, recipe, suffix):
    samples, out = tmp_path / "samples.parquet", tmp_path / f"out.{suffix}"
    rows = [{**row, "image": {"bytes": b"\x89PNG", "path": None}} for row in SAMPLES]
    pq.write_table(pa.Table.from_pylist(rows), samples)
    result = run("score", samples, "--predictions", files[1], "--recipe", recipe, *CLICK, "--out", out)
    assert result.code == 0
    assert result.err.startswith("note: columns that hold bytes, such as images, are not written: image\n")
    columns = read_rows(out)[0] if suffix == "jsonl" else pq.read_table(out).column_names
    assert list(columns)[:6] == ["sample_id", "target", "image_size", "kind", "response", "model"]


ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["(5, 5)", "(50, 5)", "?", "", None, "refusal", "(5, 500)"])),
    min_size=1,
    max_size=9,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_joined_rows_score_as_those_of_one_file(tmp_path, rows):
    samples = [{"id": n, "target": {"bbox": [0, 0, 9, 9 * n + 1]}, "image_size": [100, 100]} for n in range(5)]
    answers = [{"id": n, "response": text} for n, text in rows]
    left = [{**each, "response": None} for each in samples if each["id"] not in dict(rows)]
    merged = [{**samples[answer["id"]], **answer} for answer in answers] + left
    files = [write_rows(tmp_path / f"{n}.jsonl", *each) for n, each in enumerate((samples, answers, merged))]
    first, second, whole = map(open_table, files)
    unresolved = Scoring(catalogue.recipe("click", response_space="pixel"), Columns(id="id"))
    joined, expected = (
        [
            (row, scored.scores.total[n], scored.scores.acc[n], scored.scores.reason[n])
            for batch in scorer.batches(whole=True)
            for scored in [scorer.score(batch)]
            for n, row in enumerate(batch.rows)
        ]
        for table in (MatchedTable(first, second), whole)
        for scorer in [unresolved.of(table)]
    )
    assert joined == expected


@pytest.mark.skipif(
    not published.FOLDER.is_dir(), reason="published responses are not here: expected in ../shared/data/model_responses"
)
@pytest.mark.parametrize("name", published.CORRECT)
def test_published_files_in_two(run, tmp_path, name):
    rows = read_rows(published.FOLDER / name)
    split = ("response", "model_image_size", "published_correct")
    samples = [{key: value for key, value in row.items() if key not in split} for row in rows]
    answers = [{"question": row["sample_id"], **{key: row[key] for key in split}} for row in reversed(rows)]
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    words = ("--predictions", write_rows(tmp_path / "answers.jsonl", *answers), "--id", "sample_id=question")
    words = (*words, "--response-space", published.space(published.FOLDER / name), "--recipe", "click")
    (figures,) = result_of(run("eval", tmp_path / "samples.json", *words, "--json").out)
    assert (figures["correct"], figures["valid"], figures["warnings"]) == (*published.CORRECT[name], [])
    assert figures["joined"]["annotations"] == figures["joined"]["predictions"] == len(rows)
    assert run("score", tmp_path / "samples.json", *words, "--out", tmp_path / "out.jsonl").code == 0
    scored = read_rows(tmp_path / "out.jsonl")
    assert [row["sample_id"] for row in scored] == [row["sample_id"] for row in reversed(rows)]
    assert [row["acc"] for row in scored] == [float(row["published_correct"]) for row in scored]
