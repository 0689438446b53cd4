"""The same rows in every format, from standard input and in directories: the same scores, to the last bit."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards import catalogue
from tests.cli.command import CLICK, read_rows, result_of, write_rows
from tests.tables.written import FORMATS, parquet, write

OTHERS = [name for name in FORMATS if name != "parquet"]
RECIPES = {
    "click": CLICK,
    "ui-r1": ("--recipe", "ui-r1", "--response-space", "model_pixel"),
    "ui-agile": ("--recipe", "ui-agile", "--response-space", "model_pixel"),
    "gui-rcpo": ("--recipe", "gui-rcpo", "--response-space", "pixel"),
}


def rows_of(name):
    """A recipe's example, and other responses to its target, of two samples."""
    example = catalogue.recipe(name, **catalogue.shown_with(name)).example
    responses = [example.response, *example.group, "", "512", "(201.3, 149.7)", 'nothing, and\n"quotes"', "(1, 1)"]
    sizes = {"image_size": example.image_size, "model_image_size": example.model_image_size}
    rows = [
        {"sample_id": sample, "kind": kind, "response": response, "target": example.target,
         **{key: size for key, size in sizes.items() if size}}
        for sample, kind in (("007", "icon"), ("b", "text")) for response in responses
    ]  # fmt: skip
    return json.loads(json.dumps(rows))  # tuples as lists


def outcome(run, source, name):
    """The evaluation and the scores of a file, but for its name."""
    out = source.parent / "out.parquet"
    evaluated = run("eval", source, *RECIPES[name], "--by", "kind", "--json")
    assert run("score", source, *RECIPES[name], "--out", out).code == 0
    (result,) = result_of(evaluated.out)
    assert result.pop("file") == str(source)
    table = pq.read_table(out)
    return result, table.drop_columns([each for each in ("target", "image_size", "model_image_size")
                                       if each in table.column_names])  # fmt: skip


@pytest.mark.parametrize("name", RECIPES)
def test_all_formats_score_alike(run, tmp_path, name):
    rows = rows_of(name)
    expected, scores = outcome(run, write(tmp_path, "parquet", rows), name)
    assert 0 < expected["correct"] < expected["valid"] == len(rows)
    for suffix in OTHERS:
        evaluated, scored = outcome(run, write(tmp_path, suffix, rows), name)
        assert evaluated == expected, suffix
        assert scored.equals(scores), suffix


@pytest.mark.parametrize("suffix", OTHERS)
def test_rollouts_of_every_format_are_scored_and_counted_alike(run, tmp_path, suffix):
    rows = [{**row, "rollout": place, "round": 1, "token_length": 9} for place, row in enumerate(rows_of("click"))]
    tables, counts = [], []
    for each in ("parquet", suffix):
        source, out = write(tmp_path, each, rows), tmp_path / f"scored-{each}"
        assert run("pool", "score", source, *CLICK, "--out", out).code == 0
        names = ["sample_id", "rollout", "round", "token_length", "response", "total", "acc", "reason", "kind"]
        tables.append(pa.concat_tables(map(pq.read_table, sorted(out.glob("*.parquet")))).select(names))
        rolled = write(tmp_path, each, [{**row, "acc": place % 3 == 0} for place, row in enumerate(rows)])
        counts.append(run("pool", "stats", rolled, "--round", 1, "--json", "--out", tmp_path / "stats.jsonl").code)
        counts.append(read_rows(tmp_path / "stats.jsonl"))
    assert tables[0].equals(tables[1])
    assert counts[:2] == counts[2:]


@pytest.mark.parametrize("suffix", OTHERS)
def test_data_sets_of_every_format_are_converted_alike(run, tmp_path, suffix):
    rows = [{"id": f"00{n}", "query": "Save, now", "bbox": [n, 2, 30, 40], "width": 640, "height": 480} for n in (1, 2)]
    written = []
    for each in ("parquet", suffix):
        source, out = write(tmp_path, each, rows), tmp_path / "out.jsonl"
        assert run("convert", source, "--out", out, "--for", "verl", "--target-space", "pixel").code == 0
        texts = each.startswith("csv")  # whose further columns stay texts
        written.append([{**row, **({"width": 640, "height": 480} if texts else {})} for row in read_rows(out)])
        assert texts is (read_rows(out)[0]["width"] == "640")
    for one, other in zip(*written, strict=True):
        assert {**one, "bbox": None} == {**other, "bbox": None}


def piped(*words, content=b"", cwd=None):
    """Run a command that reads from a pipe."""
    command = [sys.executable, "-m", "grounding_rewards", *map(str, words)]
    done = subprocess.run(command, input=content, capture_output=True, timeout=60, check=False, cwd=cwd)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "made"), [("-", FORMATS["jsonl"]), ("-", parquet), ("/dev/stdin", parquet)])
def test_standard_input_of_eval(run, tmp_path, name, made):
    rows = rows_of("click")
    source = write_rows(tmp_path / "in.jsonl", *rows)
    (expected,) = result_of(run("eval", source, *CLICK, "--json").out)
    code, out, _ = piped("eval", name, *CLICK, "--json", content=made(rows))
    assert (code, result_of(out)) == (0, [{**expected, "file": name}])


