"""SE-GUI: a hit, and a reward that falls off over the whole screen."""

from __future__ import annotations

import re
from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import FIRST_CALL
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Hit, JudgedFormat, ScreenDistance
from grounding_rewards.verifiers.options import Length

_TARGET = (100, 100, 300, 200, 1000, 800)
_CALL = '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "{}", "coordinate": {}}}}}\n</tool_call>'
_PAIR = re.compile(r"\[\d+,\s*\d+\]")


def se_gui(*, format_weight: Length = 0.5) -> Recipe:
    """SE-GUI's rewards: the first tool call's coordinate, in pixels of the image the model saw, as are the targets.

    total = point + w · format, point = hit + nearness. hit = 1 in the box, borders included. nearness = 1 - (d / dmax)²
    where d <= 1, with d the distance to the box's centre in unit space and dmax that from the centre to the farthest
    corner of the image. format = 1 where a call holds two whole numbers as ``[x, y]``.

    Args:
        format_weight: w, the weight of format, from 0; the source trains with 0.5.

    Returns:
        A recipe with parts ``hit``, ``nearness``, ``point`` and ``format``, 0 <= total <= 2 + w; ``acc`` is the hit.

    Source: SE-GUI 0e26237, ``open_r1/vlm_modules/qwen_module.py``; weights from ``trainer/qwen_grpo_trainer.py``.
    """
    hit = Hit()
    point = weighted(hit=(1.0, hit), nearness=(1.0, ScreenDistance()))
    well_formed = JudgedFormat(is_well_formed, ("</tool_call>", "]"))
    return published(
        name="se-gui",
        dialect=FIRST_CALL,
        reward=weighted(point=(1.0, point), format=(format_weight, well_formed)),
        success=hit,
        space="unit",  # nearness is measured in shares of the screen
        response_space="model_pixel",
        target_space="model_pixel",
        accepts={BBOX},
        source=Source(
            "SE-GUI: Enhancing Visual Grounding for GUI Agents via Self-Evolutionary Reinforcement Learning",
            "SE-GUI",
            "0e26237",
            ("open_r1/vlm_modules/qwen_module.py", "trainer/qwen_grpo_trainer.py"),
        ),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(format_weight),
        formula=(
            "total = hit + nearness + format_weight · format\n"
            "nearness = 1 - (d / dmax)², 0 where d > 1\n"
            "d = ||p - c|| in unit space, dmax = distance from c to the farthest corner of the image"
        ),
        example=Example(_CALL.format("left_click", [200, 150]), _TARGET),
    )


def _exploits(weight: float) -> tuple[Exploit, ...]:
    middle = Example(_CALL.format("left_click", [512, 512]), (206, 231, 306, 281, 1024, 1024))
    wrong = Example(_CALL.format("terminate", [200, 150]), _TARGET)
    blind = Example("<tool_call>{[0, 0]}</tool_call>", _TARGET)
    known = (
        Exploit(
            "anywhere",
            "the middle of the screen is near everything; uniformly random clicks have a mean point of 0.74",
            1.0 - 0.125 / 1.125 + weight,  # d² = 2 · 0.25², dmax² = 2 · 0.75²
            middle,
        ),
        Exploit("any-action", "the action is not looked at: terminate at the right place", 2.0 + weight, wrong),
    )
    some = Exploit("blind-format", "any two whole numbers in a call earn the format weight", weight, blind)
    return (*known, some) if weight else known


def is_well_formed(text: str) -> bool:
    """After ``<tool_call>`` follow somewhere, in this order, {, whole numbers as ``[x, y]``, } and ``</tool_call>``."""
    call = text.find("<tool_call>")
    brace = text.find("{", call) if call >= 0 else -1
    pair = _PAIR.search(text, brace) if brace >= 0 else None
    close = text.find("}", pair.end()) if pair else -1
    return close >= 0 and text.find("</tool_call>", close) >= 0


def read_native(value: Any) -> dict[str, Any] | None:
    """``[x1, y1, x2, y2, width, height]`` in pixels of the image the model saw, whose size comes with it."""
    if not isinstance(value, list) or len(value) != 6:
        return None
    return {"bbox": value[:4], "model_image_size": value[4:]}


NATIVE = NativeForm(
    "[x1, y1, x2, y2, width, height] in pixels of the image the model saw", read_native, lists_alone=True
)

_DEVIATIONS = {
    **BAD_TARGET,
    "booleans": "true and false are not coordinates; the source reads them as 1 and 0.",
    "below-nothing": "A click farther from the centre than every corner of the image has nearness 0; up to d = 1 the "
    "source scores it below 0, down to -1: less than no answer, and less than a click still farther away.",
}
