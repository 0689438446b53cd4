"""The files of code that a config names, so that it can be told when they have changed."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any

from grounding_rewards.plugins.loading import NAMING, file_of, names_code
from grounding_rewards.plugins.registry import KINDS, registry

_PACKAGE = Path(__file__).resolve().parent
_STANDARD = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
_INSTALLED = {"site-packages", "dist-packages"}
_SEVERAL = (list, tuple, set, frozenset)


def files_of_code(options: Any, built: Any = None) -> list[Path]:
    """The files of all code that something was built from: first those that are named, in the order of their names.

    Of ``module:attr`` and of ``plugin/name`` these are the file of the module, or of the plugin, and the one in which
    the thing itself stands. Then come modules that are neither Python's nor installed, where what was built holds
    something of theirs, or such a module has them, or something of theirs, among its globals. Nothing is imported, so
    that code which this process has not run is left out. So is this package's own, of which its version tells.

    Args:
        options: plain options with names among them, as ``Recipe.to_dict`` returns, or a list of ``selectors``.
        built: what was built from them, such as a recipe.

    >>> import json
    >>> [file.name for file in files_of_code({"name": "composite", "success": {"verifier": "json:JSONDecoder"}})]
    ['__init__.py', 'decoder.py']
    >>> files_of_code({"name": "gelato"})
    []
    """
    named = dict.fromkeys(file for name in _names(options) for file in _files(name))
    found: dict[Path, Path] = {}
    for file in [*named, *sorted(_behind([*_run(named), built]))]:
        found.setdefault(Path(os.path.realpath(file)), file)  # as it is named, where it is
    return [file for file in found.values() if file.is_file() and not _is_packaged(file)]


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
        if file := _file(thing):
            yield file


def _things(name: str) -> list[Any]:
    """What holds the code of this name, and what is called so."""
    if names_code(name):
        place, _, attribute = name.rpartition(":")
        module = sys.modules.get(place)
        return [module, getattr(module, attribute, None)]
    known, (plugin, slash, _) = registry(), name.partition("/")
    holders = [offer[2] for offer in known.plugins if slash and offer[0] == plugin]
    return [*holders, *(getattr(known, kind).get(name) for kind in KINDS)]


def _run(files: Iterable[Path]) -> list[Any]:
    """The modules that this process made of some files."""
    wanted = {os.path.abspath(file) for file in files}
    return [module for module in list(sys.modules.values()) if getattr(module, "__file__", None) in wanted]


def _behind(things: list[Any]) -> set[Path]:
    """The files that are neither Python's nor installed, of these things and of all that they hold."""
    found, seen = set[Path](), dict[int, Any]()  # which keeps what it has seen, so that no other takes its place
    while things:
        thing = things.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        file = _file(thing)
        if file is not None and _is_own(file):
            found.add(file)
            things.append(_module(thing))
        things += _held(thing, file)
    return found


def _held(thing: Any, file: Path | None) -> Iterable[Any]:
    """What may stand in a module of its own; nothing of what others have made."""
    if isinstance(thing, Mapping):
        return thing.values()
    if isinstance(thing, _SEVERAL):
        return thing
    if isinstance(thing, partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if file is None or isinstance(thing, type) or not (_is_own(file) or _is_packaged(file)):
        return ()
    if isinstance(thing, ModuleType):  # whose tables of data may be long
        held = vars(thing).values() if _is_own(file) else ()
        return [each for each in held if not isinstance(each, (Mapping, *_SEVERAL))]
    cells = (thing.__closure__ or ()) if isinstance(thing, FunctionType) else ()
    inner = [cell.cell_contents for cell in cells if cell != CellType()]  # which holds nothing
    return [*inner, *getattr(thing, "__dict__", {}).values()]


def _module(thing: Any) -> Any:
    return thing if isinstance(thing, ModuleType) else sys.modules.get(str(getattr(thing, "__module__", "")))


def _file(thing: Any) -> Path | None:
    """The file in which a thing, or its class, stands."""
    file = getattr(_module(thing), "__file__", None)
    return Path(file) if file else None


def _is_packaged(file: Path) -> bool:
    return Path(os.path.realpath(file)).is_relative_to(_PACKAGE)


def _is_own(file: Path) -> bool:
    """Whether a file is somebody's own, neither of Python or this package nor installed."""
    whole = Path(os.path.realpath(file))
    standard = any(whole.is_relative_to(folder) for folder in _STANDARD)
    return not (standard or _is_packaged(file) or _INSTALLED & {*whole.parts})
