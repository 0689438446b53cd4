"""One object of JSON from every command, as its schema says."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

import grounding_rewards as gr
from tests.cli.command import HIT, MISS, write_rows
from tests.cli.every_command import COMMANDS, words_of, write_inputs

SCHEMA = json.loads(files("grounding_rewards.cli").joinpath("result.schema.json").read_text("utf-8"))
KEYS = ["command", "version", "settings", "inputs", "result", "notes", "findings"]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_prints_one_object(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    result = run(*words_of(name), "--json")
    assert result.code == 0, result
    whole = json.loads(result.out)
    jsonschema.validate(whole, SCHEMA)
    assert (list(whole), whole["command"], whole["version"]) == (KEYS, name, gr.__version__)
    assert whole["notes"] == [line[6:] for line in result.err.splitlines() if line.startswith("note: ")]
    warned = [each["message"] for each in whole["findings"] if each["severity"] == "warning"]
    assert len(warned) == len([line for line in result.err.splitlines() if line.startswith("warning: ")])


def test_results_of_init_and_where(run, tmp_path):
    file, out = write_rows(tmp_path / "in.jsonl", *[HIT] * 9), tmp_path / "s.toml"
    found = json.loads(run("init", file, "--out", out, "--json").out)["result"]
    assert (found["out"], found["rows"], found["lines"][0]) == (
        str(out), 9, {"table": "recipe", "key": "name", "value": "click", "why": "hits of a click's place count"},
    )  # fmt: skip
    assert found["next"] == f"grounding-rewards eval {file} --settings {out}"
    assert json.loads(run("where", "areal", "--json").out)["result"] == {
        "places": ["grounding_rewards_adapters.areal.reward"]
    }


def test_settings_inputs_and_findings_of_eval(run, tmp_path):
    file, settings = write_rows(tmp_path / "in.jsonl", HIT, MISS), tmp_path / "s.toml"
    settings.write_text("[answers]\nresponse_space = 'thousandths'\n[data]\ntarget_space = 'unit'\n")
    words = ("eval", file, "--settings", settings, "--option", "format_weight=0.5", "--by", "sample_id", "--json")
    whole = json.loads(run(*words).out)
    assert whole["settings"] == {
        "recipe": {"format_weight": 0.5}, "answers": {"response_space": "thousandths"},
        "data": {"target_space": "unit"}, "options": {"by": ["sample_id"]},
    }  # fmt: skip
    assert (whole["inputs"], whole["result"]["files"][0]["accuracy"]) == ([str(file)], 0.5)
    again = tmp_path / "again.json"
    again.write_text(json.dumps({**whole, "settings": {**whole["settings"], "recipe": {"name": "gelato"}}}))
    assert gr.read_settings(again).recipe == {"name": "gelato"}  # its settings are a settings file again


def test_findings_are_the_warnings_with_their_kinds(run, tmp_path):
    file = write_rows(tmp_path / "in.jsonl", *[{**HIT, "response": "no"}] * 10)
    result = run("score", file, "--recipe", "gelato", "--out", tmp_path / "o.jsonl", "--json", "--strict")
    (finding,) = json.loads(result.out)["findings"]
    assert (result.code, finding["code"], finding["severity"], finding["count"]) == (1, "unread", "warning", 10)
    assert result.err.splitlines()[0].startswith(f"warning: {finding['message']}; ")


@pytest.mark.parametrize("text", ["NaN", "[" * 100_000])
def test_a_text_that_is_no_json_is_an_option_as_it_stands(run, text):
    whole = json.loads(run("recipes", "action", "--option", f"action_names={text}", "--json").out)
    assert whole["settings"]["recipe"] == {"action_names": text}
    assert whole["result"]["with"]["action_names"] == text
