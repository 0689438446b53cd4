"""The columns of a rollout table: names, types, and whatever came in the type of its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import TableError
from grounding_rewards.tables.inferred_schema import encodable

COLUMNS: Mapping[str, Any] = {
    "sample_id": pa.string(),
    "round": pa.int64(),
    "rollout": pa.int64(),
    "recipe": pa.string(),
    "response": pa.string(),
    "total": pa.float64(),
    "acc": pa.float64(),
    "reason": pa.string(),
    "x_unit": pa.float64(),
    "y_unit": pa.float64(),
    "target": pa.string(),
    "image_size": pa.list_(pa.float64()),
    "model_image_size": pa.list_(pa.float64()),
    "source": pa.string(),
    "temperature": pa.float64(),
    "policy": pa.string(),
    "trajectory": pa.string(),
    "step": pa.int64(),
    "train_step": pa.int64(),
    "token_length": pa.int64(),
}
"""Columns of every rollout table, in order; parts come after them, as float64."""

MEANINGS: Mapping[str, str] = {
    "sample_id": "the sample: the target's `id`, or a name made from its content",
    "round": "the pool's round",
    "rollout": "a number; sample, round and number together occur once",
    "recipe": "the recipe's name",
    "response": "the model's text",
    "total": "the reward; null where the rollout was not scored",
    "acc": "full success, 1 or 0; null where the rollout was not scored",
    "reason": "the name of its `Reason`",
    "x_unit": "the point answered, as a share of the image's width",
    "y_unit": "the same of its height",
    "target": "the target as JSON",
    "image_size": "width and height of the original image, in pixels",
    "model_image_size": "width and height of the image that the model saw",
    "source": "the data set",
    "temperature": "the temperature of sampling",
    "policy": "the weights that answered",
    "trajectory": "the trajectory that the sample is a step of",
    "step": "the place in the trajectory",
    "train_step": "the trainer's own step",
    "token_length": "tokens in the response",
}
"""Meaning of each column; null where nobody knows."""

FURTHER: Mapping[str, Any] = {
    "problem": pa.string(),
    "cut": pa.bool_(),
    "seed": pa.int64(),
    "prompt_tokens": pa.int64(),
}
"""Columns of a table of rollouts that an engine made, behind those of every rollout table."""

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


def rollout_schema(parts: Sequence[str] = (), further: Sequence[str] = ()) -> Any:
    """The Arrow schema of a rollout table; ``further`` are columns of texts behind the parts.

    Raises:
        TableError: a part or a further column bears the name of another column.

    >>> rollout_schema(["hit"]).field("hit")
    pyarrow.Field<hit: double>
    """
    taken = [name for place, name in enumerate(parts) if name in COLUMNS or name in parts[:place]]
    if taken:
        raise TableError(f"part {taken[0]!r}: another column of a rollout table has this name; rename the part")
    own = [CORRECT, *COLUMNS, *parts]
    for place, name in enumerate(further):
        taken = [each for each in [*own, *further[:place]] if each.casefold() == name.casefold()]  # SQL ignores case
        if taken:
            raise TableError(f"column {name!r}: a rollout table has its own column {taken[0]}; choose another name")
    texts = [(name, pa.string()) for name in further]
    return pa.schema([*COLUMNS.items(), *[(name, pa.float64()) for name in parts], *texts])


def held(values: Any) -> list[Any]:
    """A column's values as they will be kept, whatever becomes of ``values``; None for pairs of NaN in an array.

    >>> held(np.array([[16.0, 9.0], [np.nan, np.nan]]))
    [[16.0, 9.0], None]
    """
    if not isinstance(values, np.ndarray):
        return list(values)
    rows: list[Any] = values.tolist()
    return [None if pair[0] != pair[0] else pair for pair in rows] if values.ndim == 2 else rows


def arrow(values: list[Any], kind: Any) -> Any:
    """A column as Arrow has it; null for None, NaN and what has no place in it.

    >>> arrow([1, float("nan"), "x"], pa.float64()).to_pylist()
    [1.0, None, None]
    >>> arrow(["a", 7, None], pa.string()).to_pylist()
    ['a', '7', None]
    """
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
