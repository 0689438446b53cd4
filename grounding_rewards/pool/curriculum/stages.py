"""Curriculum: bands of measured pass rate, the stages that train on some of them, the gate, and their file."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, RecipeError, near
from grounding_rewards.literals import unique_keys
from grounding_rewards.pool.draws import check_whole, draw, largest_remainder
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.options import Count, Share, check, is_number, wrong

T = TypeVar("T")

Move = Literal["up", "stay", "down"]
"""Move to the next stage, none, or back to the previous one."""

ROUNDING = 1e-9
"""Tolerance at a threshold, for sums of floats are rounded."""


@dataclass(frozen=True)
class StageGate:
    """Thresholds on the mean of the last results, above which a run moves up and below which it moves down.

    Up where the mean is above ``success_above``, down where it is below ``failure_below``, both strictly; stay
    otherwise, and wherever there are fewer than ``last_k`` results.

    Raises:
        RecipeError: a number does not fit.
    """

    success_above: Share = 0.7
    failure_below: Share = 0.3  # less than ``success_above``, so that no result moves both ways
    last_k: Count = 20  # number of results that count

    def __post_init__(self) -> None:
        check(self)
        if self.failure_below >= self.success_above:
            raise wrong(self, "failure_below", f"less than success_above, {self.success_above}")

    def decide(self, results: Sequence[float | None]) -> Move:
        """Return the way to go by results of this stage, 0 to 1, oldest first; None and NaN, unscored, do not count."""
        mean = self.success(results)
        if mean is None:
            return "stay"
        if mean > self.success_above + ROUNDING:
            return "up"
        return "down" if mean < self.failure_below - ROUNDING else "stay"

    def success(self, results: Sequence[float | None]) -> float | None:
        """Return the mean of the last ``last_k`` scored results; None where there are fewer."""
        counted = scored(results)[-self.last_k :]  # unscored ones take no place among the last
        return math.fsum(counted) / self.last_k if len(counted) == self.last_k else None  # exact in any order


def of_plain(name: str, kind: type[T], values: Any, needed: Collection[str] = ()) -> T:
    """Build a dataclass from a mapping of its fields; ``needed`` ones have no default here."""
    known: Any = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(values, Mapping):
        raise PoolError(f"{name}: got {values!r:.80}; expected a mapping of names to values")
    for key in values:
        if key not in known:
            raise PoolError(f"{name}: unknown key {key!r}{near(key, known) or '.'} There are: {', '.join(known)}")
    for key, each in known.items():
        if key not in values and (key in needed or each.default is MISSING):
            raise PoolError(f"{name}: no {key!r}; there are: {', '.join(known)}")
    try:
        return kind(**values)
    except RecipeError as error:
        raise PoolError(f"{name}: {error}") from None


def gate_of(values: Any) -> StageGate | None:
    """Build a gate from plain values, which name all of its numbers; None of None."""
    keys = [each.name for each in fields(StageGate)]
    return None if values is None else of_plain("gate", StageGate, values, keys)


def scored(results: Sequence[float | None]) -> list[float]:
    """Return results as floats, without unscored ones."""
    known = [result for result in results if result is not None and result == result]
    for result in known:
        if not (isinstance(result, bool | int | float | np.number | np.bool_) and 0 <= result <= 1):
            raise PoolError(f"result: got {result!r:.80}; expected a number from 0 to 1, or None where not scored")
    return [float(result) for result in known]


@dataclass(frozen=True)
class Progress:
    """Position of a run in a curriculum; each step makes a new one."""

    stage: int = 0  # number of the stage, counted from 0
    results: tuple[float, ...] = ()  # results of this stage that still count for the gate, oldest first
    # number of samples of this stage trained on so far; fractions for a part of a sample's rollouts
    samples: float = 0.0

    def after(
        self,
        results: Sequence[float | None],
        *,
        gate: StageGate | None,
        epochs: Sequence[int],
        samples: float = 0.0,
        size: int = 1,
    ) -> tuple[Progress, Move]:
        """Return the position after a batch, and the move: the gate's, or without one up after the epochs."""
        counted = [*self.results, *scored(results)]
        done = self.samples + samples
        if gate is None:
            move: Move = "up" if done >= epochs[self.stage] * size - ROUNDING else "stay"
            counted = []  # no gate will ask for them
        else:
            move, counted = gate.decide(counted), counted[-gate.last_k :]  # older ones cannot count again
        stage = self.stage + {"up": 1, "stay": 0, "down": -1}[move]
        if stage == self.stage or not 0 <= stage < len(epochs):  # at an end the results stay, too
            return replace(self, results=tuple(counted), samples=done), "stay"
        return Progress(stage), move


