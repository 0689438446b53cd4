"""GUI-G2: how likely the box's centre, and the box, are under a Gaussian of the target's place and size."""

from __future__ import annotations

from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import BOX_LIST
from grounding_rewards.parsing.readers import TURN
from grounding_rewards.parsing.texts import SPACE
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, bare_box, listed_boxes, numerals, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import Format, GaussianCoverage, GaussianPoint, Hit
from grounding_rewards.verifiers.options import Length

_PAPER = "GUI-G2: Gaussian Reward Modeling for GUI Grounding"
_TARGET = (100, 100, 300, 200)
_DIGITS = 3
_COMMA = f"{SPACE},{SPACE}"
_WHOLE_BOX = rf"^(?s:.*{TURN})?{SPACE}\[{SPACE}{_COMMA.join(['[0-9]+'] * 4)}{SPACE}\]{SPACE}$"


def gui_g2(*, alpha: float = 0.5, format_weight: Length = 1.0) -> Recipe:
    r"""GUI-G2's Gaussian rewards: answers ``[x1,y1,x2,y2]`` and targets in pixels of the original image.

    total = point + coverage + w · format. point = exp(-½ [(dx / σx)² + (dy / σy)²]), with (dx, dy) from the target's
    centre to that of the predicted box, and σ = alpha times the target's sides. coverage = the Bhattacharyya
    coefficient of such Gaussians about both boxes. Both are rounded to 3 decimals. format = 1 where the answer is four
    unsigned whole numbers in brackets and nothing else. The first list of four numbers after the last
    ``assistant\n`` counts.

    Args:
        alpha: σ as a share of a box's sides, above 0; the source uses 0.5.
        format_weight: w, the weight of format, from 0; the source trains with 1.

    Returns:
        A recipe with parts ``point``, ``coverage`` and ``format``, 0 <= total <= 2 + w; ``acc`` is the hit of the
        centre.

    Source: GUI-G2 5c5c365, ``src/gui_g2/src/open_r1/gaussian_grpo.py``.
    """
    point, coverage = (kind(alpha=alpha, digits=_DIGITS) for kind in (GaussianPoint, GaussianCoverage))
    return published(
        name="gui-g2",
        dialect=BOX_LIST,
        reward=weighted(point=(1.0, point), coverage=(1.0, coverage), format=(format_weight, Format(_WHOLE_BOX))),
        success=Hit(),
        space="pixel",
        accepts={BBOX},
        source=Source(_PAPER, "GUI-G2", "5c5c365", ("src/gui_g2/src/open_r1/gaussian_grpo.py",)),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(format_weight),
        formula=(
            "total = point + coverage + format_weight · format\n"
            "point = exp(-½ [(dx / σx)² + (dy / σy)²]), σ = alpha · (width, height) of the target\n"
            "coverage = Bhattacharyya coefficient of such Gaussians about both boxes"
        ),
        example=Example("[100,100,300,200]", _TARGET),
    )


def _exploits(weight: float) -> tuple[Exploit, ...]:
    giant = Example("[-899999999800,-899999999850,900000000200,900000000150]", _TARGET)
    screen = Example("[0,0,1920,1080]", (860, 490, 1060, 590))
    miss = Example("[0,0,9,9]", (1000, 700, 1100, 750))
    blind = Exploit("blind-format", "any four numbers earn the format weight", weight, miss)
    return (
        Exploit("giant-box", "the point asks for the centre of the box alone, so that its size is free", 1.0, giant),
        Exploit(
            "whole-screen", "the whole screen earns the point, and something for coverage, where the target is in "
            "the middle", 1.195 + weight, screen,
        ),
        Exploit(
            "inverted-box", "corners in the wrong order score like those in the right one", 2.0 + weight,
            Example("[300,200,100,100]", _TARGET),
        ),
        *((blind,) if weight else ()),
    )  # fmt: skip


def read_native(value: Any) -> dict[str, Any] | None:
    """``[x1, y1, x2, y2]``; numbers in strings are numbers, as the source reads them."""
    return bare_box(numerals(value))


NATIVE = listed_boxes("a bare list of 4 numbers x1 y1 x2 y2, in pixels of the original image", read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    **UNICODE_DIGITS,
    "spaces": "White space before and after the box is good format; the source scores 0 for a line feed at the end.",
    "huge-number": "Numbers beyond 1e12 are read as 1e12; from 155 digits on the source's coverage is not a number.",
    "thin-box": "Where the target has a side below 1 pixel, or the answer has one and the target less than 1600 square "
    "pixels, the coverage is the exact coefficient, and a target without extent is hit exactly at its centre; there "
    "the source's additions of 1e-8 to determinants count, and give 200 for boxes in unit space, infinity or 0 without "
    "a side.",
}
