"""Processes that do items of work: order, errors, what they print, and how they end."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grounding_rewards.errors import ClusterError, TableError
from grounding_rewards.processes import packed, spread


def waits(seconds):
    print("no result")
    time.sleep(seconds)
    yield seconds
    yield os.getpid()


def test_results_come_in_the_order_of_items_from_several_processes():
    times = [0.2, 0.0, 0.1, 0.0, 0.0]
    results = list(spread(packed(waits), times, 2))
    assert results[::2] == times
    assert len({*results[1::2]} - {os.getpid()}) == 2


def test_without_items_there_are_no_results():
    assert list(spread(packed(waits), [], 2)) == []


def test_work_that_cannot_be_pickled_is_not_packed():
    assert packed(lambda item: iter([item])) is None


def collects(item):
    yield gc.get_threshold()


def test_processes_look_for_garbage_as_seldom_as_the_one_that_asks():
    before = gc.get_threshold()
    gc.set_threshold(4321, 12, before[2])
    try:
        assert list(spread(packed(collects), [1], 1)) == [(4321, 12, before[2])]
    finally:
        gc.set_threshold(*before)


def fails(item):
    if item == 2:
        raise TableError("row 2: cannot be read")
    yield item


def test_an_error_is_raised_behind_the_results_before_it():
    results = spread(packed(fails), range(9), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(TableError, match=r"^row 2: cannot be read$"):
        next(results)


def cut(item):
    raise EOFError("image is cut off")
    yield


def test_an_error_of_work_or_of_items_is_none_of_the_process():
    with pytest.raises(EOFError, match=r"^image is cut off$"):
        list(spread(packed(cut), range(9), 2))
    with pytest.raises(EOFError, match=r"^image is cut off$"):
        list(spread(packed(waits), cut(0), 2))


class Held(Exception):
    """An error of one's own, which is not made again of its message, and may hold what cannot be pickled."""

    def __init__(self, what, held):
        super().__init__(f"cannot read {what}")
        self.held = held


def holds(item):
    raise Held(item, item and threading.Lock())
    yield


@pytest.mark.parametrize("item", [0, 1])
def test_an_error_that_cannot_be_sent_is_one_that_says_the_same(item):
    with pytest.raises(ClusterError, match=f"^a process that did part of the work failed: Held: cannot read {item}$"):
        list(spread(packed(holds), [item], 2))


def locks(item):
    yield threading.Lock()


def test_a_result_that_cannot_be_pickled_is_an_error():
    with pytest.raises(TypeError, match="cannot pickle"):
        list(spread(packed(locks), range(3), 2))


def ends(item):
    os._exit(3)
    yield


def test_a_process_that_ends_is_an_error():
    with pytest.raises(ClusterError, match=r"^a process that did part of the work ended with status 3, such as for"):
        list(spread(packed(ends), range(9), 2))


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()


def test_processes_end_when_no_further_result_is_asked_for():
    results = spread(packed(waits), [0.0] * 9, 1)
    pid = [next(results), next(results)][1]
    assert os.getsid(pid) == pid  # so that Ctrl-C in a terminal does not reach it
    results.close()
    assert gone(pid)


@pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="needs /proc to tell a process that has ended from one that waits"
)
def test_processes_end_with_one_that_is_killed():
    code = "from tests.test_processes import packed, spread, waits\n"
    code += "for each in spread(packed(waits), [0.0] * 2 + [1.0] * 9, 2): print(each, flush=True)"
    asking = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    _, first, _, second = [float(asking.stdout.readline()) for _ in range(4)]
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    asking.stdout.close()
    until = time.monotonic() + 30
    while not (gone(int(first)) and gone(int(second))):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_no_file_of_the_current_folder_is_imported(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert list(spread(packed(iter), [[1], [2, 3]], 1)) == [1, 2, 3]
