"""A Ray cluster: items of work that Ray Data spreads over workers, and what comes of each, as it is done.

Ray starts an actor again that was killed, and gives its items to another one; an item whose results have come is not
done again. The driver, the process that asks, alone writes.
"""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from grounding_rewards._version import __version__
from grounding_rewards.errors import ClusterError, GroundingRewardsError, in_one_line
from grounding_rewards.tables import object_stores
from grounding_rewards.tables.rows import Note

_STORE_BYTES = 1 << 30
"""Memory of the object store where Ray is started here: results wait there until they are written."""

_PATIENCE_S = 10

_BLOCK_BYTES = 8 << 20
"""Bytes of results from which Ray hands them over."""

Work = Callable[[Any], Iterator[Any]]
"""Makes results of an item; it travels to each worker once. What its list ``notes`` holds comes with the results."""


@contextmanager
def joined(address: str | None) -> Iterator[Cluster | None]:
    """Join a cluster, or start Ray on this machine for ``local``; ``auto`` is the cluster that runs here."""
    if address is None:
        yield None
        return
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ClusterError(f"--ray: {error}; install it: pip install 'grounding-rewards[ray]'") from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    own = {"object_store_memory": _STORE_BYTES, "num_cpus": os.cpu_count()} if address == "local" else {}
    running = ray.is_initialized()
    try:
        if not running:
            host, _, port = address.removeprefix("ray://").rpartition(":")
            if port.isdecimal():  # since Ray itself tries for minutes
                socket.create_connection((host, int(port)), _PATIENCE_S).close()
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **own)
    except (OSError, RuntimeError, ValueError) as error:
        raise ClusterError(
            f"--ray {address}: {in_one_line(error)}; expected local, auto or the address of a cluster, such as "
            "10.0.0.1:6379, with this version of Ray and Python"
        ) from None
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = _BLOCK_BYTES
        yield Cluster(address)
    finally:
        if not running:
            ray.shutdown()


