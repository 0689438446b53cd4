"""Share of comparisons without a difference whose p-value is below .05, where samples share screenshots.

    python benchmarks/paired.py [--trials 2000] [--seed 0]

Two models are equally good. A sample's answer is right where a normal number, half of whose variance all samples of a
screenshot share for the model, is below a bound: 60 % are right. A test that holds its level is below .05 in 5 %.
"""

from __future__ import annotations

import argparse
import math
from statistics import NormalDist

import numpy as np

from grounding_rewards.stats.intervals import mcnemar, sign_flip


def shares(images: int, low: int, high: int, trials: int, seed: int) -> tuple[float, float]:
    """Return the shares of both tests, of flips by screenshot and McNemar's."""
    rng, below = np.random.default_rng(seed), np.zeros(2)
    bound = NormalDist().inv_cdf(0.6)
    for _ in range(trials):
        clusters = np.repeat(np.arange(images), rng.integers(low, high + 1, images))
        shared, own = rng.standard_normal((2, images)), rng.standard_normal((2, len(clusters)))
        right = math.sqrt(0.5) * (shared[:, clusters] + own) < bound
        moved = right[1].astype(np.float64) - right[0]
        tests = sign_flip(moved, clusters), mcnemar(int((moved < 0).sum()), int((moved > 0).sum()))
        below += np.array(tests) < 0.05
    first, second = below / trials
    return float(first), float(second)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("screenshots  samples each  by screenshot  McNemar")
    for images in (10, 20, 50, 200):
        for low, high in ((1, 1), (3, 5), (1, 20)):
            found = shares(images, low, high, asked.trials, asked.seed)
            print(f"{images:11d}  {f'{low}-{high}':>12}  {100 * found[0]:11.1f} %  {100 * found[1]:5.1f} %", flush=True)
