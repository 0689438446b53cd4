"""A directory that is made piece by piece, in as many runs as it takes, and appears when it is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grounding_rewards.errors import DataPathError, TableError
from grounding_rewards.tables.atomic import atomic_file, lock, named, put_directory, real_directory, restore
from grounding_rewards.tables.data_paths import inside_file
from grounding_rewards.tables.fingerprints import digest
from grounding_rewards.tables.manifests import read_manifest

OUTPUTS = "outputs"
"""What a manifest says of its pieces; it says nothing of them before all are there."""


@dataclass(frozen=True)
class Pieces:
    """The pieces of a directory that is being made.

    Attributes:
        out: what it will be called.
        folder: where it is made: ``.NAME.partial`` beside it.
        manifest: name of the file that tells what the directory was made of, and of which files it consists.
        identity: what makes this directory this one; the manifest says it, too.
    """

    out: Path
    folder: Path
    manifest: str
    identity: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        """Whether a piece is there; if so, it is whole."""
        return (self.folder / name).is_file()

    @contextmanager
    def write(self, name: str) -> Iterator[IO[bytes]]:
        """A file to write a piece to; it is there when all went well, and else leaves no trace."""
        with named(self.out), atomic_file(self.folder / name) as file:
            yield file

    def finish(self, names: Sequence[str], said: Mapping[str, Any]) -> dict[str, Any]:
        """Have the directory appear, with these pieces and nothing else.

        Args:
            names: the pieces, in order.
            said: what the manifest says beside the identity and the pieces.

        Returns:
            The manifest.
        """
        whole = {**self.identity, **said, OUTPUTS: [_described(self.folder / name) for name in names]}
        _remove([path for path in self.folder.iterdir() if path.name not in {*names, self.manifest}])
        with named(self.out):
            _write_json(self.folder / self.manifest, whole)
        put_directory(self.folder, self.out)
        return whole


@contextmanager
def directory_in_pieces(
    out: Path, manifest: str, identity: Mapping[str, Any], *, overwrite: bool = False
) -> Iterator[Pieces | None]:
    """Make a directory, or go on with making it where a run was killed.

    One process at a time: the directory ``.NAME.partial`` beside ``out`` is locked, and a killed process holds no lock.
    An old directory stays as it is until the new one is whole.

    Args:
        out: the directory.
        manifest: name of the file in it that tells what it was made of.
        identity: what makes it this one, as JSON has it: what comes of equal ones is equal. Paths in it do not count,
            what they hold does: see ``differing``.
        overwrite: whether a directory, or pieces, that were made of something else give way.

    Yields:
        The pieces; None where the directory is there, whole and of this identity.

    Raises:
        TableError: there is something else, or another process is making it.
    """
    out = real_directory(out)
    restore(out)
    if is_made(out, manifest, identity, overwrite=overwrite) and not _partial(out).exists():
        yield None
        return
    if not out.parent.is_dir():
        raise TableError(f"{out}: there is no directory {out.parent}")
    with _alone(out) as folder:
        if is_made(out, manifest, identity, overwrite=overwrite):
            unfinished = _said(folder / manifest)
            if unfinished is None or OUTPUTS in unfinished:  # what the new directory has taken the place of
                _remove([folder])
            yield None
            return
        _begin(out, folder, manifest, identity, overwrite=overwrite)
        try:
            yield Pieces(out, folder, manifest, identity)
        finally:
            if not _finished(folder, manifest):  # what went wrong at the start must not stand in the way
                _remove(list(folder.iterdir()) if folder.is_dir() else [])


def is_made(out: Path, manifest: str, identity: Mapping[str, Any], *, overwrite: bool = False) -> bool:
    """Whether a directory is there, whole and of this identity.

    Raises:
        TableError: it is there, but was made of something else or is not whole, and ``overwrite`` is False; or there is
            something that was not made here.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    found = _said(out / manifest) if out.is_dir() else None
    if found is None or not _are_described(found.get(OUTPUTS)):
        raise TableError(f"{out}: is there, and holds no {manifest}, so it is not replaced; write to another directory")
    names = {each["path"] for each in found[OUTPUTS]}
    strange = sorted({path.name for path in out.iterdir()} - names - {manifest})
    if strange:
        raise TableError(f"{out}: also holds {strange[0]}, which {manifest} does not list; move it away first")
    apart, damaged = differing(found, identity), _damaged(out, found[OUTPUTS])
    if overwrite or not (apart or damaged):
        return not (apart or damaged)
    what = f"{damaged} is not what {manifest} says" if damaged else f"was made with {_told(apart, found, identity)}"
    raise TableError(f"{out}: {what}; write to another directory, or replace it by --overwrite")


