"""Plain values of statistics with their keys as attributes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any


def plainly(found: dict[str, Any]) -> Any:
    """Return plain values, which JSON must hold, with their keys as attributes."""
    return json.loads(json.dumps(found, allow_nan=False), object_hook=lambda fields: SimpleNamespace(**fields))
