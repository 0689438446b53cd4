"""Numbers in words."""

from __future__ import annotations

from collections.abc import Sequence


def count(value: int | float | None) -> str:
    """Format a whole number."""
    return "-" if value is None else f"{value:,.0f}"


def plural(value: int, word: str) -> str:
    """Format a count with its noun."""
    return f"{count(value)} {word}{'' if value == 1 else 's'}"


def percent(share: float | None) -> str:
    """Format a share."""
    return "-" if share is None else f"{100 * share:.1f} %"


def between(low: float | None, high: float | None) -> str:
    """Format an interval of shares."""
    return "-" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f} %"


def area(low: float, high: float) -> str:
    """Format a range of areas, in shares of the screen."""
    if low == 0.0:
        return f"below {100 * high:.3g} %"
    return f"over {100 * low:.3g} %" if high == 1.0 else f"{100 * low:.3g} to {100 * high:.3g} %"


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points."""
    return "-" if value is None else f"{100 * value:+.1f}"


def listed(values: Sequence[float]) -> str:
    """List some numbers; of many the ends."""
    if len(values) > 3:
        return f"{min(values):g} to {max(values):g}"
    return ", ".join(f"{value:g}" for value in values) or "-"


def number(value: float) -> str:
    """Write a number as formulas show it: six digits, no minus before a zero."""
    return f"{value + 0.0:.6g}"
