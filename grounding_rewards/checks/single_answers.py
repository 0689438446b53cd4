"""Right answers of single rollouts, beside those of an answer that is made of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grounding_rewards.arrays import Ints
from grounding_rewards.stats.intervals import exact_mean, pass_at_k, wilson_of_samples


@dataclass(frozen=True)
class SingleAnswers:
    """Accuracy of single rollouts."""

    samples: int  # samples with a valid rollout
    rollouts: int  # valid rollouts of all of them
    accuracy: float | None  # mean over samples of the share of right rollouts; None without samples
    interval: tuple[float, float]  # its 95 % interval, of wilson_of_samples
    k: int  # the smallest number of valid rollouts of a sample; 0 without samples
    # Mean over samples of the unbiased chance that one of k rollouts is right; None without samples.
    pass_at_k: float | None

    @classmethod
    def of(cls, correct: Ints, n: Ints) -> SingleAnswers:
        """Count the right rollouts of m samples.

        Args:
            correct: (m,) right rollouts.
            n: (m,) valid rollouts; samples without any do not count.

        >>> import numpy as np
        >>> single = SingleAnswers.of(np.array([1, 0, 2]), np.array([2, 2, 4]))
        >>> single.rollouts, round(single.accuracy, 4), single.k, round(single.pass_at_k, 4)
        (8, 0.3333, 2, 0.6111)
        """
        correct, n = correct[n > 0], n[n > 0]
        if not len(n):
            return cls(0, 0, None, (0.0, 1.0), 0, None)
        k = int(n.min())
        chance = exact_mean(pass_at_k(n, correct, k))
        return cls(len(n), int(n.sum()), exact_mean(correct / n), wilson_of_samples(correct, n), k, chance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "interval": [*self.interval]}
