"""What a manifest says of files that it was made from, so that anybody can tell whether they are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.files import JSON_LINES, PARQUET


def fingerprint(path: Path, files: Sequence[Path]) -> dict[str, Any]:
    """A path as it was given, how many files and bytes are there, and the SHA-256 of the file, or of all their hashes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rows.jsonl")
    ...     _ = file.write_text("{}")
    ...     found = fingerprint(file, [file])
    >>> found["files"], found["bytes"], found["sha256"][:8]
    (1, 2, '44136fa3')
    """
    digests = sorted(digest(file) for file in files)
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()
    return {
        "path": str(path),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "sha256": whole,
    }


def files_of_rows(path: Path) -> list[Path]:
    """A file, or the files of rows in a directory, hidden ones left out.

    Raises:
        TableError: one in the directory is no regular file; names it.
    """
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in (*PARQUET, *JSON_LINES))
    parts = {file: file.relative_to(path).parts for file in found}
    return regular_files(file for file in found if not any(part.startswith((".", "_")) for part in parts[file]))


def digest(file: Path) -> str:
    """The SHA-256 of what a file holds."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
