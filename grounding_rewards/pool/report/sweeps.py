"""A part of a report's inputs, and which of them are one policy at several temperatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grounding_rewards.pool.report.rounds import Round
    from grounding_rewards.pool.stats import SampleStats
    from grounding_rewards.tables.rollout_table import RolloutTable


@dataclass(frozen=True)
class Part:
    """A round, or one temperature of a sweep, and where its rollouts are.

    Attributes:
        round: its statistics.
        numbers: of the rounds that its rollouts name.
        table: its rollouts; None where only statistics are there.
        rounds: which of the table's rounds count; None for all.
        policies: that its rollouts name.
        warm: the temperature that was given before its path.
    """

    round: Round
    numbers: frozenset[int] = frozenset()
    table: RolloutTable | None = None
    rounds: tuple[int, ...] | None = None
    policies: frozenset[str] = frozenset()
    warm: float | None = None


def one_round_swept(parts: Sequence[Part]) -> tuple[list[Part], str]:
    """The parts that are one round at several temperatures, ascending, or why there are none."""
    found = [
        part for part in parts
        if len(part.round.temperatures) == 1 and (part.warm is not None or not part.numbers)
    ]  # fmt: skip
    found.sort(key=lambda part: part.round.temperatures[0])
    warm = [rounded(part.round.temperatures[0]) for part in found]
    if len(set(warm)) < 2:
        return [], ""
    why = _differ(found)
    twice = [each for each in warm if warm.count(each) > 1]
    if not why and twice:
        why = f"temperature {twice[0]:g} is that of several files that name no round; {_ONE}"
    return ([], why) if why else (found, "")


def within_a_round(rounds: Sequence[Part]) -> tuple[dict[float, SampleStats], str]:
    """Statistics at each temperature of the last round that has several, or why there are none."""
    from grounding_rewards.pool.aggregate import stats_of

    several = [part for part in rounds if part.table is not None and len(part.round.temperatures) > 1]
    if not several:
        different = {rounded(each) for part in rounds for each in part.round.temperatures}
        return {}, _differ(rounds) if len(different) > 1 else ""
    part = several[-1]
    why = _differ([part])
    if why or part.table is None:
        return {}, why
    return {
        rounded(warm): stats_of(part.table, rounds=part.rounds, temperature=warm) for warm in part.round.temperatures
    }, ""


def rounded(temperature: float) -> float:
    """A temperature without what single precision adds to it."""
    return round(temperature, 6)


_ONE = "needs rollouts of one round at two temperatures or more"


def _differ(parts: Sequence[Part]) -> str:
    """Whether something but the temperature differs, which would be taken for what the temperature does."""
    warm = sorted({each for part in parts for each in part.round.temperatures})
    rounds = sorted({each for part in parts for each in part.numbers})
    policies = sorted({each for part in parts for each in part.policies})
    for kind, values in (("rounds", rounds), ("policies", policies)):
        if len(values) > 1:
            shown = ", ".join(map(str, values[:3])) + (", ..." if len(values) > 3 else "")
            return f"temperatures {', '.join(f'{each:g}' for each in warm)} are of {kind} {shown}; {_ONE}"
    return ""
