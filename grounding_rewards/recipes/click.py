"""Our own recipe: a click that counts, or a refusal where nothing fits."""

from __future__ import annotations

from grounding_rewards.combine import best, weighted
from grounding_rewards.errors import SpaceError
from grounding_rewards.recipes.common import dialect_named, length, share
from grounding_rewards.scoring import BBOX, CIRCLE, POINT, POLYGON, REFUSAL, Exploit, Recipe, Source
from grounding_rewards.spaces import CoordSpace, as_space
from grounding_rewards.truth import CLICKS
from grounding_rewards.verifiers import CorrectRefusal, Format, Hit


def click(
    *,
    response_space: CoordSpace | str | None = None,
    format_weight: float = 0.1,
    point_radius: float | None = None,
    dialect: str = "auto",
) -> Recipe:
    """Hit and format, aware of refusals; ``grounding-rewards eval`` counts its ``acc``.

    total = (1 - w) · max(hit, refusal) + w · format. hit = 1 where the one place answered lies in the target, borders
    included; refusal = 1 where the target is a refusal and so is the response; format = 1 where the response was
    parsed. Thinking before ``</think>`` is dropped.

    Args:
        response_space: the space that the model answers in. No default: a wrong guess scores 0 in silence.
        format_weight: w, 0 to 1.
        point_radius: reach in pixels around targets that are only a point; without it such targets are an error.
        dialect: how answers are written; the name of a built-in or a plugin's dialect. ``"auto"`` tries refusal,
            tool_call, json_2d and bare_tuple in this order, and ``answers`` counts within the first that matches.

    Returns:
        A recipe with parts ``hit``, ``refusal``, ``outcome`` (the larger of the two) and ``format``, 0 <= total <= 1,
        working in pixels of the original image; ``acc`` = outcome.

    Raises:
        SpaceError: ``response_space`` is missing or unknown.
        RecipeError: another option does not fit.
    """
    if response_space is None:
        raise SpaceError(f"click needs response_space, the space that the model answers in: {', '.join(CoordSpace)}")
    weight = share("format_weight", format_weight)
    if point_radius is not None:
        point_radius = length("point_radius", point_radius)
    outcome = best(hit=Hit(point_radius=point_radius, actions=CLICKS), refusal=CorrectRefusal())
    blind = Exploit("blind-format", "any parsed answer is paid the format weight", weight)
    return Recipe(
        name="click",
        dialect=dialect_named(dialect),
        reward=weighted(outcome=(1.0 - weight, outcome), format=(weight, Format())),
        success=outcome,
        space=CoordSpace.PIXEL,
        response_space=as_space(response_space),
        target_space=CoordSpace.PIXEL,
        accepts=frozenset({BBOX, POLYGON, CIRCLE, REFUSAL} | ({POINT} if point_radius is not None else set())),
        source=Source("grounding-rewards"),
        exploits=(blind,) if weight else (),
    )
