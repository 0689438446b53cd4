"""Width and height of pictures, as data sets hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def picture_sizes(column: Sequence[Any], index: int = -1) -> list[tuple[int, int] | None]:
    """Width and height of each row's picture, in pixels; None where there is none, or none that can be read.

    Sizes are those of the pictures as they are stored, which is what a trainer hands to its processor: nothing is
    turned by what a camera noted (EXIF).

    Args:
        column: n pictures, or lists of them: PIL images, or mappings of ``bytes`` or ``path``, as data sets hold
            pictures that they have not decoded, of which the header alone is read.
        index: which picture of a list; from the end where negative.

    >>> class Picture:
    ...     size = (1920, 1080)
    >>> picture_sizes([Picture(), [], None])
    [(1920, 1080), None, None]
    """
    return [_size(_chosen(row, index)) for row in column]


def _chosen(row: Any, index: int) -> Any:
    if not isinstance(row, list | tuple):
        return row
    return row[index] if -len(row) <= index < len(row) else None


def _size(picture: Any) -> tuple[int, int] | None:
    if isinstance(picture, Mapping):
        return _stored_size(picture)
    size = getattr(picture, "size", None)
    return (int(size[0]), int(size[1])) if isinstance(size, tuple) and len(size) == 2 else None


def _stored_size(picture: Mapping[str, Any]) -> tuple[int, int] | None:
    from grounding_rewards.converting.image_header import ENOUGH, image_size  # for undecoded pictures alone

    data, path = picture.get("bytes"), picture.get("path")
    if not isinstance(data, bytes) and isinstance(path, str):
        try:
            with open(path, "rb") as file:
                data = file.read(ENOUGH)
        except (OSError, ValueError):  # ValueError: no path at all, such as one with a null character
            return None
    return image_size(data) if isinstance(data, bytes) else None
