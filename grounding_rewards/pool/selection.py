"""Selection of the next round's pool: filters, samples set aside, weights, and draws by quota and seed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError, SelectorError, near
from grounding_rewards.plugins.named import NamedTerm
from grounding_rewards.pool.draws import check_whole, draw, most_positive, share_of_zeros, zero_quota
from grounding_rewards.pool.methods import Selector, name_of, select
from grounding_rewards.pool.methods.filters import Band, Every, among, built, sources_of
from grounding_rewards.pool.stats import SampleStats

NO_SOURCE = "(none)"
"""Label of samples without a source."""


@dataclass(frozen=True)
class Step:
    """Counts of one step."""

    name: str
    removed: int  # number of removed samples
    removed_zero: int  # number of never-solved ones among them
    kept: int  # number of samples left
    per_source: Mapping[str, list[int]]  # samples before and after, by source, in the order of names
    params: Mapping[str, Any] = field(default_factory=dict)


_WORDS = {
    "not_in_data": "not in the data",
    "unscored": "without a scored rollout",
    "exclude_source": "of excluded sources",
    "min_rollouts": "with fewer than {n} scored rollouts",
    "not_judged": "not measured by both models",
    "easy_for_weak": "solved by the weak model",
    "missed_by_strong": "never solved by the strong model",
    "all_correct": "always solved",
    "suspects": "set aside as suspects",
    "band": "outside the band {low_rate:g} to {high_rate:g}",
    "limit": "sometimes solved (over the limit)",
    "zero_share": "never solved (over quota)",
}
"""Descriptions of the samples that each step removes, but for selectors."""


def in_words(name: str, removed: int, params: Mapping[str, Any]) -> str:
    """Describe what a step removed."""
    words = "by selector {name}" if "selector" in params or name not in _WORDS else _WORDS[name]
    return f"{removed} {words.format(**{**params, 'name': name})}"


class Funnel:
    """Samples that are left, ``left`` (m,), and the ``steps`` that led there."""

    def __init__(self, stats: SampleStats) -> None:
        self.left: NDArray[np.bool_] = np.ones(len(stats), dtype=np.bool_)
        self.steps: list[Step] = []
        self._zero = stats.none_correct
        names = [NO_SOURCE if source is None else str(source) for source in stats.source.tolist()]
        self._sources = sorted(set(names))
        places = {name: place for place, name in enumerate(self._sources)}  # numbers are counted faster than texts
        self._source = np.fromiter(map(places.__getitem__, names), dtype=np.int64, count=len(names))

    def remove(self, name: str, unwanted: NDArray[np.bool_], **parameters: Any) -> Ints:
        """Remove samples, record the step, and return the rows of those that were left before it."""
        before, after = self.left, self.left & ~unwanted
        counts = [np.bincount(self._source[each], minlength=len(self._sources)).tolist() for each in (before, after)]
        per_source = {source: [was, now] for source, was, now in zip(self._sources, *counts, strict=True) if was}
        self.left = after
        removed = np.flatnonzero(before & ~after)
        zero = int(self._zero[removed].sum())
        self.steps.append(Step(name, len(removed), zero, int(after.sum()), per_source, parameters))
        return removed

    def by_source(self, wanted: NDArray[np.bool_]) -> dict[str, Ints]:
        """Return the rows of wanted samples that are left, by source, in the order of names."""
        rows = np.flatnonzero(self.left & wanted)
        return {
            name: rows[self._source[rows] == place]
            for place, name in enumerate(self._sources)
            if place in self._source[rows]
        }

    def describe(self) -> str:
        """Describe the removals of each step, for errors."""
        removed = [in_words(step.name, step.removed, step.params) for step in self.steps if step.removed]
        return f"{len(self.left)} samples" + (f"; left out: {', '.join(removed)}" if removed else "")


MIN_CLICKS = 4
"""Fewer clicks than these agree by chance too often."""

OF_TARGET = 0.5
"""Clicks agree where their dispersion is that of hits on one element: half of the target's diagonal at most."""

OF_SCREEN = 0.02
"""Upper bound in shares of the screen's diagonal, whatever the target: 44 pixels of 1920 x 1080."""


