"""The images of a row: paths, bytes, or both, as data sets keep them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grounding_rewards.errors import ConvertError

_EXPECTED = 'a path, bytes, {"bytes": ..., "path": ...} or a list of these'


@dataclass(frozen=True)
class Picture:
    """One image: where its file lies, its bytes, or both."""

    path: str | None = None
    data: bytes | None = None

    @property
    def remote(self) -> bool:
        """Whether its path is an address, so that nothing here can read it."""
        return self.data is None and "://" in (self.path or "") and not (self.path or "").startswith("file://")

    def within(self, folder: str | None) -> Picture:
        """The same with a relative path inside ``folder``."""
        if folder is None or self.path is None or self.data is not None or "://" in self.path:
            return self
        return replace(self, path=os.path.join(folder, self.path))

    def as_field(self) -> dict[str, Any]:
        """The fields that ``datasets`` keeps of an image."""
        return {"bytes": self.data, "path": self.path}


def read_pictures(value: Any) -> tuple[Picture, ...]:
    """A row's images, in order.

    Raises:
        ConvertError: there is none, or something else.

    >>> read_pictures(["a.png", {"bytes": b"GIF89a", "path": None}])
    (Picture(path='a.png', data=None), Picture(path=None, data=b'GIF89a'))
    """
    found = tuple(map(_picture, value if isinstance(value, list | tuple) else [value]))
    if not found:
        raise ConvertError(f"image: got an empty list; expected {_EXPECTED}")
    return found


def _picture(value: Any) -> Picture:
    if isinstance(value, str) and value:
        return Picture(value)
    if isinstance(value, bytes) and value:
        return Picture(data=value)
    if isinstance(value, Mapping):
        path, data = value.get("path"), value.get("bytes")
        if isinstance(path, str | None) and isinstance(data, bytes | None) and (path or data):
            return Picture(path or None, data or None)
    came = "nothing" if value is None else f"{value!r:.80}"
    raise ConvertError(f"image: got {came}; expected {_EXPECTED}")
