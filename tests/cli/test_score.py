"""``grounding-rewards score``: columns added, rows kept, every mistake one line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from tests.cli.command import BOX, CLICK, HIT, names, read_rows, result_of, write_rows


def test_rows_with_their_scores(run, source, tmp_path):
    out = tmp_path / "out.jsonl"
    result = run("score", source, "--recipe", "gelato", "--out", out)
    assert (result.code, result.out) == (0, "")
    assert result.err == (
        f"2 rows scored with gelato: mean total 0.5000, accuracy 50.0 %, parse rate 50.0 %; written to {out}\n"
    )
    first, second = read_rows(out)
    parts = gr.recipe("gelato").parts
    assert list(first) == [*HIT, "total", "acc", "valid", *parts, "x", "y", "reason", "dialect"]
    assert {key: first[key] for key in HIT} == HIT
    assert first["total"] == pytest.approx(1.0)
    assert (first["acc"], first["valid"], first["reason"]) == (1.0, 1.0, "OK")
    assert (first["x"], first["y"]) == (0.2, 0.15)
    assert (second["total"], second["acc"], second["valid"], second["reason"]) == (0.0, 0.0, 1.0, "NO_ANSWER")
    assert (second["x"], second["y"], second["dialect"]) == (None, None, None)
    assert names(tmp_path) == ["in.jsonl", "out.jsonl"]


def test_the_same_scores_as_the_library_in_all_four_formats(run, tmp_path):
    rows = [{**HIT, "sample_id": str(row), "response": f"({row}, 150)"} for row in range(1000)]
    expected = gr.recipe("gelato").score([row["response"] for row in rows], [BOX] * 1000)
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


def test_point_and_dialect(run, tmp_path):
    call = '<tool_call>{"name": "c", "arguments": {"action": "left_click", "coordinate": [50, 40]}}</tool_call>'
    target = {"bbox": [0, 0, 192, 108], "image_size": [1920, 1080]}
    source = write_rows(
        tmp_path / "in.jsonl", {"response": call, "target": target}, {"response": None, "target": target}
    )
    out = tmp_path / "out.parquet"
    assert run("score", source, "--recipe", "click", "--response-space", "thousandths", "--out", out).code == 0
    first, second = pq.read_table(out).to_pylist()
    assert (first["x"], first["y"], first["dialect"], first["acc"]) == (96.0, 43.2, "tool_call", 1.0)
    assert (second["x"], second["y"], second["dialect"], second["reason"]) == (None, None, None, "EMPTY")
    types = pq.read_schema(out)
    assert {str(types.field(name).type) for name in ("total", "acc", "valid", "x", "y")} == {"double"}
    assert {str(types.field(name).type) for name in ("reason", "dialect")} == {"string"}


def test_summary_as_json(run, source, tmp_path):
    out = tmp_path / "out.jsonl"
    result = run("score", source, "--recipe", "gelato", "--out", out, "--option", "format_weight=0.5", "--json")
    assert (result.code, result.err) == (0, "")
    assert result_of(result.out) == {
        "file": str(source), "out": str(out), "recipe": {"name": "gelato", "format_weight": 0.5},
        "rows": 2, "valid": 2, "mean_total": 0.5, "accuracy": 0.5, "parse_rate": 0.5,
        "reasons": {"OK": 1, "NO_ANSWER": 1}, "warnings": [], "findings": [],
        "columns": {"response": "response", "target": "target", "id": "sample_id"},
    }  # fmt: skip


def test_options_are_json_or_text(run, tmp_path):
    row = {"response": "(1, 1) or (20, 15)", "target": {"bbox": [10, 10, 30, 20]}}
    source = write_rows(tmp_path / "in.jsonl", row)
    out = tmp_path / "out.jsonl"
    options = ("--option", "answers=last", "--option", "format_weight=0")
    result = run("score", source, *CLICK, *options, "--out", out, "--json")
    assert result_of(result.out)["recipe"] == {
        "name": "click", "answers": "last", "format_weight": 0, "response_space": "pixel",
    }  # fmt: skip
    assert read_rows(out)[0]["total"] == 1.0


def test_mapped_columns_and_prefix(run, tmp_path):
    row = {"answer": "(500, 500)", "truth": {"bbox": [90, 40, 110, 60]}, "wh": [200, 100], "uid": 7, "total": "mine"}
    out = tmp_path / "out.jsonl"
    mapping = (
        "--response-column",
        "answer",
        "--target-column",
        "truth",
        "--image-size-column",
        "wh",
        "--id-column",
        "uid",
    )
    source = write_rows(tmp_path / "in.jsonl", row)
    words = ("score", source, "--recipe", "click", "--response-space", "thousandths", *mapping, "--out", out)
    assert run.error(*words) == (
        f"{source}: already has a column total; give the new columns a prefix, such as --prefix gr_"
    )
    assert not out.exists()
    assert run(*words, "--prefix", "gr_").code == 0
    found = read_rows(out)[0]
    assert (found["total"], found["gr_total"], found["gr_acc"], found["gr_x"]) == ("mine", 1.0, 1.0, 100.0)
    assert {key: found[key] for key in row} == row


def test_sizes_from_a_column_from_the_target_or_both(run, tmp_path):
    box = {"bbox": [90, 40, 110, 60]}
    rows = [
        {"response": "(500, 500)", "target": {**box, "image_size": [200, 100]}, "image_size": None},
        {"response": "(500, 500)", "target": box, "image_size": [200, 100]},
        {"response": "(500, 500)", "target": box, "image_size": "[200, 100]"},
        {"response": "(500, 500)", "target": {**box, "image_size": [1, 1]}, "image_size": [200, 100.0]},
    ]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    words = ("--recipe", "click", "--response-space", "thousandths", "--out", tmp_path / "out.jsonl", "--json")
    assert result_of(run("score", source, *words).out)["accuracy"] == 1.0


def test_a_size_that_no_conversion_needs_may_be_missing(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {"response": "(5, 5)", "target": {"bbox": [0, 0, 9, 9]}})
    assert run("score", source, *CLICK, "--out", tmp_path / "out.jsonl").code == 0


def test_bad_targets_can_abstain(run, tmp_path):
    rows = [{**HIT, "target": {"bbox": [1]}}, {**HIT}, {**HIT, "image_size": "wide"}]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    result = run("score", source, "--recipe", "gelato", "--bad-target", "abstain", "--out", out)
    assert result.code == 0
    note, said = result.err.splitlines()[:2]
    assert note.startswith(
        f"warning: 1 row has a target that cannot be used, the first: {source}, row 0 (line 1): field 'bbox': got [1]"
    )
    assert said.startswith("3 rows scored with gelato (1 of them not valid): mean total 1.0000, accuracy 100.0 %")
    bad = read_rows(out)[0]
    assert (bad["valid"], bad["total"], bad["acc"], bad["reason"]) == (0.0, None, None, "BAD_TARGET")


def test_no_valid_row_at_all(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", {**HIT, "target": 3})
    words = ("score", source, "--recipe", "gelato", "--bad-target", "abstain", "--out", tmp_path / "out.jsonl")
    assert "(1 of them not valid): mean total -, accuracy -, parse rate -;" in run(*words).err
    assert result_of(run(*words, "--json").out)["mean_total"] is None


def test_notes_about_types(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", HIT, {**HIT, "target": [0.1, 0.1, 0.3, 0.2]})
    out = tmp_path / "out.parquet"
    err = run("score", source, "--recipe", "gelato", "--out", out).err.splitlines()
    assert err[0] == "note: written as JSON strings, for want of one Parquet type: target"
    assert pq.read_table(out).column("target").to_pylist() == [json.dumps(BOX), "[0.1, 0.1, 0.3, 0.2]"]
    again = run("score", out, "--recipe", "gelato", "--prefix", "b_", "--out", tmp_path / "again.jsonl", "--json")
    assert result_of(again.out)["accuracy"] == 1.0


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


def test_a_recipe_that_adds_up_trajectories_sees_them_whole(run, tmp_path):
    # A step every 5000 rows: each batch by itself would hold one at most.
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


@pytest.mark.parametrize("width", ["80", "120"])
def test_help(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    result = run("score", "--help")
    text = " ".join(result.out.split())
    assert result.code == 0
    assert "grounding-rewards score rollouts.jsonl --recipe gelato --out scored.parquet" in text
    assert max(map(len, result.out.splitlines())) <= int(width)


def test_help_and_version_of_the_program(run):
    assert run("--version").out == f"grounding-rewards {gr.__version__}\n"
    for words in ((), ("--help",), ("-h",)):
        result = run(*words)
        assert result.code == 0
        assert "score" in result.out
        assert "eval" in result.out


def call(action, **arguments):
    fields = {"name": "computer_use", "arguments": {"action": action, **arguments}}
    return f"<tool_call>{json.dumps(fields)}</tool_call>"


ACTS = [
    (call("left_click", coordinate=[15, 15]), "click", None),
    ("(15, 15)", None, None),
    (call("type", text='é "ok"'), "type", {"text": 'é "ok"'}),
    (call("key", keys=["ctrl", "c"]), "key", {"keys": ["ctrl", "c"]}),
    (call("left_click_drag", start_coordinate=[1, 2], coordinate=[3, 4]), "drag", {"to": [3.0, 4.0]}),
    (call("scroll", direction="up", coordinate=[1, 2]), "scroll", {"direction": "up"}),
    (call("open", text="Clock"), "open_app", {"app": "Clock"}),
    (call("terminate", status="failure"), "finished", {"status": "failure"}),
    (call("wait", time=2), "wait", {"duration": 2.0}),
    (call("back"), "back", None),
    (call("\ud800é"), "?é", None),
    (call("type", text="a\ud800"), "type", {"text": "a?"}),
    ("nothing", None, None),
    (None, None, None),
]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_what_was_done_stands_beside_the_scores(run, tmp_path, suffix):
    rows = [{"response": response, "target": {"bbox": [10, 10, 20, 20]}} for response, _, _ in ACTS]
    out = tmp_path / f"out.{suffix}"
    result = run("score", write_rows(tmp_path / "in.jsonl", *rows), "--recipe", "action", "--response-space", "pixel",
                 "--out", out)  # fmt: skip
    assert result.code == 0, result.err
    found = read_rows(out) if suffix == "jsonl" else pq.read_table(out).to_pylist()
    assert list(found[0])[-4:] == ["reason", "dialect", "action_name", "arguments"]
    assert [row["action_name"] for row in found] == [name for _, name, _ in ACTS]
    assert [row["arguments"] and json.loads(row["arguments"]) for row in found] == [said for _, _, said in ACTS]


def test_actions_of_a_recipe_with_a_part_of_that_name(run, tmp_path):
    answer = "<think>-</think><answer>[{'action': 'click', 'coordinate': [15, 15]}]</answer>"
    target = {"bbox": [10, 10, 20, 20], "image_size": [100, 100], "model_image_size": [100, 100]}
    source = write_rows(tmp_path / "in.jsonl", {"response": answer, "target": target, "action": "mine"})
    for prefix, part in (("", "part_action"), ("gr_", "gr_action")):
        out = tmp_path / f"{prefix}out.jsonl"
        result = run("score", source, "--recipe", "ui-r1", "--prefix", prefix, "--out", out)
        assert result.code == 0
        note = "note: action is a column of the file: the recipe's part is written as part_action"
        assert (note in result.err) == (part == "part_action")
        (row,) = read_rows(out)
        assert (row["action"], row[part]) == ("mine", 1.0)
        assert (row[f"{prefix}action_name"], row[f"{prefix}arguments"]) == ("click", None)


def test_recipes_of_places_have_no_columns_of_actions(run, source, tmp_path):
    assert run("score", source, "--recipe", "gelato", "--out", tmp_path / "out.jsonl").code == 0
    assert not {"action_name", "arguments"} & set(read_rows(tmp_path / "out.jsonl")[0])