@dataclass(frozen=True)
class Cluster:
    """A cluster that was joined by an address."""

    address: str

    def map(
        self, work: Work, items: Sequence[Any], inputs: Sequence[Path] = (), *, held: bool = False, gpus: int = 0,
        ordered: bool = False, note: Note = lambda text: None,
    ) -> Iterator[Any]:  # fmt: skip
        """Yield the results of all items; work that holds a model is ``held`` by actors with so many ``gpus`` each."""
        if not items:
            return
        said = set[str]()
        import ray

        payload = _packed(work)
        try:
            sized = [(path, None if path.is_dir() else path.stat().st_size) for path in inputs]
            self._on_each(_lacking, payload, __version__, sized)
            ray.data.DataContext.get_current().execution_options.preserve_order = ordered
            rows = ray.data.from_items([{"item": pickle.dumps(item)} for item in items], override_num_blocks=len(items))
            if held:
                have = ray.cluster_resources()
                need = {"num_gpus": gpus} if gpus and have.get("GPU") else {"num_cpus": 1}
                most = int(have["GPU"] // gpus if "num_gpus" in need else have["CPU"])
                pool = ray.data.ActorPoolStrategy(size=max(1, min(most, len(items))))
                results = rows.map_batches(_Actor, fn_constructor_args=(payload,), batch_size=1, compute=pool, **need)
            else:
                results = rows.map_batches(partial(_done, payload), batch_size=1, num_cpus=1)
            # Each is asked for when the one before is written: a batch that is fetched ahead would wait for the next.
            blocks = results.iter_batches(prefetch_batches=0, batch_size=None, batch_format="pyarrow")
            for packed in (each for block in blocks for each in block.column("result").to_pylist()):
                result, notes = _unpickled(packed)
                for text in dict.fromkeys(text for text in notes if text not in said):
                    note(text)
                said.update(notes)
                if isinstance(result, BaseException):
                    raise result
                yield result
        except ray.exceptions.RayError as error:
            raise ClusterError(f"--ray {self.address}: {in_one_line(error)}") from None
        finally:
            if object_stores.folder():
                self._on_each(_forget, payload)

    def _on_each(self, function: Callable[..., str], *arguments: Any) -> None:
        """Call a function on each machine; what one returns is an error."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        able = [each for each in ray.nodes() if each["Alive"] and each["Resources"].get("CPU")]
        nodes = {each["NodeID"]: each["NodeManagerAddress"] for each in able}
        task = ray.remote(num_cpus=0)(function)
        calls = [
            task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=True)).remote(*arguments)
            for node in nodes
        ]
        for machine, call in zip(nodes.values(), calls, strict=True):
            try:
                said = ray.get(call)
            except ray.exceptions.RayTaskError as error:  # such as without this package
                said = in_one_line(error.cause or error)
            if said:
                raise ClusterError(f"--ray {self.address}: worker {machine}: {said}")


def _done(payload: bytes, batch: Any) -> Iterator[dict[str, list[bytes]]]:
    """Yield the results of one item; an error that has words for the user is a result, too."""
    (item,) = batch["item"]
    try:
        work = _unpacked(payload)
        notes = getattr(work, "notes", [])
        for result in work(_unpickled(item)):
            yield {"result": [pickle.dumps((result, notes))]}
            notes.clear()
    except (GroundingRewardsError, OSError) as error:
        yield {"result": [pickle.dumps((_on_this_worker(error), []))]}


class _Actor:
    """A process that does the work for one item after the other, and holds what that has loaded."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload

    def __call__(self, batch: Any) -> Iterator[dict[str, list[bytes]]]:
        return _done(self.payload, batch)


def _on_this_worker(error: GroundingRewardsError | OSError) -> BaseException:
    """Return an error of the system with the worker in its words; others are about rows, which every worker reads."""
    if isinstance(error, OSError) and error.errno is not None:
        import ray

        return OSError(error.errno, error.strerror, f"{error.filename} on worker {ray.util.get_node_ip_address()}")
    try:
        return _unpickled(pickle.dumps(error))  # type: ignore[no-any-return]
    except Exception:  # one that is made of more than its text
        return ClusterError(str(error))


def _unpickled(packed: bytes) -> Any:
    """Return what this program packed on another machine; whoever can send other bytes runs code by Ray itself."""
    return pickle.loads(packed)  # nosec B301


def _packed(work: Work) -> bytes:
    from ray import cloudpickle

    packed: bytes = cloudpickle.dumps((object_stores.folder(), cloudpickle.dumps(work)))
    return packed


@lru_cache(1)
def _unpacked(payload: bytes) -> Any:
    """Return the work, after which copies from object stores lie at the same paths as in the driver."""
    folder, work = _unpickled(payload)
    object_stores.copy_into(folder)
    return _unpickled(work)


def _lacking(payload: bytes, version: str, inputs: Sequence[tuple[Path, int | None]]) -> str:
    """Return what this machine lacks; "" for nothing."""
    if version != __version__:
        return f"has grounding-rewards {__version__}; expected {version}, as here"
    try:
        _unpacked(payload)
    except Exception as error:  # of a file or a plugin that is not there
        return f"cannot load what the command names ({in_one_line(error, named=True)}); install or copy it there"
    for path, size in inputs:
        if object_stores.is_copy(path) or (size is None and path.is_dir()):
            continue  # what is in a store is fetched when it is read
        if size is None or not path.is_file():
            return f"{path}: no such file; workers read the same paths as here, such as on a shared disk or s3://"
        if path.stat().st_size != size:
            return f"{path}: has {path.stat().st_size:,} bytes; expected {size:,}, as here"
    return ""


def _forget(payload: bytes) -> str:
    """Remove copies from object stores, unless this is the driver's machine, which does that at its end."""
    folder, _ = _unpickled(payload)
    if folder is not None and not (folder / object_stores.OWNED).exists():
        shutil.rmtree(folder, ignore_errors=True)
    return ""
