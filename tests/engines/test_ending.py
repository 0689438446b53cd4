"""Processes of an engine end with a command that is killed, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grounding_rewards.engines.ending import descendants, ended_with_us

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")

PARENT = """
import multiprocessing, os, subprocess, sys, time
from grounding_rewards.engines.ending import ended_with_us

def child():  # as vLLM's EngineCore, with a worker of its own
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], start_new_session=True)
    print(os.getpid(), worker.pid, flush=True)
    time.sleep(120)

if __name__ == "__main__":
    before = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
    with ended_with_us():
        multiprocessing.get_context(sys.argv[1]).Process(target=child).start()
        print(before.pid, flush=True)
        time.sleep(120)
"""


def is_there(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_kill_ends_the_processes_of_the_engine_too(tmp_path, method):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(script), method], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    lines = sorted((parent.stdout.readline().split() for _ in range(2)), key=len)
    (before,), started = [[int(number) for number in line] for line in lines]
    try:
        deadline = time.monotonic() + 30
        time.sleep(2)  # the watcher has looked
        assert all(map(is_there, [before, *started]))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        while any(map(is_there, started)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(is_there, started))
        assert is_there(before)  # which the engine did not start
    finally:
        for number in (before, *started):
            if is_there(number):
                os.kill(number, signal.SIGKILL)
        parent.stdout.close()


def test_processes_stay_where_the_context_is_left():
    before = {*descendants(os.getpid())}
    with ended_with_us():
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        assert child.pid in descendants(os.getpid())
        watchers = {*descendants(os.getpid())} - before - {child.pid}
        assert len(watchers) == 1
    assert child.poll() is None
    assert not watchers & {*descendants(os.getpid())}
    child.kill()
    child.wait()
