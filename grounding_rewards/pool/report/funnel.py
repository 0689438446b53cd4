"""Funnel of a pool from its manifest: samples removed by each step, and samples kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.report.rounds import Numbers

_COUNTS = ("kept", "zero", "positive")
_OTHERS = ("dropped_all_correct", "shortfall", "seed", "zero_share", "zero_share_actual")


def funnel(name: str, manifest: Any) -> Numbers:
    """Return the funnel of one pool: samples measured, removed by each step, and kept.

    Raises:
        PoolError: it is not a manifest of ``pool next``; names the pool and the field.

    >>> found = funnel("pool", {"kept": 15, "zero": 3, "positive": 12, "samples": 50, "steps": [
    ...     {"name": "all-correct", "removed": 8, "kept": 42}, {"name": "mix", "removed": 27, "kept": 15}]})
    >>> found["samples"], found["steps"], found["zero_share"]
    (50, [{'step': 'all-correct', 'removed': 8, 'kept': 42}, {'step': 'mix', 'removed': 27, 'kept': 15}], 0.2)
    """
    if not isinstance(manifest, Mapping):
        raise PoolError(f"{name}: got {type(manifest).__name__}; expected the manifest of a pool, a JSON object")
    counts = {field: _count(name, manifest, field) for field in _COUNTS}
    steps = [_step(name, place, step) for place, step in enumerate(_steps(name, manifest))]
    measured = steps[0]["kept"] + steps[0]["removed"] if steps else counts["kept"]
    known = {field: manifest[field] for field in _OTHERS if _is_number(manifest.get(field))}
    asked = known.pop("zero_share", None)
    return {
        "pool": name,
        "samples": measured,
        "steps": steps,
        **counts,
        **known,
        "zero_share_asked": asked,
        "zero_share": counts["zero"] / counts["kept"] if counts["kept"] else None,
    }


def _steps(name: str, manifest: Mapping[str, Any]) -> list[Any]:
    steps = manifest.get("steps") or []
    if not isinstance(steps, list):
        raise PoolError(f"{name}, field 'steps': got {steps!r:.80}; expected a list of steps")
    return steps


def _step(name: str, place: int, step: Any) -> Numbers:
    where = f"{name}, step {place}"
    if not isinstance(step, Mapping):
        raise PoolError(f"{where}: got {step!r:.80}; expected an object with a name and counts")
    return {
        "step": str(step.get("name", f"step {place + 1}")).replace("_", " "),
        "removed": _count(where, step, "removed"),
        "kept": _count(where, step, "kept"),
    }


def _count(where: str, fields: Mapping[str, Any], field: str) -> int:
    value = fields.get(field)
    if type(value) is not int or value < 0:
        shown = "nothing" if value is None else f"{value!r:.80}"
        raise PoolError(
            f"{where}, field {field!r}: got {shown}; expected a count, as `pool next` writes into manifests"
        )
    return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value == value and abs(value) != float("inf")