def suspects(stats: SampleStats) -> NDArray[np.bool_]:
    """Mark never-solved samples, (m,), whose clicks agree on another place than the target: look at their labels."""
    enough = stats.none_correct & (stats.n >= MIN_CLICKS) & (stats.clicks >= MIN_CLICKS)
    known = ~np.isnan(stats.target_diagonal)
    near = (stats.dispersion <= OF_SCREEN) & (~known | (stats.dispersion <= OF_TARGET * stats.target_diagonal))
    return enough & near


_suspects = suspects  # ``next_pool`` has an option of this name

SelectorSpec = Selector | str | Mapping[str, Any]


Filter = tuple[str, Selector, Mapping[str, Any]]
"""The name of a step, its selector, and the selector's specification as plain values."""


def filters(band: Band | None, selectors: Iterable[SelectorSpec]) -> list[Filter]:
    """Build the filters of a pool, in order."""
    each = [(spec, built(spec)) for spec in as_list("selectors", selectors)]
    return [
        *([] if band is None else [("band", band, asdict(band))]),
        *((_name(spec), chosen, {"selector": with_defaults(spec, chosen)}) for spec, chosen in each),
    ]


def weigh(funnel: Funnel, stats: SampleStats, chosen: Sequence[Filter]) -> Floats:
    """Return the logarithms of the products of all weights, (m,), for the products may underflow."""
    logs = np.zeros(len(stats))
    for name, selector, parameters in chosen:
        rows = np.flatnonzero(funnel.left)  # a selector may compare samples: none removed
        weights = select(stats.taken(rows), selector)
        for row in np.flatnonzero(weights < 0)[:1]:
            raise SelectorError(
                f"selector {name_of(selector)} returned {weights[row]} for {stats.named(rows[row])}; expected 0 or "
                "more, for a pool is drawn by these weights"
            )
        with np.errstate(divide="ignore"):  # log 0 is minus infinity: left out
            logs[rows] += np.log(weights)
        funnel.remove(name, np.isneginf(logs), **parameters)
    return logs


def as_list(name: str, value: Iterable[Any]) -> list[Any]:
    """Check that an argument is a list, and return it."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):  # letters, or keys, are no list
        raise PoolError(f"{name}: got {value!r:.80}; expected a list")
    return list(value)


def plain(value: Any) -> Any:
    """Return a selector's specification as JSON; an object by its repr, without its memory address."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, str | int | float) else _ADDRESS.sub("", repr(value))


def with_defaults(spec: SelectorSpec, selector: Selector) -> Any:
    """Return a selector's specification as JSON, with the arguments that it leaves to their defaults."""
    if isinstance(selector, NamedTerm) or not isinstance(spec, str | Mapping) or not is_dataclass(selector):
        return plain(spec)
    arguments = {each.name: plain(getattr(selector, each.name)) for each in fields(selector)}
    if isinstance(selector, Every) and isinstance(spec, Mapping):
        inner = zip(spec["selectors"], selector.selectors, strict=True)
        arguments["selectors"] = [with_defaults(part, each) for part, each in inner]
    return {"name": _name(spec), **arguments}


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # differs from run to run; manifests must not


def _name(spec: SelectorSpec) -> str:
    if isinstance(spec, Mapping):
        return str(spec.get("name"))
    return spec if isinstance(spec, str) else type(spec).__name__


@dataclass(frozen=True, eq=False)
class NextPool:
    """Pool with the samples set aside and the steps of its selection; rows are those of ``stats``, in order."""

    stats: SampleStats  # all m samples
    zero: Ints  # rows of the pool's never-solved samples
    positive: Ints  # rows of its others, sometimes solved and never all-correct
    easy: Ints  # rows of all-correct samples, set aside
    suspects: Ints  # rows of samples whose label needs a look, set aside
    never: Mapping[str, Ints]  # rows of the never-solved samples among which the suspects were, by name of the source
    control: Ints | None  # as many rows as the pool has, drawn from all measured samples alike; None without one
    quota: int  # number of never-solved samples for its positive ones
    steps: tuple[Step, ...]  # counts of each step
    zero_share: float  # the requested share of never-solved samples
    seed: int  # seed of all draws
    idle_weights: bool = False  # True where selectors weigh positive samples differently, but all of them were taken

    @property
    def kept(self) -> Ints:
        """Return the rows of the pool's samples."""
        return np.sort(np.concatenate([self.zero, self.positive]))

    @property
    def shortfall(self) -> int:
        """Return the number of missing never-solved samples; none is taken twice."""
        return self.quota - len(self.zero)

    def to_json(self) -> dict[str, Any]:
        """Return the counts for a manifest."""
        kept, never = len(self.zero) + len(self.positive), sum(map(len, self.never.values()))
        return {
            "samples": len(self.stats),
            "rollouts": int(self.stats.n.sum() + self.stats.unscored.sum()),
            "kept": kept,
            "zero": len(self.zero),
            "positive": len(self.positive),
            "dropped_all_correct": len(self.easy),
            "suspects": len(self.suspects),
            "never_solved": never,
            "suspects_share": len(self.suspects) / never if never else None,
            "suspects_by_source": {
                source: {"never_solved": len(rows), "suspects": int(np.isin(rows, self.suspects).sum())}
                for source, rows in self.never.items()
            },
            "control": None if self.control is None else len(self.control),
            "zero_quota": self.quota,
            "shortfall": self.shortfall,
            "zero_share": self.zero_share,
            "zero_share_actual": len(self.zero) / kept,
            "seed": self.seed,
            "idle_weights": self.idle_weights,
            "steps": [dict(vars(step)) for step in self.steps],
        }


