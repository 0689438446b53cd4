"""TailRL: how likely the click is under a Gaussian about the target, or SE-GUI's point reward of the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from grounding_rewards.combine import weighted
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.parsing import LAST_PLACE
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Format, GaussianPoint, Hit, ScreenDistance
from grounding_rewards.verifiers.options import Length, Positive, Share

_TARGET = '{"bbox": [100, 100, 300, 200], "wh": [1400, 700]}'


def tailrl(
    *, form: Literal["gaussian", "segui"] = "gaussian", sigma_scale: Positive = 0.5, sigma_min: Length = 0.0,
    format_weight: Share | None = None,
) -> Recipe:  # fmt: skip
    """TailRL's rewards: the last pair of numbers in brackets, in pixels of the image the model saw; targets in 0-1000.

    ``"gaussian"``: total = (1 - w) · point + w · format, point = exp(-½ [(dx / σx)² + (dy / σy)²]), with (dx, dy) from
    the target's centre to the click, and σ the sides of the target, 1 at least, times ``sigma_scale``, and no less than
    ``sigma_min``. ``"segui"``: total = point + w · format, point = hit + nearness as in ``se-gui``. format = 1 where a
    pair is found. Four numbers in brackets are a box, whose centre counts, and go before pairs.

    Args:
        form: which of the source's two rewards.
        sigma_scale: σ as a share of the target's sides, above 0; the source uses 0.5.
        sigma_min: the smallest σ, in thousandths of the screen.
        format_weight: w, 0 to 1; None for the source's own, 0 and 0.5.

    Returns:
        A recipe with parts ``point`` and ``format``, and ``hit`` and ``nearness`` in ``"segui"``, total from 0 to 1, or
        to 2 + w; ``acc`` is the hit, borders included.

    Source: TailRL bd2e73a, ``experiments/gui_grounding/examples/reward_function/gui_grounding.py`` and
    ``segui_point.py``.
    """
    hit, gaussian = Hit(), form == "gaussian"
    weight = (0.0 if gaussian else 0.5) if format_weight is None else format_weight
    near = GaussianPoint(sigma_scale, least=max(sigma_scale, sigma_min))
    point = near if gaussian else weighted(hit=(1.0, hit), nearness=(1.0, ScreenDistance()))
    return published(
        name="tailrl",
        dialect=LAST_PLACE,
        reward=weighted(point=(1.0 - weight if gaussian else 1.0, point), format=(weight, Format())),
        success=hit,
        space="thousandths",
        response_space="model_pixel",
        accepts={BBOX},
        source=Source("TailRL", "TailRL", "bd2e73a", tuple([
            f"experiments/gui_grounding/examples/reward_function/{file}.py" for file in ("gui_grounding", "segui_point")
        ])),
        answers="last",
        resizing=Resizing("easyr1+qwen2_5_vl"),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(gaussian, weight),
        formula=(
            "total = (1 - w) · point + w · format, or point + w · format as in SE-GUI\n"
            "point = exp(-½ [(dx / σx)² + (dy / σy)²]), σ = sigma_scale · (width, height) of the target"
        ),
        example=Example("(280, 105)", _TARGET),
    )  # fmt: skip


def _exploits(gaussian: bool, weight: float) -> tuple[Exploit, ...]:
    prose = Example("f(0, 0) and [1e9, 5], g(999999, 999999)", _TARGET)
    blind = (Exploit("blind-format", "any two numbers in brackets earn the format weight", weight, prose),)
    if gaussian:
        return blind if weight else ()
    middle = Example("(700, 350)", '{"bbox": [450, 450, 490, 490], "wh": [1400, 700]}')
    anywhere = Exploit("anywhere", "the middle of the screen is near everything", 1.0 - (3 / 53) ** 2 + weight, middle)
    return (anywhere, *(blind if weight else ()))


def _read_native(value: Any) -> dict[str, Any] | None:
    """Read a box and the size of its image; without a size, points are in thousandths, too."""
    box, size = value, None
    if isinstance(value, Mapping):
        box, size = value.get("bbox", value.get("bbox_2d")), value.get("wh", value.get("size"))
        if box is None or not value.keys() <= {"bbox", "bbox_2d", "wh", "size"}:
            return None
    if not isinstance(box, list) or len(box) != 4:
        return None
    return {"bbox": box, "image_size": size} if size else {"bbox": box, "model_image_size": [1000, 1000]}


_NATIVE = NativeForm(
    '{"bbox": [x1, y1, x2, y2] in thousandths, "wh": [width, height] of the original image}; without wh, or as a bare '
    "list, answers are in thousandths", _read_native,
)  # fmt: skip

_DEVIATIONS = {
    **BAD_TARGET,
    "no-spread": "A sigma_scale of 0 is an error when the recipe is built; the source divides by it, and scores 0.",
    **UNICODE_DIGITS,
    "below-nothing": "A click farther from the centre than every corner of the image has nearness 0; up to a distance "
    "of 1 the source scores it below 0.",
}
