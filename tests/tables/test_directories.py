"""Directories that were made for an output, and how they come to the disk."""

from __future__ import annotations

import errno
import os

import pytest

from grounding_rewards.tables.atomic import atomic_file, atomic_files
from grounding_rewards.tables.data_paths import made_directory
from tests.cli.command import names


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
    with atomic_file(tmp_path / "one") as file:
        file.write(b"new")
    assert (tmp_path / "one").read_bytes() == b"new"
