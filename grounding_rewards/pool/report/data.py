"""Numbers of a report as plain values, with the missing input of each empty section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.inputs import mixed
from grounding_rewards.pool.report.rounds import Numbers, Round, by_size, by_source, histogram, signal, summary
from grounding_rewards.pool.report.samples import ShownSample
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.temperature import sweep
from grounding_rewards.pool.transitions import transitions

NO_ROUND = "needs rollouts, or statistics of samples that `pool stats --out` wrote"
NO_SCORE = f"{NO_ROUND}, of which some are scored (column acc)"
NEEDS = {
    "rounds": NO_ROUND,
    "num_correct": NO_SCORE,
    "signal": NO_SCORE,
    "transitions": "needs two rounds or more: give a file of rollouts for each, or a column round",
    "sources": "needs a column source in the rollouts, or another column by --by",
    "sizes": "needs targets and image sizes in the rollouts (columns target and image_size), and the space of targets "
    "by --target-space where nothing else says it",
    "temperature": "needs rollouts of the same samples at two temperatures or more (column temperature)",
    "pools": "needs the manifests of pools: give the .manifest.json files that `pool next` writes",
    "hardest": "needs rollouts of which none is right for a sample",
    "suspects": "none: no never-solved sample has four or more clicks that agree on one place outside of its target "
    "(columns x_unit, y_unit and image_size)",
}
"""Text of each section that has nothing to show."""


@dataclass(frozen=True, eq=False)
class Report:
    """Numbers of a page, section by section."""

    title: str  # the page's
    rounds: tuple[Numbers, ...]  # `rounds.summary` of each round
    num_correct: tuple[Numbers, ...]  # `rounds.histogram` of each round
    transitions: tuple[Numbers, ...]  # `Transitions.to_json` from each round to the next, with `from` and `to`
    sources: tuple[tuple[str, list[Numbers]], ...]  # `rounds.by_source` of each round with sources
    sizes: tuple[tuple[str, list[Numbers]], ...]  # `rounds.by_size` of each round with target sizes
    signal: tuple[Numbers, ...]  # `rounds.signal` of each round
    temperature: Numbers | None  # `Sweep.to_json`; None without two temperatures
    pools: tuple[Numbers, ...]  # `inputs.funnel` of each pool
    hardest: tuple[ShownSample, ...] = ()  # samples never solved in the last round
    suspects: tuple[ShownSample, ...] = ()  # those of them whose clicks agree on another place
    counted: Mapping[str, int] = field(default_factory=dict)  # how many there are of each, of which some are shown
    missing: Mapping[str, str] = field(default_factory=dict)  # missing input of the sections that have nothing to show
    remarks: tuple[str, ...] = ()  # sentences above all sections

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        by_round = {
            "sources": [{"round": name, "by_source": lines} for name, lines in self.sources],
            "sizes": [{"round": name, "by_size": lines} for name, lines in self.sizes],
        }
        one_by_one = {name: [sample.to_json() for sample in getattr(self, name)] for name in ("hardest", "suspects")}
        whole = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return {**whole, **by_round, **one_by_one, "counted": dict(self.counted), "missing": dict(self.missing)}


def report(
    title: str,
    rounds: Sequence[Round],
    *,
    by_temperature: Mapping[float, SampleStats] | None = None,
    unswept: str = "",
    pools: Sequence[Numbers] = (),
    hardest: Sequence[ShownSample] = (),
    suspects: Sequence[ShownSample] = (),
    counted: Mapping[str, int] | None = None,
    remarks: Sequence[str] = (),
) -> Report:
    """Compute all numbers of a page.

    Rounds are in the order of training; transitions pass over those that are temperatures of a sweep.
    ``by_temperature`` has statistics of the same samples at two temperatures or more, ``unswept`` the reason for none.

    >>> from grounding_rewards.pool import sample_stats
    >>> numbers = report("pools", [Round("1", sample_stats(["a", "a", "b"], [1, 0, 1]))])
    >>> numbers.rounds[0]["mixed"], sorted(numbers.missing)
    (1, ['hardest', 'pools', 'sizes', 'sources', 'suspects', 'temperature', 'transitions'])
    """
    moved, apart = _transitions([part for part in rounds if not part.swept])  # temperatures are no steps of training
    swept, failed = None, ""
    if by_temperature and len(by_temperature) > 1:
        try:
            compared = sweep(by_temperature)
            swept, failed = (None if compared.confounded else compared.to_json()), compared.confounded
        except PoolError as error:
            failed = str(error)  # one section fails, not the page
    sources = [(part.name, by_source(part.stats)) for part in rounds]
    sizes = [(part.name, by_size(part.stats)) for part in rounds]
    scored = [part for part in rounds if part.stats.n.any()]  # without a scored rollout there is nothing to divide by
    draft = Report(  # without ``missing``, which is read off its empty sections
        title=title,
        rounds=tuple(map(summary, rounds)),
        num_correct=tuple(map(histogram, scored)),
        transitions=tuple(moved),
        sources=tuple(entry for entry in sources if entry[1]),
        sizes=tuple(entry for entry in sizes if entry[1]),
        signal=tuple(map(signal, scored)),
        temperature=swept,
        pools=tuple(pools),
        hardest=tuple(hardest),
        suspects=tuple(suspects),
        counted=counted or {},
        remarks=(*remarks, *(apart if moved else ())),
    )
    missing = {name: why for name, why in NEEDS.items() if not getattr(draft, name)}
    if not moved and any(part.swept for part in rounds):
        missing["transitions"] = (
            "temperatures of one round are no steps of training; needs rollouts that name two rounds (column round)"
        )
    missing |= {"transitions": "; ".join(apart)} if apart and not moved else {}
    missing |= {"temperature": failed or unswept} if (failed or unswept) and not swept else {}
    return replace(draft, missing=missing)


def _transitions(rounds: Sequence[Round]) -> tuple[list[Numbers], list[str]]:
    """Return the transitions from each round to the next, and the reasons for missing ones."""
    compared, apart = list[Numbers](), list[str]()
    for before, after in pairwise(rounds):
        try:
            moved = transitions(before.stats, after.stats).to_json()
        except PoolError as error:
            apart.append(f"from {before.name} to {after.name}: {error}")
            continue
        mixtures = [f"{part.name}: {text}" for part in (before, after) if (text := mixed(part.temperatures))]
        named = {"from": before.name, "to": after.name}
        compared.append({**named, **moved, "warnings": [*moved["warnings"], *mixtures]})
    return compared, apart
