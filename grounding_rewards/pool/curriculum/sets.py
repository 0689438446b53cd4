"""Samples of each stage of a curriculum: quotas by band, drawn with a seed, or weights in place of draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum.stages import NO_BAND, Curriculum, Stage, assign
from grounding_rewards.pool.draws import check_whole, draw, largest_remainder
from grounding_rewards.pool.stats import SampleStats


@dataclass(frozen=True)
class Quota:
    """Quota of a stage in one band."""

    band: str
    available: int  # number of the band's samples
    asked: int  # number that the stage asks for
    taken: int  # number that it gets; no sample is in a stage twice, so asked - taken are missing

    @property
    def shortfall(self) -> int:
        """Return the number of missing samples; other bands do not stand in for them."""
        return self.asked - self.taken


@dataclass(frozen=True, eq=False)
class StageSet:
    """Samples of one stage."""

    stage: Stage
    rows: NDArray[np.int64]  # rows of its samples in the statistics, in order
    quotas: tuple[Quota, ...]  # quotas by band

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class StageSets:
    """Samples of all stages of a curriculum."""

    band: NDArray[np.int64]  # (m,) the band of each sample; see assign
    sets: tuple[StageSet, ...]  # one a stage
    counts: dict[str, int]  # numbers of samples by band, and of those without one: between and unmeasured

    @property
    def outside(self) -> NDArray[np.int64]:
        """Return the rows of samples in no band."""
        return np.flatnonzero(self.band < 0)


def stage_sets(stats: SampleStats, curriculum: Curriculum, seed: int = 0) -> StageSets:
    """Draw the samples of each stage.

    With shares s_b and a_b samples in band b, a stage without a size has floor(min over b of a_b · Σs / s_b) samples:
    as many as the shares allow. Quotas are largest remainders of the shares. A band with fewer samples than its quota
    gives all, and the rest is a shortfall, for none is taken twice. Stages draw independently.

    Args:
        stats: m samples, in any order, which does not change the draws.
        curriculum: bands and stages.
        seed: seed of the draws, a whole number from 0.

    Raises:
        PoolError: a stage would have no samples; names the counts of its bands.

    >>> from grounding_rewards.pool import sample_stats
    >>> from grounding_rewards.pool.curriculum.stages import RateBand
    >>> bands = RateBand("hard", 0.0, 0.5), RateBand("easy", 0.5, 1.0)
    >>> stats = sample_stats(["a", "b", "c", "d"], [1, 1, 1, 0])
    >>> staged = stage_sets(stats, Curriculum(bands, (Stage("all", ("easy", "hard"), shares=(2, 1)),)))
    >>> staged.sets[0].quotas
    (Quota(band='easy', available=3, asked=2, taken=2), Quota(band='hard', available=1, asked=1, taken=1))
    """
    check_whole("seed", seed, 0)
    band = assign(stats, curriculum)
    members = {name: np.flatnonzero(band == place) for place, name in enumerate(curriculum.band_names)}
    sets = tuple(_stage_set(stats, stage, members, seed) for stage in curriculum.stages)
    counted = Counter(band.tolist())
    places = {**{name: place for place, name in enumerate(curriculum.band_names)}, **NO_BAND}
    return StageSets(band, sets, {name: counted[place] for name, place in places.items()})


def stage_weights(stats: SampleStats, curriculum: Curriculum) -> tuple[StageSets, list[Floats]]:
    """Return the probability of drawing each sample in each stage, for samplers that draw by weight.

    A sample of band b weighs (s_b / Σs) / a_b, with s over the stage's bands that have samples: weights sum to 1.

    Args:
        stats: m samples.
        curriculum: bands and stages.

    Returns:
        The stages with all samples of their bands, and one (m,) column of weights a stage.

    Raises:
        PoolError: a stage would have no samples.
    """
    whole = tuple(replace(stage, shares=None, size=None) for stage in curriculum.stages)  # all samples: none drawn
    staged = stage_sets(stats, replace(curriculum, stages=whole))
    return staged, [_weights(staged, stage, curriculum) for stage in curriculum.stages]


def _weights(staged: StageSets, stage: Stage, curriculum: Curriculum) -> Floats:
    proportions = stage.shares or tuple(staged.counts[name] for name in stage.bands)  # all samples alike
    # Empty bands have no share, so that the weights of the others sum to 1.
    shares = {name: share for name, share in zip(stage.bands, proportions, strict=True) if staged.counts[name]}
    weights = np.zeros(len(staged.band))
    for name, share in shares.items():
        chosen = staged.band == curriculum.band_names.index(name)
        weights[chosen] = share / sum(shares.values()) / staged.counts[name]
    return weights


def _stage_set(stats: SampleStats, stage: Stage, members: dict[str, NDArray[np.int64]], seed: int) -> StageSet:
    available = [len(members[name]) for name in stage.bands]
    asked = _asked(stage, available)
    if not any(min(pair) for pair in zip(asked, available, strict=True)):  # empty, or not asked for
        counts = ", ".join(f"{name} {there}" for name, there in zip(stage.bands, available, strict=True))
        raise PoolError(
            f"stage {stage.name!r} has no samples (in its bands: {counts}); widen the bands, leave an empty one out of "
            "the stage, or give the stage a size"
        )
    quotas = tuple(
        Quota(name, there, wanted, min(there, wanted))
        for name, there, wanted in zip(stage.bands, available, asked, strict=True)
    )
    rows = []
    for quota in quotas:
        # A purpose of its own for each draw: those of one seed must not repeat one another.
        names, purpose = stats.sample_id[members[quota.band]], f"stage {stage.name}, band {quota.band}"
        rows.append(members[quota.band][draw(names, quota.taken, seed=seed, purpose=purpose)])
    return StageSet(stage, np.sort(np.concatenate(rows)), quotas)


def _asked(stage: Stage, available: list[int]) -> list[int]:
    """Return the number of samples that the stage asks of each band; without shares, in proportion to the bands."""
    if stage.shares is None:
        if stage.size is None or not any(available):
            return available
        return largest_remainder(available, stage.size)
    size = stage.size
    if size is None:
        shares = [Fraction(str(share)) for share in stage.shares]  # exact: int below cuts a size off at 9.999...
        size = int(min(there * sum(shares) / share for there, share in zip(available, shares, strict=True)))
    return largest_remainder(stage.shares, size)
