"""Statistics of samples from their counts, and plain values with their keys as attributes."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from grounding_rewards.pool import SampleStats


def counted(right: Any, n: Any = 8, name: str = "s{}", **columns: Any) -> SampleStats:
    """Return samples s0, s1, ... with so many right rollouts of so many, and further columns."""
    solved = np.array(right, dtype=np.int64)
    names = np.array([name.format(place) for place in range(len(solved))], dtype=object)
    arrays = {key: np.array(value, dtype=object if key == "source" else None) for key, value in columns.items()}
    return replace(SampleStats(names, np.broadcast_to(n, solved.shape).astype(np.int64), solved), **arrays)


def plainly(found: dict[str, Any]) -> Any:
    """Return plain values, which JSON must hold, with their keys as attributes."""
    return json.loads(json.dumps(found, allow_nan=False), object_hook=lambda fields: SimpleNamespace(**fields))
