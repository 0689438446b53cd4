"""The tab key: its table is what the live options say, and its answers are theirs in every shell."""

from __future__ import annotations

import json
from importlib import metadata

import pytest
import typer

from docs.gallery.tab import TABLE, command, live
from grounding_rewards.cli import completion


def test_the_table_is_what_the_live_options_say():
    assert json.loads(TABLE.read_text("utf-8")) == live()


LINES = [
    "", "ev", "pool ", "pool ne", "check rec", "eval --recipe gel", "recipes gelato-", "families q", "where easyr1_",
    "explain --compare gta1,gelato-", "eval --response-space pixel,th", "eval --box-format ", "eval --box-format xyxy,",
    "eval rows.jsonl ", "eval --", "eval --recipe gelato --by a --by b --", "eval --json ", "pool next --selector spr",
    "pool temperature a b --", "check trl --", "--", "rollout --engine ", "where easyr1 ", "recipes gelato ",
    "eval --recipe gelato rows.jsonl --bad-target ", "compare a.jsonl --shown 2 --", "view --predictions ",
    "recipes --family qwen2_5_vl gelato-",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_answers_are_those_of_the_live_options(monkeypatch, capsys, line, shell):
    whole = f"grounding-rewards {line}"
    for name, value in {
        "COMP_WORDS": whole, "COMP_CWORD": str(len(whole.split()) - (not whole.endswith(" "))),
        "_TYPER_COMPLETE_ARGS": whole, "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        completion.COMPLETE: f"complete_{shell}",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert completion.answered() == 0
    own = capsys.readouterr().out
    asked = completion.COMPLETE, f"complete_{shell}"
    assert typer.completion.shell_complete(command(), {}, "grounding-rewards", *asked) == 0
    assert [" ".join(own.split())] == [" ".join(capsys.readouterr().out.split())]


@pytest.mark.parametrize("line", ["eval --recipe=gel", 'eval "a', "eval -- ", "nothing "])
def test_what_the_table_cannot_say_is_left_to_the_live_options(monkeypatch, line):
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"grounding-rewards {line}")
    monkeypatch.setenv(completion.COMPLETE, "complete_zsh")
    assert completion.answered() is None


def test_names_are_left_to_the_live_options_where_a_plugin_is_installed_and_wanted(monkeypatch):
    own = metadata.EntryPoint("own", "own:Plugin", "grounding_rewards")
    monkeypatch.setattr(metadata, "entry_points", lambda group: metadata.EntryPoints([own]).select(group=group))
    monkeypatch.delenv("GROUNDING_REWARDS_PLUGINS", raising=False)
    assert completion.proposals(["eval", "--recipe"], "gelato-") is None
    assert completion.proposals(["eval", "--box-format"], "xyx") == [("xyxy", "")]
    monkeypatch.setenv("GROUNDING_REWARDS_PLUGINS", "")
    assert completion.proposals(["eval", "--recipe"], "gelato-") == [("gelato-pixel", "")]


@pytest.mark.parametrize(("line", "status"), [("eval --box-format xy", 0), ("eval --box-format ?", 1)])
def test_fish_asks_whether_anything_may_stand_there(monkeypatch, capsys, line, status):
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"grounding-rewards {line}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    monkeypatch.setenv(completion.COMPLETE, "complete_fish")
    assert (completion.answered(), capsys.readouterr().out) == (status, "")
