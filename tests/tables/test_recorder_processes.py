"""Recording from threads and processes, and what is there when a process is killed."""

from __future__ import annotations

import os
import signal as signals
import subprocess
import sys
from collections import Counter
from multiprocessing import get_context
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.tables import recorder as module
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.launches import MARK
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts


def responses(directory):
    return read_rollouts(directory, ["response"]).column("response").to_pylist()


def run(code, directory):
    done = subprocess.run([sys.executable, "-c", code, str(directory)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done


def test_threads_share_a_recorder_and_none_of_their_rows_is_lost_or_parted(tmp_path, monkeypatch, request):
    monkeypatch.setattr(module, "PART_ROWS", 64)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads interrupt each other as often as they can
    request.addfinalizer(lambda: sys.setswitchinterval(usual))
    recorder = RolloutRecorder(tmp_path)

    def work(thread: int) -> None:
        for batch in range(40):
            recorder.append({"response": [f"{thread} {batch}"] * 7, "total": np.full(7, thread + 0.5)})

    threads = [Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    table = read_rollouts(tmp_path)
    counts = Counter(zip(table.column("response").to_pylist(), table.column("total").to_pylist(), strict=True))
    assert counts == {(f"{thread} {batch}", thread + 0.5): 7 for thread in range(8) for batch in range(40)}
    assert len(set(table.column("rollout").to_pylist())) == 8 * 40 * 7
    sizes = [pq.read_metadata(file).num_rows for file in tmp_path.glob("*.parquet")]
    assert len(sizes) > 10
    assert {size % 7 for size in sizes} == {0}


def test_what_is_read_while_others_write_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 10)
    recorder = RolloutRecorder(tmp_path)
    recorder.append({"response": ["x"] * 10})
    writer = Thread(target=lambda: [recorder.append({"response": ["x"] * 5}) for _ in range(60)])
    writer.start()
    seen = [read_rollouts(tmp_path).num_rows]
    while writer.is_alive():
        seen.append(pq.read_table(tmp_path).num_rows)
    recorder.close()
    seen.append(read_rollouts(tmp_path).num_rows)
    assert seen == sorted(seen)
    assert {rows % 5 for rows in seen} == {0}
    assert seen[-1] == 310


@pytest.mark.slow
def test_a_spawned_process_gets_a_recorder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FLUSH_AFTER_S", 600.0)
    recorder = RolloutRecorder(tmp_path)
    recorder.append({"response": ["parent"]})
    worker = get_context("spawn").Process(target=recorder.append, args=({"response": ["child"]},))
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0
    assert responses(tmp_path) == ["child"]
    recorder.close()
    assert sorted(responses(tmp_path)) == ["child", "parent"]


FORKS = """
import os, sys, threading
from multiprocessing import get_context
from grounding_rewards.tables import recorder as module

module.PART_ROWS = 5
recorder = module.RolloutRecorder(sys.argv[1])
recorder.append({"response": ["before"]})
stop = threading.Event()

def busy():
    while not stop.is_set():
        recorder.append({"response": ["busy"] * 3})

def child(number):
    recorder.append({"response": [f"child {number}"] * 2})

thread = threading.Thread(target=busy)
thread.start()
workers = [get_context("fork").Process(target=child, args=(number,)) for number in range(6)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join(20)
stop.set()
thread.join()
assert [worker.exitcode for worker in workers] == [0] * 6
pid = os.fork()
if not pid:
    child("raw")
    recorder.close()
    os._exit(0)
os.waitpid(pid, 0)
recorder.append({"response": ["after"]})
"""


@pytest.mark.slow
def test_forks_write_their_own_rows_and_every_process_writes_its_last_ones(tmp_path):
    run(FORKS, tmp_path)
    found = Counter(responses(tmp_path))
    busy = found.pop("busy")
    assert found == {"before": 1, "after": 1, "child raw": 2, **{f"child {number}": 2 for number in range(6)}}
    assert busy % 3 == 0
    assert len(set(read_rollouts(tmp_path).column("rollout").to_pylist())) == busy + 16
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".parquet"} == {MARK}


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import pyarrow as pa
import pyarrow.parquet as pq
from grounding_rewards.tables import recorder as module

folder, rows, died = Path(sys.argv[1]), 0, 0
module.PART_ROWS = 21
pa.array([])  # looks for pandas, which every process would do for itself
for turn in range(10):
    before = len(list(folder.glob("*.parquet")))
    pid = os.fork()
    if not pid:
        try:
            recorder = module.RolloutRecorder(folder, ["hit"])
            while True:
                recorder.append({"response": ["text"] * 7, "hit": [1.0] * 7})
        finally:
            os._exit(1)
    until = time.monotonic() + 20
    while len(list(folder.glob("*.parquet"))) <= before and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.01))
    os.kill(pid, signal.SIGKILL)
    died += os.waitpid(pid, 0)[1] == signal.SIGKILL
    files = [pq.ParquetFile(file).read(use_threads=False) for file in folder.glob("*.parquet")]
    assert all(table["response"].to_pylist() == ["text"] * table.num_rows for table in files)
    assert {table.num_rows % 7 for table in files} == {0}
    assert len(files) > before
print(died, sum(table.num_rows for table in files))
"""


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_whole_files(tmp_path):
    died, rows = map(int, run(KILLS, tmp_path).stdout.split())
    assert died == 10
    table = pq.read_table(tmp_path)
    assert table.num_rows == rows
    assert len(set(table.column("rollout").to_pylist())) == rows


ENDS = """
import os, signal, sys
from grounding_rewards.tables.recorder import RolloutRecorder

recorder = RolloutRecorder(sys.argv[1])
recorder.append({"response": ["single"]})
recorder.append({"response": ["batch"] * 2})
os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
def test_a_process_killed_after_a_batch_leaves_it(tmp_path, signal):
    ended = subprocess.run([sys.executable, "-c", ENDS, tmp_path, signal], timeout=60, check=False)
    assert ended.returncode == -getattr(signals, signal)
    assert responses(tmp_path) == ["single", "batch", "batch"]


def test_what_killed_processes_left_is_removed_by_the_next_one(tmp_path):
    for name in ("rollouts-0000000a-000001.parquet.tmp-0123abcd", "rollouts-0000000a-000002.parquet.tmp-0123abcd"):
        (tmp_path / f".{name}.partial").write_bytes(b"half")
    (tmp_path / ".mine.tmp-0123abcd.partial").touch()
    with atomic_file(tmp_path / "rollouts-0000000b-000001.parquet") as living:
        living.write(b"half")
        RolloutRecorder(tmp_path).append({"response": ["a", "b"]})
        assert responses(tmp_path) == ["a", "b"]
        left = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".") and path.name != MARK)
        assert left == [".mine.tmp-0123abcd.partial", os.path.basename(living.name)]
        living.seek(0)
        living.truncate()
        pq.write_table(pa.table({"rollout": [1], "response": ["c"]}), living)
    assert sorted(responses(tmp_path)) == ["a", "b", "c"]
