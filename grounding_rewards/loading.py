"""Code that a config names: ``module:attr``, or ``/path/file.py:attr`` for a file that is in no package."""

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
    """Whether a name says where code is, rather than under which name it is registered.

    >>> names_code("my_rewards:brief"), names_code("plugin/brief")
    (True, False)
    """
    return isinstance(name, str) and ":" in name


def absolute(name: str) -> str:
    """The same name with the path of its file in full, so that it holds in any directory.

    >>> absolute("my_rewards:brief")
    'my_rewards:brief'
    """
    place, _, attribute = name.rpartition(":")
    return f"{Path(place).absolute()}:{attribute}" if _is_file(place) else name


def load(name: str) -> Any:
    """What a name stands for. Its module or file runs once in a process.

    Args:
        name: ``module:attr``, or ``/path/file.py:attr``; a relative path is one from the working directory.

    Raises:
        RecipeError: the module or file is not there, does not run, or has no such attribute.

    >>> load("math:hypot")(3, 4)
    5.0
    >>> load("math:hypto")
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: 'math:hypto': math has no 'hypto'; did you mean 'hypot'?
    """
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise RecipeError(f"{name!r}: expected module:attr or /path/file.py:attr")
    try:
        module = _file(Path(place).absolute()) if _is_file(place) else importlib.import_module(place)
    except Exception as error:
        raise RecipeError(f"{name!r} does not load ({type(error).__name__}: {error})") from error
    if not hasattr(module, attribute):
        raise RecipeError(f"{name!r}: {place} has no {attribute!r}{near(attribute, dir(module))}")
    return getattr(module, attribute)


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or os.sep in place


def _file(path: Path) -> ModuleType:
    """The module that a file makes. Its name says its path, so that what it defines can be pickled."""
    _check_is_file(path)
    return importlib.import_module(f"{__name__}.{os.fsencode(path).hex()}")


def _check_is_file(path: Path) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")


class _Files:
    """Finds the modules of files, in processes that load a pickle too."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, code = name.rpartition(".")
        if parent != __name__:
            return None
        file = Path(os.fsdecode(bytes.fromhex(code)))
        _check_is_file(file)
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError("expected a file that ends in .py")
        return spec


__path__: list[str] = []  # makes this module one that others can be inside of
sys.meta_path.append(_Files)
