"""Loading of code that a config names: ``module:attr``, or ``/path/file.py:attr`` for a file that is in no package.

Files are modules inside this one, so that what they define can be pickled. A module is called after the path of its
file. A process that unpickles something of it, such as a trainer's worker, imports this module first, and nothing else
of ours: only a finder can then find the file by the name.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from grounding_rewards.errors import RecipeError, near


def names_code(name: Any) -> bool:
    """Tell a name that says where code is from one under which something is registered."""
    return isinstance(name, str) and ":" in name


def absolute(name: str) -> str:
    """Return the same name with the path of its file in full, so that it holds in any directory."""
    place, _, attribute = name.rpartition(":")
    return f"{os.path.abspath(place)}:{attribute}" if _is_file(place) else name


def file_of(name: Any) -> Path | None:
    """Return the file of code that a name says, as it says it; None where it names none."""
    place = name.rpartition(":")[0] if names_code(name) else ""
    return Path(place) if _is_file(place) else None


def current(name: str) -> str:
    """Return a name with its path in full, to build something new with."""
    name = absolute(name)
    place = name.rpartition(":")[0]
    if _is_file(place) and has_changed(place):
        raise RecipeError(f"{name!r}: {place} has changed since this process ran it; restart the process")
    return name


def load(name: str) -> Any:
    """Return what a name stands for: its module or file runs once in a process, and the script that runs not again."""
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise RecipeError(f"{name!r}: expected module:attr or /path/file.py:attr")
    try:
        module = _file(os.path.abspath(place)) if _is_file(place) else importlib.import_module(place)
    except (Exception, SystemExit) as error:  # a script that was meant to be run ends the process that imports it
        raise RecipeError(f"{name!r} does not load ({type(error).__name__}: {error})") from error
    if not hasattr(module, attribute):
        # Both are modules that have not run to their end yet.
        running = module.__name__ == "__main__" or getattr(module.__spec__, "_initializing", False)
        so_far = ", as far as it has run: define that above the line that names it" if running else ""
        raise RecipeError(f"{name!r}: {place} has no {attribute!r}{so_far}{near(attribute, dir(module))}")
    return getattr(module, attribute)


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or os.sep in place


def _file(path: str) -> ModuleType:
    """Return the module that a file makes: it runs once in a process."""
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if main is not None and script and os.path.abspath(script) == path:
        return main  # a script that names a function of its own
    _check_is_file(path)
    return importlib.import_module(_module_name(path))


def has_changed(path: str) -> bool:
    """Tell whether a file holds something else than when this process ran it."""
    spec = getattr(sys.modules.get(_module_name(path)), "__spec__", None)
    return spec is not None and spec.loader_state != _content(path)


def _module_name(path: str) -> str:
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
