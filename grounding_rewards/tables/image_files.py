"""Images of a row as data sets keep them, read from regular files and from bytes, as images alone, within bounds."""

from __future__ import annotations

import base64
import binascii
import io
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ctypes import CDLL
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from grounding_rewards.coords.image_sizes import ENOUGH, Size, image_format, image_size, orientation
from grounding_rewards.errors import ConvertError, DataPathError, PictureError
from grounding_rewards.tables.contents import folder_of
from grounding_rewards.tables.data_paths import open_regular, read_up_to

if TYPE_CHECKING:
    from PIL.Image import Image as Decoded

_END_OF_JPEG = b"\xff\xd9"
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

    @property
    def shown(self) -> str:
        """The image's path for errors, or "its bytes" where it has none."""
        return "its bytes" if self.path is None or _is_data_url(self.path) else f"{self.path!r:.200}"

    def within(self, folder: str | None) -> Image:
        """Return the image with a relative path inside ``folder``."""
        if folder is None or self.path is None or self.data is not None or "://" in self.path:
            return self
        return replace(self, path=os.path.join(folder, self.path))

    def inside(self, folder: str) -> Image:
        """Return an absolute path as one relative to the folder, which the image must not leave."""
        if self.data is not None or self.path is None or self.relative:
            return self
        path = os.path.relpath(self.path, folder) if os.path.isabs(self.path) else os.pardir
        if path.split(os.sep)[0] == os.pardir:
            raise PictureError(f"image: {self.shown} lies outside of {folder}; name its folder by --image-root")
        return replace(self, path=path)

    def as_field(self) -> dict[str, Any]:
        """Return the fields that ``datasets`` keeps of an image."""
        return {"bytes": self.data, "path": None if _is_data_url(self.path) else self.path}


class ImageInfo(Struct, frozen=True):
    """Size and orientation of an image."""

    size: tuple[float, float]  # width and height as the trainer opens it
    turned: bool = False  # True where its EXIF data ask to turn or mirror it


def looks_like_images(value: Any) -> bool:
    """True for a value that is likely an image, or several, whatever its column's name."""
    if isinstance(value, list | tuple):
        return bool(value) and looks_like_images(value[0])
    if isinstance(value, str):
        return value.lower().endswith(_SUFFIXES) and " " not in value.strip() and "\n" not in value
    if isinstance(value, Mapping):
        return {"bytes", "path"} >= {*value} and any(value.values())
    return isinstance(value, bytes) and image_size(value) is not None


def read_images(value: Any) -> tuple[Image, ...]:
    """Read a row's images, in order."""
    images = tuple(map(_image, value if isinstance(value, list | tuple) else [value]))
    if not images:
        raise ConvertError(f"image: got an empty list; expected {_EXPECTED}")
    return images


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
    return path is not None and path[:5].lower() == "data:"  # without a copy of what may be megabytes


def _decoded(url: str) -> bytes:
    """Return the bytes that a data URL holds in base64."""
    head, _, text = url.partition(",")
    try:
        if head.endswith(";base64") and text:
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # reported below, without its contents
        pass
    raise ConvertError(f"image: got a data URL of {len(url):,} characters; expected data:image/png;base64,...")


MAX_IMAGE_BYTES = 64 << 20
"""Default bound on the bytes of an image, which are held in memory; screenshots have some megabytes."""

MAX_IMAGE_PIXELS = 1 << 28
"""Default bound on pixels; admits 10,000 x 20,000, more than Pillow does by default (178,956,970 pixels)."""


