"""Statistics to report on, made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grounding_rewards.pool.report.rounds import Round
from grounding_rewards.pool.report.samples import ShownSample
from tests.pool.made import counted

HOSTILE = "<script>alert('$x$')</script> \u65e5\u672c & \"q\"\n\x1b[31m"


def stats(n, correct, **columns):
    """Samples a, b, c, ... with so many rollouts, of which so many are right."""
    found = counted(correct, n, **columns)
    return replace(found, sample_id=np.array([chr(97 + place) for place in range(len(n))], dtype=object))


def rounds():
    """Two rounds of five samples: b is never solved, c gets solved, a always is."""
    shared = {"source": ["web", HOSTILE, "pdf", "web", None], "target_area": [0.2, 0.00005, 0.0005, 0.002, 0.002]}
    before = stats(
        [4] * 5, [4, 0, 0, 2, 1], lowest=[1.0, 0, 0, 0, 0], highest=[1.0, 0, 0.2, 1, 1], temperature=[1.1] * 5, **shared
    )  # fmt: skip
    after = stats([4] * 5, [4, 0, 1, 3, 1], temperature=[1.7] * 5, **shared)
    return [Round("round 1", before, (1.1,)), Round(HOSTILE, after, (1.7,))]


def shown(**changes):
    """A sample with two clicks beside its target."""
    box = np.array([[0.1, 0.1], [0.2, 0.1], [0.2, 0.3], [0.1, 0.3]])
    clicks = np.array([[0.8, 0.8], [0.81, 0.8]])
    found = ShownSample("b", 4, clicks, np.zeros(2, bool), (box,), (200.0, 100.0), "web", HOSTILE, ((HOSTILE, 2),))
    return replace(found, **changes)


def manifest(**changes):
    """Return the manifest of a pool of 15 samples out of 50."""
    steps = [
        {"name": "unscored", "removed": 2, "kept": 48},
        {"name": "all_correct", "removed": 6, "kept": 42},
        {"name": "zero_share", "removed": 27, "kept": 15},
    ]
    counts = {"samples": 50, "kept": 15, "zero": 3, "positive": 12, "dropped_all_correct": 6, "shortfall": 0}
    return {**counts, "seed": 7, "zero_share": 0.2, "zero_share_actual": 0.2, "steps": steps, **changes}