def differing(found: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """What of an identity a manifest says otherwise. Of files only what they hold counts, not where they lie.

    >>> differing({"seed": 1, "inputs": [{"path": "a", "sha256": "0f"}]}, {"seed": 2, "inputs": [{"sha256": "0f"}]})
    ['seed']
    """
    return [name for name, value in identity.items() if _content(found.get(name)) != _content(value)]


def _content(value: Any) -> Any:
    return [each["sha256"] for each in value] if _are_files(value) else json.loads(json.dumps(value))


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "sha256" in each for each in value)


def _told(apart: Sequence[str], found: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """What a directory was made with, where that is not what is asked for now."""
    name = apart[0]
    if _are_files(identity[name]):
        return f"other {name}, or with what these held before"
    return f"{name} {json.dumps(found.get(name))}, and not {json.dumps(identity[name])}"


def _begin(out: Path, folder: Path, manifest: str, identity: Mapping[str, Any], *, overwrite: bool) -> None:
    """Have nothing but whole pieces of this identity in the folder."""
    found = _said(folder / manifest)
    apart = [] if found is None else differing(found, identity)
    if apart and not overwrite and _finished(folder, manifest):
        assert found is not None
        raise TableError(
            f"{out}: an unfinished run was made with {_told(apart, found, identity)}; have it give way by --overwrite, "
            "or write to another directory"
        )
    kept = [] if found is None or apart else [folder / manifest, *_finished(folder, manifest)]
    _remove([path for path in folder.iterdir() if path not in kept])
    if not kept:
        with named(out):
            _write_json(folder / manifest, dict(identity))


def _finished(folder: Path, manifest: str) -> list[Path]:
    """The pieces that are there, and whatever else is worth keeping."""
    found = folder.iterdir() if folder.is_dir() else ()
    return [path for path in found if not path.name.startswith(".") and path.name != manifest]


@contextmanager
def _alone(out: Path) -> Iterator[Path]:
    """The folder beside ``out``, in which no other process works."""
    folder = _partial(out)
    while True:
        folder.mkdir(exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        if lock(handle) is False:
            os.close(handle)
            raise TableError(f"{out}: another process is making it; wait until it has ended, or write elsewhere")
        if _is(folder, handle):  # else it took its name, or was removed, before it was locked
            break
        os.close(handle)
    try:
        yield folder
    finally:
        if _is(folder, handle):
            with suppress(OSError):
                folder.rmdir()  # where nothing was begun
        os.close(handle)


def _is(folder: Path, handle: int) -> bool:
    return folder.exists() and os.path.samestat(folder.stat(), os.fstat(handle))


def _partial(out: Path) -> Path:
    return out.with_name(f".{out.name}.partial")


def _described(path: Path) -> dict[str, Any]:
    return {"path": path.name, "bytes": path.stat().st_size, "sha256": digest(path)}


def _are_described(value: Any) -> bool:
    return _are_files(value) and all(isinstance(each.get("path"), str) and "bytes" in each for each in value)


def _damaged(out: Path, listed: Sequence[Mapping[str, Any]]) -> str:
    """The first file that is not what a manifest says; "" where all are."""
    there = {path.name for path in out.iterdir()}
    for each in listed:
        name = each["path"]
        if name not in there or not _is_whole(out, name, each):
            return str(name)
    return ""


def _is_whole(out: Path, name: str, listed: Mapping[str, Any]) -> bool:
    try:
        path = inside_file(out, name)
    except DataPathError:  # such as a link that leads elsewhere, which is not opened
        return False
    return bool(path.stat().st_size == listed["bytes"] and digest(path) == listed["sha256"])


def _said(path: Path) -> dict[str, Any] | None:
    """What a manifest says; None where there is none."""
    with suppress(TableError):
        return read_manifest(path)
    return None


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with atomic_file(path) as file:
        file.write((json.dumps(value, indent=2) + "\n").encode())


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
