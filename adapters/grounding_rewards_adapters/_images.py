"""Width and height of images, as data sets hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grounding_rewards.coords.image_header import image_size, orientation
from grounding_rewards.errors import PictureError
from grounding_rewards.tables.image_files import Image, ImageFiles

_FILES = ImageFiles()


Note = Callable[[str], None]


def image_sizes(
    column: Sequence[Any], index: int = -1, files: ImageFiles = _FILES, note: Note = lambda text: None
) -> list[tuple[int, int] | None]:
    """Return width and height of each row's image, in pixels; None where there is none, or none that can be read.

    A PIL image has the size that it has, which is what a trainer hands to its processor: it is not turned by what a
    camera noted (EXIF). ``datasets.Image()`` turns by that while it decodes, so that the size of an image which is
    not decoded yet is that of the turned one.

    A row holds an image or a list of them, of which ``index`` chooses one, from the end where negative: PIL images, or
    mappings of ``bytes`` or ``path``. ``note`` takes the reason of each image that is refused.

    >>> class Image:
    ...     size = (1920, 1080)
    >>> image_sizes([Image(), [], None])
    [(1920, 1080), None, None]
    """
    return [_size(_chosen(row, index), files, note) for row in column]


def prompt_images(prompts: Sequence[Any]) -> list[list[Any]]:
    """The images that stand in each prompt's own messages, in their order.

    >>> prompt_images([[{"role": "user", "content": [{"type": "image", "image": "A"}, {"type": "text"}]}], "click"])
    [['A'], []]
    """
    blocks = [
        [each for message in _mappings(prompt) for each in _mappings(message.get("content"))] for prompt in prompts
    ]
    return [[each["image"] for each in some if each.get("image") is not None] for some in blocks]


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def _chosen(row: Any, index: int) -> Any:
    if not isinstance(row, list | tuple):
        return row
    return row[index] if -len(row) <= index < len(row) else None


def _size(image: Any, files: ImageFiles, note: Note) -> tuple[int, int] | None:
    if isinstance(image, Mapping):
        return _decoded_size(image, files, note)
    size = getattr(image, "size", None)
    return (int(size[0]), int(size[1])) if isinstance(size, tuple) and len(size) == 2 else None


def _decoded_size(image: Mapping[str, Any], files: ImageFiles, note: Note) -> tuple[int, int] | None:
    data, path = image.get("bytes"), image.get("path")
    if not isinstance(data, bytes) and not (isinstance(path, str) and path):
        return None
    try:
        data = files.read(Image(data=data) if isinstance(data, bytes) else Image(path))
    except PictureError as error:
        note(str(error))
        return None
    size = image_size(data)
    return (size[1], size[0]) if size is not None and orientation(data) >= 5 else size  # 5 to 8 swap width and height
