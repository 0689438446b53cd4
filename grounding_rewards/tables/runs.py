"""Runs: directories made of shards, by one process or several, that go on where a kill ended them.

The names of a run's shards are known before the work. Until all are there they lie in ``.NAME.unfinished`` beside the
directory NAME, each with a hidden file that holds its size and hash, and with a manifest that holds the run's identity
and ``"complete": false``. A shard that is what was written is not made again. At the end the folder becomes the
directory, by one change of its name, so that a directory is the old one or the new one and never half. Readers refuse
a place where there is nothing but unfinished shards (``manifests.check_finished``).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from grounding_rewards.errors import DataPathError, TableError
from grounding_rewards.tables.atomic import atomic_file, lock, named, output_of, remove, renaming, write_json
from grounding_rewards.tables.data_paths import inside_file, real_directory
from grounding_rewards.tables.manifests import COMPLETE, OUTPUTS, digest, manifest_or_none, unfinished
from grounding_rewards.tables.object_stores import moved
from grounding_rewards.tables.rows import Note


class Run:
    """A run whose shards are being made; ``open_run`` begins it."""

    def __init__(self, out: Path, manifest: str, identity: Mapping[str, Any]) -> None:
        self.out, self.folder, self.manifest, self.identity = out, unfinished(out), manifest, identity

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file()

    @contextmanager
    def write(self, name: str) -> Iterator[IO[bytes]]:
        """Open a shard to write to; it has its name at the end, its hash is recorded, and an error leaves no trace."""
        with named(self.out), atomic_file(self.folder / name) as file:
            yield file
            file.flush()
            write_json(self.out, self.folder / f".{name}.json", described(name, Path(file.name)))

    def finish(self, names: Sequence[str], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Make the folder the directory, and return its manifest: the identity, ``facts`` and these shards."""
        try:
            made = [described(name, self.folder / name) for name in names]
            with renaming(self.out.parent, alone=True):
                whole = {**self.identity, **facts, COMPLETE: True, OUTPUTS: made}
                write_json(self.out, self.folder / self.manifest, whole)
                self._settle()
        except FileNotFoundError:  # another process of the run was faster
            if not self.is_finished():
                raise
        return manifest_or_none(self.out / self.manifest) or {}

    def is_finished(self) -> bool:
        """Return True where the directory is that of this run."""
        with renaming(self.out.parent, alone=True):  # not while another process gives it its name
            whole = manifest_or_none(self.out / self.manifest) or {}
        return bool(whole.get(COMPLETE)) and not differing(whole, self.identity)

    def _settle(self) -> None:
        """Give the folder its place if all is in it, as after a kill in the middle of this; remove the older one."""
        old = self.out.with_name(f".{self.out.name}.replaced")
        with named(self.out):
            said = manifest_or_none(self.folder / self.manifest) or {}
            if said.get(COMPLETE):
                _empty(self.folder, but={self.manifest, *(each["path"] for each in said[OUTPUTS])})
                if self.out.exists():
                    remove(old)
                    os.rename(self.out, old)
                os.rename(self.folder, self.out)
                moved(self.folder, self.out, self.manifest)
            if (self.out / self.manifest).exists():
                remove(old)

    @contextmanager
    def _opened(self, *, shared: bool) -> Iterator[None]:
        """Make the folder, in which no other process works unless it is shared; remove it where nothing was made."""
        if self.out.is_mount():
            raise TableError(
                f"{self.out}: a disk is mounted there, so it cannot be replaced; write to a directory in it"
            )
        self.folder.mkdir(exist_ok=True)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            if not shared and lock(handle) is False:
                raise TableError(
                    f"{self.out}: another process is making it; wait until it has ended, or write elsewhere"
                )
            yield
        finally:
            with suppress(FileNotFoundError), renaming(self.out.parent, alone=True):
                if not (shared or self._any()) and os.path.samestat(self.folder.stat(), os.fstat(handle)):
                    remove(self.folder)  # what went wrong at the start must not stand in the way
            os.close(handle)

    def _begin(self, command: str, *, overwrite: bool) -> None:
        """Have nothing but shards of this run in the folder, and its manifest."""
        there = manifest_or_none(self.folder / self.manifest)
        apart = [] if there is None else differing(there, self.identity)
        if there is not None and apart and not overwrite and self._any():
            raise TableError(
                f"{self.out}: an unfinished run was made with {_difference(apart, there, self.identity)}; have it give "
                "way by --overwrite, or write to another directory"
            )
        if there is None or apart:
            _empty(self.folder)
            write_json(self.out, self.folder / self.manifest, {**self.identity, "command": command, COMPLETE: False})

    def _remove_damaged(self, warn: Note) -> None:
        """Remove shards that are not what was written, with a warning that names each."""
        for path in sorted(self.folder.glob("[!.]*.parquet")):
            recorded = manifest_or_none(self.folder / f".{path.name}.json") or {}
            if not is_whole(self.folder, {**recorded, "path": path.name}) and os.path.lexists(path):
                remove(path)
                warn(f"{self.out}: {path.name} is not what was written; it is made again")

    def _keep(self, remade: Callable[[Path], bool], *, complete: bool) -> bool:
        """Keep shards that are not to be made again, those of a complete directory as copies; True if these are all."""
        for path in self.folder.glob("*.parquet"):
            if remade(path):
                remove(path)
        said = manifest_or_none(self.out / self.manifest) if complete else None
        listed = [each["path"] for each in (said or {}).get(OUTPUTS, ())]
        kept = [name for name in listed if not remade(self.out / name)]
        for name in kept if len(kept) < len(listed) else ():
            if name not in self:
                with self.write(name) as file, (self.out / name).open("rb") as old:
                    shutil.copyfileobj(old, file)
        return complete and len(kept) == len(listed)

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
    remade: Callable[[Path], bool] | None = None,
    warn: Note = lambda text: None,
) -> Iterator[Run | None]:
    """Begin a run into a directory, or go on with it where a process was killed."""
    out = real_directory(out)
    run = Run(out, manifest, identity)
    if not out.parent.is_dir():
        raise TableError(f"{out}: there is no directory {out.parent}")
    if run.folder.is_symlink():
        raise TableError(f"{run.folder}: is a link, and what it leads to would be emptied; remove it")
    with ExitStack() as stack:
        with renaming(out.parent, alone=True):
            run._settle()
            made = is_made(out, manifest, identity, overwrite=overwrite)
            if not made or remade is not None:
                stack.enter_context(run._opened(shared=shared))
                run._begin(command, overwrite=overwrite)
        with renaming(out.parent, alone=shared):  # not while another process gives the folder its name
            run._remove_damaged(warn)
        if remade is not None:
            made = run._keep(remade, complete=made)
        yield None if made else run


