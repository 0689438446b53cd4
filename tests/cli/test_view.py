"""``grounding-rewards view``: one page, the same for the same command."""

from __future__ import annotations

import json

from tests.cli.command import write_rows


def test_the_command_writes_the_same_page_again(run, tmp_path):
    file = write_rows(tmp_path / "r.jsonl", *({"sample_id": name, "acc": 1, "response": name} for name in "abca"))
    out = tmp_path / "out.html"
    result = run("view", file, "--out", out)
    assert (result.code, result.err) == (0, f"4 rollouts, 3 samples, 0 screenshots written to {out}\n")
    first = out.read_bytes()
    assert json.loads(run("view", file, "--out", out, "--json").out)["samples"] == 3
    assert out.read_bytes() == first
    assert "a page ends in .html" in run.error("view", file, "--out", tmp_path / "out.png")
    assert "no such file" in run.error("view", tmp_path / "none.jsonl", "--out", out)
