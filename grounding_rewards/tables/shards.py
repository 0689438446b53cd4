"""Directories of shards: files of rows, each of them whole from the moment it has its name, whatever ends its writer.

A **run** makes shards whose names are known before the work, so that several processes, each with shards of its own,
can make one run, and the same command goes on where a process was killed: a shard that has the size and the hash of
the hidden file beside it is not made again. Until all are there they lie in ``.unfinished`` in the directory, where
readers of Parquet do not look, beside a manifest with the run's identity and ``"complete": false``; an old directory
can be read meanwhile. When that manifest says ``"complete": true``, shards take their places, and it takes its own as
the last. Readers refuse a directory between these two moments, and one that never was complete
(``manifests.check_finished``).

A **log** is what recorders append to while training runs: every process writes shards of its own under a number that
it draws, and the table is what is there by now. It is never complete, and no manifest says so: rows of another recipe
or round belong to it like any others.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.errors import DataPathError, TableError
from grounding_rewards.tables.atomic import (
    atomic_files,
    empty_folder,
    lock,
    named,
    output_of,
    remove,
    remove_leftovers,
    renaming,
    write_json,
)
from grounding_rewards.tables.base import Note
from grounding_rewards.tables.data_paths import inside_file, made_directory, real_directory
from grounding_rewards.tables.launches import PREFIX, Launch
from grounding_rewards.tables.manifests import COMPLETE, UNFINISHED, digest, manifest_or_none

OUTPUTS = "outputs"
"""The shards in a complete manifest."""

PART_ROWS = 4096
"""With so many rows a shard of a log is full."""

PART_BYTES = 1 << 25
"""With so much in it, too."""

_TRIES = 100
"""Times to begin a run whose folder others remove as they end."""


class Shards:
    """Files in a folder that are whole once they have their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file()

    @contextmanager
    def write(self, name: str) -> Iterator[IO[bytes]]:
        """Open a shard to write to; it has its name at the end, and after an error leaves no trace."""
        with atomic_files() as files:
            yield files.open(self.folder / name)


