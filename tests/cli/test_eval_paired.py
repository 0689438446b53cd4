"""``grounding-rewards eval --paired``: two files of answers to the same samples."""

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


def test_tables(run, files):
    result = run("eval", *files, *CLICK, "--paired", "--by", "kind")
    assert result.code == 0
    printed = lines(result.out)
    assert printed[:3] == [
        "file n correct accuracy 95 % interval parsed",
        "one 8 4 50.0 % 21.5 - 78.5 100.0 %",
        "two 8 7 87.5 % 52.9 - 97.8 100.0 %",
    ]
    assert printed[printed.index("Paired, in per cent") :] == [
        "Paired, in per cent",
        "pairs A B B - A 95 % interval p only A, B McNemar",
        "all 8 50.0 87.5 +37.5 +0.0 to +75.0 0.5 0, 3 0.25",
        "Paired, by kind",
        "kind pairs A B B - A 95 % interval p only A, B McNemar",
        "icon 4 25.0 75.0 +50.0 +0.0 to +100.0 0.5 0, 2 0.5",
        "text 4 75.0 100.0 +25.0 +0.0 to +75.0 1 0, 1 1",
        f"A: {files[0]}",
        f"B: {files[1]}",
    ]
    assert result.err == "note: --paired: each p is that of its own row; none is corrected for the number of rows\n"


def test_tables_fit_the_terminal_and_keep_every_digit(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "one.jsonl", *rows("1" * 60 + "0" * 60))
    write_rows(tmp_path / "two.jsonl", *rows("0" * 60 + "1" * 60))
    out = run("eval", "one.jsonl", "two.jsonl", *CLICK, "--paired").out
    assert max(map(len, out.splitlines())) <= 80
    assert lines(out)[-3].endswith(" 1 60, 60 1")


def test_json_has_the_files_and_the_comparison(run, files):
    whole = result_of(run("eval", *files, *CLICK, "--paired", "--json").out)
    alone = result_of(run("eval", *files, *CLICK, "--json").out)
    assert whole["files"] == alone
    assert whole["paired"] == {
        "files": [str(file) for file in files], "n": 8, "images": 4, "first": 0.5, "second": 0.875,
        "difference": 0.375, "interval": [0.0, 0.75], "p_value": 0.5, "only_first": 0, "only_second": 3,
        "mcnemar": 0.25, "left_out": [0, 0], "not_valid": 0, "differing_targets": 0, "clustered": True, "warnings": [],
    }  # fmt: skip


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


def test_a_space_for_each_file(run, tmp_path):
    first = write_rows(tmp_path / "one.jsonl", *rows("10"))
    second = write_rows(tmp_path / "two.jsonl", *(
        {**row, "response": "(20, 40)", "image_size": [1000, 500]} for row in rows("11")
    ))  # fmt: skip
    words = "eval", first, second, "--response-space", "pixel,thousandths", "--json"
    assert [entry["correct"] for entry in result_of(run(*words).out)] == [1, 2]
    whole = result_of(run(*words, "--paired").out)
    assert [entry["recipe"]["response_space"] for entry in whole["files"]] == ["pixel", "thousandths"]
    assert (whole["paired"]["difference"], whole["paired"]["differing_targets"]) == (0.5, 0)
    assert run.error(*words[:2], *words[3:]) == (
        "--response-space: got 2 values, pixel,thousandths; expected one, or one for each file (1)"
    )
    three = "qwen3_vl,qwen3_vl,qwen3_vl"
    assert run.error(*words[:3], "--pipeline", three) == (
        f"--pipeline: got 3 values, {three}; expected one, or one for each file (2)"
    )


