"""Check declared difficulty bands against measured pass rates: rates in order, and intervals apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from numpy.typing import NDArray

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum.stages import Curriculum
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import wilson

Counts = Mapping[str, tuple[int, int]]
"""Right and scored rollouts by band."""


@dataclass(frozen=True)
class MeasuredBand:
    """Measured pass rate of one declared band."""

    band: str
    correct: int  # number of right rollouts
    n: int  # number of scored rollouts
    low: float  # lower end of Wilson's interval of their share
    high: float  # its upper end
    inside: bool | None = None  # True for a share in the curriculum's range of this band; None without a range

    @property
    def rate(self) -> float | None:
        """Return the share of right rollouts; None without rollouts."""
        return self.correct / self.n if self.n else None

    def __str__(self) -> str:
        return f"{self.band} {self.correct / max(self.n, 1):.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class BandCheck:
    """Result for the bands of one type."""

    kind: str | None  # the type; None for all samples together
    bands: tuple[MeasuredBand, ...]  # easiest first
    # one sentence for each pair of bands that is not in order, or not apart, and for each band that is needed and
    # missing
    problems: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the bands without a scored rollout, which cannot be judged."""
        return tuple(band.band for band in self.bands if not band.n)

    @property
    def name(self) -> str:
        """Return the name of the type for a sentence."""
        return "all types" if self.kind is None else f"type {self.kind!r}"


@dataclass(frozen=True)
class Validation:
    """Results for all types; the first is for all samples together."""

    checks: tuple[BandCheck, ...]

    @property
    def passed(self) -> bool:
        """True where no type has a problem."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of all types, each after the name of its type."""
        return tuple(f"{check.name}: {problem}" for check in self.checks for problem in check.problems)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the remarks on bands that were not measured."""
        return tuple(
            f"{check.name}: no scored rollouts of {', '.join(check.missing)}"
            + ("; so there is nothing to compare" if len(check.bands) - len(check.missing) < 2 else "")
            for check in self.checks
            if check.missing
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        together, *types = (
            {"bands": [{**vars(band), "rate": band.rate} for band in check.bands], "problems": list(check.problems),
             "missing": list(check.missing)}
            for check in self.checks
        )  # fmt: skip
        results = {"passed": self.passed, "problems": list(self.problems), "remarks": list(self.remarks)}
        kinds = (str(check.kind) for check in self.checks[1:])
        return {**results, "overall": together, "types": dict(zip(kinds, types, strict=True))}


def validate(
    counts: Mapping[str, Counts],
    easiest_first: Sequence[str],
    *,
    needed: Collection[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> Validation:
    """Check declared bands by type, and of all types together.

    Every easier band's pass rate must be above every harder one's, and Wilson's 95 % intervals apart. Rollouts count as
    independent, so that intervals are on the narrow side where a sample has many.

    Args:
        counts: type to band to right rollouts and scored rollouts.
        easiest_first: the bands in the order that they should have.
        needed: bands that must have scored rollouts, whatever their type.
        ranges: the pass rates that each band stands for; a rate outside is reported, and no problem.

    Raises:
        PoolError: more rollouts are right than were scored.

    >>> validate({"B": {"easy": (188, 200), "medium": (200, 200)}}, ["easy", "medium"]).problems
    ('all types: easy and medium are inverted: easy 0.940 [0.898, 0.965] is below medium 1.000 [0.981, 1.000]',)
    """
    total = {
        name: (sum(each.get(name, _NONE)[0] for each in counts.values()),
               sum(each.get(name, _NONE)[1] for each in counts.values()))
        for name in easiest_first
    }  # fmt: skip
    kinds = sorted(counts) if len(counts) > 1 else []  # a single type is all of them, checked already
    of_each = [(None, total), *((kind, counts[kind]) for kind in kinds)]
    return Validation(tuple(_checked(kind, each, easiest_first, needed, ranges or {}) for kind, each in of_each))


def _checked(
    kind: str | None,
    counts: Counts,
    easiest_first: Sequence[str],
    needed: Collection[str],
    ranges: Mapping[str, tuple[float, float]],
) -> BandCheck:
    """Check the bands of one type."""
    measured = []
    for name in easiest_first:
        (correct, n), limits = counts.get(name, _NONE), ranges.get(name)
        inside, (low, high) = None, map(float, wilson(correct, n))
        if limits is not None and n:
            inside = limits[0] <= correct / n <= limits[1]
        measured.append(MeasuredBand(name, correct, n, low, high, inside))
    bands = tuple(measured)
    there = [band for band in bands if band.n]
    problems = [problem for easier, harder in combinations(there, 2) if (problem := _problem(easier, harder))]
    if kind is None:  # a type may lack bands; all types together must not
        problems += [f"{band.band} has no scored rollouts" for band in bands if not band.n and band.band in needed]
        if len(there) < 2:
            problems.append(
                f"{len(there)} of {len(bands)} bands have scored rollouts; expected two at least to compare"
            )
    return BandCheck(kind, bands, tuple(problems))


_NONE = (0, 0)


def validate_stats(stats: SampleStats, declared: Sequence[Any] | NDArray[Any], curriculum: Curriculum) -> Validation:
    """Check the bands that samples declare, by their source.

    Args:
        stats: m samples; ``source`` is the type, or another column that they are counted by.
        declared: (m,) the band that the data declare for each sample; None for none.
        curriculum: its bands, in the order of their pass rates; those that stages train on must have scored rollouts.

    Raises:
        PoolError: a declared band is not in the curriculum, or no sample declares one.
    """
    known = {band.name: (band.low, band.high) for band in curriculum.easiest_first()}
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for row, band in enumerate(declared):
        if band is None or band != band:  # null, as Parquet's NaN too
            continue
        if band not in known:
            raise PoolError(f"{stats.named(row)} declares the band {band!r:.80}; expected one of {', '.join(known)}")
        kind = "unknown" if stats.source[row] is None else str(stats.source[row])
        correct, n = counts.setdefault(kind, {}).get(band, _NONE)
        counts[kind][band] = correct + int(stats.num_correct[row]), n + int(stats.n[row])
    if not counts:
        raise PoolError(f"no sample declares a band; expected {', '.join(known)} in the column of declared bands")
    needed = {name for stage in curriculum.stages for name in stage.bands}
    return validate(counts, list(known), needed=needed, ranges=known)


def _problem(easier: MeasuredBand, harder: MeasuredBand) -> str | None:
    above, below = easier.correct / easier.n, harder.correct / harder.n
    pair = f"{easier.band} and {harder.band}"
    if above < below:
        return f"{pair} are inverted: {easier} is below {harder}"
    if above == below:
        return f"{pair} are equal: {easier} is not above {harder}"
    return (
        f"{pair} are not apart: the intervals of {easier} and {harder} overlap" if easier.low <= harder.high else None
    )