@dataclass(frozen=True)
class ImageFiles:
    """Folder of the images that data name, and bounds on their size."""

    # the folder of relative paths, which they must not leave; "" for the current directory. Absolute paths and
    # ``file://`` addresses are read as they are
    root: str = ""
    max_image_bytes: int = MAX_IMAGE_BYTES  # the most bytes of an image, in a file or in the data
    # the most pixels, width times height, checked in the header before anything is decoded
    max_image_pixels: int = MAX_IMAGE_PIXELS
    hint: str = ""  # advice in errors about a file that may lie elsewhere

    def of(self, data: Path) -> ImageFiles:
        """Return the same for the images of a file of data: in its folder, where no other is named."""
        return self if self.root else replace(self, root=str(folder_of(data).absolute()))

    def look(self, image: Image, *, turning: bool, files: bool = True) -> ImageInfo | None:
        """Read the size and the orientation of an image, from its first bytes where possible."""
        if image.data is None and (image.remote or image.path is None or not files):
            return None
        size, way = _of_file(self, image.path or "") if image.data is None else _stored(self.read(image))
        return ImageInfo(size[::-1] if turning and way >= 5 else size, way != 1)  # 5 to 8 swap width and height

    def read(self, image: Image) -> bytes:
        """Read all bytes of an image."""
        if image.data is None:
            return self._read(image.path or "", whole=True)
        try:
            return self._checked(image.data)
        except DataPathError as error:
            raise PictureError(f"image: its bytes cannot be read ({error})") from None

    def in_url(self, image: Image) -> Image:
        """Return an image whose path is a data URL of its bytes; one on a network as it is."""
        if image.remote:
            return image
        data = self.read(image)
        kind = (image_format(data) or "").lower()
        return Image(f"data:image/{kind};base64,{base64.b64encode(data).decode()}", data)

    def decode(self, image: Image) -> Decoded:
        """Decode an image by Pillow, which must be installed; it is not turned."""
        decoded = self.opened(image)
        try:
            decoded.load()  # where other threads may open theirs
        except Exception as error:  # Pillow's readers raise errors of many types
            raise _undecodable(image, error) from None
        return decoded

    @contextmanager
    def decoding(self, image: Image) -> Iterator[Decoded]:
        """Decode an image as ``decode`` does, while all threads together hold at most ``max_image_pixels`` so."""
        width, height = self.opened(image).size
        with _ROOM.held(width * height, self.max_image_pixels):
            decoded = self.decode(image)
            try:
                yield decoded
            finally:
                decoded.close()  # others decode before its last name is gone
                if width * height > _LARGE:
                    with suppress(AttributeError, OSError):  # of GNU's C library alone, which keeps it for this thread
                        CDLL(None).malloc_trim(0)

    def check(self, image: Image) -> None:
        """Check that a PNG or JPEG file is whole, without decoding it where that can be seen; else decode it."""
        data = self.read(image)
        if image_format(data) == "PNG":
            opened = self.opened(image)
            try:
                opened.verify()  # the checksums of all of its parts, up to the last
            except Exception as error:  # as above
                raise _undecodable(image, error) from None
        elif not data.endswith(_END_OF_JPEG):
            with self.decoding(image):
                pass

    def opened(self, image: Image) -> Decoded:
        """Open an image by Pillow, which reads its header."""
        data = self.read(image)
        try:
            with _pillow_bound(self.max_image_pixels):
                from PIL.Image import open as opened

                # Of Pillow's many readers only that of the format that was checked gets these bytes.
                lazy = opened(io.BytesIO(data), formats=[image_format(data) or ""])
                self._check_pixels(lazy.size)  # a header may hold two sizes
        except Exception as error:  # as above
            raise _undecodable(image, error) from None
        return lazy

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


class _Room:
    """Pixels that are decoded at this moment, in all threads."""

    def __init__(self) -> None:
        self._pixels, self._turn, self._changed = 0, Lock(), Condition()

    @contextmanager
    def held(self, pixels: int, most: int) -> Iterator[None]:
        """Wait until the pixels fit, in the order of the calls, and count them until the context is left."""
        with self._turn, self._changed:
            self._changed.wait_for(lambda: not self._pixels or self._pixels + pixels <= most)
            self._pixels += pixels
        try:
            yield
        finally:
            with self._changed:
                self._pixels -= pixels
                self._changed.notify_all()


_ROOM = _Room()

_LARGE = 1 << 24
"""Pixels of an image whose memory goes back to the system at once."""


def _undecodable(image: Image, error: Exception) -> PictureError:
    return PictureError(f"image: cannot decode {image.shown} ({error!s:.200})")


_ONE_BOUND = Lock()


@contextmanager
def _pillow_bound(pixels: int) -> Iterator[None]:
    """Bound the pixels of images that Pillow opens, and restore its own bound, a global of the process, afterwards."""
    from PIL import Image as pillow

    with _ONE_BOUND, warnings.catch_warnings():
        before = pillow.MAX_IMAGE_PIXELS
        warnings.simplefilter("error", pillow.DecompressionBombWarning)
        pillow.MAX_IMAGE_PIXELS = pixels
        try:
            yield
        finally:
            pillow.MAX_IMAGE_PIXELS = before


@lru_cache(maxsize=1 << 16)  # many samples share a screenshot
def _of_file(files: ImageFiles, path: str) -> tuple[Size, int]:
    return _stored(files._read(path, whole=False))


def _stored(data: bytes) -> tuple[Size, int]:
    size = image_size(data)
    assert size is not None  # ``_checked``
    return size, orientation(data)
