"""Rows that are to be refused because a column says so, in every command that reads targets."""

from __future__ import annotations

import json

import pytest

from grounding_rewards.tables.rollout_table import open_rollouts
from tests.batch.test_layouts import PRO
from tests.cli.command import CLICK, read_rows, result_of, write_rows
from tests.cli.test_rollout import ENGINE

PLACE = {"bbox": [10, 10, 30, 30], "response": "(20, 20)", "query": "Save"}
REFUSED = {"response": "refusal", "query": "Fly"}
NOTE = "note: refusal: column {}, by its name; --refusal-column names another\n"


@pytest.mark.parametrize(
    ("name", "refused", "placed"),
    [
        ("refusal", {"bbox": [0, 0, 0, 0], "refusal": True}, {"refusal": False}),
        ("refusal", {"bbox": [-1, -1, -1, -1], "refusal": True}, {"refusal": False}),
        ("refusal", {"bbox": [-1, -1, -1, -1]}, {"refusal": False}),
        ("is_refusal", {"bbox": None, "is_refusal": 1}, {"is_refusal": 0}),
        ("is_refusal", {"bbox": [5, 5, 9, 9], "is_refusal": "True"}, {"is_refusal": "False"}),
        ("box_type", {"bbox": [0, 0, 0, 0], "box_type": "refusal"}, {"box_type": "bbox"}),
    ],
)
def test_a_column_of_a_usual_name_says_refusals_and_one_note_says_so(run, tmp_path, name, refused, placed):
    file = write_rows(tmp_path / "in.jsonl", {**PLACE, **placed}, {**REFUSED, **refused})
    result = run("eval", file, "--response-space", "pixel", "--json")
    (entry,) = result_of(result.out)
    assert (entry["correct"], entry["n"], entry["refusals"]["targets"]) == (2, 2, 1)
    assert result.err.count(NOTE.format(name)) == 1
    assert entry["columns"]["refusal"] == name
    scored = run("score", file, *CLICK, "--out", tmp_path / "out.jsonl", "--json")
    assert (scored.code, [row["acc"] for row in read_rows(tmp_path / "out.jsonl")]) == (0, [1, 1])
    assert NOTE.format(name) in scored.err


