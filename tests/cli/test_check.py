"""``grounding-rewards check recipe``: what it prints, and what it asks for."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_policies_play_on_targets_of_your_own(run: Runner, tmp_path: Path) -> None:
    """The middle of the screen is right where all targets lie there."""
    size = {"image_size": [1000, 1000]}
    rows = [{"target": {"bbox": [450 + at, 450, 550 + at, 550], **size}} for at in range(30)]
    rows += [{"target": {"bbox": [990, 450, 1010, 550], **size}}, {"target": {"bbox": [5, 1], **size}}]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("check", "recipe", "gta1", "--data", file, "--json")
    (centre,) = [each for each in result_of(run(*words).out)["recipes"]["gta1"] if each["policy"] == "centre"]
    assert (centre["acc"], centre["share"], centre["farms"]) == (1.0, 1.0, False)
    file.write_text(json.dumps(rows[-1]) + "\n")
    assert "got 'no target'; expected boxes within screens of known sizes" in run(*words).err
