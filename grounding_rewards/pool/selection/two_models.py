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
        measured: (m,) True where both have a scored rollout.
        easy: (m,) True where the weak model was right at least once.
        aligned: (m,) True where the strong model was right at least once.
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

    Samples that a weak model solves are too easy, and those that even a strong one misses are likely labelled wrongly:
    the rest, ``not easy and aligned``, is worth training on.

    Args:
        stats: m samples.
        weak: statistics of the weak model's rollouts.
        strong: statistics of the strong model's rollouts.

    Raises:
        PoolError: a model has measured none of the samples.

    Source: the Click-100k data set's filters by an easy and an alignment model.

    >>> from grounding_rewards.pool import sample_stats
    >>> names = ["a", "b", "c"]
    >>> weak, strong = sample_stats(names, [1, 0, 0]), sample_stats(names, [1, 1, 0])
    >>> by_two_models(sample_stats(names, [0, 0, 0]), weak, strong).keep.tolist()
    [False, True, False]
    """
    found = [_right(stats, model, name) for model, name in ((weak, "weak"), (strong, "strong"))]
    return TwoModelResults((found[0] >= 0) & (found[1] >= 0), found[0] > 0, found[1] > 0)


def _right(stats: SampleStats, model: SampleStats, name: str) -> NDArray[np.int64]:
    """Return the number of a model's right rollouts, (m,); -1 without a scored one."""
    counts = zip(model.sample_id.tolist(), model.n.tolist(), model.num_correct.tolist(), strict=True)
    known = {sample: right for sample, n, right in counts if n}
    ids = stats.sample_id.tolist()
    found = np.fromiter((known.get(sample, -1) for sample in ids), dtype=np.int64, count=len(ids))
    if len(ids) and (found < 0).all():
        theirs = next(iter(model.sample_id.tolist()), None)
        raise PoolError(
            f"the {name} model has measured none of the samples: its names are such as {theirs!r}, those of the "
            f"rollouts such as {ids[0]!r}; expected the same names in both"
        )
    return found
