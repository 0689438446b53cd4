"""The files of code that a config names, so that it can be told when they have changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from grounding_rewards.loading import NAMING, file_of, names_code
from grounding_rewards.plugins import KINDS, registry

_PACKAGE = Path(__file__).resolve().parent


def files_of_code(options: Any) -> list[Path]:
    """The files of all code that is named in what something was built from, in the order of their names.

    Of ``module:attr`` and of ``plugin/name`` these are the file of the module, or of the plugin, and the one in which
    the thing itself stands. Nothing is imported, so that code which this process has not run is left out. So is this
    package's own, of which its version tells.

    Args:
        options: plain options with names among them, as ``Recipe.to_dict`` returns, or a list of ``selectors``.

    >>> import json
    >>> [file.name for file in files_of_code({"name": "composite", "success": {"verifier": "json:JSONDecoder"}})]
    ['__init__.py', 'decoder.py']
    >>> files_of_code({"name": "gelato"})
    []
    """
    found = dict.fromkeys(file for name in _names(options) for file in _files(name))
    return [file for file in found if file.is_file() and not file.resolve().is_relative_to(_PACKAGE)]


def _names(options: Any) -> Iterator[str]:
    for key, value in options.items() if isinstance(options, Mapping) else ():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, Mapping):
                yield from _names(each)
            elif key in (*NAMING, "selectors") and isinstance(each, str):
                yield each


def _files(name: str) -> Iterator[Path]:
    if (own := file_of(name)) is not None:
        yield own
        return
    for thing in _things(name):
        module = thing if isinstance(thing, ModuleType) else sys.modules.get(str(getattr(thing, "__module__", "")))
        if file := getattr(module, "__file__", None):
            yield Path(file)


def _things(name: str) -> list[Any]:
    """What holds the code of this name, and what is called so."""
    if names_code(name):
        place, _, attribute = name.rpartition(":")
        module = sys.modules.get(place)
        return [module, getattr(module, attribute, None)]
    known, (plugin, slash, _) = registry(), name.partition("/")
    holders = [offer[2] for offer in known.plugins if slash and offer[0] == plugin]
    return [*holders, *(getattr(known, kind).get(name) for kind in KINDS)]
