"""Our own recipe: a click that counts, or a refusal where nothing fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grounding_rewards.combine import best, weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import answering_space, click_example, clicks_and, dialect_named, shown_with
from grounding_rewards.scoring import REFUSAL, Exploit, Recipe, Source
from grounding_rewards.verifiers import CorrectRefusal, Format, Hit
from grounding_rewards.verifiers.hit import PolygonRule
from grounding_rewards.verifiers.options import Length, Share


@shown_with(response_space="pixel")
def click(
    *,
    response_space: CoordSpace | str | None = None,
    format_weight: Share = 0.1,
    point_radius: Length | None = None,
    point_share: Length | None = None,
    dialect: str = "auto",
    refusal_words: str | Iterable[str] | None = None,
    actions: str | Iterable[str] = (),
    tools: str | Iterable[str] = (),
    polygon: PolygonRule = "inclusive",
    target_space: CoordSpace | str = CoordSpace.PIXEL,
) -> Recipe:
    """Hit and format, aware of refusals; ``grounding-rewards eval`` counts its ``acc``.

    total = (1 - w) · max(hit, refusal) + w · format. hit = 1 where the one place answered lies in the target, borders
    included; refusal = 1 where the target is a refusal and so is the response; format = 1 where the response was
    parsed. Thinking before ``</think>`` is dropped.

    Args:
        response_space: the space that the model answers in. No default: a wrong guess scores 0 in silence.
        format_weight: w, the weight of format, 0 to 1.
        point_radius: reach in pixels around targets that are only a point; without a reach such targets are an error.
        point_share: reach as a share of the screen, ||(dx / width, dy / height)||, as UI-S1's 0.04; in place
            of ``point_radius``. The size of the image must then be known.
        dialect: how answers are written; the name of a built-in or a plugin's dialect. ``"auto"`` reads any form,
            anywhere behind earlier turns, thoughts and calls of tools. Different answers are several, whatever their
            forms; ``answers`` counts them by where they stand. A click or a press is a click; a place of any other
            action is none. (-1, -1), (-100, -100) and a task that ends as impossible are refusals. Your own dialect
            goes by ``module:attr`` or ``/path/file.py:attr``.
        refusal_words: further phrases that are a refusal where they are the whole answer, such as ["not on this page"];
            "common" stands for those that models often use, such as "The element is not visible.".
        actions: further actions whose place counts as a click, such as ["mouse_move"] for models that answer so where
            they are asked for a place.
        tools: parts of the names of further tools that look and do not act: a call of one, such as a zoom, a crop or a
            search, is no answer. For ``"auto"`` alone.
        polygon: border rule of polygons: ``"inclusive"``, ``"strict"`` (the border is outside) or ``"half_open"`` (left
            and top edges in, right and bottom edges out, as OSWorld-G counts).
        target_space: the space of targets that name none. Where it and ``response_space`` are ``unit`` or
            ``thousandths``, no size of an image is needed, but for ``point_radius``.

    Returns:
        A recipe with parts ``hit``, ``refusal``, ``outcome`` (the larger of the two) and ``format``, 0 <= total <= 1,
        working in pixels of the original image (with ``point_share``, or where no size is needed, in unit space);
        ``acc`` = outcome.

    Raises:
        SpaceError: ``response_space`` is missing or unknown.
        RecipeError: another option does not fit.
    """
    space, targets = answering_space("click", response_space), as_space(target_space)
    hit = Hit(
        polygon, point_radius=point_radius, point_share=point_share, actions=clicks_and(actions), border="rounded"
    )
    outcome = best(hit=hit, refusal=CorrectRefusal())
    # Bringing pixels into unit space asks for the sizes that a share of the screen needs.
    shares = point_radius is None and None not in (space.extent, targets.extent)
    inside = CoordSpace.UNIT if shares or point_share is not None else CoordSpace.PIXEL
    example = click_example(space, inside, dialect)
    own = {} if targets is CoordSpace.PIXEL else {"space": str(CoordSpace.PIXEL)}
    example = example and replace(example, target=frozen({**example.target, **own}))
    elsewhere = example and replace(example, target=frozen({"bbox": [600, 100, 800, 200], **own}))
    blind = Exploit("blind-format", "any parsed answer earns the format weight", format_weight, elsewhere)
    return Recipe(
        name="click",
        trim=True,
        dialect=dialect_named(dialect, refusal_words, tools),
        reward=weighted(outcome=(1.0 - format_weight, outcome), format=(format_weight, Format())),
        success=outcome,
        space=inside,
        response_space=space,
        target_space=targets,
        accepts=hit.judges | {REFUSAL},
        source=Source("grounding-rewards"),
        exploits=(blind,) if format_weight else (),
        formula="total = (1 - format_weight) · outcome + format_weight · format\noutcome = max(hit, refusal)",
        example=example,
        follows_targets=inside is CoordSpace.PIXEL and point_radius is None,
    )
