"""A factor for each sample, such as its difficulty."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term


@dataclass(frozen=True)
class Difficulty(Term):
    """The sample's own factor, limited to least..most; 1.0 where the sample has none. A factor for ``product``.

    It comes from the column ``extras[key]`` of ``Recipe.score``, else from the target's ``{"extra": {key: 0.7}}``;
    None and NaN are none. A trainer that divides advantages by a group's standard deviation takes such a factor out
    again: use it where it does not, as GUI-G1 did with its ``rate``.

    Args:
        most: the largest factor.
        least: the smallest, from 0.
        key: where the factor stands.

    Raises:
        TargetError: a factor is not a number.
        RecipeError: ``extras[key]`` has another length than the responses.

    >>> from grounding_rewards.combine import product
    >>> from grounding_rewards.verifiers import Hit
    >>> reward = product(hit=Hit(), rate=Difficulty(most=2.0))
    >>> reward.low, reward.high
    (0.0, 2.0)
    """

    most: Length
    least: Length = 0.0
    key: str = "difficulty"

    reads = frozenset({"extras"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.most:
            raise options.wrong(self, "most", f"a number from least, {self.least:g}")
        if not isinstance(self.key, str) or not self.key:
            raise options.wrong(self, "key", "the name of a field")

    @property
    def low(self) -> float:
        """The smallest factor."""
        return float(self.least)

    @property
    def high(self) -> float:
        """The largest factor."""
        return float(self.most)

    def __call__(self, rollouts: Rollouts) -> Floats:
        valid, sample = rollouts.targets.valid.tolist(), rollouts.targets.sample
        rows = rollouts.targets.rows
        own = [row.extra.get(self.key) if row and isinstance(row.extra, Mapping) else None for row in rows]
        factors = _numbers(own, valid, f"extra.{self.key}", sample)
        if rollouts.extras.get(self.key) is not None:
            values = rollouts.extras[self.key]
            if len(values) != len(own):
                raise RecipeError(f"extras[{self.key!r}]: got {len(values)}; expected one for each of {len(own)} rows")
            column = _numbers(values, valid, f"extras.{self.key}", sample)
            factors = np.where(np.isnan(column), factors, column)
        return np.clip(np.where(np.isnan(factors), 1.0, factors), self.least, self.most)


def _numbers(values: Iterable[Any], valid: list[bool], field: str, sample: Callable[[int], str | int]) -> Floats:
    """Read the factors of all rows, NaN where there is none and where the target is not valid."""
    factors = np.full(len(valid), np.nan)
    for row, value in enumerate(values):
        value = value.item() if isinstance(value, np.generic) else value  # numpy's float32 is no float of Python's
        if value is None or not valid[row]:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TargetError(sample(row), field, value, "a number, or nothing")
        # In this order a NaN stays one; a whole number of 400 digits would not fit into a float.
        factors[row] = max(min(value, sys.float_info.max), -sys.float_info.max)
    return factors
