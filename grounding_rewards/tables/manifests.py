"""Manifests: the JSON beside what commands write, which says how that came about, and that all is there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.contents import JSON_LINES, PARQUET, is_stream, suffix_of
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.object_stores import shown

COMPLETE = "complete"
"""The manifest's mark that all shards are there."""

OUTPUTS = "outputs"
"""The shards in a complete manifest."""

_UNFINISHED = re.compile(r"\.(.+)\.unfinished")


def read_manifest(path: Path, *, by_caller: bool = False) -> dict[str, Any]:
    """Read a manifest; one that the caller names itself, as ``by_caller`` says, may be a FIFO."""
    if not by_caller and path.exists():
        regular_files([path])
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise TableError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f"{path}: cannot be read as a manifest ({error}); expected a JSON object") from None
    if not isinstance(content, dict):
        raise TableError(f"{path}: cannot be read as a manifest: got {type(content).__name__}; expected a JSON object")
    return content


def manifest_bytes(content: Mapping[str, Any]) -> bytes:
    """Return a manifest as JSON, the same bytes for the same content."""
    return (json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def manifest_or_none(path: Path) -> dict[str, Any] | None:
    """Read a manifest; None where there is none."""
    with suppress(TableError):
        return read_manifest(path)
    return None


def unfinished(out: Path) -> Path:
    """Return the folder that holds a run's shards until all are there; see ``runs``."""
    return out.parent / f".{out.name}.unfinished"


def check_finished(path: Path) -> None:
    """Check that no run has yet to make a directory or one in it, and that a finished one has its shards.

    An old directory beside unfinished shards is finished. Of shards the sizes count: hashes take longer than reading,
    and ``fingerprint`` has them.
    """
    own, found = path, sorted(path.glob("**/[!.]*.manifest.json"))  # temporary files begin with a point
    with suppress(ValueError):  # a name that no file can have
        own = unfinished(Path(os.path.realpath(path)))
        found += own.glob("[!.]*.manifest.json")
    read = {each: manifest_or_none(each) or {} for each in found if each.name.startswith("_")}
    damaged = {each: text for each, run in read.items() if run.get(COMPLETE) and (text := _damaged(each.parent, run))}
    for each, run in read.items():
        match = _UNFINISHED.fullmatch(each.parent.name)
        place = path if each.parent == own else each.parent.with_name(match[1]) if match else each.parent
        if match and run and not (place / each.name).exists():
            raise TableError(
                f"{place}: is unfinished: a run of {run.get('command', 'a command')} was killed, or is at work; the "
                "same command again goes on where it was, and finishes it"
            )
    for each, text in damaged.items():
        if manifest_or_none(each) == read[each]:  # else another run has just replaced all
            raise TableError(f"{each.parent}: {text}{_REMEDY}")


_REMEDY = "; bring it back, or run the command again that made the directory"


def _damaged(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Return which shard of a finished run is missing or of another size; "" where none is."""
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    for each in _listed(manifest):
        if (size := sizes.get(str(each.get("path")))) != each.get("bytes"):
            state = "is missing" if size is None else f"has {size:,} bytes"
            return f"{each.get('path')!r:.80} {state}; expected the {each.get('bytes')} bytes that its manifest says"
    return ""


def _listed(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the shards that a manifest lists."""
    listed = manifest.get(OUTPUTS) if manifest.get(COMPLETE) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _check_content(digests: Mapping[Path, str]) -> None:
    """Check that shards of finished runs among files have the hashes that their manifests say."""
    for folder in {file.parent for file in digests}:
        for place in folder.glob("_*.manifest.json"):
            for each in _listed(run := manifest_or_none(place) or {}):
                found = digests.get(folder / str(each.get("path")))
                if found is not None and found != each.get("sha256") and manifest_or_none(place) == run:
                    text = f"{each['path']!r:.80} has other content than the run of its manifest wrote"
                    raise TableError(f"{folder}: {text}{_REMEDY}")


def fingerprint(path: Path, files: Sequence[Path]) -> dict[str, Any]:
    """Return a path as it was named, the number and bytes of its files, and the SHA-256 of all in any order."""
    import hashlib  # which tables that hash nothing do without

    refuse_stream(path)
    each = {file: digest(file) for file in files}
    _check_content(each)
    digests = sorted(each.values())  # by content: names and order of files do not count
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()
    return {
        "path": shown(str(path)),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "sha256": whole,
    }


def refuse_stream(path: Path) -> None:
    """Check that an input is in files."""
    if is_stream(path):
        raise TableError(
            f"{path}: is a stream, and manifests of pools name files by their hashes; write it to a file first"
        )


def files_of_rows(path: Path) -> list[Path]:
    """Return a file, or the files of rows in a directory, hidden ones left out."""
    check_finished(path)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if suffix_of(file) in (*PARQUET, *JSON_LINES))
    parts = {file: file.relative_to(path).parts for file in files}
    return regular_files(file for file in files if not any(part.startswith((".", "_")) for part in parts[file]))


def digest(file: Path) -> str:
    """Return the SHA-256 of a file's content."""
    import hashlib

    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
