"""JSON objects whose keys come once."""

from __future__ import annotations

from typing import Any


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object, for ``json.loads``, which itself keeps the last value of a key that comes twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        earlier: set[str] = set()
        twice = next(name for name, _ in pairs if name in earlier or earlier.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.80} comes twice in one object")
    return fields
