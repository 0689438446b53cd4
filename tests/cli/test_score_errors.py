"""``grounding-rewards score`` when something is wrong: one line, exit code 2, and never half an output."""

from __future__ import annotations

import os
import signal

import pytest

from grounding_rewards.scoring import Recipe
from tests.children import run_child
from tests.cli.command import CLICK, HIT, names, write_rows


def test_a_missing_size_names_the_column(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"response": "(5, 5)", "target": {"bbox": [0, 0, 9, 9]}})
    message = run.error("score", source, "--recipe", "click", "--response-space", "unit", "--out", tmp_path / "o.jsonl")
    assert message.startswith(f"{source}, row 0 (line 1): target of row 0, field 'image_size': got nothing; expected")
    assert message.endswith("; the file has no column 'image_size' (--image-size-column)")


def test_a_bad_target_stops_with_its_row_sample_and_field(run, tmp_path):
    rows = [{"sample_id": f"s{row}", "response": "(5, 5)", "target": {"bbox": [0, 0, 9, 9]}} for row in range(9000)]
    rows[8999]["target"] = {"bbox": [0, 0, 9]}
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    assert run.error("score", source, *CLICK, "--out", out) == (
        f"{source}, row 8999 (line 9000): target of sample 's8999', field 'bbox': got [0, 0, 9]; "
        "expected 4 numbers x1 y1 x2 y2"
    )
    assert names(tmp_path) == ["in.jsonl"]


def test_the_first_of_several_bad_targets_and_the_targets_own_id(run, tmp_path):
    good, none = {"response": "", "target": {"bbox": [0, 0, 9, 9]}}, {"response": "", "target": None}
    own = {"response": "", "sample_id": "column", "target": {"id": "own", "point": [1, 1]}}
    source = write_rows(tmp_path / "in.jsonl", good, own, none)
    message = run.error("score", source, *CLICK, "--out", tmp_path / "out.jsonl")
    assert message.startswith(
        f"{source}, row 1 (line 2): target of sample 'own', field 'point': got [1.0, 1.0]; expected "
    )
    source = write_rows(tmp_path / "in.jsonl", good, none, own)
    message = run.error("score", source, *CLICK, "--out", tmp_path / "out.jsonl")
    assert message.startswith(f"{source}, row 1 (line 2): target of row 1, field 'target': got nothing; expected ")


@pytest.mark.parametrize("response", [5, True])
def test_a_response_that_is_no_text(run, tmp_path, response):
    source = write_rows(tmp_path / "in.jsonl", HIT, {**HIT, "response": response})
    came = f"{type(response).__name__} {response!r}"
    assert run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl") == (
        f"{source}, row 1 (line 2): response: got {came}; expected a string or null"
    )
    assert names(tmp_path) == ["in.jsonl"]


@pytest.mark.parametrize("size", ["wide", [1], [1, "2"], [True, 2], 5, {"w": 1}])
def test_a_size_that_is_none(run, tmp_path, size):
    source = write_rows(tmp_path / "in.jsonl", HIT, {**HIT, "model_image_size": size})
    assert run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl") == (
        f"{source}, row 1 (line 2): model_image_size: got {size!r}; expected [width, height] or null"
    )


def test_missing_columns(run, source, tmp_path):
    words = ("--recipe", "gelato", "--out", tmp_path / "out.jsonl")
    has = "It has: sample_id, response, target"
    assert run.error("score", source, *words, "--response-column", "responce") == (
        f"{source}: no column 'responce' (--response-column); did you mean 'response'? {has}"
    )
    assert run.error("score", source, *words, "--target-column", "x") == (
        f"{source}: no column 'x' (--target-column). {has}"
    )
    for option in ("--image-size-column", "--model-image-size-column", "--id-column"):
        assert run.error("score", source, *words, option, "x") == f"{source}: no column 'x' ({option}). {has}"
    assert names(tmp_path) == ["in.jsonl"]


def test_mistakes_in_the_command_line(run, source, tmp_path):
    out = ("--out", tmp_path / "out.jsonl")
    assert run.error("score") == "Missing argument 'FILE'; see grounding-rewards score --help"
    assert run.error("score", source, *out) == "Missing option '--recipe'; see grounding-rewards score --help"
    assert (
        run.error("score", source, "--recipe", "gelato") == "Missing option '--out'; see grounding-rewards score --help"
    )
    assert "unknown recipe 'gelatto'; did you mean 'gelato'?" in run.error("score", source, "--recipe", "gelatto", *out)
    assert "pixel, model_pixel, unit, thousandths" in run.error("score", source, "--recipe", "click", *out)
    gelato = ("score", source, "--recipe", "gelato", *out)
    assert run.error(*gelato, "--option", "answers") == (
        "--option: got 'answers'; expected KEY=VALUE, such as format_weight=0.1"
    )
    assert run.error(*gelato, "--option", "seed=1", "--option", "seed=2") == "--option: seed is given twice"
    assert "unknown option 'formatweight'; did you mean 'format_weight'?" in run.error(
        *gelato, "--option", "formatweight=1"
    )
    assert "format_weight" in run.error(*gelato, "--option", "format_weight=much")
    assert "format_weight" in run.error(*gelato, "--option", "format_weight=NaN")
    assert run.error(*gelato, "--response-space", "pixel", "--option", "response_space=unit") == (
        "--option: response_space is given twice"
    )
    assert "'pixels'" in run.error(*gelato, "--response-space", "pixels")
    assert "'sometimes' is not one of 'raise', 'abstain'" in run.error(*gelato, "--bad-target", "sometimes")
    assert "--colour" in run.error(*gelato, "--colour", "red")
    assert "scor" in run.error("scor")
    assert names(tmp_path) == ["in.jsonl"]


