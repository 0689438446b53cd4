"""``--predictions`` and ``--id``: annotations in one file, answers in another, the same verdicts as from one file."""

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
from grounding_rewards.batch.table_scorer import Columns, TableScorer
from grounding_rewards.tables import open_table
from grounding_rewards.tables.matched import MatchedTable
from tests.cli import test_published_verdicts as published
from tests.cli.command import read_rows, result_of, write_rows
from tests.cli.test_explain import as_json
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


@pytest.mark.parametrize("first", ["jsonl", "json", "csv", "parquet", "jsonl.gz"])
@pytest.mark.parametrize("second", ["jsonl", "json", "csv", "parquet", "csv.zst"])
def test_formats_on_both_sides(run, tmp_path, first, second):
    names = tmp_path / f"samples.{first}", tmp_path / f"answers.{second}"
    for name, rows, suffix in zip(names, (SAMPLES, ANSWERS), (first, second), strict=True):
        name.write_bytes(FORMATS[suffix](rows))
    figures = evaluated(run, *names, "--by", "kind", "--by", "model")
    assert (figures["joined"], figures["n"], figures["correct"]) == (COUNTS, 3, 1)
    assert figures["reasons"] == {"OK": 2, "NO_ANSWER": 1}
    counts = {value: (part["n"], part["correct"]) for value, part in figures["by"]["kind"].items()}
    assert counts == {"text": (2, 1), "icon": (1, 0)}


def test_several_predictions_of_a_sample_count_each_and_a_note_says_so(run, files):
    several = "note: second and later predictions of a sample, each of which counts as a row: 1\n"
    assert run("eval", files[0], "--predictions", files[1], *CLICK).err == several
    write_rows(files[1], *ANSWERS[:2])
    assert run("eval", files[0], "--predictions", files[1], *CLICK).err == ""


def test_files_the_wrong_way_round_are_an_error(run, files):
    assert run.error("eval", files[1], "--predictions", files[0], *CLICK) == (
        f"--predictions: {files[0]} has no column of responses, and {files[1]} has; name the annotations first, and "
        "the answers by --predictions"
    )


def test_samples_without_an_answer_count_as_wrong_with_a_warning(run, files):
    write_rows(files[1], ANSWERS[0], {"sample_id": "z", "response": "(200, 150)"})
    figures = evaluated(run, *files)
    assert (figures["n"], figures["correct"], figures["reasons"]) == (2, 1, {"OK": 1, "EMPTY": 1})
    assert figures["joined"] == {**COUNTS, "predictions": 2, "without_prediction": 1, "without_annotation": 1}
    assert figures["warnings"] == [
        "1 of 2 samples have no prediction, such as 'a': they count as wrong",
        f"1 of 2 predictions belong to no sample of {files[0]}, such as 'z': they are left out",
    ]
    assert run("eval", files[0], "--predictions", files[1], *CLICK, "--strict").code == 1


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


def test_score_writes_the_joined_rows(run, files, tmp_path):
    write_rows(files[1], *ANSWERS[:1])
    for name in ("out.jsonl", "out.parquet"):
        words = ("--recipe", "click", *CLICK, "--out", tmp_path / name, "--json")
        summary = result_of(run("score", files[0], "--predictions", files[1], *words).out)
        assert (summary["file"], summary["rows"]) == (str(files[0]), 2)
        assert summary["joined"] == {**COUNTS, "predictions": 1, "without_prediction": 1}
    hit, empty = read_rows(tmp_path / "out.jsonl")
    expected = {**SAMPLES[1], "response": "(200, 150)", "model": "m", "total": 1.0, "acc": 1.0}
    assert {name: hit[name] for name in expected} == expected
    assert (empty["sample_id"], empty["response"], empty["acc"], empty["reason"]) == ("a", None, 0.0, "EMPTY")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == [hit, empty]


@pytest.mark.parametrize("side", [0, 1])
def test_score_writes_over_neither_file(run, files, side):
    words = ("--recipe", "click", *CLICK, "--out", files[side])
    text = run.error("score", files[0], "--predictions", files[1], *words)
    assert text == f"{files[side]}: is the input itself; write to another file"
    files[side].with_name("link.jsonl").hardlink_to(files[side])
    words = (*words[:-1], files[side].with_name("link.jsonl"))
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


