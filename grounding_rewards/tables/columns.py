"""Find the columns of a table: named by options, else by the names that data sets use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TableError, near
from grounding_rewards.tables.base import number, value_at
from grounding_rewards.tables.image_files import looks_like_images
from grounding_rewards.targets.read import PLACES

NONE = "none"
"""Value of an option for no column."""

GUESSED: dict[str, tuple[str, ...]] = {
    "response": (
        "response", "responses", "prediction", "pred", "predict", "output", "completion", "generation",
        "generated_text", "model_response", "model_output", "raw_response", "raw_output",
    ),
    "target": (
        "target", "reward_model.ground_truth", "ground_truth", "answer", "solution", "bbox", "box", "gt_bbox",
        "bounding_box", "normalized_bbox", "polygon", "x1,y1,x2,y2",
    ),
    "instruction": ("prompt", "messages", "problem", "instruction", "question", "query", "prompt_to_evaluate"),
    "image": (
        "images", "image", "image_path", "img_path", "img_filename", "file_name", "screenshot", "screenshot_path",
        "img",
    ),
    "image-size": (
        "image_size", "img_size", "extra_info.image_size", "resolution", "width,height", "image_width,image_height",
        "img_width,img_height",
    ),
    "model-image-size": ("model_image_size",),
    "id": ("sample_id", "id", "extra_info.id"),
    "token-length": ("token_length",),
    "refusal": ("refusal", "is_refusal", "box_type"),
    "source": ("data_source", "source"),
}  # fmt: skip
"""Names of columns that are taken without an option, by role, in order of preference; the first is the role's own."""

_SEVERAL = {"image-size": 2, "target": 4}
"""Columns that hold one value of a role together: width and height, the corners of a box."""

_ONE_ONLY = ("response", "target", "instruction", "image")
_ALONE = ("prompt_to_evaluate",)
"""UI-Vision's own name, which counts without another one alone: copies of it have one of the usual names, too."""
_PACKED = ("reward_model.ground_truth",)
"""Fields that `convert` writes: the columns that they were made of may still stand beside them."""

_REFUSED, _PLACED = {"true", "1", "1.0", "yes", "refusal"}, {"false", "0", "0.0", "no", *PLACES}

_WHAT = {
    "target": "the target",
    "instruction": "the instruction, a text or a conversation",
}


class ChosenColumns(NamedTuple):
    """Columns by role, those of them that were guessed from their names, and notes."""

    columns: dict[str, str]
    guesses: dict[str, str]
    notes: list[str]


def find_columns(
    rows: Sequence[Mapping[str, Any]],
    named: Mapping[str, str | None],
    *,
    needed: Collection[str] = (),
    dropped: Collection[str] = (),
) -> ChosenColumns:
    """Find the columns.

    Args:
        rows: some rows with all columns, and values of all kinds.
        named: columns by role, as options name them; None to guess, "none" or "" for no column. ``a.b`` is the field b
            of the column a, ``a,b`` are two columns with a width and a height, and four the numbers of a box.
        needed: target, instruction or both, where they must be there.
        dropped: columns that are never guessed.

    Returns:
        The columns of the roles in ``named``, and those that were guessed.

    Raises:
        TableError: a column is missing or ambiguous; names the option to set.

    >>> rows = [{"bbox": [1, 2, 3, 4], "query": "Save", "width": 640, "height": 480}]
    >>> find_columns(rows, dict.fromkeys(["target", "instruction", "image-size"])).guesses
    {'target': 'bbox', 'instruction': 'query', 'image-size': 'width,height'}
    """
    there = _available(rows)
    offered = [name for name in there if _top(name) not in dropped]
    columns, guesses, notes = dict[str, str](), dict[str, str](), list[str]()
    for role, column in named.items():
        if column is None:
            guessed, remarks = _guess(role, offered, rows)
            notes += remarks
            if guessed:
                columns[role] = guesses[role] = guessed
        elif column in there or column not in ("", NONE):  # a column may be called none
            _check(column, role, there)
            columns[role] = column
    for role in needed:
        if role not in columns:
            raise TableError(f"which column holds {_WHAT[role]}? Give --{role}-column; there are: {', '.join(there)}")
    if "image" not in columns and "image" in named and named["image"] is None:
        notes += _images(offered, rows)
    return ChosenColumns(columns, guesses, notes)


