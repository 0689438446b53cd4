"""Outputs are old or new and never half, whoever else writes them, and whatever killed runs have left."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables import atomic
from grounding_rewards.tables.atomic import atomic_file, atomic_files, leftovers
from grounding_rewards.tables.data_paths import made_directory
from tests.cli.command import names
from tests.disks import full_disk

NAMESPACE = ("unshare", "--pid", "--fork")


def write(folder, text, *, stale=()):
    with atomic_files() as files:
        for name in ("manifest", "one", "two"):
            files.open(folder / name).write(text)
        files.removed = stale


@pytest.fixture
def old(tmp_path):
    write(tmp_path, b"old")
    (tmp_path / "stale").touch()
    return tmp_path


@pytest.fixture
def without_locks(monkeypatch):
    def refuse(*given):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(atomic, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=1, LOCK_NB=2))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def namespaces():
    """Words before a command that give it process numbers of its own; none where the system refuses."""
    try:
        probe = subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True, timeout=60)
    except OSError:
        return ()
    return () if probe.returncode else NAMESPACE


WRITER = """
import os, sys
if sys.argv[3] == "equal":
    os.getpid = lambda: 7
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.writing import write_table

source, out = open_table(sys.argv[1]), sys.argv[2]
print(os.getpid(), flush=True)
for line in sys.stdin:
    times = int(line)
    for _ in range(times):
        with write_table(out, like=source, new={"by": str}) as writer:
            for batch in source.batches(size=500):
                writer.write(batch, {"by": [sys.argv[4]] * len(batch)})
                if times == 1 and batch.start == 0:
                    print("half", flush=True)
                    sys.stdin.readline()
    print("done", flush=True)
"""


class Writer:
    """A process that writes an output as often as it is asked to; one time alone it pauses half-way."""

    def __init__(self, source, out, by, words):
        command = [*words, sys.executable, "-c", WRITER, source, out, "own" if words else "equal", by]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = int(self.process.stdout.readline())

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture(params=["namespaces", "getpid"])
def two(request, tmp_path):
    """Two processes with equal numbers: in namespaces of their own where the system has them, else and too, by name."""
    words = namespaces() if request.param == "namespaces" else ()
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n' * 1000)
    writers = []

    def start(out):
        writers.extend(Writer(tmp_path / "in.jsonl", tmp_path / out, by, words) for by in ("first", "second"))
        assert writers[0].number == writers[1].number
        return writers

    yield start
    for each in writers:
        assert each.end() == 0


def read(path):
    """Return the writer of an output; all of its rows are read, and are of one writer."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
    else:
        table = pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])
    assert table["a"].to_pylist() == [1] * 1000
    (by,) = set(table["by"].to_pylist())
    return by


@pytest.mark.slow
@pytest.mark.parametrize("out", ["out.parquet", "out.jsonl"])
def test_of_two_containers_the_last_to_end_wins(two, tmp_path, out):
    first, second = two(out)
    first.say(1)
    assert first.hear() == "half"
    second.say(10)
    assert second.hear() == "done"
    assert read(tmp_path / out) == "second"
    first.say("")
    assert first.hear() == "done"
    assert read(tmp_path / out) == "first"
    assert names(tmp_path) == ["in.jsonl", out]


@pytest.mark.slow
@pytest.mark.parametrize("out", ["out.parquet", "out.jsonl"])
def test_two_containers_that_write_at_once_leave_a_whole_output(two, tmp_path, out):
    first, second = two(out)
    for _ in range(5):
        for each in (first, second):
            each.say(10)
        assert (first.hear(), second.hear()) == ("done", "done")
        assert read(tmp_path / out) in ("first", "second")
    assert names(tmp_path) == ["in.jsonl", out]


