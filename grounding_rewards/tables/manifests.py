"""Manifests: the JSON beside what commands write, which says how that came about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.data_paths import regular_files


def read_manifest(path: Path, *, given: bool = False) -> dict[str, Any]:
    """What a manifest says.

    Args:
        path: the file.
        given: whether the caller names the file itself, which may then be a FIFO.

    Raises:
        TableError: there is none, it is no regular file, or it is no JSON object.

    >>> read_manifest(Path("none.manifest.json"))
    Traceback (most recent call last):
    grounding_rewards.errors.TableError: none.manifest.json: no such file
    """
    if not given and path.exists():
        regular_files([path])
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise TableError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f"{path}: cannot be read as a manifest ({error}); expected a JSON object") from None
    if not isinstance(found, dict):
        raise TableError(f"{path}: cannot be read as a manifest: got {type(found).__name__}; expected a JSON object")
    return found