def test_samples_of_one_file_alone_and_other_targets_are_warnings(run, tmp_path):
    first = write_rows(tmp_path / "one.jsonl", *rows("1010"))
    second = write_rows(tmp_path / "two.jsonl", *rows("11"), *(
        {**row, "sample_id": "new", "target": BOX} for row in rows("1")
    ), {**rows("001")[2], "target": {"bbox": [250, 150, 400, 300]}, "response": MISS})  # fmt: skip
    result = run("eval", first, second, *CLICK, "--paired", "--strict")
    assert result.code == 1
    assert result.err.splitlines()[-3:] == [
        f"warning: samples that {first} alone has, which are left out: 1, such as 's3'",
        f"warning: samples that {second} alone has, which are left out: 1, such as 'new'",
        f"warning: 1 of 3 samples have another target in {second} than in {first}, such as 's2': each answer is "
        "compared with its own file's",
    ]


def test_numbered_rollouts_have_no_exact_test(run, tmp_path):
    many = [row for number in range(2) for row in rows("1100" if number else "1010", rollout=number)]
    first, second = write_rows(tmp_path / "one.jsonl", *many), write_rows(tmp_path / "two.jsonl", *rows("1111"))
    result = run("eval", first, second, *CLICK, "--paired")
    printed = lines(result.out)
    assert printed[printed.index("Paired, in per cent") + 1 :][:2] == [
        "pairs A B B - A 95 % interval p",
        "all 4 50.0 100.0 +50.0 +25.0 to +75.0 0.5",
    ]
    assert result.err == (
        "note: --paired: samples have several rollouts, and each counts with the mean acc of its own; McNemar's test "
        "is for one answer a sample, so that there is none\n"
    )
    # One answer of the two, by consensus, has the test again.
    whole = result_of(run("eval", first, second, *CLICK, "--paired", "--consensus", "--json").out)
    assert [entry["singles"]["rollouts"] for entry in whole["files"]] == [8, 4]
    assert whole["paired"]["mcnemar"] is not None


def test_bad_targets(run, files):
    broken = rows("11111111")
    broken[0]["target"] = {"bbox": [1]}
    write_rows(files[1], *broken)
    assert f"{files[1]}, row 0 (line 1): target of sample 's0'" in run.error("eval", *files, *CLICK, "--paired")
    result = run("eval", *files, *CLICK, "--paired", "--bad-target", "abstain")
    assert "note: --paired: samples without a target that can be used, which are in no pair: 1\n" in result.err
    assert "all 7 " in " ".join(lines(result.out))


def test_two_files_are_needed(run, files):
    asked = "expected two files of answers to the same samples, or one file of annotations and --predictions twice"
    for count, words in ((1, files[:1]), (3, (*files, files[0]))):
        assert run.error("eval", *words, *CLICK, "--paired") == f"--paired: got {count} files; {asked}"
    text = run.error("eval", *files, *CLICK, "--paired", "--predictions", files[0])
    assert text == f"--paired: got 2 files and 1 --predictions; {asked}"
    text = run.error("eval", *files, *CLICK, "--seed", 1)
    assert text == "--seed: got it without --paired, whose draws it is the seed of"
    assert "--id: got it without --predictions" in run.error("eval", *files, *CLICK, "--paired", "--id", "sample_id")


def test_duplicates_and_strangers_are_errors(run, files, tmp_path):
    write_rows(files[1], *rows("11"), *rows("1"))
    assert "sample 's0' is in row 0 (line 1) already" in run.error("eval", *files, *CLICK, "--paired")
    write_rows(files[1], {**rows("1")[0], "sample_id": "x"})
    assert run.error("eval", *files, *CLICK, "--paired") == (
        f"--paired: no sample is in both files: {files[0]} has 's0', 's1', 's2'; {files[1]} has 'x'; --id-column names "
        "the column of their names"
    )


def test_a_stream_is_read_once(run, files, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(files[0].read_bytes())))
    assert result_of(run("eval", "-", files[1], *CLICK, "--paired", "--json").out)["paired"]["n"] == 8
    text = "--paired: - is a stream, which is read once; write it to a file"
    assert run.error("eval", "-", "/dev/stdin", *CLICK, "--paired") == text
    twice = "--predictions", files[0], "--predictions", files[1]
    assert run.error("eval", "-", *twice, *CLICK, "--paired") == text