class Run(Shards):
    """Shards of a run into the directory ``out`` that is not complete; ``open_run`` makes it."""

    def __init__(self, out: Path, manifest: str, identity: Mapping[str, Any]) -> None:
        super().__init__(out / UNFINISHED)
        self.out, self.manifest, self.identity = out, manifest, identity

    @contextmanager
    def write(self, name: str) -> Iterator[IO[bytes]]:
        """Open a shard to write to, as ``Shards.write`` does, and record its hash; errors name the directory."""
        with named(self.out), super().write(name) as file:
            yield file
            file.flush()
            write_json(self.out, self.folder / f".{name}.json", described(name, Path(file.name)))

    def _remove_damaged(self, warn: Note) -> None:
        """Remove shards that are not what was written, with a warning that names each."""
        for path in sorted(self.folder.glob("[!.]*.parquet")):
            recorded = manifest_or_none(self.folder / f".{path.name}.json") or {}
            if not is_whole(self.folder, {**recorded, "path": path.name}) and os.path.lexists(path):
                remove(path)
                warn(f"{self.out}: {path.name} is not what was written; it is made again")

    def finish(self, names: Sequence[str], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Put these shards in place of whatever the directory held, and the manifest, which is returned, as the last.

        Beside the identity and the shards it says what ``facts`` holds.
        """
        try:
            made = [described(name, self.folder / name) for name in names]
            whole = {**self.identity, **facts, COMPLETE: True, OUTPUTS: made}
            write_json(self.out, self.folder / self.manifest, whole)
            _put_in_place(self.out, self.manifest)
        except FileNotFoundError:  # another process of the run puts them in place
            with renaming(self.out, alone=True):
                whole = manifest_or_none(self.out / self.manifest) or {}
            if differing(whole, self.identity):
                raise
        return whole

    def _begin(self, command: str, *, overwrite: bool) -> None:
        """Have nothing but shards of this run in the folder, and its manifest."""
        manifest = self.folder / self.manifest
        there = manifest_or_none(manifest)
        apart = [] if there is None else differing(there, self.identity)
        if there is not None and not apart:
            return
        if there is not None and not overwrite and self._any():
            raise TableError(
                f"{self.out}: an unfinished run was made with {_difference(apart, there, self.identity)}; have it give "
                "way by --overwrite, or write to another directory"
            )
        empty_folder(self.folder)
        write_json(self.out, manifest, {**self.identity, "command": command, COMPLETE: False})

    def _keep(self, anew: Callable[[Path], bool], *, complete: bool) -> bool:
        """Keep shards that are not to be made anew, those of a complete directory as copies; True if these are all."""
        there = [path for path in self.folder.iterdir() if path.suffix == ".parquet"]
        for path in filter(anew, there):
            path.unlink()
        listed = _names(manifest_or_none(self.out / self.manifest)) if complete else set()
        kept = {name for name in listed if not anew(self.out / name)}
        for name in kept - {*os.listdir(self.folder)} if kept != listed else ():
            with self.write(name) as file, (self.out / name).open("rb") as old:
                shutil.copyfileobj(old, file)
        return complete and kept == listed

    def _any(self) -> bool:
        """Return True where shards are there, or whatever else is worth keeping."""
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        return any(name != self.manifest and not name.startswith(".") for name in names)


@contextmanager
def open_run(
    out: Path,
    manifest: str,
    identity: Mapping[str, Any],
    *,
    command: str,
    overwrite: bool = False,
    shared: bool = False,
    anew: Callable[[Path], bool] | None = None,
    warn: Note = lambda text: None,
) -> Iterator[Run | None]:
    """Begin a run into a directory, or go on with it where a process was killed.

    Args:
        out: the directory; an old one stays as it is until all shards of the new one are there.
        manifest: name of the manifest in it, which ends in ``.manifest.json``.
        identity: what makes the run this one, as JSON has it: what comes of equal ones is equal. Paths in it do not
            count, what they hold does: see ``differing``.
        command: what makes the run, for errors of readers that find it unfinished.
        overwrite: whether a directory, or an unfinished run, that was made of something else gives way.
        shared: whether several processes make shards of it at once, each its own; whoever finds all there finishes it.
            Else a second process is refused: the folder is locked, and a killed process holds no lock.
        anew: tells which shards are made anew, also those of a directory that is complete; others are kept. Not with
            ``shared``.
        warn: takes which shards of an unfinished run are damaged, and made again.

    Yields:
        The run; None where the directory is there, complete and of this identity.

    Raises:
        TableError: there is something else, or another process is at work.
    """
    out = real_directory(out)
    run = Run(out, manifest, identity)
    if anew is None and not run.folder.exists() and is_made(out, manifest, identity, overwrite=overwrite):
        yield None
        return
    if not out.parent.is_dir():
        raise TableError(f"{out}: there is no directory {out.parent}")
    if run.folder.is_symlink():
        raise TableError(f"{run.folder}: is a link, and what it leads to would be emptied; remove it")
    with made_directory(out), _folder(run, shared=shared):
        made = _begun(run, command, warn, overwrite=overwrite, shared=shared, again=anew is not None)
        if anew is not None:
            made = run._keep(anew, complete=made)
        try:
            yield None if made else run
        finally:
            left = manifest_or_none(run.folder / manifest)
            if left is None or not (left.get(COMPLETE) or run._any() or shared):
                empty_folder(run.folder)  # what went wrong at the start must not stand in the way


def _begun(run: Run, command: str, warn: Note, *, overwrite: bool, shared: bool, again: bool) -> bool:
    """Begin a run whose folder is there; return True where it is made, as by another process meanwhile."""
    tries = 0
    while True:
        try:
            _put_in_place(run.out, run.manifest)  # which a killed process had begun
            with renaming(run.out, alone=shared):
                made = is_made(run.out, run.manifest, run.identity, overwrite=overwrite)
                if not made or again:
                    run._begin(command, overwrite=overwrite)
                    run._remove_damaged(warn)
            return made
        except FileNotFoundError:
            tries += 1
            if tries == _TRIES:
                raise
            run.folder.mkdir(exist_ok=True)  # another process that makes parts of the run has removed it


def is_made(out: Path, manifest: str, identity: Mapping[str, Any], *, overwrite: bool = False) -> bool:
    """Return True where a directory is there, complete and of this identity.

    Raises:
        TableError: it is there, but was made of something else or is damaged, and ``overwrite`` is False; or there is
            something that was not made here.
    """
    there = {path.name for path in out.iterdir()} - {UNFINISHED} if out.is_dir() else set()
    if not out.exists() or (out.is_dir() and not there):
        return False
    old = manifest_or_none(out / manifest) if there else None
    if old is None or not _are_described(old.get(OUTPUTS)):
        raise TableError(f"{out}: is there, and holds no {manifest}, so it is not replaced; write to another directory")
    strange = sorted(there - {each["path"] for each in old[OUTPUTS]} - {manifest})
    if strange:
        raise TableError(f"{out}: also holds {strange[0]}, which {manifest} does not list; move it away first")
    apart = differing(old, identity)
    damaged = next((each["path"] for each in old[OUTPUTS] if not is_whole(out, each)), "")
    if overwrite or not (apart or damaged):
        return not (apart or damaged)
    how = f"{damaged} is not what {manifest} says" if damaged else f"was made with {_difference(apart, old, identity)}"
    raise TableError(f"{out}: {how}; write to another directory, or replace it by --overwrite")


def differing(manifest: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """Return the names of what a manifest says otherwise than an identity.

    Of files only what they hold counts, not where they lie.

    >>> differing({"seed": 1, "inputs": [{"path": "a", "sha256": "0f"}]}, {"seed": 2, "inputs": [{"sha256": "0f"}]})
    ['seed']
    """
    return [name for name, value in identity.items() if _content(manifest.get(name)) != _content(value)]


def _put_in_place(out: Path, manifest: str) -> None:
    """Give shards their places and the manifest as the last, if all are there; go on where a process was killed."""
    folder = out / UNFINISHED
    if not (manifest_or_none(folder / manifest) or {}).get(COMPLETE):
        return
    with named(out), renaming(out, alone=True):
        names, older = (_names(manifest_or_none(each / manifest)) for each in (folder, out))
        for name in names.intersection(os.listdir(folder)):  # others have their places by now
            os.replace(folder / name, out / name)
        for name in older.intersection(os.listdir(out)) - names:
            (out / name).unlink()
        os.replace(folder / manifest, out / manifest)


def _names(manifest: Mapping[str, Any] | None) -> set[str]:
    """Return the shards that a manifest lists."""
    listed = (manifest or {}).get(OUTPUTS)
    return {each["path"] for each in listed} - {UNFINISHED} if listed and _are_described(listed) else set()


@contextmanager
def _folder(run: Run, *, shared: bool) -> Iterator[None]:
    """Make the folder of a run, in which no other process works unless it is shared."""
    handle = -1
    while not shared:
        run.folder.mkdir(exist_ok=True)
        handle = os.open(run.folder, os.O_RDONLY)
        if lock(handle) is False:
            os.close(handle)
            raise TableError(f"{run.out}: another process is making it; wait until it has ended, or write elsewhere")
        if run.folder.exists() and os.path.samestat(run.folder.stat(), os.fstat(handle)):
            break
        os.close(handle)  # it was removed before it was locked
    run.folder.mkdir(exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # it holds what is worth keeping
            run.folder.rmdir()
        if handle >= 0:
            os.close(handle)


def _content(value: Any) -> Any:
    # As a manifest gives it back, where tuples have become lists.
    return [each["sha256"] for each in value] if _are_files(value) else json.loads(json.dumps(value))


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "sha256" in each for each in value)


def _are_described(value: Any) -> bool:
    return _are_files(value) and all(isinstance(each.get("path"), str) and "bytes" in each for each in value)


def _difference(apart: Sequence[str], manifest: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """Return what a directory was made with, where that is not what is asked for now."""
    name = apart[0]
    if _are_files(identity[name]):
        return f"other {name}, or with what these held before"
    was, now = manifest.get(name), identity[name]
    if isinstance(was, Mapping) and isinstance(now, Mapping):  # of many settings the first that differs
        key = next(key for key in {**was, **now} if _content(was.get(key)) != _content(now.get(key)))
        name, was, now = f"{name}.{key}", was.get(key), now.get(key)
    return f"{name} {json.dumps(was)}, and not {json.dumps(now)}"


def described(name: str, file: Path) -> dict[str, Any]:
    """Return the name of a file, and what ``is_whole`` compares it with later."""
    return {"path": name, "bytes": file.stat().st_size, "sha256": digest(file)}


def is_whole(folder: Path, listed: Mapping[str, Any]) -> bool:
    """Return True for a file in a folder that is what ``described`` said; none that a link leads to is opened."""
    try:
        path = inside_file(folder, listed["path"])
    except DataPathError:
        return False
    return bool(path.stat().st_size == listed.get("bytes") and digest(path) == listed.get("sha256"))


class Log(Shards):
    """The shards of one process in a log: ``rollouts-NUMBER-PART.parquet``, of a later launch ``rollouts-run-2-...``.

    The last one grows until it is full: a longer one with the same rows, and more after them, takes its place. So there
    are as many as rows ask for, however often some are written, and whoever reads finds every row once. A hidden file
    claims the number until the first shard is there, which tells others that it is taken.

    Attributes:
        number: the process's own.
        parts: how many shards there are.
        rows: in all of them.

    Raises:
        OSError: the directory cannot be made or written into.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.parts = self.rows = 0
        self._last: Any = None
        folder.mkdir(parents=True, exist_ok=True)
        for each in {output_of(each) for each in folder.glob(f".{PREFIX}*.partial")}:
            remove_leftovers(each)  # of processes that were killed, whose numbers no other one will have
        self.number = self._claimed()
        self._launch = Launch(folder)

    def append(self, table: Any) -> None:
        """Write the rows of an Arrow table into the last shard or one more, all or none of them.

        Raises:
            OSError: the shard cannot be written.
        """
        rows, part = len(table), self.parts + 1
        if self._last is not None and self._name(self.parts) in self:  # somebody may have moved it away
            table, part = pa.concat_tables([self._last, table]).combine_chunks(), self.parts
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.write(self._name(part)) as file:
            pq.write_table(table, file, compression="zstd")
        self.parts = part
        self.rows += rows
        self._last = None if table.num_rows >= PART_ROWS or table.nbytes >= PART_BYTES else table
        self.release()

    def release(self) -> None:
        """Give the claim up: shards hold the number from now on, or nothing was written."""
        with suppress(OSError):
            self._claim.unlink(missing_ok=True)

    def _name(self, part: int) -> str:
        return f"{self._launch.prefix}{self.number:08x}-{part:06d}.parquet"

    @property
    def _claim(self) -> Path:
        return self.folder / f".{PREFIX}{self.number:08x}.claim"

    def _claimed(self) -> int:
        while True:
            self.number = secrets.randbits(31)  # the recorder's numbers of rows, this and 32 bits, fit into int64
            try:
                file = self._claim.open("xb")
            except FileExistsError:
                continue
            try:
                with file:
                    file.write(b"a process that has written no rollouts yet\n")  # which a full disk refuses
            except OSError:
                self.release()
                raise
            if not any(self.folder.glob(f"{PREFIX}*{self.number:08x}-*")):  # shards of a process that gave its claim up
                return self.number
            self.release()
