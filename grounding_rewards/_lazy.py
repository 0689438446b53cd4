"""Public names of a package that are imported when they are asked for first."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """Return the names that modules of a package give it, and its ``__getattr__``, which imports them."""
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next time nobody asks
        return value

    return [*homes], imported
