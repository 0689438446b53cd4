"""Several files at once: whole or not at all, and the first of them last."""

from __future__ import annotations

import os

import pytest

from grounding_rewards.tables import locks
from grounding_rewards.tables.together import partials, written_together
from tests.cli.command import names
from tests.disks import full_disk


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


def test_ended_between_two_names_the_first_file_tells_of_it_until_another_run_ends_well(old, monkeypatch):
    replace = os.replace

    def stopping(one, other):
        if other.name == "one":
            raise SystemExit
        replace(one, other)

    monkeypatch.setattr(os, "replace", stopping)
    with pytest.raises(SystemExit):
        write(old, b"new")
    (left,) = partials(old / "manifest")
    assert [path.read_bytes() for path in (left, old / "two", old / "one", old / "manifest")] == [
        b"new", b"new", b"old", b"old",
    ]  # fmt: skip
    assert not partials(old / "one")
    with pytest.raises(SystemExit):
        write(old, b"newer")
    assert len(partials(old / "manifest")) == 2
    monkeypatch.setattr(os, "replace", replace)
    write(old, b"last")
    assert told(old) == {**dict.fromkeys(("manifest", "one", "two"), b"last"), "stale": b""}


def test_what_dead_runs_left_is_removed_and_what_lives_is_not(tmp_path):
    dead = [tmp_path / f".{name}.together-77.partial" for name in ("manifest", "one", "one.more")]
    for path in dead:
        path.write_bytes(b"half")
    with written_together() as other:
        other.open(tmp_path / "manifest").write(b"other")
        other.open(tmp_path / "one").write(b"other")
        assert not dead[1].exists()
        write(tmp_path, b"new")
        assert not dead[0].exists()
        assert len(partials(tmp_path / "manifest")) == len(partials(tmp_path / "one")) == 1
    assert (tmp_path / "one").read_bytes() == b"other"
    assert dead[2].exists()  # of another file


def test_without_locks_nothing_is_taken_for_dead(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    dead = tmp_path / ".one.together-77.partial"
    dead.touch()
    write(tmp_path, b"new")
    assert names(tmp_path) == [dead.name, "manifest", "one", "two"]


def test_what_the_system_refuses_names_the_file(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}/none/one"), written_together() as files:
        files.open(tmp_path / "none" / "one")

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/manifest'"):
        write(tmp_path, b"new")
    assert names(tmp_path) == []


def test_a_full_disk_is_said_with_the_file_that_grew(tmp_path):
    def write_pool():
        with written_together() as files:
            files.open(tmp_path / "manifest").write(b"{}")
            files.open(tmp_path / "pool").write(bytes(100_000))

    with full_disk(100), pytest.raises(OSError, match="File too large") as caught:
        write_pool()
    assert caught.value.filename == str(tmp_path / "pool")
    assert names(tmp_path) == []
