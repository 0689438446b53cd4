"""``grounding-rewards pool plan``."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from grounding_rewards.pool.serving import read_weights
from tests.cli.command import write_rows
from tests.pool.plan.made import ROWS, SELECTED, made_up

__all__ = ["made_up"]


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path / "r.jsonl", *ROWS)


def test_methods_are_rows_of_a_table(run, made_up, file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    chosen = ("band", "learnability", "further", "first", "short", "budget")
    result = run("pool", "plan", file, *(word for name in chosen for word in ("--method", name)))
    assert (result.code, result.err) == (0, "")
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0] == ["method", "kind", "kept", "rollouts", "effective", "never", "mean", "p", "no", "signal"]
    assert lines[2:8] == [
        ["1", "control", "reference", "4", "-", "4.0", "25.0", "%", "0.438", "50.0", "%"],
        ["2", "next", "reference", "3", "-", "3.0", "33.3", "%", "0.250", "33.3", "%"],
        ["3", "band", "selector", "2", "-", "2.0", "0.0", "%", "0.375", "0.0", "%"],
        ["4", "learnability", "selector", "2", "-", "2.0", "0.0", "%", "0.393", "0.0", "%"],
        ["5", "further", "allocation", "2", "4", "1.6", "75.0", "%", "0.062", "75.0", "%"],
        ["6", "first", "choice", "4", "8", "4.0", "25.0", "%", "0.500", "50.0", "%"],
    ]
    assert ["4", "learnability", "50", "67", "93", "100", "25", "50"] in lines
    assert ["3", "band", "50", "67", "100", "93", "25", "50"] in lines
    assert [line.rstrip() for line in result.out.splitlines()[-3:]] == [
        "Not compared",
        "short   choice      the rollouts have no column token_length",
        "budget  allocation  needs budget",
    ]


def test_a_bare_run_takes_every_method_and_fits(run, made_up, file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    result = run("pool", "plan", file)
    assert {*SELECTED, "further", "budget", "first", "short", "raising"} <= set(result.out.split())
    assert ["every", "selector", "needs", "selectors"] in [line.split() for line in result.out.splitlines()]
    assert max(map(len, result.out.splitlines())) <= 100


def test_json_is_the_same_as_the_table(run, made_up, file):
    found = json.loads(run("pool", "plan", file, "--method", "first", "--method", "budget", "--json").out)
    assert [each["name"] for each in found["methods"]] == ["control", "next", "first"]
    assert (found["methods"][2]["kept"], found["methods"][2]["rollouts"], found["methods"][2]["mean_p"]) == (
        4,
        8,
        0.5,
    )
    assert found["methods"][0]["overlap"] == [1.0, 0.75, 1.0]
    assert (found["left_out"][0]["name"], found["left_out"][0]["needs"]) == ("budget", ["budget"])
    assert (found["samples"], found["warnings"]) == (5, [])


def test_arguments_are_json(run, made_up, file):
    result = run("pool", "plan", file, "--method", '{"name": "budget", "budget": 3}', "--method", "band")
    assert "budget(budget=3)  allocation" in result.out
    assert "Not compared" not in result.out


def test_mistakes_are_one_line(run, made_up, file, tmp_path):
    message = run.error("pool", "plan", file, "--method", "lernability")
    assert message.startswith("--method: unknown method 'lernability'; did you mean 'learnability'? There are: ")
    assert run.error("pool", "plan", file, "--method", '{"name": "budget"') == (
        '--method: got \'{"name": "budget"\'; expected a name, or JSON such as {"name": "spread"}'
    )
    for number in ("NaN", "Infinity", "1e999"):
        error = run.error("pool", "plan", file, "--method", f'{{"name": "x", "low": {number}}}')
        assert "low: expected a finite number" in error
    assert "unknown argument 'low'" in run.error("pool", "plan", file, "--method", '{"name": "band", "low": 0.1}')
    assert "a page ends in .html" in run.error("pool", "plan", file, "--picture", tmp_path / "p.jpg")
    assert "there is no directory" in run.error("pool", "plan", file, "--picture", tmp_path / "no" / "p.html")
    assert "lies in the input" in run.error("pool", "plan", tmp_path, "--picture", tmp_path / "p.html")
    assert "no such file" in run.error("pool", "plan", tmp_path / "no.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_picture_is_written_beside(run, file, tmp_path):
    out = tmp_path / "page.html"
    result = run("pool", "plan", file, "--picture", out)
    assert result.err == f"picture written to {out}\n"
    assert "Methods on the same rollouts" in out.read_text("utf-8")
    found = json.loads(run("pool", "plan", file, "--picture", tmp_path / "plan.html", "--json").out)
    assert found["picture"] == str(tmp_path / "plan.html")


def test_rounds_and_temperatures_that_count_together_are_named(run, tmp_path):
    rows = [{**row, "round": number, "temperature": number / 2} for row in ROWS for number in (1, 2)]
    path = write_rows(tmp_path / "r.jsonl", *rows)
    result = run("pool", "plan", path, "--method", "band")
    assert "warning: rollouts at temperatures 0.5, 1 count together" in result.err
    assert "note: rollouts of rounds 1, 2 count together; --round N chooses one" in result.err
    assert run("pool", "plan", path, "--method", "band", "--round", 1).err == ""


def test_weights_are_written_for_each_method(run, made_up, file, tmp_path):
    for name in ("w.jsonl", "w.parquet"):
        chosen = ("--method", "learnability", "--method", '{"name": "first"}', "--method", "budget")
        result = run("pool", "plan", file, *chosen, "--weights", tmp_path / name)
        assert (result.code, result.err) == (0, f"weights written to {tmp_path / name}\n")
    rows = pq.read_table(tmp_path / "w.parquet").to_pylist()
    assert rows == [json.loads(line) for line in (tmp_path / "w.jsonl").read_text().splitlines()]
    by_method = {"learnability": [0.0, 0.1875, 0.25, 0.0, 0.0], "first": [2.0, 2.0, 2.0, 2.0, 0.0]}
    assert [tuple(row.values()) for row in rows] == [
        (sample, name, weight)
        for name, column in by_method.items()
        for sample, weight in zip("abcde", column, strict=True)
    ]
    assert read_weights(tmp_path / "w.parquet", "learnability") == dict(
        zip("abcde", by_method["learnability"], strict=True)
    )


def test_weights_replace_no_input(run, made_up, file):
    before = file.read_text()
    assert "is the input itself" in run.error("pool", "plan", file, "--weights", file)
    assert file.read_text() == before
