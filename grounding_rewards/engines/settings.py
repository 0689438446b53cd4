"""Settings of a run of rollouts, and the seeds of its responses."""

from __future__ import annotations

from dataclasses import dataclass

from grounding_rewards.engines.protocol import Sampling
from grounding_rewards.errors import EngineError
from grounding_rewards.pool.draws import hashed
from grounding_rewards.settings.declared import MOST, check, check_whole, is_number, option
from grounding_rewards.tables.rollout_columns import PLACES

SHARD_ROWS = 64
"""Samples of one shard. A run that goes on after a kill asks for its unfinished shards again."""

_MOST_ROUNDS = 8
_MODEL, _SAMPLING, _PARTS = "Model", "Sampling", "Parts of a run"


def temperatures(text: str) -> tuple[float, ...]:
    """Read temperatures with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise EngineError(f"--temperature: got {text!r:.60}; expected numbers, such as 1.0 or 1.0,1.2,1.4") from None


def zoom_ratios(zoom: str | None) -> tuple[float, ...]:
    """Read a zoom: the share of the image's sides that the crop of each round has.

    >>> zoom_ratios("0.5:2")
    (0.5, 0.25)
    """
    if zoom is None:
        return ()
    ratio, _, rounds = str(zoom).partition(":")
    try:
        share, number = float(ratio), int(rounds or 1)
    except ValueError:
        share = number = 0
    if not (0 < share < 1 and 1 <= number <= _MOST_ROUNDS):
        raise EngineError(
            f"--zoom: got {zoom!r:.60}; expected the ratio of the crop, above 0 and below 1, and perhaps rounds up to "
            f"{_MOST_ROUNDS}, such as 0.5 or 0.5:2"
        )
    return tuple(share ** (place + 1) for place in range(number))


@dataclass(frozen=True)
class RolloutSettings:
    """Settings of a run; ``n`` is None where another number goes with each sample."""

    n: int | None = option(
        "Responses to a sample at each temperature.", 8, least=1, metavar="N", flags=["--n"], panel=_SAMPLING
    )
    temperatures: tuple[float, ...] = option(
        "Temperatures; 0 is greedy.", (1.0,), metavar="T,...", flags=["--temperature"], panel=_SAMPLING,
        read=temperatures,
    )  # fmt: skip
    top_p: float = option("The share of probability to draw from.", 1.0, metavar="P", panel=_SAMPLING)
    max_tokens: int = option("Tokens after which a response is cut.", 512, least=1, metavar="N", panel=_SAMPLING)
    seed: int = option("The seed of all draws.", 0, least=0, metavar="N", panel=_SAMPLING)
    most: int | None = option("The most responses to a sample.", None, metavar="N", flags=["--max"], panel=_SAMPLING)
    zoom: str | None = option(
        "Ask again on a crop about the place answered, of this share of both sides, and map the second answer back to "
        "the whole image; ROUNDS times, with smaller and smaller crops. Needs --recipe, which reads the places.", None,
        metavar="RATIO[:ROUNDS]", panel=_SAMPLING,
    )  # fmt: skip
    first_rollout: int = option(
        "The number of a sample's first rollout: 8 where 8 are there already. Seeds follow it.", 0, least=0,
        metavar="N", panel=_SAMPLING,
    )  # fmt: skip
    round: int | None = option("The column round.", None, least=0, metavar="N", flags=["--round"])
    policy: str | None = option("The column policy. Default: the model.", None, metavar="NAME", panel=_MODEL)
    shard_rows: int = option(
        "Samples of a shard, which is asked in one go.", SHARD_ROWS, least=1, metavar="N", panel=_PARTS
    )

    def __post_init__(self) -> None:
        check(self)
        zoom_ratios(self.zoom)
        if not self.temperatures:
            raise EngineError("temperature: got none; expected one or more")
        for value in self.temperatures:
            if not (is_number(value) and value >= 0):
                raise EngineError(f"temperature: got {value!r:.60}; expected a number from 0")
        rounded = [round(value, PLACES) for value in self.temperatures]
        if twice := [value for place, value in enumerate(rounded) if value in rounded[:place]]:
            raise EngineError(f"temperature: got {twice[0]} twice; expected different ones")
        if not (is_number(self.top_p) and 0 < self.top_p <= 1):
            raise EngineError(f"top_p: got {self.top_p!r:.60}; expected a number above 0 to 1")
        if self.most is not None:
            check_whole("max", self.most, (self.n or 0) + 1)
            if self.n is None:
                raise EngineError("until mixed: needs n, the responses that are asked for at a time")
            if 0 in self.temperatures:
                raise EngineError(
                    "until mixed: at temperature 0 all responses are one; expected temperatures above 0, and a run of "
                    "its own for greedy responses"
                )
        if self.first_rollout + len(self.temperatures) * (self.most or self.n or 1) > MOST:
            raise EngineError(f"first_rollout: got {self.first_rollout}; the last rollout's number is above {MOST}")

    @property
    def ratios(self) -> tuple[float, ...]:
        """The share of the image's sides that the crop of each round of the zoom has."""
        return zoom_ratios(self.zoom)

    def sampling(self, temperature: float) -> Sampling:
        """Return how a model samples at one of the temperatures."""
        return Sampling(temperature, self.top_p, self.max_tokens)

    def seed_of(self, sample: str, temperature: float, rollout: int) -> int:
        """Return the seed of one response, below 2^31: that of its sample, temperature and number alone."""
        number = self.first_rollout + rollout
        (key,) = hashed([sample], self.seed, f"rollout {number} at {float(temperature)!r}")
        return int(key >> 33)  # the seeds that every engine takes
