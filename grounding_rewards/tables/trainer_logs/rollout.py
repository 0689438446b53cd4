"""One rollout as a trainer logged it, and what each column of a rollout table says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.prompts import image_path, prompt_text
from grounding_rewards.tables.sample_ids import as_json, from_json, name_of, sample_id

VERDICTS = ("acc", "accuracy", "correct")
"""Names of full success in logs, the likeliest first."""

_STRICT = {"round": "a whole number", "temperature": "a number"}
"""Columns that choose rollouts: what they cannot hold is an error, as in any rollout table."""


@dataclass(frozen=True, eq=False, slots=True)
class Logged:
    """One rollout of a log."""

    file: Path
    digest: str  # of all that this file holds
    place: str  # where in it, for errors
    number: int  # its number in it, counted from 0
    prompt: Any
    response: Any
    target: Any
    total: Any = None  # what the rollout scored, as it was written
    verdict: tuple[str, Any] = ("acc", None)  # the field that says whether it was right, and what it says
    train_step: Any = None
    scored: bool = True  # False where the target could not be used, so that neither total nor verdict count
    more: Mapping[str, Any] = field(default_factory=dict)  # other columns of a rollout table, and parts
    image: Any = None  # the image, as a path or whatever else tells it from others
    # what tells apart samples of one content, by its name: ``uid``, ``index``
    apart: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target_json(self) -> str | None:
        """The target as text that JSON reads; None where there is none."""
        return None if missing(self.target) else as_json(self.target)

    def value(self, column: str) -> Any:
        """Return its value in one column of a rollout table; None where nobody knows."""
        made = _MADE.get(column)
        if made:
            return made(self)
        came = self.more.get(column)
        if column not in _STRICT or missing(came):
            return came if column not in _STRICT else None
        value = number(came)
        if value is None or (column == "round" and not value.is_integer()):
            raise self.wrong(column, came, f"{_STRICT[column]}, or null")
        return int(value) if column == "round" else value

    def wrong(self, name: str, came: Any, expected: str) -> TableError:
        """Return the error of a field that is not what it should be."""
        return TableError(f"{self.file}, {self.place}: {name} is {came!r:.60}; expected {expected}")


def number(value: Any) -> float | None:
    """A finite number, also one that ``str`` wrote, or None.

    >>> number(True), number("0.5"), number("True"), number(float("nan")), number("high")
    (1.0, 0.5, 1.0, None, None)
    """
    if isinstance(value, str):
        value = {"True": 1.0, "False": 0.0}.get(value, value)
    try:
        figure = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return figure if math.isfinite(figure) else None


def missing(value: Any) -> bool:
    """Return True for a value that says nothing: None, NaN, or what ``str`` writes of a NaN.

    >>> missing(None), missing("nan"), missing(""), missing(0)
    (True, True, False, False)
    """
    return value is None or value == "nan" or (isinstance(value, float) and value != value)


@lru_cache(maxsize=4096)  # responses of one sample come one after another
def target_keys(target: str) -> Mapping[str, Any]:
    """Return the mapping that the JSON of a target holds; an empty one where it is none."""
    value = from_json(target)
    return value if isinstance(value, dict) else {}


def name(value: Any) -> str | None:
    """A sample's name as text; None for what is none."""
    return name_of(value) or None


@lru_cache(maxsize=4096)
def _made_of(prompt: str | None, target: str | None, image: str | None, source: str | None) -> str:
    return sample_id(instruction=prompt, target=target, image=image, source=source)


def own_name(row: Logged) -> str | None:
    """Return the target's id, else a name that stands beside it; None for a sample without one."""
    text = row.target_json
    return (name(target_keys(text).get("id")) if text else None) or name(row.more.get("sample_id"))


def _sample(row: Logged) -> str:
    """The sample's own name, else one made of the prompt's words, the target, the image and the source."""
    text, image = row.target_json, image_path(row.image)
    try:
        return own_name(row) or _made_of(
            prompt_text(row.prompt), row.target if text and isinstance(row.target, str) else text,
            image if image is None or isinstance(image, str) else as_json(image), name(row.more.get("source")),
        )  # fmt: skip
    except (PoolError, RecursionError):
        raise TableError(
            f"{row.file}, {row.place}: neither prompt nor target says which sample this is; expected one of them, or a "
            "target with an id"
        ) from None


def _rollout(row: Logged) -> int:
    """A number of its place in a file that holds just this: the same wherever the file lies, another in other files."""
    held = dumps(
        [row.digest, row.train_step, row.number, prompt_text(row.prompt), row.response, row.more.get("rollout")]
    )
    return int.from_bytes(blake2b(held, digest_size=8).digest()) >> 1  # 63 bits: int64 has a sign


def _acc(row: Logged) -> float | None:
    key, came = row.verdict
    if missing(came) or not row.scored:
        return None
    acc = number(came)
    if acc not in (0.0, 1.0):
        raise row.wrong(
            key,
            came,
            "0 or 1, whether the response was right, or null. A share or a shaped reward is no verdict: score the "
            "responses again with `grounding-rewards pool score`",
        )
    return acc


def _total(row: Logged) -> float | None:
    total = number(row.total) if row.scored else None
    if total is None and row.scored and not missing(row.verdict[1]) and _is_no_number(row.total):
        raise row.wrong("total", row.total, "a finite number beside a verdict, or null in both where it was not scored")
    return total


def _is_no_number(value: Any) -> bool:
    """Return True for NaN and infinite values, also as ``str`` writes them."""
    try:
        return value is not None and not math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _target_says(key: str, read: Callable[[Any], Any]) -> Callable[[Logged], Any]:
    def value(row: Logged) -> Any:
        text = row.target_json
        return read(target_keys(text).get(key)) if text else None

    return value


def _whole(value: Any) -> int | None:
    figure = None if isinstance(value, str) else number(value)
    return int(figure) if figure is not None and figure.is_integer() else None


_MADE: Mapping[str, Callable[[Logged], Any]] = {
    "sample_id": _sample,
    "rollout": _rollout,
    "response": lambda row: row.response,
    "total": _total,
    "acc": _acc,
    "target": lambda row: row.target_json,
    "image_size": _target_says("image_size", read_size),
    "trajectory": _target_says("trajectory", name),
    "step": _target_says("step", _whole),
    "train_step": lambda row: _whole(row.train_step),
}
FILLED = tuple(_MADE)
"""The columns that every log fills, as far as it says them."""
