"""UI-Ins: 1 for a click inside the box, read from a list of two whole numbers."""

from __future__ import annotations

from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import INTEGER_LIST
from grounding_rewards.recipes._shared import published
from grounding_rewards.recipes.published.gta1 import SHARED
from grounding_rewards.recipes.published.gta1 import read_native as read_boxes
from grounding_rewards.scoring import BBOX, Example, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Hit

_PAPER = "UI-Ins: Enhancing GUI Grounding with Multi-Perspective Instruction-as-Reasoning"


def ui_ins() -> Recipe:
    """UI-Ins' click reward: answers ``[x,y]`` in pixels of the image the model saw, targets in thousandths.

    The source's own rows carry their sizes as ratios, so that ``target_space`` says nothing about them.

    total = hit: 1 where the one list of two whole numbers in the text lies in the box, whose edges are first cut to
    whole pixels. Several such lists, those in the reasoning included, are a miss. What stands around it is not judged.

    Returns:
        A recipe with the part ``hit``, total 0 or 1; ``acc`` is the hit.

    Source: UI-Ins 1953bbc, ``GRPO/grpo_scripts/reward_fn.py``.
    """
    hit = Hit(whole_edges=True)
    call = '<tool_call>\n{"name": "grounding", "arguments": {"action": "click", "coordinate": [384,162]}}\n</tool_call>'
    return published(
        name="ui-ins",
        dialect=INTEGER_LIST,
        reward=weighted(hit=(1.0, hit)),
        success=hit,
        space="model_pixel",
        target_space="thousandths",
        accepts={BBOX},
        source=Source(_PAPER, "UI-Ins", "1953bbc", ("GRPO/grpo_scripts/reward_fn.py",)),
        native=NATIVE,
        deviations=_DEVIATIONS,
        formula="total = hit",
        example=Example(f"<think>The blue button.</think>\n{call}", (100, 100, 300, 200, 1.08, 1.92)),
    )


def read_native(value: Any) -> dict[str, Any] | None:
    """``[x1, y1, x2, y2, height / 1000, width / 1000]``, or four boxes in place of the four numbers."""
    if not isinstance(value, list) or len(value) != 6:
        return None
    return read_boxes([value[:4], *value[4:]])


NATIVE = NativeForm(
    "[x1, y1, x2, y2, height / 1000, width / 1000] with a box in thousandths, its corners in order",
    read_native,
    lists_alone=True,
)

_DEVIATIONS = {
    **SHARED,
    "spaces": "White space around the numbers is read over; the source scores [200, 150] 0, as its own prompt has it.",
}
