"""Directories are old or new and never half, and a killed run's are finished by the next one."""

from __future__ import annotations

import errno
import os

import pytest

from grounding_rewards.tables.atomic import (
    atomic_directory,
    atomic_files,
    made_directory,
    put_directory,
    restore,
)
from tests.cli.command import names
from tests.tables.test_atomic import contents, write


@pytest.fixture
def old(tmp_path):
    write(tmp_path, b"old")
    (tmp_path / "stale").touch()
    return tmp_path


def test_a_directory_is_there_or_not(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError), atomic_directory(out):
        raise RuntimeError
    assert names(tmp_path) == []
    for name in ("old", "new"):
        with atomic_directory(out) as files:
            files.open(out / name).write(name.encode())
            assert not (out / name).exists()
    assert (names(tmp_path), contents(out)) == (["out"], {"new": b"new"})


def test_directories_of_others_stay(tmp_path):
    kept = [".o.mine.partial", ".o.77.partial", ".o.20240101.partial"]  # the last two may be pieces of `o.77`
    for name in kept:
        (tmp_path / name).mkdir()
    with atomic_directory(tmp_path / "o") as first, atomic_directory(tmp_path / "o") as second:
        assert len(names(tmp_path)) == 5
        first.open("o/a").write(b"first")
        second.open("o/a").write(b"second")
    assert names(tmp_path) == sorted([*kept, "o"])
    assert contents(tmp_path / "o") == {"a": b"first"}  # which ended last


@pytest.mark.parametrize("ended_at", [1, 2, 3])
def test_the_next_run_finishes_a_directory_that_was_being_replaced(tmp_path, monkeypatch, ended_at):
    out, new = tmp_path / "out", tmp_path / "new"
    for path in (out, new):
        path.mkdir()
        (path / path.name).touch()
    calls, rename = [], os.rename

    def ending(one, other):
        calls.append(other)
        if len(calls) == ended_at:
            os._exit(9)
        rename(one, other)

    child = os.fork()
    if not child:
        os.rename = ending
        put_directory(new, out)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert out.exists() == (ended_at != 2)
    restore(out)
    assert names(out) == (["new"] if ended_at == 3 else ["out"])
    assert names(tmp_path) == (["out"] if ended_at == 3 else ["new", "out"])


def test_a_directory_that_cannot_be_renamed_brings_the_old_one_back(old):
    with pytest.raises(FileNotFoundError):
        put_directory(old / "none", old)
    assert names(old) == ["manifest", "one", "stale", "two"]


def test_directories_that_were_made_are_removed_unless_they_hold_files(tmp_path):
    def fail(out, *files):
        with made_directory(out):
            for each in files:
                (out / each).touch()
            raise RuntimeError

    (tmp_path / "a").mkdir()
    for out, made in (("a/b/c", ["mine"]), ("a/d/e", []), ("a", [])):
        with pytest.raises(RuntimeError):
            fail(tmp_path / out, *made)
    assert names(tmp_path / "a") == ["b"]
    assert names(tmp_path / "a" / "b" / "c") == ["mine"]
    with made_directory(tmp_path / "a" / "d" / "e"):
        pass
    assert names(tmp_path / "a") == ["b", "d"]


def test_every_directory_is_brought_to_the_disk(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.readlink(f"/proc/self/fd/{file}")), fsync(file)))
    (tmp_path / "pictures").mkdir()
    with atomic_files() as files:
        files.open(tmp_path / "page")
        files.open(tmp_path / "pictures" / "one")
    assert set(synced[2:]) == {str(tmp_path), str(tmp_path / "pictures")}


def test_a_directory_that_cannot_be_brought_to_the_disk_is_no_error(tmp_path, monkeypatch):
    fsync = os.fsync

    def refusing(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refusing)
    write(tmp_path, b"new")
    assert contents(tmp_path) == dict.fromkeys(("manifest", "one", "two"), b"new")
