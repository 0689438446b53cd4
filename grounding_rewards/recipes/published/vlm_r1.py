"""VLM-R1's referring expressions: overlap of the first box of whole numbers with the target's, and a format."""

from __future__ import annotations

import re
from typing import Any

from grounding_rewards.combine import steps, weighted
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import number, tag_span, tag_texts
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, bare_box, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import JudgedFormat, Overlap

_BOX = re.compile(r"\[([0-9]+),\s*([0-9]+),\s*([0-9]+),\s*([0-9]+)\]")
_JOINT = re.compile(r"</think>\s*<answer>")
_FILE = "src/open-r1-multimodal/src/open_r1/vlm_modules/qwen_module.py"
_TARGET, _SIZES = "<answer> [200, 150, 400, 350] </answer>", ((1000, 800), (500, 400))


def vlm_r1() -> Recipe:
    """VLM-R1's rewards of referring expressions: boxes in pixels of the image the model saw, targets in the original's.

    total = iou + format. iou = |P ∩ B| / |P ∪ B| in pixels of the original image, where a common area at most 1 pixel
    wide or high counts as none; P is the first ``[x1, y1, x2, y2]`` of unsigned whole numbers in the first answer tags,
    without blanks beside the brackets and before commas. format = 1 where thinking, answer tags, a brace, such a list
    and a brace follow one another somewhere.

    Returns:
        A recipe with parts ``iou`` and ``format``, 0 <= total <= 2; ``acc`` is 1 from an overlap of 0.5 on.

    Source: VLM-R1 90052f4, ``src/open-r1-multimodal/src/open_r1/vlm_modules/qwen_module.py``.
    """
    iou = Overlap(pixel_convention=True)
    blind = Example('<think>-</think><answer>{"bbox_2d": [0, 0, 9, 9]}</answer>', _TARGET, *_SIZES)
    return published(
        name="vlm-r1",
        dialect=_ANSWER,
        reward=weighted(iou=(1.0, iou), format=(1.0, JudgedFormat(_is_well_formed, ("<think>", "</answer>")))),
        success=steps("iou", iou, edges=[0.5], values=[0.0, 1.0]),
        space="pixel",
        response_space="model_pixel",
        accepts={BBOX},
        source=Source("VLM-R1", "VLM-R1", "90052f4", (_FILE,)),
        answers="first",
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(Exploit("blind-format", "any box in a brace scores, wherever it is", 1.0, blind),),
        formula="total = iou + format\niou = |P ∩ B| / |P ∪ B|, a common area up to 1 pixel wide or high left out",
        example=Example('<think>-</think><answer>{"bbox_2d": [100, 75, 200, 175]}</answer>', _TARGET, *_SIZES),
    )


def _read(text: str) -> list[list[float]] | None:
    span = tag_span(text, "answer")
    box = _BOX.search(text, *span) if span else None
    return [[number(edge) for edge in box.groups()]] if box else None


_ANSWER = Form("vlm_r1", read=_read, signs=("<answer>",))


def _is_well_formed(text: str) -> bool:
    """Thinking, answer tags, a brace, a list of four whole numbers and a brace, in this order."""
    opened = text.find("<think>")
    joint = _JOINT.search(text, opened) if opened >= 0 else None
    brace = text.find("{", joint.end()) if joint else -1
    box = _BOX.search(text, brace) if brace >= 0 else None
    close = text.find("}", box.end()) if box else -1
    return close >= 0 and text.find("</answer>", close) >= 0


def _read_native(value: Any) -> dict[str, Any] | None:
    """``<answer> [x1, y1, x2, y2] </answer>``, of which the last counts."""
    held = tag_texts(value, "answer") if isinstance(value, str) else []
    return bare_box(read_json(held[-1])) if held else None


_NATIVE = NativeForm("a text <answer> [x1, y1, x2, y2] </answer> in pixels of the original image", _read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    **UNICODE_DIGITS,
    "thin-target": "An exact answer to a target at most 1 pixel wide or high has an overlap of 1; the source scores 0.",
}
