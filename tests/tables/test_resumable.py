"""Directories in pieces: one process at a time, whole at the end, and old ones until then."""

from __future__ import annotations

import errno
import json
from types import SimpleNamespace

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import atomic
from grounding_rewards.tables.resumable import differing, directory_in_pieces
from tests.cli.command import names


def make(out, text=b"new", *, seed=1, overwrite=False, stop=None):
    """A directory of two pieces; which of them were made now."""
    now = []
    with directory_in_pieces(out, "manifest.json", {"seed": seed, "inputs": []}, overwrite=overwrite) as pieces:
        if pieces is None:
            return None
        for name in ("one", "two"):
            if name not in pieces:
                with pieces.write(name) as file:
                    file.write(text)
                now.append(name)
                if stop == name:
                    raise RuntimeError
        pieces.finish(["one", "two"], {"rows": 2})
    return now


def test_pieces_that_are_there_are_not_made_again(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        make(out, stop="one")
    assert names(tmp_path) == [".out.partial"]
    (tmp_path / ".out.partial" / ".one.77.partial").touch()  # of a process that was killed
    assert make(out) == ["two"]
    assert make(out) is None
    assert names(tmp_path) == ["out"]
    assert names(out) == ["manifest.json", "one", "two"]
    assert json.loads((out / "manifest.json").read_text()) == {
        "seed": 1, "inputs": [], "rows": 2,
        "outputs": [
            {"path": name, "bytes": 3, "sha256": "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
            for name in ("one", "two")
        ],
    }  # fmt: skip


def test_nothing_is_left_of_a_run_that_made_no_piece(tmp_path):
    with pytest.raises(RuntimeError), directory_in_pieces(tmp_path / "out", "manifest.json", {"seed": 1}):
        raise RuntimeError
    assert names(tmp_path) == []


def test_one_process_at_a_time(tmp_path):
    out = tmp_path / "out"
    with directory_in_pieces(out, "manifest.json", {"seed": 1}) as pieces:
        assert pieces is not None
        with pytest.raises(TableError, match="another process is making it; wait until it has ended, or write elsewh"):
            make(out)
        with pieces.write("one") as file:
            file.write(b"1")
        pieces.finish(["one"], {})
    assert make(out, seed=2, overwrite=True) == ["one", "two"]


def test_file_systems_without_locks_go_without(tmp_path, monkeypatch):
    def refuse(*given):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(atomic, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=1, LOCK_NB=2))
    assert make(tmp_path / "out") == ["one", "two"]


def test_the_old_directory_stays_until_the_new_one_is_whole(tmp_path):
    out = tmp_path / "out"
    make(out, b"old")
    with pytest.raises(TableError, match="was made with seed 1, and not 2; write to another directory, or replace it"):
        make(out, seed=2)
    with pytest.raises(RuntimeError):
        make(out, seed=2, overwrite=True, stop="two")
    assert (out / "one").read_bytes() == b"old"
    assert make(out, seed=2, overwrite=True) == []
    assert (out / "one").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_an_old_directory_that_a_killed_run_renamed_aside_comes_back(tmp_path):
    out, aside = tmp_path / "out", tmp_path / ".out.old"
    make(out)
    out.rename(aside)
    assert make(out) is None
    assert names(out) == ["manifest.json", "one", "two"]
    out.rename(aside)
    make(out, b"newer", seed=2, overwrite=True)
    assert ((out / "one").read_bytes(), names(tmp_path)) == (b"newer", ["out"])


def test_what_is_left_of_an_old_directory_goes(tmp_path):
    out = tmp_path / "out"
    make(out)
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / ".out.partial" / "one").touch()
    assert make(out) is None
    assert names(tmp_path) == ["out"]


def test_inputs_count_by_what_they_hold():
    said = {"inputs": [{"path": "a", "sha256": "1"}, {"path": "b", "sha256": "2"}], "seed": 1}
    moved = [{"path": "c", "sha256": "1"}, {"path": "d", "sha256": "2"}]
    assert differing(said, {"inputs": moved}) == []
    assert differing(said, {"inputs": moved[::-1], "seed": 1}) == ["inputs"]
    assert differing(said, {"seed": 2, "rest": (1, 2)}) == ["seed", "rest"]
    assert differing({"code": [{"path": "a", "sha256": "1"}]}, {"code": []}) == ["code"]


@pytest.mark.parametrize("outputs", [["a"], [{}], [None], [{"path": "one"}], [{"path": [], "bytes": 1, "sha256": ""}]])
def test_a_manifest_that_lists_no_files(tmp_path, outputs):
    out = tmp_path / "out"
    make(out)
    (out / "manifest.json").write_text(json.dumps({"seed": 1, "inputs": [], "outputs": outputs}))
    with pytest.raises(TableError, match=r"out: is there, and holds no manifest\.json, so it is not replaced"):
        make(out, overwrite=True)


@pytest.mark.parametrize("name", ["../other", "other", "link", "x" * 300])
def test_what_a_manifest_lists_outside_its_directory_is_not_read(tmp_path, name):
    """Though it holds what the manifest says."""
    out, other = tmp_path / "out", tmp_path / "other"
    make(out)
    other.write_text("new")
    if name == "link":
        (out / "link").symlink_to(other)
    name = str(other) if name == "other" else name
    told = json.loads((out / "manifest.json").read_text())
    told["outputs"].append({**told["outputs"][0], "path": name})
    (out / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(TableError) as caught:
        make(out)
    assert str(caught.value).startswith(f"{out}: {name} is not what manifest.json says; write to another directory")
    assert make(out, overwrite=True) == ["one", "two"]
    assert (names(out), other.read_text()) == (["manifest.json", "one", "two"], "new")