def test_names_are_taken_at_the_end_and_the_first_file_is_the_last(old, monkeypatch):
    steps, replace, fsync = [], os.replace, os.fsync

    def replacing(one, other):
        replace(one, other)
        new = sorted(name for name, text in contents(old).items() if text == b"new" and name[0] != ".")
        steps.append((os.path.basename(other), new, (old / "stale").exists()))

    def syncing(handle):
        fsync(handle)
        steps.append("directory" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")

    monkeypatch.setattr(os, "replace", replacing)
    monkeypatch.setattr(os, "fsync", syncing)
    write(old, b"new", stale=[old / "stale"])
    assert steps == [
        "file", "file", "file", ("two", ["two"], True), ("one", ["one", "two"], True),
        ("manifest", ["manifest", "one", "two"], False), "directory",
    ]  # fmt: skip
    assert contents(old) == dict.fromkeys(("manifest", "one", "two"), b"new")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_failure_leaves_the_old_files(old, stop):
    def half():
        with atomic_files() as files:
            files.open(old / "manifest").write(b"new")
            files.removed = [old / "stale"]
            assert len(names(old)) == 5
            raise stop

    with pytest.raises(stop):
        half()
    assert contents(old) == {**dict.fromkeys(("manifest", "one", "two"), b"old"), "stale": b""}


def test_ended_between_two_names_the_manifest_says_so_until_another_run_ends_well(old, monkeypatch):
    replace = os.replace

    def stopping(one, other):
        if other.name == "one":
            raise SystemExit
        replace(one, other)

    monkeypatch.setattr(os, "replace", stopping)
    with pytest.raises(SystemExit):
        write(old, b"new")
    (left,) = leftovers(old / "manifest")
    assert [path.read_bytes() for path in (left, old / "two", old / "one", old / "manifest")] == [
        b"new", b"new", b"old", b"old",
    ]  # fmt: skip
    assert not leftovers(old / "one")
    with pytest.raises(SystemExit):
        write(old, b"newer")
    assert len(leftovers(old / "manifest")) == 2
    monkeypatch.setattr(os, "replace", replace)
    write(old, b"last")
    assert contents(old) == {**dict.fromkeys(("manifest", "one", "two"), b"last"), "stale": b""}


def test_files_of_two_runs_are_not_mixed(tmp_path, monkeypatch):
    """The second run begins to change names while the first is at it, and waits for its turn."""
    flock, replace, second = atomic.fcntl.flock, os.replace, threading.Thread(target=write, args=(tmp_path, b"second"))
    waits_or_done, main = threading.Event(), threading.current_thread()

    def locking(file, how):
        try:
            flock(file, how)
        except BlockingIOError:
            if threading.current_thread() is second and os.path.isdir(f"/proc/self/fd/{file}"):
                waits_or_done.set()
            raise

    def replacing(one, other):
        replace(one, other)
        if threading.current_thread() is main and other.name == "two":
            second.start()
            assert waits_or_done.wait(60)
        elif threading.current_thread() is second and other.name == "manifest":
            waits_or_done.set()

    monkeypatch.setattr(atomic.fcntl, "flock", locking)
    monkeypatch.setattr(os, "replace", replacing)
    write(tmp_path, b"first")
    second.join(60)
    assert contents(tmp_path) == dict.fromkeys(("manifest", "one", "two"), b"second")


def test_a_directory_that_a_stranger_has_locked_is_written_to_in_the_end(tmp_path, monkeypatch):
    """As `flock DIR grounding-rewards ...` locks it, and waits for this run."""
    waited = []
    monkeypatch.setattr(atomic, "sleep", waited.append)
    handle = os.open(tmp_path, os.O_RDONLY)
    atomic.fcntl.flock(handle, atomic.fcntl.LOCK_EX)
    write(tmp_path, b"new")
    os.close(handle)
    assert contents(tmp_path) == dict.fromkeys(("manifest", "one", "two"), b"new")
    assert waited == [0.01] * 500


KILLED = """
import os, sys
from grounding_rewards.tables import atomic
with atomic.atomic_file(sys.argv[1]) as file:
    file.write(bytes(100_000))
    os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    out = tmp_path / "out"
    subprocess.run([sys.executable, "-c", KILLED, out], check=False, timeout=60)
    assert [path.name for path in leftovers(out)] == names(tmp_path)
    assert len(names(tmp_path)) == 1
    with atomic_file(out) as file:
        assert len(names(tmp_path)) == 1  # the space is free for this one
        file.write(b"new")
    assert contents(tmp_path) == {"out": b"new"}


def test_what_dead_runs_left_is_removed_and_what_lives_is_not(tmp_path):
    dead = [tmp_path / f".{name}.tmp-0123abcd.partial" for name in ("manifest", "one", "one.more")]
    for path in dead:
        path.write_bytes(b"half")
    with atomic_files() as other:
        other.open(tmp_path / "manifest").write(b"other")
        other.open(tmp_path / "one").write(b"other")
        assert not dead[1].exists()
        write(tmp_path, b"new")
        assert not dead[0].exists()
        assert len(leftovers(tmp_path / "manifest")) == len(leftovers(tmp_path / "one")) == 1
    assert (tmp_path / "one").read_bytes() == b"other"
    assert dead[2].exists()  # of another file


def test_what_dead_runs_left_of_a_file_that_is_taken_away_goes_with_it(tmp_path):
    dead = tmp_path / ".aside.tmp-0123abcd.partial"
    for path in (dead, tmp_path / "aside"):
        path.write_bytes(b"old")
    with atomic_files() as files:
        files.open(tmp_path / "manifest").write(b"new")
        files.removed = [tmp_path / "aside"]
    assert names(tmp_path) == ["manifest"]


def test_a_link_with_the_name_of_a_leftover_stays(tmp_path):
    (tmp_path / "of others").write_bytes(b"theirs")
    link = tmp_path / ".one.tmp-0123abcd.partial"
    link.symlink_to("of others")
    with atomic_file(tmp_path / "one") as file:
        file.write(b"new")
    assert link.is_symlink()


def test_a_file_that_is_taken_for_a_leftover_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    lock, calls = atomic.lock, []

    def late(file, **how):
        calls.append(file)
        if len(calls) == 1:
            monkeypatch.setattr(atomic, "lock", lock)
            atomic.remove_leftovers(tmp_path / "out")
        return lock(file, **how)

    monkeypatch.setattr(atomic, "lock", late)
    with atomic_file(tmp_path / "out") as file:
        file.write(b"new")
    assert contents(tmp_path) == {"out": b"new"}


@pytest.mark.usefixtures("without_locks")
def test_without_locks_leftovers_are_said_and_stay(tmp_path, caplog):
    dead = tmp_path / ".out.tmp-0123abcd.partial"
    dead.touch()
    with caplog.at_level(logging.WARNING), atomic_file(tmp_path / "out") as file:
        file.write(b"new")
    assert [record.getMessage() for record in caplog.records] == [
        f"{dead}: a run that was killed left it, or one is writing it now; remove it if nothing writes "
        f"{tmp_path / 'out'}"
    ]
    assert names(tmp_path) == [dead.name, "out"]
    caplog.clear()
    write(tmp_path, b"new")
    assert names(tmp_path) == [dead.name, "manifest", "one", "out", "two"]
    assert not caplog.records


def test_what_the_system_refuses_names_the_file(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}/none/one"), atomic_files() as files:
        files.open(tmp_path / "none" / "one")

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/manifest'"):
        write(tmp_path, b"new")
    assert names(tmp_path) == []


def test_a_full_disk_is_said_with_the_file_that_grew(tmp_path):
    def write_pool():
        with atomic_files() as files:
            files.open(tmp_path / "manifest").write(b"{}")
            files.open(tmp_path / "pool").write(bytes(100_000))

    with full_disk(100), pytest.raises(OSError, match="File too large") as caught:
        write_pool()
    assert caught.value.filename == str(tmp_path / "pool")
    assert names(tmp_path) == []


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_modes_follow_the_umask(tmp_path, mask, mode):
    (tmp_path / "out").touch(0o640)
    before = os.umask(mask)
    try:
        with atomic_file(tmp_path / "out") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/out")
    for text in (b"old", b"new"):
        with atomic_file(tmp_path / "link") as file:
            file.write(text)
            assert len(names(tmp_path / "there")) == (1 if text == b"old" else 2)
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "there") == {"out": b"new"}


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
