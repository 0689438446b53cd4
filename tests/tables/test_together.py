"""Several files at once: whole or not at all, and the first of them last."""

from __future__ import annotations

import os

import pytest

from grounding_rewards.tables.together import written_together
from tests.cli.command import names


def write(folder, text, *, stale=()):
    with written_together() as files:
        for name in ("manifest", "one", "two"):
            files.open(folder / name).write(text)
        files.removed.extend(stale)


@pytest.fixture
def old(tmp_path):
    write(tmp_path, b"old")
    (tmp_path / "stale").touch()
    return tmp_path


def told(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_names_are_taken_at_the_end_and_the_first_file_is_the_last(old, monkeypatch):
    seen, replace, fsync = [], os.replace, os.fsync

    def replacing(one, other):
        replace(one, other)
        seen.append(
            (
                os.path.basename(other),
                sorted(name for name, text in told(old).items() if text == b"new" and name[0] != "."),
            )
        )

    monkeypatch.setattr(os, "replace", replacing)
    monkeypatch.setattr(os, "fsync", lambda file: (fsync(file), seen.append("fsync")))
    write(old, b"new", stale=[old / "stale"])
    assert seen == [
        "fsync", "fsync", "fsync", ("two", ["two"]), ("one", ["one", "two"]), ("manifest", ["manifest", "one", "two"]),
    ]  # fmt: skip
    assert told(old) == dict.fromkeys(("manifest", "one", "two"), b"new")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_failure_leaves_the_old_files(old, stop):
    def half():
        with written_together() as files:
            files.open(old / "manifest").write(b"new")
            files.removed.append(old / "stale")
            assert len(names(old)) == 5
            raise stop

    with pytest.raises(stop):
        half()
    assert told(old) == {**dict.fromkeys(("manifest", "one", "two"), b"old"), "stale": b""}


def test_what_the_system_refuses_names_the_file(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}/none/one"), written_together() as files:
        files.open(tmp_path / "none" / "one")

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/manifest'"):
        write(tmp_path, b"new")
    assert names(tmp_path) == []
