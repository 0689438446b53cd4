"""``grounding-rewards check recipe``: what it prints, and what it asks for."""

from __future__ import annotations

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
    assert run("check", "recipe", "click", "--option", "format_weight=0.5", "--strict").code == 1
