"""Read the images that data name: from regular files and from bytes, as images alone, within bounds."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from grounding_rewards.converting.images import KNOWN, Image, ImageInfo
from grounding_rewards.coords.image_header import ENOUGH, Size, image_format, image_size, orientation
from grounding_rewards.errors import DataPathError, PictureError
from grounding_rewards.tables.data_paths import open_regular, read_up_to

if TYPE_CHECKING:
    from PIL.Image import Image as Decoded

MAX_IMAGE_BYTES = 64 << 20
"""Default bound on the bytes of an image, which are held in memory; screenshots have some megabytes."""

MAX_IMAGE_PIXELS = 1 << 28
"""Default bound on pixels; admits 10,000 x 20,000, more than Pillow does by default (178,956,970 pixels)."""


@dataclass(frozen=True)
class ImageFiles:
    """Folder of the images that data name, and bounds on their size.

    Attributes:
        root: the folder of relative paths, which they must not leave; "" for the current directory. Absolute paths and
            ``file://`` addresses are read as they are.
        max_image_bytes: the most bytes of an image, in a file or in the data.
        max_image_pixels: the most pixels, width times height, checked in the header before anything is decoded.
        hint: advice in errors about a file that may lie elsewhere.
    """

    root: str = ""
    max_image_bytes: int = MAX_IMAGE_BYTES
    max_image_pixels: int = MAX_IMAGE_PIXELS
    hint: str = ""

    def look(self, image: Image, *, turning: bool, files: bool = True) -> ImageInfo | None:
        """Read the size and the orientation of an image, from its first bytes where possible.

        Args:
            image: the image.
            turning: True where the reader applies its EXIF orientation, as ``datasets`` does; the size is that after
                turning.
            files: False to open no files.

        Returns:
            None for an address on a network, which is never read, and for a file if ``files`` is False.

        Raises:
            PictureError: it is not an image, is too large, or its file cannot be read.
        """
        if image.data is None and (image.remote or image.path is None or not files):
            return None
        size, way = _of_file(self, image.path or "") if image.data is None else _stored(self.read(image))
        return ImageInfo(size[::-1] if turning and way >= 5 else size, way != 1)

    def read(self, image: Image) -> bytes:
        """Read all bytes of an image.

        Raises:
            PictureError: as of ``look``; or it lies on a network.
        """
        if image.data is None:
            return self._read(image.path or "", whole=True)
        try:
            return self._checked(image.data)
        except DataPathError as error:
            raise PictureError(f"image: its bytes cannot be read ({error})") from None

    def decode(self, image: Image) -> Decoded:
        """Decode an image by Pillow, which must be installed; it is not turned.

        Raises:
            PictureError: as of ``read``; or Pillow cannot decode it.
        """
        data = self.read(image)
        try:
            with _pillow_bound(self.max_image_pixels):
                from PIL.Image import open as opened

                found = opened(io.BytesIO(data), formats=[image_format(data) or ""])
                self._check_pixels(found.size)  # a header may hold two sizes
                found.load()
        except Exception as error:  # Pillow's readers raise errors of many types
            raise PictureError(f"image: cannot decode {_name(image)} ({error!s:.200})") from None
        return found

    def _read(self, path: str, *, whole: bool) -> bytes:
        """Read a file, or only as many of its first bytes as say its size."""
        where = f" in {self.root or os.curdir}" if Image(path).relative else ""
        try:
            local, folder = self._place(path)
            with open_regular(local, folder, expected="an image file") as file:
                size = os.fstat(file.fileno()).st_size
                if size > self.max_image_bytes:
                    raise self._too_large(f"{size:,} bytes")
                start = b"" if whole else file.read(min(ENOUGH, self.max_image_bytes))
                if image_size(start) and not start.startswith(b"RIFF"):  # the EXIF data of a WebP are at its end
                    return self._checked(start)
                data = start + read_up_to(file, self.max_image_bytes - len(start))
                if len(data) > self.max_image_bytes:  # the file grows, or the system does not know its size
                    raise self._too_large("more bytes than the system says")
                return self._checked(data)
        except DataPathError as error:
            hint = self.hint if error.elsewhere else ""
            raise PictureError(f"image: cannot read {path!r:.200}{where} ({error}){hint}") from None

    def _place(self, path: str) -> tuple[str, str | None]:
        """Return a path to open, and the folder that it must not leave."""
        if path.startswith("file://"):
            try:
                address = urlsplit(path)
            except ValueError:
                raise DataPathError("is no address; expected file:///folder/name") from None
            local = unquote(address.path)
            if address.netloc not in ("", "localhost") or not os.path.isabs(local):
                raise DataPathError("names no file of this machine; expected file:///folder/name")
            return local, None
        if "://" in path:
            raise DataPathError("is an address on a network, which is not asked")
        return path, None if os.path.isabs(path) else self.root or os.curdir

    def _checked(self, data: bytes) -> bytes:
        """Check that bytes are an image within the bounds; errors quote nothing of other contents."""
        if len(data) > self.max_image_bytes:
            raise self._too_large(f"{len(data):,} bytes")
        size = image_size(data)
        if size is None:
            raise DataPathError(f"is no image whose header says its size; expected {KNOWN}")
        self._check_pixels(size)
        return data

    def _check_pixels(self, size: Size) -> None:
        if size[0] * size[1] > self.max_image_pixels:
            raise DataPathError(f"has {size[0]} x {size[1]} pixels; max_image_pixels allows {self.max_image_pixels:,}")

    def _too_large(self, size: str) -> DataPathError:
        return DataPathError(f"has {size}; max_image_bytes allows {self.max_image_bytes:,} bytes")


@contextmanager
def _pillow_bound(pixels: int) -> Iterator[None]:
    """Bound the pixels that Pillow decodes, and restore its own bound, a global of the process, afterwards."""
    from PIL import Image as pillow

    before = pillow.MAX_IMAGE_PIXELS
    with warnings.catch_warnings():
        warnings.simplefilter("error", pillow.DecompressionBombWarning)
        pillow.MAX_IMAGE_PIXELS = pixels
        try:
            yield
        finally:
            pillow.MAX_IMAGE_PIXELS = before


@lru_cache(maxsize=1 << 16)
def _of_file(files: ImageFiles, path: str) -> tuple[Size, int]:
    return _stored(files._read(path, whole=False))


def _stored(data: bytes) -> tuple[Size, int]:
    size = image_size(data)
    assert size is not None  # ``_checked``
    return size, orientation(data)


def _name(image: Image) -> str:
    return "its bytes" if image.data is not None else f"{image.path!r:.200}"
