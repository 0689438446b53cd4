"""Recording where files cannot be written: an error before training, none that ends it."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from threading import Event

import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import recorder as module
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts
from tests.disks import full_disk


@pytest.fixture
def recorder(tmp_path):
    made = RolloutRecorder(tmp_path / "run")
    yield made
    made.close()


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, "grounding_rewards")
    return lambda: [(record.levelname, record.message) for record in caplog.records]


def responses(directory):
    return read_rollouts(directory, ["response"]).column("response").to_pylist()


def test_a_directory_that_cannot_be_made_is_an_error_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    for directory in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(
            TableError, match=rf"{directory}: rollouts cannot be written there \(\w.*\); expected a dir"
        ):
            RolloutRecorder(directory)


def test_a_full_disk_is_an_error_at_once_and_leaves_nothing(tmp_path):
    with full_disk(), pytest.raises(TableError, match=r"run: rollouts cannot be written there \(File too large\)"):
        RolloutRecorder(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("directory", ["", "s3://bucket/run", None, True, 7])
def test_what_is_no_directory_is_an_error(directory):
    with pytest.raises(TableError, match=f"got {directory!r}; expected a directory of a file system"):
        RolloutRecorder(directory)


def test_rows_of_a_full_disk_are_kept_and_written_later(recorder, logged, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 2)
    recorder.append({"response": ["a", "b"]})
    with full_disk():
        for text in "cdefg":
            recorder.append({"response": [text]})
        recorder.flush()
    assert responses(recorder.directory) == ["a", "b"]
    (found,) = logged()
    assert found[0] == "ERROR"
    assert found[1].startswith(f"rollouts cannot be written to {recorder.directory} ([Errno 27] File too large")
    assert found[1].endswith(
        "up to 65,536 rows are kept and tried again every 10 seconds, and later ones are not recorded"
    )
    recorder.flush()
    assert responses(recorder.directory) == [*"abcdefg"]
    assert len(list(recorder.directory.glob("*.parquet"))) == 2
    assert logged()[1:] == [
        ("WARNING", f"rollouts are written to {recorder.directory} again; 0 rows were not recorded")
    ]


def test_while_files_fail_appending_does_not_try_each_time(recorder, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 1)
    tries = []
    monkeypatch.setattr(module.pq, "write_table", lambda *given, **how: tries.append(given) or 1 / 0)
    for _ in range(5):
        recorder.append({"response": ["?"]})
    assert len(tries) == 1
    monkeypatch.undo()


def test_rows_beyond_the_most_are_counted_and_not_kept(recorder, logged, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 3)
    with full_disk():
        recorder.append({"response": ["a"]})
        recorder.flush()
        for text in "bcdefg":
            recorder.append({"response": [text]})
    assert [line for line in logged() if "until" in line[1]] == [
        ("ERROR", f"rollouts are not recorded until files can be written to {recorder.directory}")
    ]
    recorder.close()
    assert responses(recorder.directory) == ["a", "b", "c"]
    assert logged()[-1] == ("WARNING", f"rollouts are written to {recorder.directory} again; 4 rows were not recorded")
    recorder.append({"response": ["h"]})
    recorder.close()
    assert responses(recorder.directory) == ["a", "b", "c", "h"]


def test_they_are_tried_again_when_time_has_passed(recorder, monkeypatch):
    monkeypatch.setattr(module, "RETRY_AFTER_S", 0.01)
    with full_disk():
        recorder.append({"response": ["a"]})
        recorder.flush()
    assert any(list(recorder.directory.glob("*.parquet")) or Event().wait(0.005) for _ in range(2000))
    assert responses(recorder.directory) == ["a"]


def test_closing_says_what_is_lost(recorder, logged):
    for text in "ab":
        recorder.append({"response": [text]})
    with full_disk():
        recorder.close()
    assert logged()[-1] == ("ERROR", f"2 rollouts are lost if this process ends now: {recorder.directory}")


def test_a_directory_that_was_moved_away_is_made_again(recorder):
    recorder.append({"response": ["a"]})
    shutil.rmtree(recorder.directory)
    recorder.close()
    assert responses(recorder.directory) == ["a"]


def test_while_the_interpreter_ends_and_no_thread_starts_rows_are_written_at_once(recorder, monkeypatch):
    def refused(self) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module.Timer, "start", refused)
    recorder.append({"response": ["a"]})
    assert responses(recorder.directory) == ["a"]


def test_a_recorder_that_was_closed_without_rows_takes_no_other_ones_number(tmp_path, monkeypatch):
    numbers = [7, 7, 8]
    monkeypatch.setattr(module.secrets, "randbits", lambda bits: numbers.pop(0))
    first = RolloutRecorder(tmp_path)
    first.close()
    second = RolloutRecorder(tmp_path)
    for recorder, text in ((second, "b"), (first, "a")):
        recorder.append({"response": [text]})
        recorder.close()
    assert responses(tmp_path) == ["b", "a"]


GONE = """
import shutil, sys
from grounding_rewards.tables.recorder import RolloutRecorder

recorder = RolloutRecorder(sys.argv[1])
recorder.append({"response": ["?"]})
shutil.rmtree(sys.argv[1])
"""


@pytest.mark.slow
def test_a_directory_that_is_gone_at_the_end_stays_gone(tmp_path):
    folder = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", GONE, folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == f"1 rollouts are lost if this process ends now: {folder}\n"
    assert not folder.exists()