BETWEEN = -1
"""Index of samples whose pass rate lies in no band."""

UNMEASURED = -2
"""Index of samples with too few scored rollouts."""

NO_BAND = {"between": BETWEEN, "unmeasured": UNMEASURED}
"""Labels of samples in no band, which no band may have as its name."""


@dataclass(frozen=True)
class RateBand:
    """Band of samples whose measured pass rate is from ``low`` to ``high``, both included."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_name("band", self.name)
        if self.name in NO_BAND:
            raise PoolError(f"band {self.name!r}: samples in no band are counted by this name; choose another")
        if not (is_number(self.low) and is_number(self.high) and 0.0 <= self.low <= self.high <= 1.0):
            raise PoolError(
                f"band {self.name!r}: got {[self.low, self.high]!r:.80}; expected [LOWEST, HIGHEST] pass rate, "
                "0 <= LOWEST <= HIGHEST <= 1"
            )


@dataclass(frozen=True)
class Stage:
    """Stage of training: samples of some bands."""

    name: str  # its name in logs and files
    bands: tuple[str, ...]  # names of the bands that it draws from
    shares: tuple[float, ...] | None = None  # of the bands in its samples, in any unit; None for those of their sizes
    size: Count | None = None  # number of its samples; None for as many as the shares allow
    epochs: Count = 1  # passes over its samples

    def __post_init__(self) -> None:
        _check_name("stage", self.name)
        for band in self.bands:
            _check_name(f"stage {self.name!r}, bands", band)
        if not self.bands or len(set(self.bands)) < len(self.bands):
            expected = "the names of one band or more, each of them once"
            raise PoolError(f"stage {self.name!r}, bands: got {self.bands!r:.80}; expected {expected}")
        shares = (1,) * len(self.bands) if self.shares is None else self.shares
        if len(shares) != len(self.bands) or not all(is_number(share) and share > 0 for share in shares):
            expected = "a number above 0 for each band; leave a band of none out"
            raise PoolError(f"stage {self.name!r}, shares: got {self.shares!r:.80}; expected {expected}")
        check(self)


@dataclass(frozen=True)
class Curriculum:
    """Bands, the stages that draw from them, and the gate between stages."""

    bands: tuple[RateBand, ...]  # they do not overlap; a rate on the edge of two belongs to the easier one
    stages: tuple[Stage, ...]  # in the order of training
    gate: StageGate | None = None  # the gate between stages; None moves on after each stage's epochs
    min_rollouts: Count = 1  # the fewest scored rollouts of a sample in a band

    def __post_init__(self) -> None:
        for what, names in {"bands": [*self.band_names], "stages": [stage.name for stage in self.stages]}.items():
            if not names or len(set(names)) < len(names):
                raise PoolError(f"{what}: got {names!r:.120}; expected one or more, each with a name of its own")
        for easier, harder in pairwise(self.easiest_first()):
            if harder.high > easier.low:
                raise PoolError(
                    f"bands {easier.name!r} and {harder.name!r} overlap: {[easier.low, easier.high]} and "
                    f"{[harder.low, harder.high]}; let {harder.name!r} end where {easier.name!r} begins, or before"
                )
        for stage in self.stages:
            for name in stage.bands:
                if name not in self.band_names:
                    raise PoolError(
                        f"stage {stage.name!r}: got the band {name!r:.80}; there are: {', '.join(self.band_names)}"
                    )
        check(self)

    @property
    def band_names(self) -> tuple[str, ...]:
        """Return the names of the bands, in the order of ``bands``."""
        return tuple(band.name for band in self.bands)

    def easiest_first(self) -> list[RateBand]:
        """Return the bands, those of high pass rates first."""
        return sorted(self.bands, key=lambda band: (band.high, band.low), reverse=True)


def _check_name(what: str, name: Any) -> None:
    if not (isinstance(name, str) and name) or re.search("[\ud800-\udfff]", name):  # lone surrogates fit into no file
        raise PoolError(f"{what}: got the name {name!r:.80}; expected a text, such as 'easy'")


def assign(stats: SampleStats, curriculum: Curriculum) -> NDArray[np.int64]:
    """Return the band of each sample: (m,) its index in ``curriculum.bands``, else ``BETWEEN`` or ``UNMEASURED``."""
    rate = stats.pass_rate
    bands = np.full(len(stats), BETWEEN, dtype=np.int64)
    for band in reversed(curriculum.easiest_first()):  # easier bands come last, and take the edges they share
        bands[(rate >= band.low) & (rate <= band.high)] = curriculum.band_names.index(band.name)
    bands[stats.n < curriculum.min_rollouts] = UNMEASURED  # last: a rate of too few rollouts is no measure
    return bands


_READERS: dict[str, Callable[[str], Any]] = {
    # ``json`` itself keeps the last of two equal keys, in silence; ``tomllib`` refuses them.
    ".json": partial(json.loads, object_pairs_hook=unique_keys),
    ".toml": tomllib.loads,
}


def read_curriculum(path: Path) -> Curriculum:
    """Read a curriculum from a JSON or TOML file."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise PoolError(f"{path}: stages are read from files that end in .json or .toml")
    if not path.is_file():
        raise PoolError(f"--stages: {path}: no such file; expected bands, stages and gate in .json or .toml")
    try:
        return from_plain(reader(path.read_text("utf-8")))
    except RecursionError:  # json recurses, and the file is data
        raise PoolError(f"{path}: is nested too deep") from None
    except ValueError as error:  # PoolError, and what json and tomllib raise
        raise PoolError(f"{path}: {error}") from None


