"""``--target-space`` of every command that reads targets, and flags that errors name."""

from __future__ import annotations

import re

import pytest

from tests.cli.command import Runner, result_of, write_rows

ROW = {
    "sample_id": "a",
    "rollout": 0,
    "response": "(200, 150)",
    "target": [100, 100, 300, 200],
    "image_size": [1000, 800],
}
GELATO = ("--recipe", "gelato", "--response-space", "pixel")
COMMANDS = {
    "eval": ("eval", "FILE", *GELATO),
    "score": ("score", "FILE", *GELATO, "--out", "scored.jsonl"),
    "pool score": ("pool", "score", "FILE", *GELATO, "--out", "scored"),
    "explain": ("explain", "--recipe", "gelato", *GELATO[2:], "FILE", "--row", 0),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_targets_in_another_space_are_an_error_whose_flag_the_command_has(run: Runner, tmp_path, words):
    file = write_rows(tmp_path / "rows.jsonl", ROW)
    named = [file if word == "FILE" else tmp_path / word if str(word).startswith("scored") else word for word in words]
    failed = run(*named)
    text = failed.err + failed.out
    assert ("option target_space" if words[0] == "explain" else "--target-space SPACE") in text
    own = words[: 2 if words[0] == "pool" else 1]
    helped = run(*own, "--help").out
    assert [flag for flag in {*re.findall(r"--[a-z][a-z-]+", text)} if flag not in helped] == []
    assert run(*named, "--target-space", "pixel").code == 0


def test_the_space_counts(run: Runner, tmp_path):
    file = write_rows(tmp_path / "rows.jsonl", ROW)
    (found,) = result_of(run("eval", file, *GELATO, "--target-space", "pixel", "--json").out)
    assert (found["n"], found["correct"], found["recipe"]["target_space"]) == (1, 1, "pixel")


@pytest.mark.parametrize("command", ["eval", "score", "rollout", "pool score", "explain"])
def test_help_says_which_bound_each_option_is(run: Runner, command):
    helped = " ".join(run(*command.split(), "--help").out.split())
    assert "As the launch sets it" not in helped
    assert "--target-space" in helped
