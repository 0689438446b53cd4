"""GTA1: 1 for a click inside any of the boxes."""

from __future__ import annotations

from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.parsing import BARE_TUPLE
from grounding_rewards.parsing.texts import SPACE
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Format, Hit
from grounding_rewards.verifiers.options import Share

_TARGET = ((100, 100, 300, 200), 1.08, 1.92)
_THINK_ANSWER = (
    rf"^{SPACE}<think>(?s:.*?)</think>{SPACE}<answer>\({SPACE}[0-9]+{SPACE},{SPACE}[0-9]+{SPACE}\)</answer>{SPACE}$"
)


def gta1(*, format_weight: Share = 0.0) -> Recipe:
    """GTA1's click reward: answers ``(x, y)`` in pixels of the image the model saw, targets in thousandths.

    The source's own rows carry their sizes as ratios, so that ``target_space`` says nothing about them.

    total = (1 - w) · hit + w · format. hit = 1 where the one tuple in the text lies in any of the boxes, whose edges
    are first cut to whole pixels; several tuples are a miss. format = 1 where the response is
    ``<think>...</think><answer>(x,y)</answer>`` with integers; GTA1 defines it and trains without it.

    Args:
        format_weight: w, the weight of format, 0 to 1; the source trains with 0.

    Returns:
        A recipe with parts ``hit`` and ``format``, 0 <= total <= 1; ``acc`` is the hit.

    Source: GTA1 81f0c4c, ``src/grpo_grounding.py``.
    """
    hit = Hit(whole_edges=True)
    tagged = Example("<think>-</think><answer>(900,900)</answer>", _TARGET)
    blind = Exploit("blind-format", "the tags around any integer tuple earn the format weight", format_weight, tagged)
    return published(
        name="gta1",
        dialect=BARE_TUPLE,
        reward=weighted(hit=(1.0 - format_weight, hit), format=(format_weight, Format(_THINK_ANSWER))),
        success=hit,
        space=CoordSpace.MODEL_PIXEL,
        target_space=CoordSpace.THOUSANDTHS,
        accepts={BBOX},
        source=Source("GTA1: GUI Test-time Scaling Agent", "GTA1", "81f0c4c", ("src/grpo_grounding.py",)),
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=(blind,) if format_weight else (),
        formula="total = (1 - format_weight) · hit + format_weight · format",
        example=Example("(384,162)", _TARGET),
    )


def read_native(value: Any) -> dict[str, Any] | None:
    """``[box or list of boxes in thousandths, height / 1000, width / 1000]``, in pixels of the image the model saw."""
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], list):
        return None
    boxes, height, width = value
    if not all(type(ratio) in (int, float) and 0 < ratio < COORDINATE_LIMIT for ratio in (height, width)):
        return None
    boxes = boxes if boxes and all(isinstance(box, list) for box in boxes) else [boxes]
    if not all(_is_box(box) for box in boxes):
        return None
    regions = [{"bbox": [edge * ratio for edge, ratio in zip(box, (width, height) * 2, strict=True)]} for box in boxes]
    return {"regions": regions, "space": CoordSpace.MODEL_PIXEL.value}


def _is_box(box: list[Any]) -> bool:
    numbers = len(box) == 4 and all(type(edge) in (int, float) and abs(edge) < COORDINATE_LIMIT for edge in box)
    return numbers and box[0] <= box[2] and box[1] <= box[3]


NATIVE = NativeForm(
    "[box or list of boxes in thousandths, height / 1000, width / 1000], a box being x1 y1 x2 y2 in order",
    read_native,
    lists_alone=True,
)


SHARED = {
    **BAD_TARGET,
    **UNICODE_DIGITS,
    "several-answers": "Several answers are a miss; the source reads them as (-1, -1), a hit where a box holds it.",
}
_DEVIATIONS = {
    **SHARED,
    "spaces": "White space after ( and before a comma or ), and a decimal point without decimals, are read; the source "
    "scores 0.",
    "decimals": "Decimals are numbers; the source's pattern admits them, then int() raises and the answer scores 0.",
}
