"""Texts, points and fields on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from grounding_rewards.explain.explanation import Numbers
from grounding_rewards.explain.formulas import number


def clipped(text: str | None, length: int) -> str:
    """Cut the middle out of a long text; where there is little room its end, behind a whole word if there is one.

    >>> clipped("Click the blue button", 16), clipped("[100,100,300,200]", 10)
    ('Click the...', '[100,10...')
    """
    text = text or ""
    if len(text) <= length:
        return text
    if length < 100:
        start = text[: length - 3]
        whole = start if text[length - 3].isspace() else start.rpartition(" ")[0]
        return f"{whole.rstrip() or start}..."
    half = length // 2
    return f"{text[:half]}... ({len(text) - 2 * half} more characters) ...{text[-half:]}"


def point_of(point: Numbers) -> str:
    """Return a point in brackets."""
    return f"({listed(point)})"


def listed(numbers: Iterable[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(map(number, numbers))


def action_of(action: Mapping[str, Any]) -> str:
    """Return an action's name and its arguments."""
    name, rest = action["name"], {key: value for key, value in action.items() if key != "name"}
    return f"{name} {fields_of(rest)}".rstrip()


def fields_of(fields: Mapping[str, Any]) -> str:
    """Return fields with their values as JSON."""
    return ", ".join(f"{name}={written(value)}" for name, value in fields.items())


def written(value: Any) -> str:
    """Return a value as JSON, whole numbers without a point."""
    return json.dumps(_whole(value), ensure_ascii=False)


def as_written(value: Any) -> str:
    """Return a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def bounds_of(facts: Mapping[str, Any]) -> str:
    """Return the range of the scores of a recipe or a part."""
    return f"{facts['low']:.4g} to {facts['high']:.4g}"


def _whole(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
