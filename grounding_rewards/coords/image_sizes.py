"""Image sizes: as data sets, files, configs and callers write them, and in the first bytes of an image's file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from struct import unpack_from
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.resizing import size_table
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.literals import literal, numbers_of

_BETWEEN = re.compile(r"(\d)\s*[xX×*]\s*(\d)")
_SIDES = ("width", "height", "w", "h")


def read_size(value: Any) -> tuple[float, float] | None:
    """Read a width and a height from a list, tuple, array or mapping, a list of one of these, or a text; else None."""
    if type(value) is list and len(value) == 2 and type(value[0]) is type(value[1]) is int:  # mostly so
        width, height = value
        return (float(width), float(height)) if 1 <= min(value) <= max(value) <= COORDINATE_LIMIT else None
    if isinstance(value, str):
        value = numbers_of(_BETWEEN.sub(r"\1 \2", value)) or literal(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        sides = {name[:1]: side for key, side in value.items() if (name := str(key).casefold()) in _SIDES}
        value = [sides.get("w"), sides.get("h")]
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    width, height = (side.item() if isinstance(side, np.generic) else side for side in value)
    if not all(type(side) in (int, float) and 1 <= side <= COORDINATE_LIMIT for side in (width, height)):
        return None
    return float(width), float(height)


def read_sizes(name: str, sizes: Any, rows: int) -> Floats:
    """Return (n, 2) sizes of a caller's (n, 2), one for all, or a list with None where a row has none, which is NaN."""
    table = size_table(sizes)
    if rows == 0 and table.size == 0:
        return np.zeros((0, 2))
    if table.shape not in ((2,), (rows, 2)):
        raise RecipeError(
            f"{name}: got {sizes!r:.80}; expected [width, height], or one such pair for each of {rows} rows"
        )
    # a view, for what is made read-only is not the caller's; broadcasting takes ten times as long
    return table.view() if table.ndim == 2 else np.broadcast_to(table, (rows, 2))


Size = tuple[int, int]

ENOUGH = 1 << 16
"""Bytes that hold the size of nearly every image; the frame of a JPEG may lie further on, behind its metadata."""

_PNG = b"\x89PNG\r\n\x1a\n"
# Start of frame, but for Huffman tables, a reserved marker and arithmetic coding.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BMP_HEADERS = (12, 16, 40, 52, 56, 64, 108, 124)  # sizes of the headers that BMP files have had
_JPEG_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a length


def image_size(data: bytes) -> Size | None:
    """Read width and height, as stored, of a PNG, JPEG, WebP, GIF or BMP; None where the bytes do not say."""
    for signature, _, read in _FORMATS:
        if data.startswith(signature):
            try:
                size = read(data)
            except Exception:  # cut off, or no such image
                return None
            return size if size is not None and min(size) >= 1 else None
    return None


def image_format(data: bytes) -> str | None:
    """Name the format of a file by its first bytes: PNG, JPEG, WEBP, GIF or BMP; None for any other.

    >>> image_format(b"GIF89a"), image_format(b"root:x:0:0"), image_format(b"RIFF....WAVE")
    ('GIF', None, None)
    """
    for signature, name, _ in _FORMATS:
        if data.startswith(signature):
            return None if name == "WEBP" and data[8:12] != b"WEBP" else name
    return None


def orientation(data: bytes) -> int:
    """Read the EXIF orientation of a JPEG, PNG or WebP: 1 where it is upright; from 5 to 8 width and height swap."""
    try:
        return _orientation(_exif(data))
    except Exception:  # cut off, or no such data
        return 1


def _exif(data: bytes) -> bytes:
    """Return the EXIF data, which are a TIFF file without images; empty where there are none."""
    if data.startswith(_PNG):
        place = len(_PNG)
        while place + 8 <= len(data):
            length, kind = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8]
            if kind == b"eXIf":
                return data[place + 8 : place + 8 + length]
            place += 12 + length  # 4 bytes each of length, name and checksum
    if data.startswith(b"\xff\xd8"):
        for marker, place, length in _segments(data):
            if marker == 0xE1 and data[place : place + 6] == b"Exif\0\0":
                return data[place + 6 : place + length]
    if _webp(data) is not None:
        place = 12
        while place + 8 <= len(data):
            kind, length = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "little")
            if kind == b"EXIF":
                return data[place + 8 : place + 8 + length].removeprefix(b"Exif\0\0")
            place += 8 + length + length % 2  # chunks of RIFF begin at even bytes
    return b""


def _orientation(tiff: bytes) -> int:
    order = {b"II": "<", b"MM": ">"}[tiff[:2]]
    (directory,) = unpack_from(f"{order}I", tiff, 4)
    (entries,) = unpack_from(f"{order}H", tiff, directory)
    for index in range(entries):
        tag, kind, count, value = unpack_from(f"{order}HHIH", tiff, directory + 2 + 12 * index)
        if (tag, kind, count) == (0x0112, 3, 1):  # Orientation: one 16-bit number
            return int(value) if 1 <= value <= 8 else 1
    return 1


def _pair(form: str, data: bytes, place: int) -> Size:
    first, second = unpack_from(form, data, place)
    return int(first), int(second)


def _bmp(data: bytes) -> Size | None:
    header = int.from_bytes(data[14:18], "little")
    if header not in _BMP_HEADERS:  # two letters begin many texts, too
        return None
    width, height = _pair("<HH" if header == 12 else "<ii", data, 18)
    return width, abs(height)  # below 0: stored from the top


def _webp(data: bytes) -> Size | None:
    kind = data[12:16] if data[8:12] == b"WEBP" else b""
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = _pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    # VP8 has 14 bits for each side; VP8L and VP8X store the sides less 1.
    if kind == b"VP8L" and data[20] == 0x2F and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _jpeg(data: bytes) -> Size | None:
    for marker, place, _ in _segments(data):
        if marker in _JPEG_FRAMES:
            height, width = _pair(">HH", data, place + 1)
            return width, height
    return None


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield a JPEG's markers, each with the start and the length of its data."""
    place = 2
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # fill
            place += 1
        elif marker in _JPEG_ALONE:
            place += 2
        else:
            length = int.from_bytes(data[place + 2 : place + 4], "big")
            yield marker, place + 4, length - 2
            place += 2 + length


_FORMATS: tuple[tuple[bytes, str, Callable[[bytes], Size | None]], ...] = (
    (_PNG, "PNG", lambda data: _pair(">II", data, 16) if data[12:16] == b"IHDR" else None),
    (b"\xff\xd8", "JPEG", _jpeg),
    (b"RIFF", "WEBP", _webp),
    (b"GIF87a", "GIF", lambda data: _pair("<HH", data, 6)),
    (b"GIF89a", "GIF", lambda data: _pair("<HH", data, 6)),
    (b"BM", "BMP", _bmp),
)
