"""``eval --paired`` and ``--consensus`` beside their session: draws, streams, predictions and directories."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from tests.cli.command import CLICK, result_of, write_rows

BOX = {"bbox": [10, 10, 60, 40]}
HIT, MISS = "(20, 20)", "(300, 200)"


def rows(hits, **fields):
    return [
        {"sample_id": f"s{sample}", "image": f"{sample // 2}.png", "kind": ["icon", "text"][sample % 2],
         "response": HIT if hit == "1" else MISS, "target": BOX, **fields}
        for sample, hit in enumerate(hits)
    ]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    first, second = rows("11000101"), rows("11110111")
    return write_rows(tmp_path / "one.jsonl", *first), write_rows(tmp_path / "two.jsonl", *reversed(second))


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.startswith(" ──")]


def test_tables_fit_the_terminal_and_keep_every_digit(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "one.jsonl", *rows("1" * 60 + "0" * 60))
    write_rows(tmp_path / "two.jsonl", *rows("0" * 60 + "1" * 60))
    out = run("eval", "one.jsonl", "two.jsonl", *CLICK, "--paired").out
    assert max(map(len, out.splitlines())) <= 80
    assert lines(out)[-3].endswith(" 1 60, 60 1")


def test_seed(run, tmp_path):
    files = []
    for number in (0x5A5A5A, 0x13579BDF02):
        some = rows(f"{number:048b}")
        for sample, row in enumerate(some):
            row["image"] = f"{int(sample**0.5)}.png"  # of 1, 3, 5 ... samples
        files.append(write_rows(tmp_path / f"{number}.jsonl", *some))
    first, again, other = (
        result_of(run("eval", *files, *CLICK, "--paired", "--json", "--seed", seed).out)["paired"] for seed in (0, 0, 1)
    )
    assert first == again
    assert first["interval"] != other["interval"]
    assert first == {**other, "interval": first["interval"]}


def test_annotations_with_the_answers_of_two_models(run, tmp_path):
    samples = [{name: value for name, value in row.items() if name != "response"} for row in rows("0000")]
    annotations = write_rows(tmp_path / "samples.jsonl", *samples)
    answers = [
        write_rows(tmp_path / f"{name}.jsonl", *({key: row[key] for key in ("sample_id", "response")} for row in some))
        for name, some in (("one", rows("1000")), ("two", rows("111")))
    ]  # fmt: skip
    words = "eval", annotations, "--predictions", answers[0], "--predictions", answers[1], *CLICK
    whole = result_of(run(*words, "--paired", "--json").out)
    assert [entry["file"] for entry in whole["files"]] == [str(each) for each in answers]
    paired = whole["paired"]
    # The fourth sample has no answer of the second model, which is wrong; images are those of the annotations.
    assert (paired["n"], paired["images"], paired["only_first"], paired["only_second"]) == (4, 2, 0, 2)
    result = run(*words, "--paired")
    assert result.err.splitlines() == [
        f"warning: {answers[1]}: 1 of 4 samples have no prediction, such as 's3': they count as wrong"
    ]
    # Without --paired the last one counts, as ever.
    assert [entry["correct"] for entry in result_of(run(*words, "--json").out)] == [3]


def test_a_stream_is_read_once(run, files, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(files[0].read_bytes())))
    assert result_of(run("eval", "-", files[1], *CLICK, "--paired", "--json").out)["paired"]["n"] == 8
    text = "--paired: - is a stream, which is read once; write it to a file"
    assert run.error("eval", "-", "/dev/stdin", *CLICK, "--paired") == text
    twice = "--predictions", files[0], "--predictions", files[1]
    assert run.error("eval", "-", *twice, *CLICK, "--paired") == text


def test_the_consensus_of_rollouts_across_the_files_of_a_directory(run, tmp_path):
    texts = {"a": [HIT, MISS, HIT, "?"], "b": [MISS, MISS, MISS, HIT], "c": ["?", "?"], "d": [HIT, HIT, "?"]}
    some = [{"sample_id": name, "response": text, "target": BOX} for name, each in texts.items() for text in each]
    (tmp_path / "run").mkdir()
    for shard in range(2):
        write_rows(tmp_path / "run" / f"{shard}.parquet", *some[shard::2])
    whole = write_rows(tmp_path / "run.jsonl", *some)
    parted, one = (
        result_of(run("eval", file, *CLICK, "--consensus", "--json").out)[0] for file in (tmp_path / "run", whole)
    )
    assert {**parted, "file": ""} == {**one, "file": ""}
    assert (one["valid"], one["correct"], one["singles"]["rollouts"]) == (4, 2, 13)
