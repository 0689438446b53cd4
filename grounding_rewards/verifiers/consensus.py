"""Consensus scores: the agreement of a rollout with its group, without any label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.groups import voting
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.verifiers.options import Count, Positive
from grounding_rewards.verifiers.terms import Term

NEEDS_GROUPS = frozenset({"groups"})
"""Compares the rollouts of one sample, and so needs the sample of each row."""


@dataclass(frozen=True)
class Consensus(Term):
    """(1 / (|R| · v_max)) · ∫_R v: the agreement on the region about this rollout, as a share of the largest there is.

    Each rollout votes for its region R: the square of side ``size`` about its point, or the box that it answered (the
    square about its centre where that box has no area). v(x, y) counts the regions of the group that hold (x, y),
    v_max is its largest value, and the integral is Σ |R_j ∩ R|, exact. Regions that merely touch share nothing. 0.0 to
    1.0; 0.0 for rows without a place in the image, which do not vote either. 1.0 where all that vote agree, so also
    for the only one of its group; one that no other overlaps is worth 1 / v_max.

    Args:
        size: the side of the square, in units of the recipe's space; above 0. The paper's is 50 pixels.

    Source: GUI-RCPO, from the paper.
    """

    size: Positive = voting.SIZE

    needs = NEEDS_GROUPS

    def __call__(self, rollouts: Rollouts) -> Floats:
        return voting.consensus_scores(_regions(rollouts, self.size), rollouts.groups)


@dataclass(frozen=True)
class InConsensus(Term):
    """1.0 where the point lies in the consensus of its group, else 0.0: where v = v_max, and v_max >= ``votes``.

    v and v_max are those of ``Consensus``, whose squares have the side ``size``. Where several places have equally many
    votes, each of them is the consensus. 0.0 for rows without a place in the image.

    Args:
        size: as in ``Consensus``.
        votes: how many rollouts must agree at least; a whole number from 1. Under 1, a rollout that stands alone is
            its own consensus.

    Source: GUI-RC, from the paper, which clicks there.
    """

    size: Positive = voting.SIZE
    votes: Count = 2

    needs = NEEDS_GROUPS

    def __call__(self, rollouts: Rollouts) -> Floats:
        regions = _regions(rollouts, self.size)
        here, most = voting.votes_at(rollouts.predictions.xy, regions, rollouts.groups)
        agreed: NDArray[np.bool_] = (here == most) & (most >= self.votes)
        return agreed.astype(np.float64)


def clicks(rollouts: Rollouts) -> Floats:
    """Return the points answered in the image: (n, 2), NaN in all other rows."""
    predictions = rollouts.predictions
    return np.where((predictions.reason == Reason.OK)[:, None], predictions.xy, np.nan)


def _regions(rollouts: Rollouts, size: float) -> Floats:
    return voting.voting_regions(clicks(rollouts), rollouts.predictions.box, size)
