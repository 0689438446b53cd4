"""The screen of each place: width and height in the space of the predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import extents
from grounding_rewards.errors import MISSING, TargetError
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import PerSample


def screens(
    rollouts: Rollouts, verifier: str, wanted: NDArray[np.bool_] | None = None, *, of: PerSample | None = None
) -> Floats:
    """Return width and height of each place's image, in the space of the predictions.

    Args:
        rollouts: n rollouts with m places.
        verifier: the name of the verifier that asks, for the error.
        wanted: (m,) the places that need it; None for all.
        of: another table of m rows than ``targets.regions``, such as the alternatives.

    Returns:
        (m, 2), or (1, 2) where the space fixes it; NaN for places whose target is not valid or that need none.

    Raises:
        TargetError: a size is unknown. A recipe in unit space never comes here: there the reader of targets asks for
            sizes, so that rows without one abstain where that is wanted.
    """
    space, regions = rollouts.predictions.space, rollouts.targets.regions if of is None else of
    if space.extent is not None:
        return np.full((1, 2), space.extent)
    sizes = regions.each(extents(space, rollouts.image_sizes, rollouts.model_image_sizes))
    unknown = np.isnan(sizes[:, 0] + sizes[:, 1])
    if unknown.any():
        lacking = unknown & rollouts.targets.valid[regions.row] & (True if wanted is None else wanted)
        if lacking.any():
            sample = rollouts.targets.sample(int(regions.row[np.argmax(lacking)]))
            expected = f"[width, height], because {verifier} measures in shares of the screen"
            raise TargetError(sample, str(space.size_field), MISSING, expected)
    return sizes