def test_rewards_of_groups_compare_the_answers_of_a_sample(run, tmp_path):
    samples = [{"key": name, "target": None} for name in "ab"]
    texts = [("b", "(1, 2)"), ("a", "(10, 10)"), ("b", "?"), ("a", "(10, 10)"), ("a", "(900, 900)")]
    answers = [{"question": key, "response": text} for key, text in texts]
    files = write_rows(tmp_path / "samples.jsonl", *samples), write_rows(tmp_path / "answers.jsonl", *answers)
    merged = write_rows(
        tmp_path / "merged.jsonl", *[{"key": key, "response": text, "target": None} for key, text in texts]
    )
    words = ("--recipe", "gui-rcpo", *CLICK, "--out", tmp_path / "out.jsonl")
    assert run("score", *files[:1], "--predictions", files[1], "--id", "key=question", *words).code == 0
    joined = [(row["key"], row["total"]) for row in read_rows(tmp_path / "out.jsonl")]
    assert run("score", merged, "--id-column", "key", *words).code == 0
    assert joined == [(row["key"], row["total"]) for row in read_rows(tmp_path / "out.jsonl")]
    assert [total for _, total in joined][1::2] == [1.0, 1.0]
    assert joined[4] == ("a", 0.5)


def test_samples_are_named_by_a_composite_and_by_id_column(run, tmp_path):
    samples = [{"file": f, "text": t, "part": "p", "target": None} for f, t in (("1", "x"), ("1", "y"))]
    answers = [{"file": "1", "text": t, "response": r} for t, r in (("x", "(1, 1)"), ("x", "(1, 1)"), ("y", "(9, 9)"))]
    files = write_rows(tmp_path / "samples.jsonl", *samples), write_rows(tmp_path / "answers.jsonl", *answers)
    words = ("--recipe", "gui-rcpo", *CLICK, "--out", tmp_path / "out.jsonl", "--id", "file,text")
    totals = []
    for more in ((), ("--id-column", "part")):
        assert run("score", files[0], "--predictions", files[1], *words, *more).code == 0
        totals.append([row["total"] for row in read_rows(tmp_path / "out.jsonl")])
    assert totals == [[1.0, 1.0, 1.0], pytest.approx([0.901867, 0.901867, 0.803733], abs=1e-6)]


def test_a_joined_row_is_explained(run, files):
    words = ("click", *CLICK, files[0], "--predictions", files[1], "--row")
    assert [as_json(run, *words, row)["response"] for row in range(3)] == ["(200, 150)", "(900, 150)", "?"]
    text = run.error("explain", "--recipe", *words, 3)
    assert text == f"{files[0]}: --row: got 3; expected one from 0 to 2"


def test_errors_name_both_rows(run, files):
    write_rows(files[0], SAMPLES[0], {**SAMPLES[1], "target": {"bbox": [1, 2]}})
    text = run.error("eval", files[0], "--predictions", files[1], *CLICK)
    assert text.startswith(f"{files[0]}, row 1 (line 2), with {files[1]}, row 0 (line 1): target of sample 'b', field")
    write_rows(files[0], SAMPLES[0])
    write_rows(files[1], ANSWERS[1], {"sample_id": "a", "response": 5})
    text = run.error("eval", files[0], "--predictions", files[1], *CLICK)
    assert text == (
        f"{files[0]}, row 0 (line 1), with {files[1]}, row 1 (line 2): response: got int 5; expected a string or null"
    )


class TestRefused:
    def test_several_files(self, run, files):
        text = run.error("eval", files[0], files[0], "--predictions", files[1])
        assert text == "--predictions: got it with 2 files; expected one file, its annotations"
        text = run.error("pool", "score", *files, "--predictions", files[1], "--recipe", "gelato", "--out", "out")
        assert text == "--predictions: got it with 2 files; expected one file, its annotations"

    def test_no_file(self, run, files):
        text = run.error("explain", "--recipe", "gelato", "--predictions", files[1])
        assert text == "--predictions: got it with 0 files; expected one file, its annotations"

    @pytest.mark.parametrize("verb", [("eval",), ("score",), ("pool", "score")])
    def test_an_id_without_predictions(self, run, files, verb):
        words = () if verb == ("eval",) else ("--out", "out.jsonl")
        text = run.error(*verb, files[0], "--id", "key", "--recipe", "gelato", *words)
        assert text == "--id: got it without --predictions, the answers that it joins to the annotations"

    def test_two_streams(self, run):
        text = run.error("eval", "-", "--predictions", "/dev/stdin", *CLICK)
        assert text == "--predictions: both files are standard input; write one of them to a file"

    def test_a_response_column_that_answers_lack(self, run, files):
        text = run.error("eval", files[0], "--predictions", files[1], *CLICK, "--response-column", "kind")
        assert text == f"{files[1]}: no column 'kind' (--response-column). It has: sample_id, response, model"


def test_a_named_target_stays_that_of_annotations(run, tmp_path):
    samples = write_rows(tmp_path / "samples.jsonl", {"id": 1, "output": [100, 100, 300, 200], **SIZE})
    answers = write_rows(tmp_path / "answers.jsonl", {"id": 1, "output": "text", "response": "(200, 150)"})
    assert evaluated(run, samples, answers, "--target-column", "output")["correct"] == 1