def test_files_that_cannot_be_read_or_written(run, source, tmp_path):
    gelato = ("--recipe", "gelato", "--out")
    out = tmp_path / "out.jsonl"
    missing, text = tmp_path / "missing.jsonl", tmp_path / "in.txt"
    assert run.error("score", missing, *gelato, out) == f"{missing}: no such file"
    assert run.error("score", text, *gelato, out).startswith(f"{text}: a file of rows ends in .jsonl")
    assert run.error("score", source, *gelato, tmp_path / "out.csv").startswith(
        f"{tmp_path / 'out.csv'}: a file of rows"
    )
    assert run.error("score", source, *gelato, source) == f"{source}: is the input itself; write to another file"
    assert run.error("score", source, *gelato, tmp_path / "no/out.jsonl") == (
        f"{tmp_path / 'no/out.jsonl'}: there is no directory {tmp_path / 'no'}"
    )
    source.write_text('{"response": \n')
    assert run.error("score", source, *gelato, out) == f"{source}, line 1: not JSON (Expecting value at character 15)"


def test_an_output_that_the_system_refuses(run, source, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl")
    assert message == f"{tmp_path / 'out.jsonl'}: no space is left on the disk; free some, or write elsewhere"
    assert names(tmp_path) == ["in.jsonl"]


def test_messages_show_no_control_characters(run, tmp_path):
    row = {**HIT, "target": {"bbox": [1], "id": "\x1b[31mred\nline"}}
    source = write_rows(tmp_path / "in.jsonl", row)
    message = run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl")
    assert "\x1b" not in message


def test_ctrl_c_leaves_nothing(run, tmp_path, monkeypatch, signals_as_at_a_terminal):
    source, out = write_rows(tmp_path / "in.jsonl", *[HIT] * 9000), tmp_path / "out.jsonl"
    calls, judge = [], Recipe.evaluate

    def interrupted(self, *words, **named):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return judge(self, *words, **named)

    monkeypatch.setattr(Recipe, "evaluate", interrupted)
    out.write_text("old")
    result = run("score", source, "--recipe", "gelato", "--out", out)
    assert (result.code, result.out, result.err) == (130, "", "stopped by Ctrl-C\n")
    assert out.read_text() == "old"
    assert names(tmp_path) == ["in.jsonl", "out.jsonl"]


KILLED = """
import os, signal, sys
from grounding_rewards.cli import main
from grounding_rewards.scoring import Recipe
judge, calls = Recipe.evaluate, []
def killed(self, *words, **named):
    calls.append(1)
    if len(calls) == 2:
        os.kill(os.getpid(), int(sys.argv.pop()))
    return judge(self, *words, **named)
Recipe.evaluate = killed
main(sys.argv[1:-1])
"""


@pytest.mark.parametrize(
    ("number", "code", "line", "left"),
    [
        (signal.SIGINT, 130, "stopped by Ctrl-C\n", ["in.jsonl"]),
        (signal.SIGTERM, 143, "stopped by SIGTERM\n", ["in.jsonl"]),
        (signal.SIGHUP, 129, "stopped by SIGHUP\n", ["in.jsonl"]),
        (signal.SIGKILL, -9, "", None),
    ],
)
@pytest.mark.slow
def test_killed_in_the_middle(tmp_path, number, code, line, left):
    source, out = write_rows(tmp_path / "in.jsonl", *[HIT] * 9000), tmp_path / "out.jsonl"
    words = ["score", str(source), "--recipe", "gelato", "--out", str(out), str(int(number))]
    done = run_child(["-c", KILLED, *words])
    assert (done.returncode, done.stdout, done.stderr) == (code, "", line)
    assert not out.exists()
    assert left is None or names(tmp_path) == left


@pytest.mark.parametrize("side", ["9" * 400, "0", "-5", "1e13"])
def test_a_size_of_no_image_is_one_line(run, tmp_path, side):
    source = tmp_path / "in.jsonl"
    source.write_text(f'{{"response": "(1, 1)", "target": {{"bbox": [0, 0, 9, 9]}}, "image_size": [{side}, 5]}}')
    message = run.error("eval", source, "--response-space", "pixel")
    assert "row 0 (line 1): image_size: got [" in message
    assert message.endswith("expected [width, height] or null")
