"""Names of samples: those that rows hold, in a column or where ``convert`` packed them, and those made from content."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.json_lines import finite
from grounding_rewards.tables.prompts import image_path, prompt_text
from grounding_rewards.tables.rows import Table, require_column

_EXACT = 2**53
"""Up to here a whole number and the float of its value are one number, whoever wrote it."""

PLACES = (
    "sample_id", "extra_info.id", "reward_model.ground_truth.id", "reward_spec.ground_truth.id", "answer.id",
    "label.id", "target.id", "id",
)  # fmt: skip
"""Places of a name, in the order of looking: a column, or a field of the object or the JSON in one."""


def name_of(value: Any) -> str | None:
    """A sample's name as text: 1 and 1.0, as files hold 1 beside nulls, are "1"; None where it is no name."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


PARTS: Mapping[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "source": (("source", "data_source"), name_of),
    "image": (("image_path", "image", "images"), image_path),
    # not verl's raw_prompt, which not all of its trainers give
    "instruction": (("instruction", "prompts", "prompt", "prompt_to_evaluate"), prompt_text),
}
"""Parts of a sample's content: their columns, of which the first that says something counts, and what reads these."""

CONTENT = (*chain.from_iterable(columns for columns, _ in PARTS.values()), "index", "split")
"""Columns that a name is made of, beside the target."""


def part_of(part: str, cell: Callable[[str], Any]) -> Any:
    """Return a part of a sample's content by the cells of its row; None where no column says it."""
    columns, read = PARTS[part]
    for name in columns:
        if (value := read(cell(name))) is not None:
            return value
    return None


def sample_id(
    *,
    source: Any = None,
    image: Any = None,
    instruction: Any = None,
    target: Any = None,
    index: Any = None,
    split: Any = None,
) -> str:
    """The name of a sample without one: 32 hexadecimal digits that depend on its content alone.

    blake2b, 16 bytes, of the JSON of ``{"source": ..., "image": ..., "instruction": ..., "target": ...}``, keys sorted
    at every depth, with ``index`` and ``split`` where there is neither image nor instruction. One content has one name
    however it is held: numpy or Python, list or tuple, 2 or 2.0, keys that Arrow filled with None or no such keys, a
    target as a mapping or as the JSON of it. What says nothing, or what JSON lacks, is a PoolError.
    """
    fields = {"source": source, "image": image, "instruction": instruction, "target": target}
    if image is None and instruction is None:
        fields.update(index=index, split=split)
    if isinstance(target, str):
        fields["target"] = from_json(target)
    try:
        content = {name: plain(value) for name, value in fields.items() if value is not None}
        if not content:
            raise PoolError("nothing names this sample: give a source, an image, an instruction, a target or an index")
        written = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise PoolError(str(error)) from None
    # Half a surrogate pair in a text is content like any other.
    return _digest(written.encode("utf-8", "surrogatepass"))


shared_id = lru_cache(maxsize=4096, typed=True)(sample_id)
"""``sample_id`` of content that can be hashed, for responses of one sample that come one after another."""


def _digest(content: bytes | bytearray) -> str:
    from hashlib import blake2b  # OpenSSL, which commands without such names do without

    return blake2b(content, digest_size=16).hexdigest()


def from_json(text: str) -> Any:
    """The mapping or list that a text is the JSON of; the text itself where it is none."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_json(target: Any) -> str | None:
    """A target as text that JSON reads; None where there is none, or none that JSON has."""
    if isinstance(target, str):
        return _text_as_json(target)
    if target is None:
        return None
    try:
        return _encoded(target)
    except (TypeError, ValueError, RecursionError):
        pass  # numbers that are not finite, and keys and values that JSON lacks
    try:
        return _encoded(finite(plain(target)))
    except (PoolError, ValueError, RecursionError):
        return None


def plain(value: Any) -> Any:
    """Return a value in the one form in which equal content is equal, less keys that Arrow fills with nothing."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _EXACT else float(value)
    if isinstance(value, Mapping):
        items = [(str(key), plain(item)) for key, item in value.items()]
        return {key: item for key, item in items if item is not None and item != {}}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes | bytearray):
        return f"blake2b:{_digest(value)}"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise PoolError(
        f"got {type(value).__name__} among what names a sample; expected texts, numbers, lists and mappings, and of an "
        "image its path or its bytes"
    )


@lru_cache(maxsize=4096)  # the responses of one sample share its target
def _text_as_json(target: str) -> str:
    return _encoded(target) if from_json(target) is target else target


def _encoded(value: Any) -> str:
    text = _ENCODER.encode(value)
    return text.encode("utf-8", "backslashreplace").decode()  # lone surrogates as JSON's own escapes


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Decimal) or hasattr(value, "isoformat"):  # of Parquet files
        return str(value) if isinstance(value, Decimal) else value.isoformat()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_as_plain)


def sample_names(
    table: Table, column: str | None = None, *, advance: Callable[[float], None] = lambda done: None
) -> list[str | None]:
    """Return the name of each row's sample, from ``column`` or the first of ``PLACES`` that has one, else None."""
    if column is not None:
        require_column(table, column if column in table.columns else column.partition(".")[0], "--id-column")
    places = name_paths(table.columns, column)
    names, first = list[str | None](), dict[str, int]()
    for batch in table.batches(sorted({path[0] for path in places}), whole=False):
        for index, row in enumerate(batch.rows):
            name = name_in(row, places)
            if name is not None and first.setdefault(name, batch.start + index) != batch.start + index:
                raise TableError(
                    f"{table.path}, {batch.place(index)}: sample {name!r} is in row {first[name]} already; expected "
                    "one row a sample: remove one, or name a column that tells them apart by --id-column"
                )
            names.append(name)
        advance(batch.done)
    if not first:
        looked = f"looked into {', '.join(PLACES)}" if column is None else f"looked into {column}"
        raise TableError(
            f"{table.path}: no row says which sample it is ({looked}); name the column by --id-column. It has: "
            f"{', '.join(map(str, table.columns))}"
        )
    return names


def name_paths(columns: Sequence[str], column: str | None = None) -> list[tuple[str, ...]]:
    """Return the places of names as columns with fields, in the order of looking: ``column``, else ``PLACES``."""
    # A column may be called a.b itself.
    named = PLACES if column is None else [column]
    return [(place,) if place in columns else tuple(place.split(".")) for place in named]


def name_in(row: Mapping[str, Any], places: Sequence[Sequence[str]]) -> str | None:
    """Return the name of a row's sample, at the first of ``name_paths`` that has one; None without it."""
    for path in places:
        value: Any = row
        for name in path:
            value = from_json(value) if isinstance(value, str) else value
            value = value.get(name) if isinstance(value, Mapping) else None
        if (sample := name_of(value)) is not None:
            return sample
    return None
