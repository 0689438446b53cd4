"""Samples that a report shows one by one: the never-solved, and the responses to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.stats import SampleStats

COMMONEST = 3
"""Number of different responses to quote."""

LONGEST = 300
"""Number of characters of a response or instruction to quote."""


@dataclass(frozen=True, eq=False)
class ShownSample:
    """Sample with the responses to it.

    Attributes:
        sample_id: its name.
        n: number of scored rollouts.
        clicks: (k, 2) points of the answers, in shares of the image.
        right: (k,) True for right ones.
        outlines: each place of its target as corners (j, 2) in shares of the image; a single corner is a point.
        image_size: width and height of the image in pixels; None where unknown.
        source: its source.
        instruction: its instruction.
        responses: the commonest responses, with the numbers of their rollouts.
        unscored: number of unscored rollouts.
        image: (h, w) the screenshot in shades of grey, 0 to 255; None without one.
    """

    sample_id: str
    n: int
    clicks: Floats
    right: NDArray[np.bool_]
    outlines: tuple[Floats, ...] = ()
    image_size: tuple[float, float] | None = None
    source: str | None = None
    instruction: str | None = None
    responses: tuple[tuple[str, int], ...] = ()
    image: NDArray[np.uint8] | None = None
    unscored: int = 0

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Mark the clicks on the screen, (k,)."""
        return np.asarray(((self.clicks >= 0) & (self.clicks <= 1)).all(axis=1))

    @property
    def drawable(self) -> bool:
        """True where there is anything to draw."""
        return bool(self.outlines) or bool(self.inside.any()) or self.image is not None

    def to_json(self) -> Numbers:
        """Return plain values."""
        return {
            "sample_id": self.sample_id,
            "n": self.n,
            "unscored": self.unscored,
            "source": self.source,
            "instruction": self.instruction,
            "image_size": None if self.image_size is None else list(self.image_size),
            "screenshot": self.image is not None,
            "clicks_unit": np.round(self.clicks, 6).tolist(),
            "targets_unit": [np.round(corners, 6).tolist() for corners in self.outlines],
            "responses": [{"response": text, "rollouts": count} for text, count in self.responses],
        }


def first_of(stats: SampleStats, chosen: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return the first rows of some samples: those with most rollouts first, then those with the smallest targets.

    Args:
        stats: the samples.
        chosen: (m,) the samples to choose from.
        most: the most rows.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a", "b", "b", "c"], [0, 0, 0, 1])
    >>> first_of(stats, stats.none_correct, 5).tolist()
    [1, 0]
    """
    areas = np.where(np.isnan(stats.target_area), np.inf, stats.target_area)
    rows = np.flatnonzero(chosen).tolist()
    order = sorted(rows, key=lambda row: (-stats.n[row], areas[row], str(stats.sample_id[row])))
    return np.array(order[:most], dtype=np.int64)


def commonest(responses: Sequence[str | None]) -> tuple[tuple[str, int], ...]:
    """Return the commonest responses with their counts; equal ones in alphabetical order.

    >>> commonest(["(1, 2)", None, "(3, 4)", "(3, 4)"])
    (('(3, 4)', 2), ('(1, 2)', 1))
    """
    counts = Counter(shortened(text) for text in responses if text is not None)
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:COMMONEST])


def shortened(text: str, most: int = LONGEST) -> str:
    """Shorten a text by cutting out its middle.

    >>> shortened("abcdefghij", 5)
    'ab…ij'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[len(text) - half :]}"
