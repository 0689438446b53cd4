"""Filters of a pool: the funnel to the samples that are left, suspects, a band, and selectors that weigh the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, SelectorError
from grounding_rewards.plugins.named import NamedTerm
from grounding_rewards.pool.methods.filters import Band, Every, built
from grounding_rewards.pool.methods.protocol import Selector, name_of, select
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
    per_source: Mapping[str, tuple[int, int]]  # samples before and after, by source, in the order of names
    params: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "per_source": {source: list(counts) for source, counts in self.per_source.items()}}


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
    """Describe what a step removed.

    >>> in_words("band", 3, {"low_rate": 0.0, "high_rate": 0.9}), in_words("spread", 2, {"selector": "spread"})
    ('3 outside the band 0 to 0.9', '2 by selector spread')
    """
    words = "by selector {name}" if "selector" in params or name not in _WORDS else _WORDS[name]
    return f"{removed} {words.format(**{**params, 'name': name})}"


class Funnel:
    """Samples that are left, and the steps that led there.

    Attributes:
        left: (m,) True for the samples that are left.
        steps: the steps so far.

    >>> from grounding_rewards.pool import sample_stats
    >>> funnel = Funnel(sample_stats(["a", "b", "c"], [1, 0, 1]))
    >>> funnel.remove("second", np.array([False, True, False])).tolist()
    [1]
    >>> funnel.describe()
    '3 samples; left out: 1 by selector second'
    """

    def __init__(self, stats: SampleStats) -> None:
        self.left: NDArray[np.bool_] = np.ones(len(stats), dtype=np.bool_)
        self.steps: list[Step] = []
        self._zero = stats.none_correct
        names = [NO_SOURCE if source is None else str(source) for source in stats.source.tolist()]
        self._sources = sorted(set(names))
        places = {name: place for place, name in enumerate(self._sources)}  # numbers are counted faster than texts
        self._source = np.fromiter(map(places.__getitem__, names), dtype=np.int64, count=len(names))

    def remove(self, name: str, unwanted: NDArray[np.bool_], **parameters: Any) -> NDArray[np.int64]:
        """Remove samples, record the step, and return the rows of those that were left before it."""
        before, after = self.left, self.left & ~unwanted
        counts = zip(self._counts(before), self._counts(after), strict=True)
        per_source = {source: pair for source, pair in zip(self._sources, counts, strict=True) if pair[0]}
        self.left = after
        removed = np.flatnonzero(before & ~after)
        zero = int(self._zero[removed].sum())
        self.steps.append(Step(name, len(removed), zero, int(after.sum()), per_source, parameters))
        return removed

    def by_source(self, wanted: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
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

    def _counts(self, chosen: NDArray[np.bool_]) -> list[int]:
        return [int(count) for count in np.bincount(self._source[chosen], minlength=len(self._sources))]


MIN_CLICKS = 4
"""Fewer clicks than these agree by chance too often."""

OF_TARGET = 0.5
"""Clicks agree where their dispersion is that of hits on one element: half of the target's diagonal at most."""

OF_SCREEN = 0.02
"""Upper bound in shares of the screen's diagonal, whatever the target: 44 pixels of 1920 x 1080."""


def suspects(
    stats: SampleStats,
    *,
    min_clicks: int = MIN_CLICKS,
    of_target: float = OF_TARGET,
    of_screen: float = OF_SCREEN,
) -> NDArray[np.bool_]:
    """Mark the samples whose label or instruction needs a look before training on them.

    True where none of at least ``min_clicks`` scored rollouts was right, at least ``min_clicks`` rollouts clicked, and
    the dispersion of these clicks is at most ``of_screen`` and, where the target's size is known, at most
    ``of_target * target_diagonal``. The rollouts agree on one place, and it is not the target: the label may be wrong,
    or the instruction ambiguous. The model may also make the same mistake each time, so look before you delete.

    Args:
        stats: m samples, with clicks.
        min_clicks: the fewest scored rollouts, and the fewest clicks.
        of_target: the largest dispersion in shares of the target's diagonal.
        of_screen: the largest dispersion in shares of the image's diagonal.

    Returns:
        (m,); False where no dispersion is known.

    >>> from dataclasses import replace
    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 4 + ["b"] * 4, [0] * 8)
    >>> clicks, diagonal = np.array([4, 4]), np.array([0.05, 0.05])
    >>> suspects(replace(stats, clicks=clicks, dispersion=np.array([0.01, 0.2]), target_diagonal=diagonal))
    array([ True, False])
    """
    enough = stats.none_correct & (stats.n >= min_clicks) & (stats.clicks >= min_clicks)
    known = ~np.isnan(stats.target_diagonal)
    near = (stats.dispersion <= of_screen) & (~known | (stats.dispersion <= of_target * stats.target_diagonal))
    return enough & near


