"""``grounding-rewards eval``: figures, tables for people, JSON for programs."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import result_of, write_rows

BOX = {"bbox": [0, 0, 9, 9]}


def row(response, target=BOX, **fields):
    return {"sample_id": "s", "response": response, "target": target, "image_size": [100, 100], **fields}


@pytest.fixture
def files(tmp_path):
    first = [row("(5, 5)", kind="icon"), row("(5, 5)", kind=["icon", "text"]), row("(50, 5)"), row("hm", kind="text")]
    second = [row("(500, 5)", kind="text"), row("refusal", {"refusal": True}, kind="[bold]x"), row("(5, 5)", kind=None)]
    return write_rows(tmp_path / "run-one.jsonl", *first), write_rows(tmp_path / "run-two.jsonl", *second)


def test_json_is_a_list_with_an_entry_a_file(run, files):
    result = run("eval", *files, "--response-space", "pixel", "--json")
    assert (result.code, result.err) == (0, "")
    first, second = result_of(result.out)
    assert first == {
        "file": str(files[0]),
        "recipe": {"name": "click", "response_space": "pixel"},
        "warnings": [],
        "columns": {"response": "response", "target": "target", "image_size": "image_size", "id": "sample_id"},
        "findings": [],
        "n": 4,
        "correct": 2,
        "accuracy": 0.5,
        "interval": pytest.approx([0.150039, 0.849961], abs=1e-6),
        "parse_rate": 0.75,
        "not_valid": 0,
        "reasons": {"OK": 3, "NO_ANSWER": 1},
        "refusals": {"targets": 0, "correct": 0, "false_clicks": 0, "false_refusals": 0},
    }
    assert (second["file"], second["n"], second["correct"]) == (str(files[1]), 3, 2)
    assert second["reasons"] == {"OK": 1, "OUT_OF_IMAGE": 1, "REFUSED": 1}
    assert second["refusals"] == {"targets": 1, "correct": 1, "false_clicks": 0, "false_refusals": 0}


def test_one_file_is_a_list_too(run, files):
    found = result_of(run("eval", files[0], "--response-space", "pixel", "--json", "--by", "kind").out)
    assert len(found) == 1
    counts = {value: (part["n"], part["correct"]) for value, part in found[0]["by"]["kind"].items()}
    assert counts == {"icon": (2, 2), "text": (2, 1), "(none)": (1, 0)}


def test_table_of_one_file(run, files):
    result = run("eval", files[0], "--response-space", "pixel", "--by", "kind")
    assert (result.code, result.err) == (0, "")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert [line for line in lines if line and not line.startswith("──")] == [
        "file n correct accuracy 95 % interval parsed",
        "run-one 4 2 50.0 % 15.0 - 85.0 75.0 %",
        "Responses by reason",
        "reason rows share",
        "OK 3 75.0 %",
        "NO_ANSWER 1 25.0 %",
        "By kind",
        "kind n correct accuracy 95 % interval parsed",
        "icon 2 2 100.0 % 34.2 - 100.0 100.0 %",
        "text 2 1 50.0 % 9.5 - 90.5 50.0 %",
        "(none) 1 0 0.0 % 0.0 - 79.3 100.0 %",
    ]


def test_tables_of_several_files(run, files):
    result = run("eval", *files, "--response-space", "pixel", "--by", "kind")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert [line for line in lines if line and not line.startswith("──")] == [
        "file n correct accuracy 95 % interval parsed",
        "run-one 4 2 50.0 % 15.0 - 85.0 75.0 %",
        "run-two 3 2 66.7 % 20.8 - 93.9 100.0 %",
        "Responses by reason",
        "reason file rows share",
        "OK one 3 75.0 %",
        "two 1 33.3 %",
        "NO_ANSWER one 1 25.0 %",
        "OUT_OF_IMAGE two 1 33.3 %",
        "REFUSED two 1 33.3 %",
        "Refusals",
        "file to refuse refused clicked refused wrongly",
        "one 0 0 0 0",
        "two 1 1 0 0",
        "By kind",
        "kind file n correct accuracy 95 % interval",
        "text one 2 1 50.0 % 9.5 - 90.5",
        "two 1 0 0.0 % 0.0 - 79.3",
        "(none) one 1 0 0.0 % 0.0 - 79.3",
        "two 1 1 100.0 % 20.7 - 100.0",
        "icon one 2 2 100.0 % 34.2 - 100.0",
        "[bold]x two 1 1 100.0 % 20.7 - 100.0",
    ]


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


def test_values_cannot_paint_the_terminal(run, tmp_path):
    source = write_rows(tmp_path / "a.jsonl", row("(5, 5)", kind="\x1b[31mred \ud800"))
    out = run("eval", source, "--response-space", "pixel", "--by", "kind").out
    assert "\\x1b[31mred \\ud800" in out


def test_parquet_reads_only_what_it_needs(run, tmp_path):
    rows = [{"response": "(500, 500)", "target": BOX, "image_size": [10, 10], "image": b"\x89PNG", "kind": ["a", "b"]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    words = ("eval", tmp_path / "a.parquet", "--response-space", "thousandths", "--by", "kind", "--json")
    found = result_of(run(*words).out)[0]
    assert (found["n"], found["correct"], list(found["by"]["kind"])) == (1, 1, ["a", "b"])


def test_batches_add_up(run, tmp_path):
    rows = [row("(5, 5)" if number % 4 else "hm", kind=str(number % 3)) for number in range(20_000)]
    source = write_rows(tmp_path / "a.jsonl", *rows)
    found = result_of(run("eval", source, "--response-space", "pixel", "--by", "kind", "--json").out)[0]
    assert (found["n"], found["correct"], found["parse_rate"]) == (20_000, 15_000, 0.75)
    assert {value: part["n"] for value, part in found["by"]["kind"].items()} == {"0": 6667, "1": 6667, "2": 6666}


def test_another_recipe_and_other_columns(run, tmp_path):
    rows = [{"answer": "(200, 150)", "truth": [0.1, 0.1, 0.3, 0.2]}]
    source = write_rows(tmp_path / "a.jsonl", *rows)
    words = ("--recipe", "gelato", "--response-column", "answer", "--target-column", "truth", "--json")
    found = result_of(run("eval", source, "--response-space", "thousandths", *words).out)[0]
    assert found["accuracy"] == 1.0
    assert found["recipe"]["name"] == "gelato"


def test_bad_targets(run, tmp_path):
    source = write_rows(tmp_path / "a.jsonl", row("(5, 5)"), row("(5, 5)", {"bbox": [9, 9, 0, 0]}))
    words = ("eval", source, "--response-space", "pixel")
    assert run.error(*words, "--json").startswith(
        f"{source}, row 1 (line 2): target of sample 's', field 'bbox': got [9, 9, 0, 0]; expected x1 <= x2"
    )
    found = result_of(run(*words, "--json", "--bad-target", "abstain").out)[0]
    assert (found["n"], found["not_valid"], found["accuracy"]) == (1, 1, 1.0)
    assert found["reasons"] == {"OK": 1, "BAD_TARGET": 1}


def test_the_response_space_may_be_the_recipes_own(run, tmp_path):
    source = write_rows(tmp_path / "a.jsonl", row("(500, 250)", [0.4, 0.2, 0.6, 0.3]))
    words = ("eval", source, "--recipe", "gelato", "--json")
    (own,), (unit,) = result_of(run(*words).out), result_of(run(*words, "--response-space", "unit").out)
    assert (own["correct"], own["reasons"], own["recipe"]) == (1, {"OK": 1}, {"name": "gelato"})
    assert (unit["correct"], unit["reasons"]) == (0, {"OUT_OF_IMAGE": 1})


def test_mistakes(run, files, tmp_path):
    assert run.error("eval", files[0]) == (
        "click needs response_space, the space that the model answers in: pixel, model_pixel, unit, thousandths; or "
        "family, or model (on the command line --response-space, --family and --pipeline)"
    )
    message = run.error("eval", files[0], "--response-space", "pixels")
    assert "'pixels'; use one of pixel, model_pixel, unit, thousandths" in message
    assert run.error("eval") == "Missing argument 'FILE...'; see grounding-rewards eval --help"
    assert run.error("eval", files[0], "--response-space", "pixel", "--by", "kinds") == (
        f"{files[0]}: no column 'kinds' (--by); did you mean 'kind'? "
        "It has: sample_id, response, target, image_size, kind"
    )
    missing = tmp_path / "missing.jsonl"
    for words in (("--json",), ()):
        assert run.error("eval", files[0], missing, "--response-space", "pixel", *words) == f"{missing}: no such file"
    bad = write_rows(tmp_path / "bad.jsonl", row(5))
    assert run.error("eval", bad, "--response-space", "pixel") == (
        f"{bad}, row 0 (line 1): response: got int 5; expected a string or null"
    )


def test_help(run):
    result = run("eval", "--help")
    text = " ".join(result.out.split())
    assert result.code == 0
    assert "grounding-rewards eval responses.jsonl --response-space thousandths --by ui_type" in text
    assert "pixel, model_pixel, unit, thousandths" in " ".join(text.replace("│", " ").split())


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
