"""``grounding-rewards check recipe``: what it prints, and what it asks for."""

from __future__ import annotations

import pytest

from tests.cli.command import Runner, result_of


def test_the_command_finds_what_earns_without_skill(run: Runner) -> None:
    found = run("check", "recipe", "se-gui", "--json", "--strict")
    assert found.code == 1
    result = result_of(found.out)
    assert [row["policy"] for row in result["recipes"]["se-gui"]][::10] == ["centre", "honest"]
    assert [(each["code"], each["severity"], each["count"]) for each in result["findings"]] == [
        ("farmed", "warning", 8)
    ]
    assert "se-gui: a policy without skill (the middle of the screen) earns 55%" in found.err
    quiet = run("check", "recipe", "gelato", "--strict")
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.splitlines()[-1].split()[:1] == ["honest"]


@pytest.mark.parametrize("words", [("recipe",), ("recipe", "gelato", "--all")])
def test_the_command_asks_for_one_or_all(run: Runner, words: tuple[str, ...]) -> None:
    assert run("check", *words).err == "error: check recipe: expected a NAME, or --all\n"


def test_options_go_with_a_name(run: Runner) -> None:
    refused = run("check", "recipe", "--all", "--option", "format_weight=0.1")
    assert refused.err == "error: check recipe: got format_weight with --all; expected a NAME, which takes them\n"
    assert run("check", "recipe", "click", "--option", "format_weight=0.5", "--strict").code == 1
