"""UI-Venus: 1 for a box whose centre lies in the target, and a share for the right format."""

from __future__ import annotations

from grounding_rewards.combine import best, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing import LIST_BOX, LIST_POINT, LIST_POINT_OR_REFUSAL, Dialect
from grounding_rewards.parsing.texts import SPACE
from grounding_rewards.scoring import BBOX, CIRCLE, POLYGON, REFUSAL, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import CorrectRefusal, Format, Hit, Verifier
from grounding_rewards.verifiers.options import Share

_PAPER = "UI-Venus Technical Report: Building High-performance UI Agents with RFT"
SOURCE = Source(_PAPER, "UI-Venus", "c3a1442", ("models/grounding/ui_venus1_5_gd.py",))


def ui_venus(*, version: float = 1.0, format_weight: Share = 0.1) -> Recipe:
    """UI-Venus's grounding reward: boxes in pixels of the image the model saw (1.0), or points in thousandths (1.5).

    total = (1 - w) · outcome + w · format. 1.0: outcome = hit = 1 where the centre of the box answered lies in the
    target, borders included. 1.5: outcome = max(hit, refusal), refusal = 1 where the target is a refusal and the answer
    ``[-1,-1]``. format = 1 where the response is the list and nothing else, thinking before it aside.

    From the paper: R = w1 · format + w2 · 1[centre of the box in the target]. From the repository of 1.5: its answers
    and its refusal. There is no published reward code, so these are our choices: w1 = w and w2 = 1 - w (the paper does
    not tell the weights; only their ratio matters to GRPO); that 1.5 scores a correct refusal like a hit; several lists
    are no answer; targets are in pixels of the original image, and the borders count.

    Args:
        version: 1.0 or 1.5.
        format_weight: w, the weight of format, 0 to 1.

    Returns:
        A recipe with parts ``hit`` and ``format``, for 1.5 also ``refusal`` and ``outcome``, 0 <= total <= 1; ``acc``
        is the outcome.

    Source: UI-Venus c3a1442, ``models/grounding/ui_venus1_5_gd.py`` (prompt and parser; inference only).
    """
    pointed = _is_pointed(version)
    hit = Hit()
    outcome: Verifier = best(hit=hit, refusal=CorrectRefusal()) if pointed else hit
    dialect: Dialect = LIST_POINT_OR_REFUSAL if pointed else LIST_BOX
    form = Format(rf"^(?:(?s:.*)</think>)?{SPACE}{(LIST_POINT if pointed else LIST_BOX).pattern}{SPACE}$")
    return Recipe(
        name="ui-venus",
        dialect=dialect,
        reward=weighted(
            **{"outcome" if pointed else "hit": (1.0 - format_weight, outcome), "format": (format_weight, form)}
        ),
        success=outcome,
        space=CoordSpace.PIXEL,
        response_space=CoordSpace.THOUSANDTHS if pointed else CoordSpace.MODEL_PIXEL,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset({BBOX, POLYGON, CIRCLE} | ({REFUSAL} if pointed else set())),
        source=SOURCE,
        exploits=_exploits(format_weight, pointed),
        formula=(
            "total = (1 - w) · outcome + w · format\noutcome = max(hit, refusal)"
            if pointed
            else "total = (1 - w) · hit + w · format\nhit = 1[centre of the box in the target]"
        ),
        example=_example("[200,300]" if pointed else "[90,70,110,80]", pointed),
    )


def _is_pointed(version: float) -> bool:
    """Return whether the answers are points: those of 1.5 are, those of 1.0 are boxes."""
    if isinstance(version, bool) or version not in (1.0, 1.5):
        raise RecipeError(f"option version: got {version!r}; expected 1.0 or 1.5")
    return version == 1.5


def _example(response: str, pointed: bool) -> Example:
    return Example(response, (100, 100, 300, 200), (1000, 500), None if pointed else (500, 250))


def _exploits(weight: float, pointed: bool) -> tuple[Exploit, ...]:
    elsewhere = _example("[900,900]" if pointed else "[450,220,460,230]", pointed)
    blind = Exploit("blind-format", "any well-formed list earns the format weight", weight, elsewhere)
    huge = Exploit(
        "huge-box",
        "only the centre of a box counts, so that one far larger than the screen scores like an exact one",
        1.0,
        _example("[-9900,-9925,10100,10075]", pointed),
    )
    return ((blind,) if weight else ()) + (() if pointed else (huge,))