def is_made(out: Path, manifest: str, identity: Mapping[str, Any], *, overwrite: bool = False) -> bool:
    """Return True where a directory is there, complete and of this identity."""
    there = {path.name for path in out.iterdir() if output_of(path) == path} if out.is_dir() else set()
    if not out.exists() or (out.is_dir() and not there):
        return False
    old = manifest_or_none(out / manifest) if there else None
    listed: Any = None if old is None else old.get(OUTPUTS)
    ours = _are_files(listed) and all(isinstance(each.get("path"), str) and "bytes" in each for each in listed)
    if old is None or not ours:
        raise TableError(f"{out}: is there, and holds no {manifest}, so it is not replaced; write to another directory")
    strange = sorted(there - {each["path"] for each in listed} - {manifest})
    if strange:
        raise TableError(f"{out}: also holds {strange[0]}, which {manifest} does not list; move it away first")
    apart = differing(old, identity)
    damaged = next((each["path"] for each in listed if not is_whole(out, each)), "")
    if overwrite or not (apart or damaged):
        return not (apart or damaged)
    how = f"{damaged} is not what {manifest} says" if damaged else f"was made with {_difference(apart, old, identity)}"
    raise TableError(f"{out}: {how}; write to another directory, or replace it by --overwrite")


def differing(manifest: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """Return the names of what a manifest says otherwise than an identity; of files only what they hold counts."""
    return [name for name, value in identity.items() if _content(manifest.get(name)) != _content(value)]


def _empty(folder: Path, but: Collection[str] = ()) -> None:
    """Remove what is in a folder, such as the `groups` of `pool score`, but for some names."""
    for path in sorted(folder.iterdir()):
        if path.name not in but:
            remove(path)


def _content(value: Any) -> Any:
    # As a manifest gives it back, where tuples have become lists.
    return [each["sha256"] for each in value] if _are_files(value) else json.loads(json.dumps(value))


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "sha256" in each for each in value)


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
