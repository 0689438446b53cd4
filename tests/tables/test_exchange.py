"""A directory that takes the place of another one: in one step, and without what killed processes left."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grounding_rewards.tables import exchange
from grounding_rewards.tables.exchange import put_directory, whole_directory


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_all_is_there_or_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(RuntimeError), whole_directory(out):
        raise RuntimeError
    assert names(tmp_path) == []
    for name in ("old", "new"):
        with whole_directory(out) as folder:
            (folder / name).touch()
            assert not (out / name).exists()
    assert (names(tmp_path), names(out)) == (["out"], ["new"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no system call exchanges two names")
def test_on_linux_two_names_are_exchanged_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        path.mkdir()
        (path / path.name).touch()
    rename = ctypes.CDLL(None).renameat2
    if rename(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        pytest.skip("the file system exchanges no names")
    assert (names(one), names(other)) == (["other"], ["one"])
    assert exchange._exchanged(one, other)
    assert exchange._exchanged(one, other)
    assert (names(one), names(other)) == (["other"], ["one"])  # neither is lost
    monkeypatch.setattr(os, "rename", None)
    put_directory(one, other)
    assert (names(tmp_path), names(other)) == (["other"], ["other"])


def test_what_killed_processes_left_goes_and_what_others_write_stays(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    code = (
        "import os, pathlib, sys; from grounding_rewards.tables.exchange import whole_directory\n"
        "with whole_directory(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').touch(); os.kill(os.getpid(), 9)"
    )
    out = tmp_path / "o"
    subprocess.run([sys.executable, "-c", code, out], check=False, timeout=60)
    (left,) = names(tmp_path)
    assert left.startswith(".o.")
    (tmp_path / ".o.mine.partial").mkdir()
    (tmp_path / ".o.7.partial").touch()
    with whole_directory(out) as first, whole_directory(out) as second:
        assert first != second
        assert len(names(tmp_path)) == 4
    assert names(tmp_path) == [".o.7.partial", ".o.mine.partial", "o"]
