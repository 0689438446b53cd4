"""The size of images in files and in bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from grounding_rewards.converting.image_header import ENOUGH, image_size
from grounding_rewards.converting.pictures import Picture
from grounding_rewards.errors import ConvertError

Size = tuple[int, int]
KNOWN = "PNG, JPEG, WebP, GIF or BMP, or what Pillow reads where it is installed"


def measure(picture: Picture) -> Size | None:
    """Width and height of an image as stored; None of an address on a network, which is not asked.

    Raises:
        ConvertError: there is no such file, or it is no image.
    """
    if picture.data is not None:
        size = _of_bytes(picture.data)
        if size is None:
            raise ConvertError(f"image: got {len(picture.data)} bytes that say no size; expected {KNOWN}")
        return size
    return None if picture.remote or picture.path is None else _of_file(picture.path)


@lru_cache(maxsize=1 << 16)
def _of_file(path: str) -> Size:
    local = unquote(urlsplit(path).path) if path.startswith("file://") else path
    try:
        with Path(local).open("rb") as file:
            size = _of_start(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConvertError(
            f"image: cannot read {path!r:.200} ({why}); name the folder of relative paths by --image-dir, or the "
            "column of sizes by --image-size-column"
        ) from None
    if size is None:
        raise ConvertError(f"image: {path!r:.200} says no size; expected {KNOWN}")
    return size


def _of_start(file: IO[bytes]) -> Size | None:
    """From the first bytes where they will do, else from all."""
    start = file.read(ENOUGH)
    return image_size(start) or _of_bytes(start + file.read())


def _of_bytes(data: bytes) -> Size | None:
    return image_size(data) or _by_pillow(data)


def _by_pillow(data: bytes) -> Size | None:
    opened = _pillow()
    if opened is None:
        return None
    try:
        with opened(io.BytesIO(data)) as image:
            width, height = image.size
    except Exception:  # Pillow's readers raise whatever they like
        return None
    return int(width), int(height)


def _pillow() -> Callable[[IO[bytes]], Any] | None:
    try:
        from PIL.Image import open as opened
    except ImportError:
        return None
    return opened
