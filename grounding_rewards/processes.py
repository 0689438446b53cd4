"""Processes of this machine: items of work that they do side by side, and what comes of each, in order."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import Any, cast

from grounding_rewards.errors import ClusterError

_MOST = 8
"""Processes at most: more than one that reads and writes could keep busy."""

_BEGIN = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)\n"
_BEGIN += "from grounding_rewards.processes import serve; serve()"


def cores() -> int:
    """Return the number of cores that may be used, up to 8."""
    return min(_MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def packed(work: Callable[[Any], Iterator[Any]]) -> bytes | None:
    """Return work as it goes to processes; None for what cannot, such as one's own verifier that holds a connection."""
    try:
        return pickle.dumps(sys.path) + pickle.dumps((work, gc.get_threshold()))
    except Exception:  # whatever the objects raise
        return None


def spread(work: bytes, items: Iterable[Any], count: int) -> Iterator[Any]:
    """Yield the results of all items, in order, of packed work that ``count`` processes do; errors are raised here.

    They end with this process, whatever ends it, and Ctrl-C reaches this one alone.
    """
    # Those of multiprocessing run the main module again, or are forks, which may wait for ever for a thread's lock.
    left, busy = iter(items), deque[Any]()
    with ExitStack() as stack:
        processes = [stack.enter_context(_process()) for _ in range(count)]
        for process in processes:
            with _alive(process):
                process.stdin.write(work)
            busy += _begun(process, left)
        while busy:
            process = busy.popleft()
            with _alive(process):
                results, error = pickle.load(process.stdout)  # nosec B301
            if error is not None:
                raise error
            busy += _begun(process, left)
            yield from results


def _begun(process: Any, items: Iterator[Any]) -> list[Any]:
    """Hand the next item, if there is one, to a process; return those that work."""
    for item in islice(items, 1):
        with _alive(process):
            pickle.dump(item, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
        return [process]
    return []


@contextmanager
def _alive(process: Any) -> Iterator[None]:
    """Raise an error where a process has ended that is written to or read from."""
    try:
        yield
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        why = f"ended with status {process.wait()}, such as for want of memory"
        raise ClusterError(f"a process that did part of the work {why}") from None


@contextmanager
def _process() -> Iterator[Any]:
    """Start a process, which ends with the context."""
    command = [sys.executable, "-P", "-c", _BEGIN]  # -P: no file of the current folder is imported
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        with suppress(BrokenPipeError):
            process.communicate()


def serve() -> None:
    """Do the items that come by stdin until there is no more."""
    items, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the work prints is no result
    with suppress(EOFError, BrokenPipeError):  # the process that asks has ended
        work, threshold = pickle.load(items)  # nosec B301
        gc.freeze()
        gc.set_threshold(*threshold)  # garbage is looked for as seldom as in the process that asks
        while True:
            item = pickle.load(items)  # nosec B301
            try:
                answer = pickle.dumps(([*work(item)], None), pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                answer = pickle.dumps(([], _sent(error)))
            results.write(answer)
            results.flush()


def _sent(error: Exception) -> Exception:
    """Return an error as it arrives elsewhere; in place of one that does not, one that says the same."""
    try:
        return cast(Exception, pickle.loads(pickle.dumps(error)))  # nosec B301
    except Exception:  # whatever it raises
        return ClusterError(f"a process that did part of the work failed: {type(error).__name__}: {error}")
