"""Numbers in words."""

from __future__ import annotations

from collections.abc import Sequence


def count(value: int | float | None) -> str:
    """Format a whole number.

    >>> count(12345), count(None)
    ('12,345', '-')
    """
    return "-" if value is None else f"{value:,.0f}"


def plural(value: int, word: str) -> str:
    """Format a count with its noun.

    >>> plural(1, "round"), plural(2000, "pool")
    ('1 round', '2,000 pools')
    """
    return f"{count(value)} {word}{'' if value == 1 else 's'}"


def percent(share: float | None) -> str:
    """Format a share.

    >>> percent(0.7431), percent(None)
    ('74.3 %', '-')
    """
    return "-" if share is None else f"{100 * share:.1f} %"


def between(low: float | None, high: float | None) -> str:
    """Format an interval of shares.

    >>> between(0.0, 0.3244), between(None, None)
    ('0.0 to 32.4 %', '-')
    """
    return "-" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f} %"


def area(low: float, high: float) -> str:
    """Format a range of areas, in shares of the screen.

    >>> area(0.0, 1e-4), area(1e-4, 3e-4), area(0.03, 1.0)
    ('below 0.01 %', '0.01 to 0.03 %', 'over 3 %')
    """
    if low == 0.0:
        return f"below {100 * high:.3g} %"
    return f"over {100 * low:.3g} %" if high == 1.0 else f"{100 * low:.3g} to {100 * high:.3g} %"


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points.

    >>> points(0.0312), points(-0.5)
    ('+3.1', '-50.0')
    """
    return "-" if value is None else f"{100 * value:+.1f}"


def listed(values: Sequence[float]) -> str:
    """List some numbers; of many the ends.

    >>> listed([8.0]), listed([]), listed([1, 2, 3, 4, 5])
    ('8', '-', '1 to 5')
    """
    if len(values) > 3:
        return f"{min(values):g} to {max(values):g}"
    return ", ".join(f"{value:g}" for value in values) or "-"


def number(value: float) -> str:
    """Write a number as formulas show it: six digits, no minus before a zero.

    >>> number(1219.2), number(2 / 3), number(-0.0), number(1.0)
    ('1219.2', '0.666667', '0', '1')
    """
    return f"{value + 0.0:.6g}"
