"""UI-RFT: 1 for a click inside the box, read from one JSON object."""

from __future__ import annotations

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import JSON_POINT
from grounding_rewards.recipes._shared import BAD_TARGET, listed_boxes, published
from grounding_rewards.scoring import BBOX, Example, Recipe, Source
from grounding_rewards.verifiers import Hit


def ui_rft() -> Recipe:
    """UI-RFT's click reward: ``{"point_2d": [x, y]}`` in pixels of the image the model saw, as are the targets.

    total = hit: 1 where the response is one object in strict JSON, in a ```json fence or not, whose point lies in the
    box, borders included. Prose around it, thinking included, and a second object make it no answer.

    Returns:
        A recipe with the part ``hit``, total 0 or 1; ``acc`` is the hit.

    Source: UI-RFT d96b005, ``verl/utils/reward_score/ui100.py``.
    """
    hit = Hit()
    return published(
        name="ui-rft",
        dialect=JSON_POINT,
        reward=weighted(hit=(1.0, hit)),
        success=hit,
        space="model_pixel",
        accepts={BBOX},
        source=Source("UI-RFT", "UI-RFT", "d96b005", ("verl/utils/reward_score/ui100.py",)),
        native=NATIVE,
        deviations=_DEVIATIONS,
        formula="total = hit",
        example=Example('```json\n{"point_2d": [200, 150], "label": "save"}\n```', (100, 100, 300, 200)),
    )


NATIVE = listed_boxes("a bare list x1 y1 x2 y2 in pixels of the image the model saw")

_DEVIATIONS = {
    **BAD_TARGET,
    "no-numbers": 'Coordinates that are not numbers, such as ["200", "150"], make no answer; the source raises '
    "TypeError.",
}