def next_pool(
    stats: SampleStats,
    *,
    seed: int,
    zero_share: float = 0.2,
    exclude_sources: Iterable[str] = (),
    min_rollouts: int | None = None,
    two_model: tuple[SampleStats, SampleStats] | None = None,
    suspects: bool = True,
    band: Band | None = None,
    selectors: Iterable[SelectorSpec] = (),
    limit: int | None = None,
    control: bool = False,
    available: Iterable[Any] | None = None,
) -> NextPool:
    """Choose what to train on next.

    The steps, in this order, remove: unavailable samples; those without a scored rollout; excluded sources; samples
    with few rollouts; those that two models reject; all-correct samples and then suspects, which are set aside; those
    with a weight of 0 by the band and then by each selector. The positive samples that are left fix the size: with
    them go ``f / (1 - f)`` times as many never-solved ones (``zero_quota``), drawn where there are more. Where there
    are fewer, all of them are taken, none twice, and the shortfall is reported.

    Draws go by the product of the selectors' weights; they depend on the seed and the samples' names, not on the order
    of rows. ``zero_share`` is f. ``two_model`` are statistics of the same samples by a weak and a strong model: what
    the weak one never solves and the strong one does at least once stays. A ``limit`` draws as many positive samples as
    fit with their never-solved ones. The ``control`` are as many samples, drawn from all measured ones, all-correct
    ones too, but for excluded sources and unavailable samples. ``available`` are names; None for all.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["easy", "easy", "part", "part", "never", "never"], [1, 1, 0, 1, 0, 0])
    >>> drawn = next_pool(stats, seed=7, zero_share=0.5)
    >>> drawn.stats.sample_id[drawn.kept].tolist(), drawn.easy.tolist(), drawn.shortfall
    (['part', 'never'], [0], 0)
    """
    check_numbers(seed=seed, zero_share=zero_share, min_rollouts=min_rollouts, limit=limit)
    chosen = filters(band, selectors)
    funnel = Funnel(stats)
    if available is not None:
        funnel.remove("not_in_data", ~among(stats.sample_id, as_list("available", available)))
    funnel.remove("unscored", stats.n == 0)  # without a measured pass rate neither easy nor hard
    _check_sources("selectors", stats, [name for _, selector, _ in chosen for name in sources_of(selector)])
    excluded = as_list("exclude_sources", exclude_sources)
    _check_sources("exclude_sources", stats, excluded)
    if excluded:
        funnel.remove("exclude_source", among(stats.source, excluded), sources=sorted(excluded))
    drawable = funnel.left  # before any choice by difficulty, for the control
    if min_rollouts is not None:
        funnel.remove("min_rollouts", stats.n < min_rollouts, n=int(min_rollouts))
    if two_model is not None:  # what a weak model solves and what even a strong one misses goes, as in Click-100k
        by_weak, by_strong = _right(stats, two_model[0], "weak"), _right(stats, two_model[1], "strong")
        funnel.remove("not_judged", (by_weak < 0) | (by_strong < 0))
        funnel.remove("easy_for_weak", by_weak > 0)
        funnel.remove("missed_by_strong", by_strong == 0)
    easy = funnel.remove("all_correct", stats.all_correct)
    never = funnel.by_source(stats.none_correct)
    aside = funnel.remove("suspects", _suspects(stats)) if suspects else np.zeros(0, dtype=np.int64)
    logs = weigh(funnel, stats, chosen)
    zero, positive, quota = _mix(funnel, stats, logs, zero_share, seed, limit)
    others = None
    if control:
        rows = np.flatnonzero(drawable)
        others = rows[draw(stats.sample_id[rows], len(zero) + len(positive), seed=seed, purpose="control")]
    share = float(share_of_zeros(zero_share))
    all_taken = limit is None or not any(step.name == "limit" and step.removed for step in funnel.steps)
    idle = all_taken and bool(np.ptp(logs[positive]) > 0.0)
    steps = tuple(funnel.steps)
    return NextPool(stats, zero, positive, easy, aside, never, others, quota, steps, share, int(seed), idle)


