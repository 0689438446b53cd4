"""Which column of somebody's rows holds what: as options say, else by the names that data sets use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grounding_rewards.errors import ConvertError, near

_NAMES: dict[str, tuple[str, ...]] = {
    "target": (
        "target", "reward_model.ground_truth", "ground_truth", "answer", "solution", "bbox", "box", "gt_bbox",
        "bounding_box", "normalized_bbox", "polygon",
    ),
    "instruction": ("prompt", "messages", "problem", "instruction", "question", "query"),
    "image": ("images", "image", "image_path", "img_path", "img_filename", "screenshot", "screenshot_path", "img"),
    "image-size": ("image_size", "img_size", "extra_info.image_size", "resolution"),
    "id": ("sample_id", "id", "extra_info.id"),
    "source": ("data_source", "source"),
}  # fmt: skip
_SIDES = (("width", "height"), ("image_width", "image_height"), ("img_width", "img_height"))
_ONE_ONLY = ("target", "instruction", "image")
_WHAT = {
    "target": "what counts as right",
    "instruction": "what is asked, a text or a conversation",
}


@dataclass(frozen=True)
class Columns:
    """Names of columns; None where there is none. ``a.b`` is the field b of the column a.

    Attributes:
        target: what counts as right.
        instruction: what is asked, a text or a conversation.
        image: an image, or a list of images.
        image_size: one column of width and height, or two; empty where there is none.
        id: the sample's name.
        source: the data set that a row is from.
    """

    instruction: str
    target: str | None = None
    image: str | None = None
    image_size: tuple[str, ...] = ()
    id: str | None = None
    source: str | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """The columns, without fields in them, that must be read."""
        names = (self.target, self.instruction, self.image, *self.image_size, self.id, self.source)
        return tuple(dict.fromkeys(_top(name) for name in names if name))


def find_columns(
    rows: Sequence[Mapping[str, Any]], given: Mapping[str, str | None], *, optional: Collection[str] = ()
) -> tuple[Columns, dict[str, str]]:
    """Find the columns.

    Args:
        rows: the first rows.
        given: what options say, by the option's name without ``-column``; None where one says nothing. An image's size
            may be two columns with a comma between them.
        optional: of target and instruction, what there need not be.

    Returns:
        The columns, and those that were guessed from their names.

    Raises:
        ConvertError: a column is not there, or several could be meant; says which option to set.

    >>> find_columns([{"bbox": [1, 2, 3, 4], "query": "Save", "width": 640, "height": 480}], {})[1]
    {'target': 'bbox', 'instruction': 'query', 'image-size': 'width,height'}
    """
    there = _available(rows)
    found, guesses = dict[str, str](), dict[str, str]()
    for role in _NAMES:
        named = given.get(role)
        if named is not None:
            _check(named, role, there)
            found[role] = named
        elif guessed := _guess(role, there):
            found[role] = guesses[role] = guessed
    for role, what in _WHAT.items():
        if role not in found and role not in optional:
            raise ConvertError(f"which column holds {what}? Give --{role}-column; there are: {', '.join(there)}")
    size = found.pop("image-size", "")
    sides = (size,) if size in there else tuple(size.split(",")) if size else ()
    return Columns(found.pop("instruction", ""), image_size=sides, **found), guesses


def value_at(row: Mapping[str, Any], name: str | None) -> Any:
    """A row's value in a column, or in a field of one; None where there is none.

    >>> value_at({"reward_model": {"ground_truth": [1, 2, 3, 4]}}, "reward_model.ground_truth")
    [1, 2, 3, 4]
    """
    if name is None or name in row:
        return None if name is None else row[name]
    top, _, rest = name.partition(".")
    inner = row.get(top)
    return value_at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _available(rows: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """Names of columns, and of the fields in them, in order."""
    names: dict[str, None] = {}
    for row in rows:
        for name, value in row.items():
            names[str(name)] = None
            if isinstance(value, Mapping):
                names.update(dict.fromkeys(f"{name}.{key}" for key in value))
    return names


def _guess(role: str, there: Collection[str]) -> str | None:
    found = [name for name in _NAMES[role] if name in there]
    if role == "image-size":
        found += [f"{across},{down}" for across, down in _SIDES if across in there and down in there]
    if role in _ONE_ONLY and len(found) > 1:
        raise ConvertError(f"which column holds the {role}: {' or '.join(found)}? Give --{role}-column")
    return found[0] if found else None


def _check(named: str, role: str, there: Collection[str]) -> None:
    parts = named.split(",") if role == "image-size" and named not in there and named.count(",") == 1 else [named]
    for name in parts:
        if name not in there:
            hint = near(name, there) or "."
            raise ConvertError(f"no column {name!r} (--{role}-column){hint} There are: {', '.join(there) or 'none'}")


def _top(name: str) -> str:
    return name.partition(".")[0]
