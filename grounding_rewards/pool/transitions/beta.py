"""The Beta distribution of pass rates, and what it is called where all samples have one rate."""

from __future__ import annotations

COMMON = 1e12
"""a + b where all samples have one rate: a second look is binomial, as far as 64-bit numbers tell."""


def common_rate(a: float, b: float) -> float | None:
    """The pass rate that all samples have by Beta(a, b); None where they differ."""
    return a / (a + b) if a + b >= COMMON else None


def told(a: float, b: float) -> str:
    """Beta(a, b) in words.

    >>> told(0.5, 0.5), told(0.3 * COMMON, 0.7 * COMMON)
    ('Beta(0.5, 0.5)', 'one rate of 30.0 % for all samples')
    """
    rate = common_rate(a, b)
    return f"Beta({a:.3g}, {b:.3g})" if rate is None else f"one rate of {100 * rate:.1f} % for all samples"
