"""Images of requests: files in the size in which the model is to see them, and a check that it did."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

from grounding_rewards.coords.image_sizes import orientation
from grounding_rewards.coords.resizing import Resizing, Size, model_image_size
from grounding_rewards.errors import EngineError, PictureError, ResizeError
from grounding_rewards.tables.image_files import Image, ImageFiles

if TYPE_CHECKING:
    from PIL.Image import Image as Decoded

Crop = tuple[float, float, float, float]
"""A part of an image: x1 y1 x2 y2 in its pixels."""

A = TypeVar("A")
B = TypeVar("B")
_SENT = ("PNG", "JPEG", "WEBP")
_ORDINARY = ("RGB", "L")  # every reader makes the same RGB of these
_FAST = 1  # of zlib; screenshots take half the time and a tenth more bytes
_FURTHER = 1024
"""Tokens that a chat template and a server's own system message may add to a prompt."""


@dataclass(frozen=True)
class SeenImages:
    """Images of a row, ready to be sent."""

    files: tuple[bytes, ...] = ()  # PNG, JPEG or WebP files, in the order of the images
    image_size: Size | None = None  # width and height of the last image, upright; None without images
    # the same as the model sees it; None without images, or where nothing is known of its resizing
    model_image_size: Size | None = None
    sizes: tuple[Size, ...] = ()  # width and height of each file


@dataclass(frozen=True)
class ModelImages:
    """Reader of images, which turns them upright, makes them RGB and resizes them once, as the model does."""

    # the folder of the images, and bounds on them; ``max_image_pixels`` bounds those that are decoded at one time, too,
    # in all threads
    files: ImageFiles
    resizing: Resizing | None = None  # the way of images into the model; None for images in their own size

    def read(self, images: Sequence[Image]) -> SeenImages:
        """Read the images of a row."""
        if not images:
            return SeenImages()
        try:
            import PIL  # noqa: F401
        except ImportError:
            raise EngineError("images need Pillow: pip install pillow") from None
        seen = [self._seen(image) for image in images]
        files, originals, sizes = zip(*seen, strict=True)
        return SeenImages(files, originals[-1], None if self.resizing is None else sizes[-1], sizes)

    def cropped(self, image: Image, crop: Crop) -> bytes:
        """Return the file of a crop, in the size in which the model sees the whole image."""
        return self._seen(image, crop)[0]

    def _seen(self, image: Image, crop: Crop | None = None) -> tuple[bytes, Size, Size]:
        """Return the file of an image, or of a crop of it, the image's own size, and that of the file."""
        data = self.files.read(image)
        held, turned = replace(image, data=data), orientation(data) != 1
        decoded = self.files.opened(held)
        ordinary = crop is None and decoded.format in _SENT and decoded.mode in _ORDINARY
        if ordinary and not turned and self._is_sent(decoded):
            self.files.check(held)  # decoding takes ten times as long
            return data, decoded.size, decoded.size
        from PIL import ImageOps

        with self.files.decoding(held) as decoded:
            try:
                upright = ImageOps.exif_transpose(decoded) if turned else decoded
                size = self._size(upright.size)
                canvas = self.resizing.canvas if self.resizing else None
                return _png(upright, size, canvas, crop), upright.size, size
            except PictureError:
                raise
            except Exception as error:  # Pillow raises errors of many types, here for EXIF data and unusual modes
                raise PictureError(f"image: cannot convert {image.shown} to RGB ({error!s:.200})") from None

    def _is_sent(self, opened: Decoded) -> bool:
        """Return True for an image of one frame that has the size to send."""
        alone = self.resizing is None or self.resizing.canvas in (None, opened.size)
        return alone and getattr(opened, "n_frames", 1) == 1 and self._size(opened.size) == opened.size

    def _size(self, size: Size) -> Size:
        """Return the size to send, which the model's own processor must not change again."""
        if self.resizing is None:
            return size
        try:
            seen = model_image_size(*size, *astuple(self.resizing))
            if self.resizing.canvas is not None:
                return seen
            again = model_image_size(*seen, *astuple(self.resizing.processor))
        except ResizeError as error:
            raise PictureError(f"image: {error}") from None
        if again != seen:
            raise PictureError(
                f"image: of {_shown(size)} pixels would be sent as {_shown(seen)}, which the processor of "
                f"{self.resizing.processor.model} resizes again, to {_shown(again)}; widen the bounds on pixels, leave "
                "the image out, or crop or pad it"
            )
        return seen


def in_threads(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """Return what becomes of each item; Pillow lets other threads run while it resizes."""
    threads = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
    try:
        return list(threads.map(work, items))
    finally:
        threads.shutdown(cancel_futures=True)


def _png(image: Decoded, size: Size, canvas: Size | None = None, crop: Crop | None = None) -> bytes:
    from PIL.Image import Resampling, new

    image.info = {}  # its transparency, colour profile and EXIF data are not those of the file to come
    picture = image.convert("RGB")
    if size != picture.size or crop is not None:
        picture = picture.resize(size, Resampling.BICUBIC, crop)
    if canvas is not None:
        paper = new("RGB", canvas, "white")
        paper.paste(picture)
        picture = paper
    file = BytesIO()
    picture.save(file, "PNG", compress_level=_FAST)
    return file.getvalue()


def _shown(size: Size) -> str:
    return f"{size[0]} x {size[1]}"


def token_problem(prompt_tokens: int | None, sizes: Sequence[Size], resizing: Resizing | None, text_length: int) -> str:
    """Return what does not fit between a prompt's tokens and its images; an image has (w / factor) · (h / factor)."""
    if prompt_tokens is None or resizing is None or resizing.canvas is not None or not sizes:
        return ""
    least = sum((width // resizing.factor) * (height // resizing.factor) for width, height in sizes)
    most = least + text_length + _FURTHER
    if least <= prompt_tokens <= most:
        return ""
    return (
        f"prompt of {prompt_tokens} tokens: expected {least} to {most} with {', '.join(map(_shown, sizes))} pixels for "
        f"{resizing.processor.model}, so that the server resized or dropped images; name its model by --pipeline and "
        "its bounds by --min-pixels and --max-pixels, or start it with those bounds (vLLM: --mm-processor-kwargs "
        '\'{"min_pixels": ..., "max_pixels": ...}\')'
    )
