"""``grounding-rewards score`` beside its session: batches, groups, formats, and never half an output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue, processes
from grounding_rewards.batch import spread
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables import text_rows
from tests.children import run_child
from tests.cli.command import BOX, CLICK, HIT, names, read_rows, write_rows


def test_the_same_scores_as_the_library_in_all_four_formats(run, tmp_path):
    rows = [{**HIT, "sample_id": str(row), "response": f"({row}, 150)"} for row in range(200)]
    expected = gr.recipe("gelato").score([row["response"] for row in rows], [BOX] * 200)
    lines = write_rows(tmp_path / "in.jsonl", *rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    for source in (lines, tmp_path / "in.parquet"):
        for suffix in ("jsonl", "parquet"):
            out = tmp_path / f"out.{suffix}"
            assert run("score", source, "--recipe", "gelato", "--out", out).code == 0
            written = read_rows(out) if suffix == "jsonl" else pq.read_table(out).to_pylist()
            names = expected.to_arrow().column_names
            assert [{name: row[name] for name in names} for row in written] == expected.to_arrow().to_pylist()
            assert [row["sample_id"] for row in written] == [row["sample_id"] for row in rows]
            assert written[7]["target"] == BOX


def test_a_recipe_that_compares_rollouts_sees_whole_groups(run, tmp_path, monkeypatch):
    seen = []

    class Lone(gr.Verifier):
        low, high, needs = 0.0, 1.0, frozenset({"groups"})

        def __call__(self, rollouts):
            seen.append(rollouts.groups.tolist())
            return np.ones(len(rollouts))

    base = gr.recipe("gelato")
    monkeypatch.setattr(catalogue, "recipe", lambda name, **options: replace(base, reward=Lone()))
    rows = [{**HIT, "sample_id": row % 2} for row in range(9000)]
    words = ("--recipe", "gelato", "--out", tmp_path / "out.jsonl")
    assert run("score", write_rows(tmp_path / "in.jsonl", *rows), *words).code == 0
    assert seen == [[0, 1] * 4500]
    bare = write_rows(tmp_path / "bare.jsonl", {"response": "", "target": BOX})
    message = run.error("score", bare, *words)
    assert "row 0 (line 1): sample_id: got null; expected the sample's name, a text or a whole number, in" in message


def test_a_recipe_that_adds_up_trajectories_sees_them_whole(run, tmp_path, monkeypatch):
    # A step every 5000 rows: each batch by itself, and each part of a large file, would hold one at most.
    monkeypatch.setattr(spread, "_LARGE", 1000)
    monkeypatch.setattr(spread, "cores", lambda: 3)
    answer = '<think>a</think><action>{"action": "wait"}</action>'
    rows = [
        {"response": answer, "target": {"action": "wait", "trajectory": row % 5000, "step": row // 5000}}
        for row in range(10_000)
    ]
    words = ("score", write_rows(tmp_path / "in.jsonl", *rows), "--recipe", "ui-s1", "--option", "returns=true")
    assert run(*words, "--out", tmp_path / "out.jsonl").code == 0
    totals = [row["total"] for row in read_rows(tmp_path / "out.jsonl")]
    assert (set(totals[:5000]), set(totals[5000:])) == ({1.5}, {1.0})


def test_as_a_module_without_a_terminal(source, tmp_path):
    out = tmp_path / "out.jsonl"
    words = [sys.executable, "-m", "grounding_rewards", "score", str(source), "--recipe", "gelato", "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        f"2 rows scored with gelato: mean total 0.5000, accuracy 50.0 %, parse rate 50.0 %; written to {out}"
    ]
    assert len(read_rows(out)) == 2


def test_help_and_version_of_the_program(run):
    assert run("--version").out == f"grounding-rewards {gr.__version__}\n"
    for words in ((), ("--help",), ("-h",)):
        result = run(*words)
        assert result.code == 0
        assert "score" in result.out
        assert "eval" in result.out


def test_a_bad_target_stops_with_its_row_sample_and_field(run, tmp_path):
    rows = [{"sample_id": f"s{row}", "response": "(5, 5)", "target": {"bbox": [0, 0, 9, 9]}} for row in range(9000)]
    rows[8999]["target"] = {"bbox": [0, 0, 9]}
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    assert run.error("score", source, *CLICK, "--out", out) == (
        f"{source}, row 8999 (line 9000): target of sample 's8999', field 'bbox': got [0, 0, 9]; "
        "expected 4 numbers x1 y1 x2 y2"
    )
    assert names(tmp_path) == ["in.jsonl"]


@pytest.mark.parametrize("size", ["wide", [1], [1, "2"], [True, 2], 5, {"w": 1}])
def test_a_size_that_is_none(run, tmp_path, size):
    source = write_rows(tmp_path / "in.jsonl", HIT, {**HIT, "model_image_size": size})
    assert run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl") == (
        f"{source}, row 1 (line 2): model_image_size: got {size!r}; expected [width, height] or null"
    )


def test_an_output_that_the_system_refuses(run, source, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = run.error("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl")
    assert message == f"{tmp_path / 'out.jsonl'}: no space is left on the disk; free some, or write elsewhere"
    assert names(tmp_path) == ["in.jsonl"]


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


def test_lines_of_a_large_file_are_scored_by_several_processes_as_by_one(run, tmp_path, monkeypatch):
    rows = [json.dumps({**HIT, "sample_id": str(row), "response": f"({row}, 150)"}) for row in range(3000)]
    rows[1000:1000] = ["", "  "]  # no rows
    rows[2000] = json.dumps({**HIT, "note": "a key that the first rows lack", "response": None})
    source, out, several = tmp_path / "in.jsonl", tmp_path / "out.jsonl", []
    source.write_text("\n".join(rows))
    words = ("score", source, "--recipe", "gelato", "--out", out)
    one, written = run(*words, "--json"), out.read_bytes()

    def spread_over(work, items, count):
        several.append(count)
        return processes.spread(work, items, count)

    monkeypatch.setattr(spread, "_LARGE", 1000)
    monkeypatch.setattr(spread, "cores", lambda: 3)
    monkeypatch.setattr(spread, "spread", spread_over)
    monkeypatch.setattr(text_rows, "_STEP", 40_000)
    assert run(*words, "--json") == one
    monkeypatch.setattr(spread, "_LARGE", source.stat().st_size)  # two times this would be worth a third process
    assert run(*words, "--json") == one
    assert (out.read_bytes(), several) == (written, [3, 2])
    # Errors name the place in the file, and nothing is written.
    rows[2500] = "{"
    source.write_text("\n".join(rows))
    assert "in.jsonl, line 2501: not JSON (" in run.error(*words)
    rows[2500] = json.dumps({**HIT, "target": {"bbox": [5, 5, 1, 1]}})
    source.write_text("\n".join(rows))
    assert "in.jsonl, row 2498 (line 2501): " in run.error(*words)
    assert out.read_bytes() == written
