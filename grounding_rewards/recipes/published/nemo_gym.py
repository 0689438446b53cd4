"""NeMo Gym's GUI coordinate: nearness to a point on the screen, squared."""

from __future__ import annotations

from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import POINT_PAIR
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, published
from grounding_rewards.scoring import POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import NearPoint, PointDistance
from grounding_rewards.verifiers.options import Positive


def nemo_gym(*, max_dist: Positive = 0.15) -> Recipe:
    """NeMo Gym's ``gui_coordinate`` reward: ``<point>(x, y)</point>`` in thousandths, targets "x,y" in 0-1.

    total = (1 - d / D)² where d < D, else 0, with d = ||p - g|| in shares of the screen: 1 on the point, and half at
    0.29 · D. The first point in the text counts, in thinking too, as two whole numbers; brackets around it may follow.

    Args:
        max_dist: D, the distance from which on a click is worth nothing, above 0; the source uses 0.15.

    Returns:
        A recipe with the part ``nearness``, 0 <= total <= 1; ``acc`` is 1 where the click is worth anything.

    Source: NeMo Gym 07d6b0d, ``resources_servers/gui_coordinate``.
    """
    return published(
        name="nemo-gym",
        dialect=POINT_PAIR,
        reward=weighted(nearness=(1.0, PointDistance(max_dist))),
        success=NearPoint(share=max_dist, border="strict"),
        space="unit",
        response_space="thousandths",
        accepts={POINT},
        source=Source("NeMo Gym", "NeMo Gym", "07d6b0d", ("resources_servers/gui_coordinate",)),
        answers="first",
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("beside", "the size of the target plays no part: a click beside a small button scores",
                    (1.0 - 0.05 / max_dist) ** 2 if max_dist > 0.05 else 0.0,
                    Example("<point>(250, 300)</point>", "0.2,0.3")),
        ),
        formula="total = (1 - d / max_dist)² where d < max_dist, else 0\nd = ||p - g|| in shares of the screen",
        example=Example("<point>(200, 300)</point>", "0.2,0.3"),
    )  # fmt: skip


def _read_native(value: Any) -> dict[str, Any] | None:
    """``"x,y"`` in shares of the screen."""
    parts = value.split(",") if isinstance(value, str) else ()
    try:
        return {"point": [float(part) for part in parts]} if len(parts) == 2 else None
    except ValueError:
        return None


_NATIVE = NativeForm('a text "x,y" in shares of the screen', _read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    **UNICODE_DIGITS,
    "huge-number": "Numbers of any length are read; the source raises for some hundreds of digits.",
    "no-reach": "A max_dist of 0 is an error when the recipe is built; the source scores 0 for every click.",
}
