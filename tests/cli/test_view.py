"""``grounding-rewards view``: one page, the same for the same command, in a file or served until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from tests.cli.command import result_of, write_rows


def test_the_command_writes_the_same_page_again(run, tmp_path):
    file = write_rows(tmp_path / "r.jsonl", *({"sample_id": name, "acc": 1, "response": name} for name in "abca"))
    out = tmp_path / "out.html"
    result = run("view", file, "--out", out)
    assert (result.code, result.err) == (0, f"4 rollouts, 3 samples, 0 screenshots written to {out}\n")
    first = out.read_bytes()
    assert result_of(run("view", file, "--out", out, "--json").out)["samples"] == 3
    assert out.read_bytes() == first
    assert "a page ends in .html" in run.error("view", file, "--out", tmp_path / "out.png")
    assert "no such file" in run.error("view", tmp_path / "none.jsonl", "--out", out)
    for words in ((), ("--out", out, "--serve")):
        assert "expected one of the two" in run.error("view", file, *words)


@pytest.mark.slow
@pytest.mark.usefixtures("signals_as_at_a_terminal")
def test_the_served_page_ends_by_ctrl_c(tmp_path):
    file = write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1})
    words = [sys.executable, "-m", "grounding_rewards", "view", str(file), "--serve"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        address = next(word for word in process.stderr.readline().split() if word.startswith("http")).rstrip(",")
        assert b"1 rollout of 1 sample" in urlopen(address, timeout=20).read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == "stopped by Ctrl-C\n"
