"""Files of code as modules inside this one, so that what they define can be pickled.

A module is called after the path of its file. A process that unpickles something of it, such as a trainer's worker,
imports this module first, and nothing else of ours: only a finder can then find the file by the name. It is there as
soon as this module is imported, which happens when a config names a file, or a pickle something inside of one.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


def module_of(path: str) -> ModuleType:
    """Run a file, by its full path, or return what it made earlier in this process."""
    _check_is_file(path)
    return importlib.import_module(_name(path))


def has_changed(path: str) -> bool:
    """Tell whether a file holds something else than when this process ran it."""
    spec = getattr(sys.modules.get(_name(path)), "__spec__", None)
    return spec is not None and spec.loader_state != _content(path)


def _name(path: str) -> str:
    # In hex, because dots and slashes have a meaning in names of modules.
    return f"{__name__}.{os.fsencode(path).hex()}"


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _check_is_file(path: str) -> None:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}")


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, code = name.rpartition(".")
        if parent != __name__:
            return None
        try:
            file = os.fsdecode(bytes.fromhex(code))
        except ValueError:  # a module that never was
            return None
        _check_is_file(file)
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError("expected a file that ends in .py")
        spec.loader_state = _content(file)  # what has_changed compares with
        return spec


__path__: list[str] = []  # makes this module one that others can be inside of
sys.meta_path.append(_Finder)