def columns_read(names: Iterable[str | None]) -> tuple[str, ...]:
    """Return the columns to read for these names: all that a name may stand for.

    >>> columns_read(["target", "extra_info.id", "width,height", None])
    ('target', 'extra_info.id', 'extra_info', 'width,height', 'width', 'height')
    """
    every = (each for name in names if name for each in (name, *map(_top, name.split(","))))
    return tuple(dict.fromkeys(every))


def _available(rows: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """Return the names of columns, and of the fields in them, in order."""
    names: dict[str, None] = {}
    for row in rows:
        for name, value in row.items():
            names[str(name)] = None
            if isinstance(value, Mapping):
                names.update(dict.fromkeys(f"{name}.{key}" for key in value))
    return names


def _guess(role: str, there: Collection[str], rows: Sequence[Mapping[str, Any]]) -> tuple[str | None, list[str]]:
    """Guess a column by its name and values, and note those whose values do not fit."""
    fitting, notes = list[str](), list[str]()
    for name in GUESSED[role]:
        parts = name.split(",")
        if not all(part in there for part in parts) or (name in _ALONE and fitting):
            continue
        unfit = next(
            (v for row in rows for part in parts if not _fits(role, v := value_at(row, part), len(parts))), None
        )
        if unfit is None:
            fitting.append(name)
        else:
            notes.append(f"{role}: not column {name}, which holds {unfit!r:.60}; --{role}-column names one")
    if role in _ONE_ONLY and len(fitting) > 1 and fitting[0] not in _PACKED:
        raise TableError(f"which column holds the {role}: {' or '.join(fitting)}? Give --{role}-column")
    return (fitting[0] if fitting else None), notes


def _fits(role: str, value: Any, parts: int) -> bool:
    """True for a value that fits the role of a column."""
    if value is None:
        return True
    if role == "id":
        return isinstance(value, str | int) and not isinstance(value, bool)
    if role == "refusal":
        return is_refusal(value) is not None
    if role in ("source", "response"):
        return isinstance(value, str)
    if role == "image-size":
        # Of two columns each is checked alone, as the side of a square.
        return read_size(value) is not None if parts == 1 else read_size([number(value)] * 2) is not None
    return True


def is_refusal(value: Any) -> bool | None:
    """Return what a cell says of a refusal; None where it says nothing of it.

    >>> is_refusal(True), is_refusal("refusal"), is_refusal("0"), is_refusal("bbox"), is_refusal("perhaps")
    (True, True, False, False, None)
    """
    word = str(value).strip().casefold()
    return True if word in _REFUSED else False if word in _PLACED else None


def _images(there: Collection[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Note a column that looks like images, where no column of images is named."""
    for name in there:
        if any(looks_like_images(value_at(row, name)) for row in rows):
            return [
                f"image: no column of a usual name, so that rows go without; {name} looks like one: --image-column "
                f"{name}, or --image-column {NONE}"
            ]
    return []


def _check(named: str, role: str, there: Collection[str]) -> None:
    several = named not in there and named.count(",") + 1 == _SEVERAL.get(role)
    parts = named.split(",") if several else [named]
    for name in parts:
        if name not in there:
            hint = near(name, there) or "."
            raise TableError(f"no column {name!r} (--{role}-column){hint} There are: {', '.join(there) or 'none'}")


def _top(name: str) -> str:
    return name.partition(".")[0]


class Survey:
    """Survey of columns: keeps a few values of each column, however many rows there are.

    >>> survey = Survey()
    >>> survey.add([{"id": 1, "about": {"w": 2}}, {"id": 2, "about": {"h": 3}}, {"id": None}, {"image": "a.png"}])
    >>> survey.rows()
    [{'id': 1, 'about': {'w': 2, 'h': 3}, 'image': 'a.png'}, {'id': None}]
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[type, Any]] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows to the survey."""
        for row in rows:
            for name, value in row.items():
                kinds = self._values.setdefault(name, {})
                if isinstance(value, dict):
                    fields = kinds.setdefault(dict, {})
                    fields.update({key: each for key, each in value.items() if fields.get(key) is None})
                else:
                    kinds.setdefault(type(value), value)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns, in order of appearance."""
        return tuple(self._values)

    def objects(self, name: str) -> bool:
        """True for a column of objects and nulls alone."""
        kinds = {*self._values.get(name, ())} - {type(None)}
        return kinds == {dict}

    def rows(self) -> list[dict[str, Any]]:
        """Return made-up rows with all names, and of each column a value of each type."""
        columns = {name: [*kinds.values()] for name, kinds in self._values.items()}
        longest = max(map(len, columns.values()), default=0)
        return [
            {name: values[place] for name, values in columns.items() if place < len(values)} for place in range(longest)
        ]
