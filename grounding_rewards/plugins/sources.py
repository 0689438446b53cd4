"""The files and the plugins that a config names, so that a manifest says what made its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grounding_rewards.plugins.loading import NAMING, file_of
from grounding_rewards.plugins.registry import registry


def files_named(options: Any) -> list[Path]:
    """Return the files of code that plain options name; what those files import is left out.

    Args:
        options: plain options with names among them, as ``Recipe.to_dict`` returns, or a list of ``selectors``.

    >>> files_named({"selectors": [f"{__file__}:load", "unsolved", "json:loads"]}) == [Path(__file__)]
    True
    """
    files = (file_of(name) for name in _names(options))
    return [file for file in dict.fromkeys(files) if file is not None and file.is_file()]


def plugins_named(options: Any) -> dict[str, str]:
    """Return the distributions of the plugins that plain options name, with their versions.

    >>> plugins_named({"name": "gelato"})
    {}
    """
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
