"""Gelato: distance to the centre inside the target, nothing outside."""

from __future__ import annotations

from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import BARE_TUPLE_WHOLE
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, listed_boxes, numerals, published
from grounding_rewards.scoring import BBOX, POLYGON, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import Format, InsideDistance
from grounding_rewards.verifiers.options import Share

_PAPER = "Gelato: Click-100k and Gelato-30B-A3B"


def gelato(*, format_weight: Share = 0.0) -> Recipe:
    """Gelato-30B's reward: answers ``(x, y)`` in thousandths, targets in unit space.

    total = (1 - w) · distance + w · format, with distance = 1 - ||p - c|| / diagonal inside the target, else 0, and
    format = 1 where the whole response is one integer tuple. A hit is worth 0.5 (corner) to 1 (centre).

    Args:
        format_weight: w, the weight of format, 0 to 1; the source's configs use 0.

    Returns:
        A recipe with parts ``distance`` and ``format``, 0 <= total <= 1; ``acc`` is the hit.

    Source: Gelato 1f83dad, ``training_configs/rewards/norm_gui_reward.py``.
    """
    return _recipe("gelato", "norm_gui_reward.py", CoordSpace.UNIT, CoordSpace.THOUSANDTHS, format_weight, _DEVIATIONS)


def gelato_pixel(*, format_weight: Share = 0.0) -> Recipe:
    """Gelato's reward for UI-TARS-1.5: as ``gelato``, but answers and targets in pixels of the image the model saw.

    Args:
        format_weight: w, the weight of format, 0 to 1; the source's configs use 0.

    Returns:
        A recipe with parts ``distance`` and ``format``, 0 <= total <= 1; ``acc`` is the hit.

    Source: Gelato 1f83dad, ``training_configs/rewards/gui_reward.py``.
    """
    space = CoordSpace.MODEL_PIXEL
    return _recipe("gelato-pixel", "gui_reward.py", space, space, format_weight, _PIXEL_DEVIATIONS)


def _recipe(
    name: str, file: str, space: CoordSpace, response_space: CoordSpace, weight: float, why: dict[str, str]
) -> Recipe:
    miss = Example("(900, 900)", _TARGET[space])
    blind = Exploit("blind-format", "any well-formed tuple earns the format weight", weight, miss)
    distance = InsideDistance(polygon="half_open")  # above 0 for every hit, which is how the source counts success
    return published(
        name=name,
        dialect=BARE_TUPLE_WHOLE,
        reward=weighted(distance=(1.0 - weight, distance), format=(weight, Format())),
        success=distance,
        space=space,
        response_space=response_space,
        accepts={BBOX, POLYGON},
        source=Source(_PAPER, "Gelato", "1f83dad", (f"training_configs/rewards/{file}",)),
        native=_NATIVE[space],
        deviations=why,
        exploits=(blind,) if weight else (),
        formula=(
            "total = (1 - format_weight) · distance + format_weight · format\n"
            "distance = 1 - ||p - c|| / diagonal inside, 0 outside"
        ),
        example=Example("(200, 150)", _TARGET[space]),
    )


def read_bare_list(value: Any) -> dict[str, Any] | None:
    """4 numbers are a box, 6 or more (an even count) a polygon."""
    if not isinstance(value, list) or len(value) < 4 or len(value) % 2:
        return None
    return {"bbox": value} if len(value) == 4 else {"polygon": value}


def read_numerals(value: Any) -> dict[str, Any] | None:
    """The same, with numbers in strings read as numbers, as the source's unit-space reward does."""
    return read_bare_list(numerals(value))


_TARGET = {CoordSpace.UNIT: (0.1, 0.1, 0.3, 0.2), CoordSpace.MODEL_PIXEL: (100, 100, 300, 200)}
_ROWS = "a bare list, 4 numbers x1 y1 x2 y2 or a polygon's x1 y1 x2 y2 x3 y3 ..."
_NATIVE = {
    CoordSpace.UNIT: listed_boxes(_ROWS, read_numerals),
    CoordSpace.MODEL_PIXEL: listed_boxes(_ROWS, read_bare_list),
}


_PIXEL_DEVIATIONS = {
    "not-text": "A response that is neither a string nor None is a TypeError; the source reads str(response), or "
    "scores 0.",
    **BAD_TARGET,
    **UNICODE_DIGITS,
    "spaces": "White space around the tuple, after ( and before a comma or ) is read over; the source scores such "
    "answers 0.",
    "huge-number": "Numbers of 300 and more digits are a miss far outside the image; the source raises OverflowError "
    "or ValueError.",
    "no-extent": "An exact hit on a box without extent scores 1; the source scores 0, or raises ZeroDivisionError.",
}
_DEVIATIONS = {name: why for name, why in _PIXEL_DEVIATIONS.items() if name != "spaces"}
