"""What a trainer wants its rows to look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grounding_rewards.converting.pictures import Picture
from grounding_rewards.converting.samples import Sample

IMAGES = "images"


@dataclass(frozen=True)
class Form:
    """A trainer's rows.

    Attributes:
        name: the trainer's name.
        row: a sample as the trainer's columns, all but the images.
        types: the Arrow types of these columns.
        reserved: names that the trainer gives to columns of its own.
        decoded: whether it wants pictures, not paths, so that Parquet must say that the column holds images.
    """

    name: str
    row: Callable[[Sample], dict[str, Any]]
    types: Callable[[], dict[str, Any]]
    reserved: frozenset[str] = frozenset()
    decoded: bool = False


def images_of(pictures: Sequence[Picture], as_fields: bool) -> list[Any]:
    """A row's images, as paths or with the fields that ``datasets`` keeps of them."""
    return [picture.as_field() if as_fields else picture.path for picture in pictures]


def images_type(as_fields: bool) -> Any:
    """The Arrow type of a column of lists of images."""
    import pyarrow as pa

    one = pa.struct({"bytes": pa.binary(), "path": pa.string()}) if as_fields else pa.string()
    return pa.list_(one)


def messages_type() -> Any:
    """The Arrow type of a column of conversations."""
    import pyarrow as pa

    return pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
