"""Suspects: samples with a label that is more likely wrong than the model, never solved with clicks in agreement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.pool.stats import SampleStats

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
