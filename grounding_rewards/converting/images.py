"""Images of a row: paths, bytes, or both, as data sets keep them."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grounding_rewards.coords.image_header import image_size
from grounding_rewards.errors import ConvertError

KNOWN = "PNG, JPEG, WebP, GIF or BMP"
_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
_EXPECTED = 'a path, bytes, {"bytes": ..., "path": ...}, a data URL or a list of these'


@dataclass(frozen=True)
class Image:
    """Image by its path, its bytes, or both."""

    path: str | None = None
    data: bytes | None = None

    @property
    def relative(self) -> bool:
        """True for a path that depends on the current directory."""
        return self.data is None and self.path is not None and "://" not in self.path and not os.path.isabs(self.path)

    @property
    def remote(self) -> bool:
        """True for an address on a network, which is never read."""
        return self.data is None and "://" in (self.path or "") and not (self.path or "").startswith("file://")

    def within(self, folder: str | None) -> Image:
        """Return the image with a relative path inside ``folder``."""
        if folder is None or self.path is None or self.data is not None or "://" in self.path:
            return self
        return replace(self, path=os.path.join(folder, self.path))

    def as_field(self) -> dict[str, Any]:
        """Return the fields that ``datasets`` keeps of an image."""
        return {"bytes": self.data, "path": None if _is_data_url(self.path) else self.path}


@dataclass(frozen=True)
class ImageInfo:
    """Size and orientation of an image.

    Attributes:
        size: width and height as the trainer opens it.
        turned: True where its EXIF data ask to turn or mirror it.
    """

    size: tuple[float, float]
    turned: bool = False


def looks_like_images(value: Any) -> bool:
    """True for a value that is likely an image, or several, whatever its column's name.

    >>> looks_like_images("shots/1.PNG"), looks_like_images([{"bytes": b"GIF", "path": None}])
    (True, True)
    >>> looks_like_images("Open a.png and close it"), looks_like_images(7)
    (False, False)
    """
    if isinstance(value, list | tuple):
        return bool(value) and looks_like_images(value[0])
    if isinstance(value, str):
        return value.lower().endswith(_SUFFIXES) and " " not in value.strip() and "\n" not in value
    if isinstance(value, Mapping):
        return {"bytes", "path"} >= {*value} and any(value.values())
    return isinstance(value, bytes) and image_size(value) is not None


def read_images(value: Any) -> tuple[Image, ...]:
    """Read a row's images, in order.

    Raises:
        ConvertError: there is no image, or a value of another kind.

    >>> read_images(["a.png", {"bytes": b"GIF89a", "path": None}])
    (Image(path='a.png', data=None), Image(path=None, data=b'GIF89a'))
    """
    found = tuple(map(_image, value if isinstance(value, list | tuple) else [value]))
    if not found:
        raise ConvertError(f"image: got an empty list; expected {_EXPECTED}")
    return found


def _image(value: Any) -> Image:
    if isinstance(value, str) and value:
        return _of_path(value)
    if isinstance(value, bytes) and value:
        return Image(data=value)
    if isinstance(value, Mapping):
        path, data = value.get("path"), value.get("bytes")
        if isinstance(path, str | None) and isinstance(data, bytes | None) and (path or data):
            return Image(path or None, data) if data else _of_path(path or "")
    shown = "nothing" if value is None else f"{value!r:.80}"
    raise ConvertError(f"image: got {shown}; expected {_EXPECTED}")


def _of_path(path: str) -> Image:
    return Image(path, _decoded(path) if _is_data_url(path) else None)


def _is_data_url(path: str | None) -> bool:
    return path is not None and path[:5].lower() == "data:"


def _decoded(url: str) -> bytes:
    """Return the bytes that a data URL holds in base64.

    >>> _decoded("data:image/gif;base64,R0lGODlh")
    b'GIF89a'
    """
    head, _, text = url.partition(",")
    try:
        if head.endswith(";base64") and text:
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # reported below, without its contents
        pass
    raise ConvertError(f"image: got a data URL of {len(url):,} characters; expected data:image/png;base64,...")
