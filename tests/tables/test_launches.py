"""Several launches that record into one directory: a run each, which readers count together and name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grounding_rewards.tables.launches import MARK, Launch, several_runs
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts

RECORD = """
import logging, sys
from grounding_rewards.tables.recorder import RolloutRecorder
logging.basicConfig(format="%(message)s")
recorder = RolloutRecorder(sys.argv[1])
recorder.append({"sample_id": ["a", "b"], "acc": [1, 0], "response": [sys.argv[2]] * 2})
recorder.close()
"""


def launch(directory: Path, response: str, *, code: str = RECORD, **environment: str) -> str:
    """Record from a process of its own, and return what it logged."""
    done = subprocess.run(
        [sys.executable, "-c", code, directory, response], capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stderr


def runs(directory: Path) -> list[str]:
    """Return the names of the files without their numbers."""
    return sorted(re.sub(r"[0-9a-f]{8}-\d{6}", "*", path.name) for path in directory.glob("*.parquet"))


def test_a_launch_after_another_is_a_run_with_a_name(tmp_path: Path) -> None:
    assert launch(tmp_path, "first") == ""
    text = f"{tmp_path} holds rollouts of an earlier run; this one is run-{{}} there, in files rollouts-run-{{}}-*"
    assert launch(tmp_path, "second").startswith(text.format(2, 2))
    assert launch(tmp_path, "third").startswith(text.format(3, 3))
    assert runs(tmp_path) == ["rollouts-*.parquet", "rollouts-run-2-*.parquet", "rollouts-run-3-*.parquet"]
    table = read_rollouts(tmp_path)
    assert sorted(table["response"].to_pylist()) == ["first"] * 2 + ["second"] * 2 + ["third"] * 2
    assert len(set(table["rollout"].to_pylist())) == 6
    assert several_runs(tmp_path.glob("*.parquet")) == (
        f"{tmp_path} holds rollouts of 3 runs, which count together; those of the last one are "
        f"{tmp_path}/rollouts-run-3-*.parquet"
    )


def test_processes_that_are_alive_together_are_one_launch(tmp_path: Path) -> None:
    recorder = RolloutRecorder(tmp_path)
    recorder.append({"response": ["mine"] * 2})
    assert launch(tmp_path, "its own") == ""
    recorder.close()
    assert runs(tmp_path) == ["rollouts-*.parquet"] * 2
    assert several_runs(tmp_path.glob("*.parquet")) == ""


def test_recorders_of_one_process_after_another_are_one_launch(tmp_path: Path) -> None:
    for response in ("first", "second"):
        recorder = RolloutRecorder(tmp_path)
        recorder.append({"response": [response]})
        recorder.close()
        del recorder
    assert runs(tmp_path) == ["rollouts-*.parquet"] * 2


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="origins of Ray's workers are read from /proc")
def test_workers_of_one_ray_job_are_one_launch_however_long_they_live(tmp_path: Path) -> None:
    raylet = str(os.getpid())
    for job, last in (("01000000", 1), ("01000000", 1), ("02000000", 2), ("02000000", 2)):
        launch(tmp_path, "a worker", RAY_JOB_ID=job, RAY_RAYLET_PID=raylet)
        assert json.loads((tmp_path / MARK).read_text())["number"] == last
    assert runs(tmp_path) == ["rollouts-*.parquet"] * 2 + ["rollouts-run-2-*.parquet"] * 2


def test_a_launch_that_recorded_nothing_leaves_its_number(tmp_path: Path) -> None:
    code = "import sys; from grounding_rewards.tables.recorder import RolloutRecorder; RolloutRecorder(sys.argv[1])"
    for _ in range(2):
        launch(tmp_path, "", code=code)
    assert Launch(tmp_path).prefix == "rollouts-"


@pytest.mark.parametrize(
    "mark",
    [
        b"", b"\xff", b"[1]", b'{"number": "x"}', b'{"number": null, "origins": []}', b'{"number": 1, "origins": [[]]}',
        b'{"number": 1, "origins": 5}', b'{"number": -1, "origins": []}', b"[" * 99999,
    ],
)  # fmt: skip
def test_a_broken_mark_is_none(tmp_path: Path, mark: bytes) -> None:
    (tmp_path / MARK).write_bytes(mark)
    (tmp_path / "rollouts-0000000a-000001.parquet").touch()
    launched = Launch(tmp_path)
    assert (launched.number, launched.prefix) == (2, "rollouts-run-2-")


def test_without_locks_processes_join_the_last_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding_rewards.tables.launches.lock", lambda file, shared=False: None)
    assert Launch(tmp_path).number == 1
    monkeypatch.setattr("grounding_rewards.tables.launches._PROCESS", "another")
    (tmp_path / "rollouts-0000000a-000001.parquet").touch()
    assert Launch(tmp_path).number == 1


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_a_mark_that_cannot_be_opened_ends_nothing(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / MARK)
    (tmp_path / "rollouts-run-2-0000000a-000001.parquet").touch()
    assert Launch(tmp_path).number == 2
    assert not (tmp_path / "elsewhere").exists()
