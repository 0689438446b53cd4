"""Settings of a run of rollouts, and the seeds of its responses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from grounding_rewards.engines.protocol import Sampling
from grounding_rewards.errors import EngineError
from grounding_rewards.pool.draws import hashed
from grounding_rewards.tables.rollout_columns import PLACES

SHARD_ROWS = 64
"""Samples of one shard. A run that goes on after a kill asks for its unfinished shards again."""

_MOST = 2**63 - 1


@dataclass(frozen=True)
class RolloutSettings:
    """Settings of a run of rollouts.

    Attributes:
        n: responses to a sample at each temperature; None where another number goes with each sample.
        temperatures: one or more, different ones.
        top_p: the share of probability that tokens are drawn from, above 0 to 1.
        max_tokens: tokens after which a response is cut.
        seed: of the run, a whole number from 0.
        most: go on, n responses at a time up to this number, with samples whose scored responses are all right or all
            wrong; None for n responses to each.
        first_rollout: number of the first rollout of a sample.
        round: the pool's round, a whole number from 0, for the column ``round``.
        policy: the weights that answer, for the column ``policy``; None for the model's name.
        shard_rows: samples of a shard.

    Raises:
        EngineError: a setting is out of range; names it.

    >>> RolloutSettings(temperatures=(1.0, 1.0))
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: temperature: got 1.0 twice; expected different ones
    """

    n: int | None = 8
    temperatures: tuple[float, ...] = (1.0,)
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    most: int | None = None
    first_rollout: int = 0
    round: int | None = None
    policy: str | None = None
    shard_rows: int = SHARD_ROWS

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("max_tokens", 1), ("seed", 0), ("first_rollout", 0), ("shard_rows", 1)):
            value = getattr(self, name)
            if not (name == "n" and value is None):
                _check_whole(name, value, least)
        if self.round is not None:
            _check_whole("round", self.round, 0)
        if not self.temperatures:
            raise EngineError("temperature: got none; expected one or more")
        for value in self.temperatures:
            if not (_is_number(value) and value >= 0):
                raise EngineError(f"temperature: got {value!r:.60}; expected a number from 0")
        rounded = [round(value, PLACES) for value in self.temperatures]
        if twice := [value for place, value in enumerate(rounded) if value in rounded[:place]]:
            raise EngineError(f"temperature: got {twice[0]} twice; expected different ones")
        if not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise EngineError(f"top_p: got {self.top_p!r:.60}; expected a number above 0 to 1")
        if self.most is not None:
            _check_whole("max", self.most, (self.n or 0) + 1)
            if self.n is None:
                raise EngineError("until mixed: needs n, the responses that are asked for at a time")
            if 0 in self.temperatures:
                raise EngineError(
                    "until mixed: at temperature 0 all responses are one; expected temperatures above 0, and a run of "
                    "its own for greedy responses"
                )
        if self.first_rollout + len(self.temperatures) * (self.most or self.n or 1) > _MOST:
            raise EngineError(f"first_rollout: got {self.first_rollout}; the last rollout's number is above {_MOST}")

    def sampling(self, temperature: float) -> Sampling:
        """Return how a model samples at one of the temperatures."""
        return Sampling(temperature, self.top_p, self.max_tokens)

    def seed_of(self, sample: str, temperature: float, rollout: int) -> int:
        """Return the seed of one response, a whole number below 2^31.

        It depends on the run's seed, the sample's name, the temperature and the number of the rollout at it, counted
        from ``first_rollout``: neither on other samples and temperatures nor on how many responses there are.

        >>> RolloutSettings().seed_of("a", 1.0, 0), RolloutSettings(seed=1).seed_of("a", 1.0, 0)
        (711107299, 1300220595)
        """
        number = self.first_rollout + rollout
        (key,) = hashed([sample], self.seed, f"rollout {number} at {float(temperature)!r}")
        return int(key >> 33)  # the seeds that every engine takes


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise EngineError(f"{name}: got {value!r:.60}; expected a whole number from {least}")
    if value > _MOST:
        raise EngineError(f"{name}: got {value!r:.60}; expected a whole number of 64 bits, up to {_MOST}")
