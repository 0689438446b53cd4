"""Options as plain values that can be compared, hashed and written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class FrozenDict(dict[str, Any]):
    """Mapping among the options of a recipe: a dict with a hash, which nothing changes."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def frozen(value: Any) -> Any:
    """Return a value of a config in one hashable form: mappings as ``FrozenDict``, lists as tuples, enums as text.

    >>> frozen({"actions": ["click", "tap"], "low": 0})
    {'actions': ('click', 'tap'), 'low': 0}
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(each) for key, each in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return tuple([frozen(each) for each in value])
    return value
