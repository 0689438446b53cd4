"""The columns of a rollout table: names, types, and whatever came in the type of its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TableError
from grounding_rewards.tables.json_lines import encodable

_KNOWN: Mapping[str, tuple[str, str]] = {
    "sample_id": ("string", "the sample: the target's `id`, or a name made from its content"),
    "round": ("int64", "the pool's round"),
    "rollout": ("int64", "a number; sample, round and number together occur once"),
    "recipe": ("string", "the recipe's name"),
    "response": ("string", "the model's text"),
    "total": ("double", "the reward; null where the rollout was not scored"),
    "acc": ("double", "full success, 1 or 0; null where the rollout was not scored"),
    "reason": ("string", "the name of its `Reason`"),
    "x_unit": ("double", "the point answered, as a share of the image's width"),
    "y_unit": ("double", "the same of its height"),
    "target": ("string", "the target as JSON"),
    "image_size": ("list<item: double>", "width and height of the original image, in pixels"),
    "model_image_size": ("list<item: double>", "width and height of the image that the model saw"),
    "source": ("string", "the data set"),
    "temperature": ("double", "the temperature of sampling"),
    "policy": ("string", "the weights that answered"),
    "trajectory": ("string", "the trajectory that the sample is a step of"),
    "step": ("int64", "the place in the trajectory"),
    "train_step": ("int64", "the trainer's own step"),
    "token_length": ("int64", "tokens in the response"),
}

COLUMNS: Mapping[str, str] = {name: kind for name, (kind, _) in _KNOWN.items()}
"""Columns of every rollout table, in order, by the names of their Arrow types; parts come after them, as double."""

MEANINGS: Mapping[str, str] = {name: meaning for name, (_, meaning) in _KNOWN.items()}
"""Meaning of each column; null where nobody knows."""

NUMBER = ("round", "rollout")
"""Columns that number the rollouts of a sample."""

FURTHER: Mapping[str, str] = {"problem": "string", "cut": "bool", "seed": "int64", "prompt_tokens": "int64"}
"""Columns of a table of rollouts that an engine made, behind those of every rollout table."""

FIRST_RESPONSE = "first_response"
"""Column of the answer to the whole image, where the response is one to a crop, mapped back."""

ZOOMED: Mapping[str, str] = {FIRST_RESPONSE: "string", "zoom_steps": "string"}
"""Columns of a table of rollouts that were asked for again on crops, ``zoom_steps`` with JSON of these and answers."""

IMAGE_HASH = "image_hash"
"""Column that tells screenshots apart, in a table of rollouts whose data had them as bytes."""

KEY = ("sample_id", "round", "rollout")
"""Columns that tell rollouts apart."""

CORRECT = "correct"
"""Another name of the column ``acc``."""

ENTROPY = "entropy"
"""Column of numbers that some tables have: the mean entropy of a response's tokens."""

PLACES = 6
"""Decimal places of a temperature as it is read: 0.7 is the same in every type of float."""


def number_of(value: Any) -> Any:
    """Return what tells a round or a rollout from others: a number, None for NaN and no value, all else as text."""
    if isinstance(value, int | float):
        return value if value == value else None
    return None if value is None else repr(value)


def arrow_type(kind: str) -> Any:
    """Return the Arrow type of a column by its name in ``COLUMNS`` or ``FURTHER``."""
    import pyarrow as pa  # which JSON does without

    return pa.list_(pa.float64()) if kind.startswith("list") else pa.type_for_alias(kind)


def fields(columns: Mapping[str, str] = COLUMNS) -> list[tuple[str, Any]]:
    """Return columns with their Arrow types, as a schema takes them."""
    return [(name, arrow_type(kind)) for name, kind in columns.items()]


def rollout_schema(parts: Sequence[str] = (), further: Sequence[str] = ()) -> Any:
    """The Arrow schema of a rollout table; ``further`` are columns of texts behind the parts."""
    taken = [name for place, name in enumerate(parts) if name in COLUMNS or name in parts[:place]]
    if taken:
        raise TableError(f"part {taken[0]!r}: another column of a rollout table has this name; rename the part")
    own = [CORRECT, *COLUMNS, *parts]
    for place, name in enumerate(further):
        taken = [each for each in [*own, *further[:place]] if each.casefold() == name.casefold()]  # SQL ignores case
        if taken:
            raise TableError(f"column {name!r}: a rollout table has its own column {taken[0]}; choose another name")
    import pyarrow as pa

    return pa.schema(fields({**COLUMNS, **dict.fromkeys(parts, "double"), **dict.fromkeys(further, "string")}))


def held(values: Any) -> list[Any]:
    """A column's values as they will be kept, whatever becomes of ``values``; None for pairs of NaN in an array."""
    if not isinstance(values, np.ndarray):
        return list(values)
    rows: list[Any] = values.tolist()
    return [None if pair[0] != pair[0] else pair for pair in rows] if values.ndim == 2 else rows


def arrow(values: Sequence[Any], kind: Any) -> Any:
    """A column as Arrow has it; null for None, NaN and what has no place in it."""
    import pyarrow as pa

    try:
        return pa.array(values, kind, from_pandas=True)  # NaN as null; mostly all values fit
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        fit = _FIT[str(kind)]
        return pa.array([_or_none(fit, value) for value in values], kind, from_pandas=True)


def _or_none(fit: Any, value: Any) -> Any:
    try:
        return None if value is None else fit(value)
    except Exception:  # whatever a trainer hands over: one cell never costs a row
        return None


def _whole(value: Any) -> int | None:
    # index: whole numbers of numpy, too, and nothing that int would round or read from a text
    number = int(value) if isinstance(value, float) and value.is_integer() else index(value)
    return number if -(2**63) <= number < 2**63 else None


_FIT = {
    "string": lambda value: encodable(str(value)),
    "int64": _whole,
    "double": float,
    "list<item: double>": read_size,
}
