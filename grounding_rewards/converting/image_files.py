"""What is to be known of images in files and in bytes: that they are there, their size, and which way up they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from grounding_rewards.converting.images import Image, Seen
from grounding_rewards.errors import ConvertError
from grounding_rewards.image_header import ENOUGH, image_size, orientation

Size = tuple[int, int]
Stored = tuple[Size | None, int]


def look(image: Image, *, turning: bool, files: bool = True) -> Seen | None:
    """Look at an image.

    Args:
        image: where it is.
        turning: whether who opens it turns it as its EXIF data say, as ``datasets`` does; its size is that of what is
            opened.
        files: whether files are opened.

    Returns:
        None of an address on a network, which is not asked, and of a file where these are not opened.

    Raises:
        ConvertError: there is no such file.
    """
    if image.data is not None:
        return _seen(_of_bytes(image.data), turning)
    if not files or image.remote or image.path is None:
        return None
    return _seen(_of_file(image.path), turning)


def _seen(stored: Stored, turning: bool) -> Seen:
    size, way = stored
    return Seen(size[::-1] if size and turning and way >= 5 else size, way != 1)


@lru_cache(maxsize=1 << 16)
def _of_file(path: str) -> Stored:
    local = unquote(urlsplit(path).path) if path.startswith("file://") else path
    try:
        with Path(local).open("rb") as file:
            return _of_start(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConvertError(
            f"image: cannot read {path!r:.200} ({why}); name the folder of relative paths by --image-dir, or give "
            "--no-image-check where images lie elsewhere"
        ) from None


def _of_start(file: IO[bytes]) -> Stored:
    """From the first bytes where they will do, else from all."""
    start = file.read(ENOUGH)
    known = image_size(start) and not start.startswith(b"RIFF")  # a WebP has its EXIF data at its end
    return (image_size(start), orientation(start)) if known else _of_bytes(start + file.read())


def _of_bytes(data: bytes) -> Stored:
    size = image_size(data)
    return (size, orientation(data)) if size else _by_pillow(data)


def _by_pillow(data: bytes) -> Stored:
    opened = _pillow()
    if opened is None:
        return None, 1
    try:
        with opened(io.BytesIO(data)) as image:
            (width, height), way = image.size, image.getexif().get(0x0112)
    except Exception:  # Pillow's readers raise whatever they like
        return None, 1
    return (int(width), int(height)), way if type(way) is int and 1 <= way <= 8 else 1


def _pillow() -> Callable[[IO[bytes]], Any] | None:
    try:
        from PIL.Image import open as opened
    except ImportError:
        return None
    return opened
