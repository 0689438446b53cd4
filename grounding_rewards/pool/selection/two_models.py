"""Filter samples by a weak and a strong model: too easy, or wrongly labelled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.stats import SampleStats


@dataclass(frozen=True, eq=False)
class TwoModelResults:
    """Results of a weak and a strong model on m samples.

    Attributes:
        measured: (m,) whether both have a scored rollout of it.
        easy: (m,) whether the weak one was right at least once.
        aligned: (m,) whether the strong one was right at least once.
    """

    measured: NDArray[np.bool_]
    easy: NDArray[np.bool_]
    aligned: NDArray[np.bool_]

    @property
    def keep(self) -> NDArray[np.bool_]:
        """Mark the samples to keep, (m,): measured, not easy, and aligned."""
        return self.measured & ~self.easy & self.aligned


def by_two_models(stats: SampleStats, weak: SampleStats, strong: SampleStats) -> TwoModelResults:
    """Look samples up, by name, in the statistics of a weak and a strong model.

    What a weak model solves teaches nothing, and what even a strong one misses is likely labelled wrongly: the rest,
    ``not easy and aligned``, is worth training on.

    Args:
        stats: m samples.
        weak: what the weak model's rollouts say.
        strong: what the strong model's say.

    Raises:
        PoolError: a judge has measured none of the samples.

    Source: the Click-100k data set's filters by an easy and an alignment model.

    >>> from grounding_rewards.pool import sample_stats
    >>> names = ["a", "b", "c"]
    >>> weak, strong = sample_stats(names, [1, 0, 0]), sample_stats(names, [1, 1, 0])
    >>> by_two_models(sample_stats(names, [0, 0, 0]), weak, strong).keep.tolist()
    [False, True, False]
    """
    found = [_right(stats, judge, name) for judge, name in ((weak, "weak"), (strong, "strong"))]
    return TwoModelResults((found[0] >= 0) & (found[1] >= 0), found[0] > 0, found[1] > 0)


def _right(stats: SampleStats, judge: SampleStats, name: str) -> NDArray[np.int64]:
    """Return the number of a model's right rollouts, (m,); -1 without a scored one."""
    counts = zip(judge.sample_id.tolist(), judge.n.tolist(), judge.num_correct.tolist(), strict=True)
    known = {sample: right for sample, n, right in counts if n}
    ids = stats.sample_id.tolist()
    found = np.fromiter((known.get(sample, -1) for sample in ids), dtype=np.int64, count=len(ids))
    if len(ids) and (found < 0).all():
        theirs = next(iter(judge.sample_id.tolist()), None)
        raise PoolError(
            f"the {name} judge has measured none of the samples: its names are such as {theirs!r}, those of the "
            f"rollouts such as {ids[0]!r}; expected the same names in both"
        )
    return found