class TestPool:
    WORDS = ("--recipe", "click", *CLICK, "--json")

    def score(self, run, files, out, *words):
        result = run("pool", "score", files[0], "--predictions", files[1], *self.WORDS, "--out", out, *words)
        assert result.code == 0, result.err
        return result_of(result.out)

    def test_rollouts(self, run, files, tmp_path):
        write_rows(files[0], *SAMPLES, {**SAMPLES[0], "sample_id": "c"})
        summary = self.score(run, files, tmp_path / "out")
        assert summary["joined"] == {**COUNTS, "annotations": 3, "without_prediction": 1}
        assert summary["id"] == {"annotations": ["sample_id"], "predictions": ["sample_id"]}
        assert [each["path"] for each in summary["inputs"]] == [str(file) for file in files]
        assert summary["warnings"] == ["1 of 3 samples have no prediction, such as 'c': they are left out"]
        rows = pq.read_table(tmp_path / "out").to_pylist()
        assert [(row["sample_id"], row["rollout"], row["acc"], row["kind"], row["model"]) for row in rows] == [
            ("b", 0, 1.0, "text", "m"), ("a", 1, 0.0, "icon", "m"), ("b", 2, 0.0, "text", "m"),
        ]  # fmt: skip
        assert self.score(run, files, tmp_path / "out")["pieces"] == {"made": 0, "found": 1}

    def test_groups_and_names(self, run, tmp_path):
        samples = [{"key": name, "target": None} for name in "ab"]
        answers = [{"q": key, "response": text, "rollout": n} for n, (key, text) in enumerate(
            (("b", "(1, 2)"), ("a", "(10, 10)"), ("a", "(10, 10)"), ("a", "(900, 900)"))
        )]  # fmt: skip
        files = write_rows(tmp_path / "samples.jsonl", *samples), write_rows(tmp_path / "answers.jsonl", *answers)
        self.score(run, files, tmp_path / "out", "--recipe", "gui-rcpo", "--id", "key=q")
        rows = pq.read_table(tmp_path / "out").to_pylist()
        assert [(row["sample_id"], row["rollout"], row["total"]) for row in rows] == [
            ("a", 1, 1.0), ("a", 2, 1.0), ("a", 3, 0.5), ("b", 0, 1.0),
        ]  # fmt: skip

    def test_other_columns_of_the_id_are_another_directory(self, run, tmp_path):
        samples = [{"sample_id": n, "id": 1 - n, "target": BOX, **SIZE} for n in (0, 1)]
        answers = [{"sample_id": n, "id": n, "response": ""} for n in (0, 1)]
        files = write_rows(tmp_path / "samples.jsonl", *samples), write_rows(tmp_path / "answers.jsonl", *answers)
        self.score(run, files, tmp_path / "out", "--id-column", "id")
        words = (*self.WORDS, "--out", tmp_path / "out", "--id-column", "id", "--id", "id")
        result = run("pool", "score", files[0], "--predictions", files[1], *words)
        assert (result.code, result.out) == (2, "")
        assert 'made with id.annotations ["sample_id"], and not ["id"]; write to another directory' in result.err

    def test_streams_are_refused(self, run, files):
        text = run.error("pool", "score", files[0], "--predictions", "-", *self.WORDS, "--out", "out")
        assert text.startswith("-: is a stream, and manifests of pools name files by their hashes")


ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["(5, 5)", "(50, 5)", "?", "", None, "refusal", "(5, 500)"])),
    min_size=1,
    max_size=9,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS)
def test_joined_rows_score_as_those_of_one_file(tmp_path, rows):
    samples = [{"id": n, "target": {"bbox": [0, 0, 9, 9 * n + 1]}, "image_size": [100, 100]} for n in range(5)]
    answers = [{"id": n, "response": text} for n, text in rows]
    left = [{**each, "response": None} for each in samples if each["id"] not in dict(rows)]
    merged = [{**samples[answer["id"]], **answer} for answer in answers] + left
    files = [write_rows(tmp_path / f"{n}.jsonl", *each) for n, each in enumerate((samples, answers, merged))]
    first, second, whole = map(open_table, files)
    scorer = TableScorer(catalogue.recipe("click", response_space="pixel"), Columns(id="id"))
    joined, expected = (
        [
            (row, scored.scores.total[n], scored.scores.acc[n], scored.scores.reason[n])
            for batch in scorer.batches(table, whole=True)
            for scored in [scorer.score(table, batch)]
            for n, row in enumerate(batch.rows)
        ]
        for table in (MatchedTable(first, second), whole)
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
    assert (figures["correct"], figures["n"], figures["warnings"]) == (*published.CORRECT[name], [])
    assert figures["joined"]["annotations"] == figures["joined"]["predictions"] == len(rows)
    assert run("score", tmp_path / "samples.json", *words, "--out", tmp_path / "out.jsonl").code == 0
    scored = read_rows(tmp_path / "out.jsonl")
    assert [row["sample_id"] for row in scored] == [row["sample_id"] for row in reversed(rows)]
    assert [row["acc"] for row in scored] == [float(row["published_correct"]) for row in scored]