SelectorSpec = Selector | str | Mapping[str, Any]


class Filter(NamedTuple):
    """Selector with the name of its step, and its specification as plain values."""

    name: str
    selector: Selector
    parameters: Mapping[str, Any]


def filters(band: Band | tuple[float, float] | None, selectors: Iterable[SelectorSpec]) -> list[Filter]:
    """Build the filters of a pool, in order.

    >>> [step.parameters for step in filters(None, ["learnability"])]
    [{'selector': {'name': 'learnability', 'unbiased': False, 'scaled': False}}]
    """
    steps = []
    if band is not None:
        chosen = _band(band)
        steps.append(Filter("band", chosen, asdict(chosen)))
    return steps + [
        Filter(_name(spec), chosen, {"selector": with_defaults(spec, chosen)})
        for spec, chosen in ((spec, built(spec)) for spec in as_list("selectors", selectors))
    ]


def weigh(funnel: Funnel, stats: SampleStats, chosen: Sequence[Filter]) -> Floats:
    """Return the logarithms of the products of all weights, (m,), for the products may underflow.

    Samples with a weight of 0 are removed. A selector receives the samples that are left.
    """
    logs = np.zeros(len(stats))
    for step in chosen:
        rows = np.flatnonzero(funnel.left)  # a selector may compare samples: none removed
        weights = select(stats.taken(rows), step.selector)
        for row in np.flatnonzero(weights < 0)[:1]:
            raise SelectorError(
                f"selector {name_of(step.selector)} returned {weights[row]} for {stats.named(rows[row])}; expected 0 "
                "or more, for a pool is drawn by these weights"
            )
        with np.errstate(divide="ignore"):  # log 0 is minus infinity: left out
            logs[rows] += np.log(weights)
        funnel.remove(step.name, np.isneginf(logs), **step.parameters)
    return logs


def as_list(name: str, value: Iterable[Any]) -> list[Any]:
    """Check that an argument is a list, and return it."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):  # letters, or keys, are no list
        raise PoolError(f"{name}: got {value!r:.80}; expected a list")
    return list(value)


def plain(value: Any) -> Any:
    """Return a selector's specification as JSON; an object by its repr, without its memory address.

    >>> plain({"name": "every", "selectors": ["unsolved", Band(0.1, 0.9)]})["selectors"][1]
    'Band(low_rate=0.1, high_rate=0.9, inclusive=False, confident=False)'
    """
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, str | int | float) else _ADDRESS.sub("", repr(value))


def with_defaults(spec: SelectorSpec, selector: Selector) -> Any:
    """Return a selector's specification as JSON, with the arguments that it leaves to their defaults.

    >>> with_defaults("spread", built("spread"))
    {'name': 'spread', 'threshold': 0.0}
    """
    if isinstance(selector, NamedTerm) or not isinstance(spec, str | Mapping) or not is_dataclass(selector):
        return plain(spec)
    arguments = {each.name: plain(getattr(selector, each.name)) for each in fields(selector)}
    if isinstance(selector, Every) and isinstance(spec, Mapping):
        inner = zip(spec["selectors"], selector.selectors, strict=True)
        arguments["selectors"] = [with_defaults(part, each) for part, each in inner]
    return {"name": _name(spec), **arguments}


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # differs from run to run; manifests must not


def _band(band: Any) -> Band:
    if isinstance(band, Band):
        return band
    rates = as_list("band", band)
    if len(rates) != 2:
        raise PoolError(f"band: got {band!r:.80}; expected two pass rates, or a Band")
    return Band(*rates)


def _name(spec: SelectorSpec) -> str:
    if isinstance(spec, Mapping):
        return str(spec.get("name"))
    return spec if isinstance(spec, str) else type(spec).__name__