def test_csv_has_them_as_texts(run, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text('bbox,is_refusal,response\n"[10, 10, 30, 30]",False,"(20, 20)"\n,True,refusal\n')
    assert result_of(run("eval", file, "--response-space", "pixel", "--json").out)[0]["correct"] == 2


ROWS = [PLACE, {**REFUSED, "bbox": [0, 0, 0, 0], "no": True}]


def test_an_option_names_the_column_and_none_prevents_it(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", *ROWS)
    words = ("eval", file, "--response-space", "pixel")
    assert result_of(run(*words, "--refusal-column", "no", "--json").out)[0]["correct"] == 2
    assert run(*words).err.splitlines()[-1] == (
        f"error: {file}, row 1 (line 2): target of row 1, field 'bbox': got [0, 0, 0, 0]; expected a box with an area; "
        'of a row that is to be refused write {"refusal": true}, or name the column that says so by --refusal-column'
    )
    write_rows(file, *({**row, "refusal": False} for row in ROWS))
    assert "by --refusal-column" in run(*words).err.splitlines()[-1]
    write_rows(file, PLACE, {**PLACE, "refusal": True})
    assert result_of(run(*words, "--refusal-column", "none", "--json").out)[0]["correct"] == 2


def test_a_column_that_says_something_else_is_none_of_refusals(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", {**PLACE, "refusal": "I cannot help"}, {**PLACE, "refusal": None})
    result = run("eval", file, "--response-space", "pixel", "--json")
    assert result_of(result.out)[0]["correct"] == 2
    assert "refusal: not column refusal, which holds 'I cannot help'; --refusal-column names one" in result.err


def test_a_target_keeps_its_name_and_size(run, tmp_path):
    target = {"bbox": [0, 0, 0, 0], "id": "a7", "image_size": [640, 480]}
    for written in (target, json.dumps(target)):
        file = write_rows(tmp_path / "in.jsonl", {"target": written, "is_refusal": True, "response": "refusal"})
        assert run("pool", "score", file, *CLICK, "--out", tmp_path / "out", "--overwrite").code == 0
        (row,) = open_rollouts([tmp_path / "out"]).read(["sample_id", "target", "acc"]).to_pylist()
        assert (row["sample_id"], row["acc"]) == ("a7", 1.0)
        assert json.loads(row["target"]) == {"refusal": True, "image_size": [640, 480], "id": "a7"}


def test_score_and_explain(run, tmp_path):
    file, out = write_rows(tmp_path / "in.jsonl", *ROWS), tmp_path / "out.jsonl"
    assert run("score", file, *CLICK, "--refusal-column", "no", "--out", out).code == 0
    assert [row["acc"] for row in read_rows(out)] == [1, 1]
    words = (file, "--row", 1, "--response-space", "pixel", "--refusal-column", "no", "--json")
    assert result_of(run("explain", "--recipe", "click", *words).out)["total"] == 1


def test_a_scored_pool_needs_no_column_any_more(run, tmp_path):
    file, out = write_rows(tmp_path / "in.jsonl", *ROWS), tmp_path / "out"
    assert run("pool", "score", file, *CLICK, "--refusal-column", "no", "--out", out).code == 0
    rows = open_rollouts([out]).read(["target", "acc"]).to_pylist()
    assert [(json.loads(row["target"]), row["acc"]) for row in rows] == [
        ({"bbox": [10, 10, 30, 30], "space": "pixel"}, 1.0), ({"refusal": True}, 1.0),
    ]  # fmt: skip
    assert result_of(run("eval", out, "--response-space", "pixel", "--json").out)[0]["correct"] == 2


@pytest.mark.parametrize(
    ("trainer", "packed"),
    [
        ("verl", lambda row: row["reward_model"]["ground_truth"]),
        ("trl", lambda row: row["target"]),
        ("easyr1", lambda row: row["answer"]),
    ],
)
def test_convert_packs_refusals(run, tmp_path, trainer, packed):
    rows = [{name: value for name, value in row.items() if name != "response"} for row in ROWS]
    file, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    words = ("--for", trainer, "--target-space", "pixel")
    assert run("convert", file, "--out", out, *words, "--refusal-column", "no").code == 0
    targets = [packed(row) for row in read_rows(out)]
    targets = [json.loads(each) if isinstance(each, str) else each for each in targets]
    assert [each.get("refusal", False) for each in targets] == [False, True]
    error = run("convert", file, "--out", out, *words)
    assert (error.code, "--refusal-column" in error.err) == (2, True)


def test_rollouts_are_scored_as_refusals(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", {"query": "go", "bbox": [0, 0, 0, 0], "is_refusal": True, "id": "a"})
    out = tmp_path / "out"
    words = ("rollout", file, *ENGINE, "--n", 1, "--out", out, "--recipe", "click", "--response-space", "pixel")
    assert NOTE.format("is_refusal") in run(*words).err
    (row,) = open_rollouts([out]).read(["target"]).to_pylist()
    assert json.loads(row["target"]) == {"refusal": True}


def test_benchmarks_layouts_and_their_own_kind_of_place(run, tmp_path):
    rows = [{**PRO, "response": "(1, 1)"}, {**PRO, "id": "b", "is_refusal": True, "response": "refusal"}]
    file = write_rows(tmp_path / "in.jsonl", *rows)
    result = run("eval", file, "--response-space", "pixel", "--json")
    assert result_of(result.out)[0]["refusals"]["targets"] == 1
    assert "rows as in ScreenSpot-Pro" in result.err
    result = run("eval", file, "--response-space", "pixel", "--benchmark", "screenspot-pro", "--json")
    assert result_of(result.out)[0]["correct"] == 1


def test_a_placeholder_in_the_wire_form_is_no_place_beside_a_refusal(run, tmp_path):
    targets = [{"bbox": box, "refusal": True} for box in ([0, 0, 0, 0], [-1, -1, -1, -1], None)]
    file = write_rows(tmp_path / "in.jsonl", *({"target": each, "response": "refusal"} for each in targets))
    assert result_of(run("eval", file, "--response-space", "pixel", "--json").out)[0]["correct"] == 3
    write_rows(file, {"target": {"bbox": [1, 2, 3, 4], "refusal": True}, "response": "refusal"})
    assert "no place beside a refusal" in run.error("eval", file, "--response-space", "pixel")
