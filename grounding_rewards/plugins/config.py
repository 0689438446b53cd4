"""Options of a config as plain values that can be compared, hashed and written down, and the code that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.plugins.loading import absolute, file_of
from grounding_rewards.plugins.registry import registry

NAMING = ("name", "verifier", "dialect", "success", "correct")
"""Options that may name code, in a recipe's dict form and among the arguments of verifiers."""


class FrozenDict(dict[str, Any]):
    """Mapping among the options of a recipe: a dict with a hash, which nothing changes."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def frozen(value: Any) -> Any:
    """Return a value of a config in one hashable form: mappings as ``FrozenDict``, lists as tuples, enums as text."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(each) for key, each in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return tuple([frozen(each) for each in value])
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return frozen(value.tolist())
    return value


def in_full(options: Any) -> Any:
    """Return plain options of a recipe with the paths of the files that they name in full."""
    return FrozenDict({key: _in_full(key, each) for key, each in options.items()})


def _in_full(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return in_full(value)
    return absolute(value) if key in NAMING and isinstance(value, str) and ".py:" in value else value


def files_named(options: Any) -> list[Path]:
    """Return the files of code that plain options name; what those files import is left out."""
    files = (file_of(name) for name in _names(options))
    return [file for file in dict.fromkeys(files) if file is not None and file.is_file()]


def plugins_named(options: Any) -> dict[str, str]:
    """Return the distributions of the plugins that plain options name, with their versions."""
    from importlib.metadata import PackageNotFoundError, version

    wanted = {name.partition("/")[0] for name in _names(options) if "/" in name and ":" not in name}
    versions = {}
    for distribution in sorted(offer[1] for offer in registry().plugins if offer[0] in wanted) if wanted else ():
        try:
            versions[distribution] = version(distribution)
        except PackageNotFoundError:  # an entry point without its distribution
            versions[distribution] = "unknown"
    return versions


def _names(options: Any) -> Iterator[str]:
    for key, value in options.items() if isinstance(options, Mapping) else ():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, Mapping):
                yield from _names(each)
            elif key in (*NAMING, "selectors") and isinstance(each, str):
                yield each