@pytest.mark.slow
def test_standard_input_of_other_commands(run, tmp_path):
    rows, made = rows_of("click"), FORMATS["jsonl"]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    assert run("score", source, *CLICK, "--out", tmp_path / "one.jsonl").code == 0
    code, _, err = piped("score", "-", *CLICK, "--out", tmp_path / "other.jsonl", content=made(rows))
    assert (code, err.startswith(f"{len(rows)} rows scored with click: mean total ")) == (0, True)
    one, other = read_rows(tmp_path / "one.jsonl"), read_rows(tmp_path / "other.jsonl")
    assert [(row["total"], row["x"], row["reason"]) for row in one] == [
        (row["total"], row["x"], row["reason"]) for row in other
    ]
    code, out, _ = piped("explain", "--recipe", "click", *CLICK[2:], "-", "--row", 3, "--json", content=made(rows))
    assert (code, result_of(out)["response"]) == (0, rows[3]["response"])
    sized = [{**row, "image_size": [640, 480], "query": "Save"} for row in rows]
    words = ("--for", "trl", "--target-space", "pixel")
    assert piped("convert", "-", "--out", "out.parquet", *words, content=made(sized), cwd=tmp_path)[0] == 0
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == len(rows)


@pytest.mark.slow
def test_what_a_shell_passes(tmp_path):
    write_rows(tmp_path / "in.jsonl", *rows_of("click"))
    line = f'"$0" -m grounding_rewards eval <(cat in.jsonl) {" ".join(CLICK)} --json'
    done = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, result_of(done.stdout)[0]["valid"]) == (0, 12)


def test_training_data_from_a_stream_cannot_be_named_either(run, tmp_path, monkeypatch):
    rows = [{"sample_id": "a", "acc": place % 2, "rollout": place} for place in range(4)]
    source, data = write_rows(tmp_path / "in.jsonl", *rows), b'{"sample_id": "a", "prompt": "Save"}\n'
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    words = ("pool", "next", source, "--zero-share", 0, "--data", "-", "--out", tmp_path / "out.jsonl")
    assert run.error(*words).startswith("-: is a stream, and manifests")
    assert os.listdir(tmp_path) == ["in.jsonl"]


def test_statistics_that_are_compressed(run, tmp_path):
    source = write_rows(
        tmp_path / "in.jsonl", *({"sample_id": "a", "acc": place, "rollout": place} for place in (0, 1))
    )
    assert run("pool", "stats", source, "--out", tmp_path / "stats.jsonl").code == 0
    (tmp_path / "stats.jsonl.gz").write_bytes(gzip.compress((tmp_path / "stats.jsonl").read_bytes()))
    assert run("pool", "next", tmp_path / "stats.jsonl.gz", "--zero-share", 0, "--out", tmp_path / "o.jsonl").code == 0
    assert read_rows(tmp_path / "o.jsonl")[0]["sample_id"] == "a"


@pytest.mark.slow
def test_the_copy_of_a_stream_goes_where_the_command_is_stopped(tmp_path):
    command = [sys.executable, "-m", "grounding_rewards", "eval", "-", *CLICK]
    reading = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    with reading:
        deadline = time.monotonic() + 60
        while not os.listdir(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(os.listdir(tmp_path)) == 1
        reading.terminate()
        assert (reading.wait(60), reading.stderr.read()) == (143, b"stopped by SIGTERM\n")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def folder(tmp_path):
    """Rows of one group recipe in three shards, so that groups lie across them."""
    rows = rows_of("gui-rcpo")
    for place in range(3):
        (tmp_path / f"shards/test-{place}.parquet").parent.mkdir(exist_ok=True)
        (tmp_path / f"shards/test-{place}.parquet").write_bytes(parquet(rows[place::3]))
    return tmp_path / "shards"


def test_groups_across_the_files_of_a_directory(run, tmp_path, folder):
    rows = rows_of("gui-rcpo")
    ordered = [row for place in range(3) for row in rows[place::3]]
    expected, scores = outcome(run, write(tmp_path, "parquet", ordered), "gui-rcpo")
    evaluated, scored = outcome(run, folder, "gui-rcpo")
    assert (evaluated, scored.equals(scores)) == (expected, True)
    words = ("explain", "--recipe", "gui-rcpo", *CLICK[2:], "--row", 7, "--json")
    assert result_of(run(*words, folder).out) == result_of(run(*words, tmp_path / "in.parquet").out)


@pytest.mark.slow
def test_a_data_set_that_was_saved(run, tmp_path):
    import datasets  # slow

    rows = rows_of("gui-rcpo")
    saved = datasets.Dataset.from_list(rows)
    datasets.DatasetDict(test=saved, train=saved.select(range(4))).save_to_disk(
        tmp_path / "saved", num_shards={"test": 3, "train": 1}
    )
    expected, _ = outcome(run, write(tmp_path, "parquet", rows), "gui-rcpo")
    for words in ((tmp_path / "saved", "--split", "test"), (tmp_path / "saved" / "test",)):
        (result,) = result_of(run("eval", *words, *RECIPES["gui-rcpo"], "--by", "kind", "--json").out)
        assert {**result, "file": 0} == {**expected, "file": 0}
