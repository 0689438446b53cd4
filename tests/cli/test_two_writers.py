"""Two runs that write one output at once, as in two containers whose process numbers are equal, and full disks."""

from __future__ import annotations

import errno
import os

import pytest

from tests.cli.command import HIT, MISS, write_rows
from tests.cli.pool.test_curriculum import EXAMPLE, rollouts
from tests.disks import full_disk

pytestmark = pytest.mark.slow

ROW = {"instruction": "Save", "bbox": [1, 2, 3, 4], "image_size": [64, 48]}
GELATO = ("--recipe", "gelato")
PIXEL = ("--target-space", "pixel")
COMMANDS = {
    "score jsonl": (("score", "in.jsonl", "--out", "o.jsonl", *GELATO), (), ("--prefix", "a")),
    "score parquet": (("score", "in.jsonl", "--out", "o.parquet", *GELATO), (), ("--prefix", "a")),
    "convert jsonl": (("convert", "data.jsonl", "--out", "o.jsonl", *PIXEL), ("--for", "trl"), ("--for", "verl")),
    "convert parquet": (("convert", "data.jsonl", "--out", "o.parquet", *PIXEL), ("--for", "trl"), ("--for", "verl")),
    "explain --out": (("explain", "--out", "o.html"), ("--recipe", "gelato"), ("--recipe", "se-gui")),
    "view": (("view", "r.parquet", "--out", "o.html"), (), ("--by", "difficulty")),
    "pool stats jsonl": (("pool", "stats", "r.parquet", "--out", "o.jsonl"), ("--pass-at", "2"), ()),
    "pool stats parquet": (("pool", "stats", "r.parquet", "--out", "o.parquet"), ("--pass-at", "2"), ()),
    "pool transitions": (
        ("pool", "transitions", "r.parquet", "r.parquet", "--out", "o.json"),
        (),
        ("--by", "difficulty"),
    ),
    "pool next": (("pool", "next", "r.parquet", "--out", "o.parquet"), (), ("--control",)),
    "pool next control": (("pool", "next", "r.parquet", "--out", "o.parquet"), ("--control",), ("--seed", "2")),
    "pool report": (("pool", "report", "r.parquet", "--out", "o"), ("--title", "A"), ("--samples", "0")),
    "pool curriculum": (("pool", "curriculum", "r.parquet", "--stages", EXAMPLE, "--out", "o"), (), ("--weights",)),
}
"""Words of each command that two runs share, then those of the one and of the other."""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Inputs, in the working directory."""
    write_rows(tmp_path / "in.jsonl", HIT, MISS)
    write_rows(tmp_path / "data.jsonl", ROW)
    rollouts(tmp_path / "r.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outputs(folder):
    """Return all that lies in a folder beside the inputs, hidden files and empty directories too."""
    found = {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
    return {name: content for name, content in found.items() if name not in ("in.jsonl", "data.jsonl", "r.parquet")}


@pytest.mark.parametrize("command", COMMANDS)
def test_of_two_runs_with_equal_process_numbers_the_last_to_end_wins(run, work, monkeypatch, command):
    shared, last, first = COMMANDS[command]
    assert run(*shared, *first).code == 0
    assert run(*shared, *last).code == 0
    expected, calls, fsync = outputs(work), [], os.fsync
    for path in sorted(work.rglob("o*"), reverse=True):
        if path.is_file():
            path.unlink()

    def between(file):
        calls.append(file)
        if len(calls) == 1:  # all is written by now, and has no name yet
            assert run(*shared, *first).code == 0
        fsync(file)

    monkeypatch.setattr(os, "getpid", lambda: 7)
    monkeypatch.setattr(os, "fsync", between)
    assert run(*shared, *last).code == 0
    assert outputs(work) == expected


@pytest.mark.parametrize("there", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_leaves_what_was_there_and_names_the_file(run, work, monkeypatch, command, there):
    shared, words, older = COMMANDS[command]
    if there:
        assert run(*shared, *older).code == 0
    before = outputs(work)
    with full_disk():
        grown = run(*shared, *words)
    assert (grown.code, outputs(work)) == (2, before)

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    late = run(*shared, *words)
    assert (late.code, outputs(work)) == (2, before)
    for result, said in (
        (grown, "would be larger than files may be here; raise the limit (`ulimit -f`), or write elsewhere"),
        (late, "no space is left on the disk; free some, or write elsewhere"),
    ):
        error = result.err.splitlines()[-1]
        assert error.startswith(f"error: {work / 'o'}")
        assert error.endswith(f": {said}")
