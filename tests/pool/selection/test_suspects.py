"""Never-solved samples that are set aside, number by number."""

import numpy as np

from grounding_rewards.pool import SampleStats, sample_stats
from grounding_rewards.pool.selection import suspects


def seen(*rows):
    """Samples of (n, num_correct, clicks, dispersion, target_diagonal)."""
    n, right, clicks, dispersion, diagonal = map(np.array, zip(*rows, strict=True))
    names = np.array([str(row) for row in range(len(rows))], dtype=object)
    return SampleStats(names, n, right, clicks=clicks, dispersion=dispersion, target_diagonal=diagonal)


def test_never_solved_and_the_clicks_agree():
    stats = seen(
        (8, 0, 8, 0.02, 0.04),  # at both limits
        (8, 0, 8, 0.0201, 0.5),  # too wide for any screen
        (8, 0, 8, 0.011, 0.02),  # wider than half of its small target
        (8, 0, 8, 0.02, np.nan),  # a target whose size nobody knows
        (8, 0, 8, np.nan, 0.5),  # no dispersion is known
        (8, 1, 8, 0.0, 0.5),  # solved once
        (3, 0, 8, 0.0, 0.5),  # hardly scored
        (8, 0, 3, 0.0, 0.5),  # hardly a click
        (4, 0, 4, 0.0, 0.5),
        (0, 0, 8, 0.0, 0.5),  # never scored
    )
    assert np.flatnonzero(suspects(stats)).tolist() == [0, 3, 8]


def test_rows_without_clicks_are_no_suspects():
    assert suspects(sample_stats(["a"] * 8, [0] * 8)).tolist() == [False]
    assert suspects(sample_stats([], [])).tolist() == []
