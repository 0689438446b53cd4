"""Texts, points and fields on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from grounding_rewards.explain.formulas import number
from grounding_rewards.explain.sections import Numbers


def clipped(text: str | None, length: int) -> str:
    """A text without its middle where it is long, without its end where there is little room."""
    text = text or ""
    if len(text) <= length:
        return text
    if length < 100:
        return f"{text[: length - 3]}..."
    half = length // 2
    return f"{text[:half]}... ({len(text) - 2 * half} more characters) ...{text[-half:]}"


def point_of(point: Numbers) -> str:
    """A point in brackets."""
    return f"({listed(point)})"


def listed(numbers: Iterable[float]) -> str:
    """Numbers with commas between them."""
    return ", ".join(number(each) for each in numbers)


def action_of(action: Mapping[str, Any]) -> str:
    """An action's name, and what else it says."""
    name, rest = action["name"], {key: value for key, value in action.items() if key != "name"}
    return f"{name} {fields_of(rest)}".rstrip()


def fields_of(fields: Mapping[str, Any]) -> str:
    """Fields with their values as JSON."""
    return ", ".join(f"{name}={written(value)}" for name, value in fields.items())


def written(value: Any) -> str:
    """A value as JSON, whole numbers without a point."""
    return json.dumps(_whole(value), ensure_ascii=False)


def as_written(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def bounds_of(found: Mapping[str, Any]) -> str:
    """From what to what the scores of a recipe or a part run."""
    return f"{found['low']:.4g} to {found['high']:.4g}"


def _whole(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