def from_plain(values: Any) -> Curriculum:
    """Build a curriculum from plain values."""
    built = dict(values) if isinstance(values, Mapping) else values
    if isinstance(built, dict):
        readers = {"bands": _bands, "stages": _stages, "gate": gate_of}
        built |= {name: read(built[name]) for name, read in readers.items() if name in built}
    return of_plain("stages file", Curriculum, built)


def _bands(values: Any) -> tuple[RateBand, ...]:
    if not isinstance(values, Mapping):
        raise PoolError(f"bands: got {values!r:.80}; expected a mapping of names to [LOWEST, HIGHEST] pass rates")
    for name, edges in values.items():
        if not isinstance(edges, list | tuple) or len(edges) != 2:
            raise PoolError(f"band {name!r}: got {edges!r:.80}; expected [LOWEST, HIGHEST] pass rate, such as [0.9, 1]")
    return tuple(RateBand(name, *edges) for name, edges in values.items())


def _stages(values: Any) -> tuple[Stage, ...]:
    if not isinstance(values, list | tuple):
        raise PoolError(f"stages: got {values!r:.80}; expected a list of {{name, bands, size, epochs}}")
    return tuple(_stage(f"stages[{place}]", stage) for place, stage in enumerate(values))


def _stage(called: str, values: Any) -> Stage:
    bands = values.get("bands", ()) if isinstance(values, Mapping) else ()
    if isinstance(bands, Mapping):
        values = {**values, "bands": tuple(bands), "shares": tuple(bands.values())}
    elif not isinstance(bands, list | tuple):
        raise PoolError(f"{called}, bands: got {bands!r:.80}; expected a list of names, or {{name: share}}")
    elif bands:
        values = {**values, "bands": tuple(bands)}
    return of_plain(called, Stage, values)


@dataclass(frozen=True, eq=False)
class StageSet:
    """Samples of one stage."""

    stage: Stage
    rows: NDArray[np.int64]  # rows of its samples in the statistics, in order
    # By band its samples that are available, asked for, taken, and missing: other bands do not stand in for these.
    quotas: tuple[dict[str, Any], ...]


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
    """
    check_whole("seed", seed, 0)
    band = assign(stats, curriculum)
    members = {name: np.flatnonzero(band == place) for place, name in enumerate(curriculum.band_names)}
    sets = tuple(_stage_set(stats, stage, members, seed) for stage in curriculum.stages)
    counted = Counter(band.tolist())
    places = {**{name: place for place, name in enumerate(curriculum.band_names)}, **NO_BAND}
    return StageSets(band, sets, {name: counted[place] for name, place in places.items()})


def stage_weights(stats: SampleStats, curriculum: Curriculum) -> tuple[StageSets, list[Floats]]:
    """Return the stages with all samples of their bands, and each sample's chance, (s_b / Σs) / a_b in band b."""
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
    quotas, rows = list[dict[str, Any]](), []
    for name, there, wanted in zip(stage.bands, available, asked, strict=True):
        taken = min(there, wanted)
        shortfall = wanted - taken
        quotas.append({"band": name, "available": there, "asked": wanted, "taken": taken, "shortfall": shortfall})
        # A purpose of its own for each draw: those of one seed must not repeat one another.
        ids, purpose = stats.sample_id[members[name]], f"stage {stage.name}, band {name}"
        rows.append(members[name][draw(ids, taken, seed=seed, purpose=purpose)])
    return StageSet(stage, np.sort(np.concatenate(rows)), tuple(quotas))


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
