"""The reward that we train with."""

from __future__ import annotations

from grounding_rewards import CoordSpace, Recipe, RecipeError, weighted
from grounding_rewards.scoring import BBOX, Example, Source
from grounding_rewards.verifiers import Hit
from grounding_rewards_touch.dialects import TAP_TAG
from grounding_rewards_touch.verifiers import EdgeMargin


def tap(*, margin: float = 8.0, margin_weight: float = 0.2) -> Recipe:
    """A hit, and a margin around the finger.

    total = (1 - margin_weight) · hit + margin_weight · margin.

    Args:
        margin: half a finger's width in pixels of the original image.
        margin_weight: 0 to 1.

    Returns:
        A recipe with parts ``hit`` and ``margin``, 0 <= total <= 1; ``acc`` is the hit.

    Raises:
        RecipeError: an option does not fit.
    """
    if not 0 <= margin_weight <= 1:
        raise RecipeError(f"option margin_weight: got {margin_weight!r}; expected a number from 0 to 1")
    hit = Hit()
    return Recipe(
        name="tap",
        dialect=TAP_TAG,
        reward=weighted(hit=(1.0 - margin_weight, hit), margin=(margin_weight, EdgeMargin(margin))),
        success=hit,
        space=CoordSpace.PIXEL,
        response_space=CoordSpace.PIXEL,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset({BBOX}),
        source=Source("grounding-rewards-touch"),
        formula="total = (1 - margin_weight) · hit + margin_weight · margin",
        example=Example("<tap>200, 150</tap>", {"bbox": [100, 100, 300, 200]}),
    )
