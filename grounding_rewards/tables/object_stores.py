"""Object stores: what `s3://`, `gs://` and `hf://` name, as copies in a local folder.

What a URI names is copied to ``FOLDER/s3/BUCKET/KEY`` when it is named, so that every reader and writer works on files.
What ``atomic`` gives a name there, or removes, is put into the store, or removed from it, as well. An object is there
whole or not at all. A store renames none: the folder of a run is moved object by object, its manifest last.

Addresses and credentials come from the environment, as Arrow and huggingface_hub read it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import finalize

from grounding_rewards.errors import GroundingRewardsError, TableError, in_one_line

_SCHEMES = ("s3", "gs", "hf")
OWNED = "owned"
"""A file in the folder of the process that removes it at its end."""

_AT_ONCE = 8
"""Objects that are copied at once."""

_OPTIONS = {"gs": "?retry_limit_seconds=30"}
"""Arrow would try for 15 minutes where there are no credentials, and hear no Ctrl-C."""


class _Copies:
    """The folder of all copies, made when it is needed and removed at the end of the program."""

    folder: Path | None = None

    @classmethod
    def made(cls) -> Path:
        if cls.folder is None:
            import tempfile

            cls.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="grounding-rewards-")))
            (cls.folder / OWNED).touch()
            finalize(cls, shutil.rmtree, cls.folder, ignore_errors=True)
        return cls.folder


def local(path: str | os.PathLike[str], *, output: bool = False) -> Path:
    """Return the local copy of what a URI names, an object or all below a prefix; any other path as it is.

    What is not in the store is not there locally. With an ``output`` come the objects that are called as it is up to
    its suffix, such as its manifest, and with a directory the shards of an unfinished run.
    """
    scheme, found, name = os.fspath(path).partition(":/")  # of two slashes Path makes one
    if not found or scheme not in _SCHEMES:
        return Path(path)
    from concurrent.futures import ThreadPoolExecutor  # which local paths do without

    place = _place(scheme, name.strip("/"))
    place.parent.mkdir(parents=True, exist_ok=True)
    with _named(place, "be read from"):
        wanted = _objects(place)
        if _stored(place)[1] not in wanted:
            wanted |= _objects(place.with_name(f".{place.name}.unfinished"))
        if output and place.suffix:
            beside = _objects(place.parent)
            wanted |= {key: each for key, each in beside.items() if Path(key).name.startswith(place.stem)}
        places = [_place(scheme, key) for key in wanted]
        for each in (place, *place.rglob("*")):
            if each.is_file() and each not in places:
                each.unlink()  # of an object that has gone
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(_copy, places, wanted.values()))
    return place


def shown(text: str) -> str:
    """Return a text with the URIs of copies in place of their paths."""
    for scheme in _SCHEMES if _Copies.folder else ():
        text = text.replace(f"{_Copies.folder}/{scheme}/", f"{scheme}://")
    return text


def put(path: Path) -> None:
    """Put a file into its store, if it is a copy."""
    if is_copy(path):
        with _named(path, "be written to"):
            store, key = _stored(path)
            _arrow().copy_files(str(path), key, destination_filesystem=store)


def removed(path: Path) -> None:
    """Remove an object, or all below a prefix, of which the local copy has been removed."""
    if is_copy(path):
        with _named(path, "be removed from"):
            store, key = _stored(path)
            kinds = _arrow().FileType
            kind = store.get_file_info(key).type
            if kind == kinds.File:
                store.delete_file(key)
            elif kind == kinds.Directory:
                store.delete_dir(key)


def moved(old: Path, new: Path, last: str) -> None:
    """Move all objects below a prefix, of which the copies have been moved; ``last`` is the name of the last one."""
    if not is_copy(new):
        return
    with _named(new, "be written to"):
        removed(new)
        store, source = _stored(old)
        target = _stored(new)[1]
        for key in sorted(_objects(old), key=lambda key: (key == f"{source}/{last}", key)):
            store.copy_file(key, target + key.removeprefix(source))
        removed(old)


def folder() -> Path | None:
    """Return the folder of all copies; None before there is one."""
    return _Copies.folder


def copy_into(folder: Path | None) -> None:
    """Copy to the same folder as another process, which may be on another machine."""
    if folder is not None:
        folder.mkdir(exist_ok=True)
        _Copies.folder = folder


def fetched(path: Path) -> Path:
    """Return a path that another process has named, with its copy from the store where it is one."""
    if is_copy(path) and not path.exists():
        with _named(path, "be read from"), open(_Copies.made() / ".lock", "wb") as alone:
            fcntl.flock(alone, fcntl.LOCK_EX)  # of the processes on a machine one copies
            for key, known in _objects(path).items():
                _copy(_place(path.relative_to(_Copies.made()).parts[0], key), known)
    return path


def is_copy(path: Path) -> bool:
    """Return True for a path in the folder of all copies."""
    return _Copies.folder is not None and _Copies.folder in path.parents


def _place(scheme: str, name: str) -> Path:
    """Return the place of the copy of an object, which lies in the folder of all copies whatever its name."""
    parts = name.split("/")
    if len(parts) < 2 or not all(part.strip(".") and "\0" not in part for part in parts):
        raise TableError(f"{scheme}://{name}: expected {scheme}://BUCKET/KEY, a key without parts such as ..")
    return _Copies.made().joinpath(scheme, *parts)


def _stored(place: Path) -> tuple[Any, str]:
    """Return the store of a copy, and the object's name there."""
    scheme, *parts = place.relative_to(_Copies.made()).parts
    return _store(scheme, parts[0]), "/".join(parts)


@cache
def _store(scheme: str, bucket: str) -> Any:
    return _arrow().FileSystem.from_uri(f"{scheme}://{quote(bucket)}/{_OPTIONS.get(scheme, '')}")[0]


def _arrow() -> Any:
    from pyarrow import fs  # which takes long to import, and only object stores need

    return fs


def _objects(place: Path) -> dict[str, Any]:
    """Return what Arrow says of an object, or of all below a prefix, by name."""
    store, key = _stored(place)
    one, files = store.get_file_info(key), _arrow().FileType.File
    below = _arrow().FileSelector(key, allow_not_found=True, recursive=True)
    every = [one] if one.type == files else store.get_file_info(below)
    return {each.path: each for each in every if each.type == files}


def _copy(place: Path, known: Any) -> None:
    """Copy an object, unless that is done; all machines have it with the same time."""
    there, time = place.stat() if place.exists() else None, known.mtime_ns or 0  # the hub says no time
    if there and (there.st_size, there.st_mtime_ns) == (known.size, time):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f".{place.name}.{os.urandom(4).hex()}.copying")
    _arrow().copy_files(known.path, str(partial), source_filesystem=_stored(place)[0])
    os.utime(partial, ns=(time, time))
    os.replace(partial, place)


@contextmanager
def _named(place: Path, what: str) -> Iterator[None]:
    try:
        yield
    except GroundingRewardsError:
        raise
    except (OSError, ValueError, ImportError) as error:  # Arrow's own are among them
        if getattr(error, "errno", None) is not None:  # of the disk that copies are on
            raise
        raise TableError(
            f"{shown(str(place))}: cannot {what} its store ({in_one_line(error)}); addresses and credentials come from "
            "the environment, such as AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID"
        ) from None