def check_numbers(*, seed: Any, zero_share: Any, min_rollouts: Any = None, limit: Any = None) -> None:
    """Check these arguments of ``next_pool``, which need no statistics."""
    share_of_zeros(zero_share)
    check_whole("seed", seed, 0)
    if min_rollouts is not None:
        check_whole("min_rollouts", min_rollouts, 1)
    if limit is not None and not most_positive(limit, zero_share):
        raise PoolError(
            f"limit: got {limit}; at zero_share {zero_share} not one positive sample fits with its never-solved "
            f"ones; expected {1 + zero_quota(1, zero_share)} or more"
        )


def _check_sources(argument: str, stats: SampleStats, sources: Sequence[str]) -> None:
    """Check that samples are from each source."""
    known = sorted({str(name) for name in stats.source.tolist() if name is not None})
    for source in sources:
        if source not in known:
            hint = near(source, known) or "."
            there = f"There are: {', '.join(known)}" if known else "No sample has a source"
            raise PoolError(f"{argument}: no sample is from {source!r}{hint} {there}")


def _right(stats: SampleStats, model: SampleStats, name: str) -> Ints:
    """Return the number of a model's right rollouts, (m,), by the samples' names; -1 without a scored one."""
    counts = zip(model.sample_id.tolist(), model.n.tolist(), model.num_correct.tolist(), strict=True)
    known = {sample: right for sample, n, right in counts if n}  # unscored: not judged
    ids = stats.sample_id.tolist()
    correct = np.fromiter((known.get(sample, -1) for sample in ids), dtype=np.int64, count=len(ids))
    if len(ids) and (correct < 0).all():
        theirs = next(iter(model.sample_id.tolist()), None)
        raise PoolError(
            f"the {name} model has measured none of the samples: its names are such as {theirs!r}, those of the "
            f"rollouts such as {ids[0]!r}; expected the same names in both"
        )
    return correct


def _mix(
    funnel: Funnel, stats: SampleStats, logs: Floats, zero_share: float, seed: int, limit: int | None
) -> tuple[Ints, Ints, int]:
    """Return the rows of the never-solved and of the positive samples, and the quota of the former."""
    positive = np.flatnonzero(funnel.left & (stats.num_correct > 0))
    zero = np.flatnonzero(funnel.left & (stats.num_correct == 0))
    if not len(positive):
        what = f"{len(zero)} never-solved samples and no positive one" if len(zero) else "no sample"
        raise PoolError(
            f"{what} left to train on: {funnel.describe()}. Positive samples, right in some rollouts and not in all, "
            "fix the size of a pool; loosen what removed them, or roll out at another temperature"
        )
    count = len(positive) if limit is None else min(len(positive), most_positive(limit, zero_share))
    quota = zero_quota(count, zero_share)
    positive = _take(stats, positive, count, logs, seed, "positive")
    zero = _take(stats, zero, quota, logs, seed, "zero")
    chosen = np.zeros(len(stats), dtype=np.bool_)
    chosen[positive] = chosen[zero] = True
    solved = stats.num_correct > 0
    if limit is not None:
        funnel.remove("limit", ~chosen & solved, limit=int(limit))
    funnel.remove("zero_share", ~chosen & ~solved, zero_share=float(share_of_zeros(zero_share)), quota=quota)
    return zero, positive, quota


def _take(stats: SampleStats, rows: Ints, count: int, logs: Floats, seed: int, purpose: str) -> Ints:
    return rows[draw(stats.sample_id[rows], count, seed=seed, purpose=purpose, log_weights=logs[rows])]
