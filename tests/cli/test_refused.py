"""Errors of the system are one line that names the file and says what to do."""

from __future__ import annotations

import errno
import os
import re

import pytest

from grounding_rewards.cli import refused
from grounding_rewards.tables import atomic
from tests.cli.command import names, write_rows
from tests.cli.pool.test_curriculum import EXAMPLE, rollouts
from tests.disks import full_disk


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "a/b: no space is left on the disk; free some, or write elsewhere"),
        (errno.EROFS, "a/b: the disk can only be read; write elsewhere"),
        (errno.EACCES, "a/b: you are not allowed to; change who may read and write there, or name another file"),
        (errno.ENOENT, "a/b: no such file or directory; name one that is there"),
        (errno.EIO, "a/b: Input/output error"),
    ],
)
def test_what_happened_to_which_file_and_what_to_do(number, message):
    assert refused(OSError(number, os.strerror(number), "a/b")) == message


def test_what_has_no_number_or_no_file():
    assert refused(OSError("Couldn't deserialize thrift")) == "Couldn't deserialize thrift"
    assert refused(OSError(errno.ENOSPC, "")) == "no space is left on the disk; free some, or write elsewhere"


COMMANDS = {
    "pool.parquet.manifest.json": ("next", "--out", "pool.parquet"),
    "pool.jsonl.manifest.json": ("next", "--out", "pool.jsonl"),
    "stats.parquet": ("stats", "--out", "stats.parquet"),
    "stats.jsonl": ("stats", "--out", "stats.jsonl"),
    "moves.json": ("transitions", "ROLLOUTS", "--out", "moves.json"),
    "stages": ("curriculum", "--stages", EXAMPLE, "--out", "stages"),
    "weights": ("curriculum", "--stages", EXAMPLE, "--out", "weights", "--weights"),
}


@pytest.mark.parametrize("file", COMMANDS)
def test_a_full_disk(run, tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    source = rollouts(tmp_path / "rollouts.parquet")
    command, *words = COMMANDS[file]
    with full_disk():
        result = run("pool", command, source, *(source if word == "ROLLOUTS" else word for word in words))
    said = result.err.splitlines()[-1]
    place = said.removeprefix("error: ").partition(": ")[0]
    assert said.endswith(": would be larger than files may be here; raise the limit (`ulimit -f`), or write elsewhere")
    file = file.removesuffix(".manifest.json")
    assert {tmp_path / file, tmp_path / f"{file}.manifest.json"} & {tmp_path / place, (tmp_path / place).parent}
    assert (result.code, names(tmp_path)) == (2, ["rollouts.parquet"])


def test_a_full_disk_of_temporary_files(run, tmp_path):
    source = rollouts(tmp_path / "rollouts.jsonl")  # of which queries read a copy
    with full_disk():
        said = run.error("pool", "stats", source, "--out", tmp_path / "stats.parquet")
    assert re.match(r".*/grounding-rewards-\w+\.parquet: would be larger than files may be here; raise the limit", said)


def test_a_folder_that_may_not_be_written(run, tmp_path, monkeypatch):
    def forbidden(self, place, path):
        raise PermissionError(errno.EACCES, "Permission denied", str(place))

    source = rollouts(tmp_path / "rollouts.jsonl")
    monkeypatch.setattr(atomic._Named, "__init__", forbidden)
    for command in (("stats", source), ("next", source)):
        assert run.error("pool", *command, "--out", tmp_path / "out.jsonl").endswith(
            ": you are not allowed to; change who may read and write there, or name another file"
        )


def test_stages_that_are_not_there(run, tmp_path):
    source, none = write_rows(tmp_path / "rollouts.jsonl", {"sample_id": "a", "acc": 1}), tmp_path / "none.json"
    assert run.error("pool", "curriculum", source, "--stages", none, "--validate") == (
        f"--stages: {none}: no such file; expected bands, stages and gate in .json or .toml"
    )


def test_a_group_alone_says_what_there_is(run):
    for words, shown in ([], "convert"), (["pool"], "transitions"):
        result = run(*words)
        assert (result.code, result.err) == (0, "")
        assert shown in result.out
