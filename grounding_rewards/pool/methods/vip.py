"""VIP: a budget of rollouts that makes the variance of the gradient smallest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.plugins.named import ALLOCATION
from grounding_rewards.pool.methods import Method, in_name_order, setting
from grounding_rewards.pool.methods.knapsack import most_gained
from grounding_rewards.pool.methods.learnability import outcome_variance
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Range, Whole


@dataclass(frozen=True)
class Vip(Method):
    """A budget of rollouts that makes the gradient's variance smallest: of the sum of a / (n - 1), a = p (1 - p).

    With ``form="dr_grpo"`` it is the sum of a (n - 1) / n². p is the pass rate, within 1e-6 of 0 and 1; each sample
    gets ``least`` to ``most``. The numbers are the best whole ones, where the paper rounds; of equal ones the earlier
    name gets more.

    The paper predicts p by a Gaussian process over prompts; here it is measured. Its code of February 2026 also adds a
    term of ln p, which the paper does not name, and drops samples below 4: neither is here.

    Source: VIP, arXiv 2602.01601, theorem 5.1, as two further implementations state it.

    >>> stats = SampleStats(np.array(list("abc"), dtype=object), np.full(3, 20), np.array([10, 4, 1]))
    >>> Vip()(stats), Vip(form="dr_grpo")(stats)
    (array([10,  9,  5]), array([11,  9,  4]))
    """

    kind = ALLOCATION

    form: Literal["rloo", "dr_grpo"] = setting("the estimator of advantages whose variance counts", "rloo")
    rollouts: Count = setting("rollouts of a sample on average", 8)
    budget: Whole | None = setting("rollouts of all samples together; None: rollouts times their number", None)
    least: Annotated[int, Range(3, whole=True)] = setting("the fewest rollouts of a sample", 4)
    most: Count = setting("the most of a sample", 32)

    def __post_init__(self) -> None:
        super().__post_init__()
        options.number(self, "most", self.least, np.inf)

    def __call__(self, stats: SampleStats) -> Ints:
        m, order = len(stats), in_name_order(stats)
        budget = self.rollouts * m if self.budget is None else self.budget
        if not self.least * m <= budget <= self.most * m:
            raise PoolError(f"budget: got {budget}; expected {self.least * m} to {self.most * m}, for {m} samples")
        variance = np.maximum(outcome_variance(stats)[order], 1e-6 * (1.0 - 1e-6))

        def gained(n: int) -> Floats:
            each = (n - 1) / n**2 if self.form == "dr_grpo" else 1.0 / (n - 1)
            first = (self.least - 1) / self.least**2 if self.form == "dr_grpo" else 1.0 / (self.least - 1)
            saved: Floats = variance * (first - each)
            return saved

        numbers = np.zeros(m, dtype=np.int64)
        numbers[order] = self.least + most_gained(gained, self.least, self.most, budget - self.least * m)
        return numbers
