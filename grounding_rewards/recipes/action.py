"""Our own recipe: the right action, at the right place, with the right arguments, or a refusal where nothing fits."""

from __future__ import annotations

from dataclasses import replace

from grounding_rewards.combine import best, weighted
from grounding_rewards.errors import SpaceError
from grounding_rewards.plain import frozen
from grounding_rewards.recipes.common import click_example, dialect_named, share, shown_with
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL, Example, Exploit, Recipe, Source
from grounding_rewards.spaces import CoordSpace, as_space
from grounding_rewards.verifiers import ActionMatch, ActionType, Format, RefusalMatch
from grounding_rewards.verifiers.action_match import Scrolls
from grounding_rewards.verifiers.direction import Convention
from grounding_rewards.verifiers.text import TextRule


@shown_with(response_space="pixel")
def action(
    *,
    response_space: CoordSpace | str | None = None,
    format_weight: float = 0.1,
    type_weight: float = 0.0,
    point_radius: float | None = None,
    point_share: float | None = None,
    enlarge: float = 1.0,
    text: TextRule = "exact",
    text_threshold: float | None = None,
    text_case: bool = False,
    scroll: Scrolls = "all",
    response_scroll: Convention = "content",
    target_scroll: Convention = "content",
    duration_tolerance: float | None = 0.0,
    dialect: str = "auto_action",
) -> Recipe:
    """Match, type and format of any action: targets are places, actions, both, lists of them (any will do) or refusals.

    total = (1 - w) · ((1 - t) · match + t · type) + w · format. match = 1 where the type, the place and the arguments
    are those of one and the same alternative of the target, as far as it has them; for a refusal target where the
    response refuses or finishes as impossible. type = 1 where the type is that of any alternative, or the refusal is
    right. format = 1 where the response was parsed. Thinking before ``</think>`` is dropped, and several answers are
    none. Names are compared in the words of ``grounding_rewards.actions.ACTIONS``, so that ``tap``, ``left_click`` and
    a place alone are one, and a swipe is a scroll the other way.

    Args:
        response_space: the space that the model answers in. No default: a wrong guess scores 0 in silence.
        format_weight: w, 0 to 1.
        type_weight: t, 0 to 1: what of the rest the right type alone is paid.
        point_radius: reach in pixels around places and ends of drags that are only a point; without a reach such
            places are an error, and such ends must be met exactly.
        point_share: the same reach as a share of the screen, ||(dx / width, dy / height)||, such as the 0.14 that
            AndroidControl is judged by; in place of ``point_radius``. The size of the image must then be known.
        enlarge: boxes, circles and polygons count as so many times their size, such as UI-S1's 1.2.
        text: how texts are compared: exact, f1 (of their words), contains (either the other) or ratio (difflib's).
        text_threshold: the score of f1 or ratio from which on a text is right, such as 0.5; None for 1.0.
        text_case: whether case counts in exact and ratio.
        scroll: ``"all"`` asks of a scroll what its target has; ``"direction"`` for nothing but the direction.
        response_scroll: ``"content"`` where down in a response shows what is further down, ``"finger"`` where it is the
            way that the finger goes.
        target_scroll: the same of targets.
        duration_tolerance: how far a duration may be from the target's; None asks for none.
        dialect: how answers are written; the name of a built-in or a plugin's dialect that shares the vocabulary, or
            your own by ``module:attr`` or ``/path/file.py:attr``. ``"auto_action"`` reads many forms.

    Returns:
        A recipe with parts ``match``, ``kind``, ``refusal``, ``type`` (the larger of the two), ``outcome`` and
        ``format``, 0 <= total <= 1, working in pixels of the original image (with ``point_share`` in unit space);
        ``acc`` = match.

    Raises:
        SpaceError: ``response_space`` is missing or unknown.
        RecipeError: another option does not fit.
    """
    if response_space is None:
        raise SpaceError(f"action needs response_space, the space that the model answers in: {', '.join(CoordSpace)}")
    form, kind = share("format_weight", format_weight), share("type_weight", type_weight)
    match = ActionMatch(
        point_radius, point_share, enlarge, text, text_threshold, text_case, scroll, response_scroll, target_scroll,
        duration_tolerance,
    )  # fmt: skip
    types = best(kind=ActionType(), refusal=RefusalMatch())
    outcome = weighted(match=(1.0 - kind, match), type=(kind, types))
    space = as_space(response_space)
    # Bringing pixels into unit space asks for the sizes that a share of the screen needs.
    inside = CoordSpace.PIXEL if point_share is None else CoordSpace.UNIT
    example = _example(space, inside, dialect)
    return Recipe(
        name="action",
        dialect=dialect_named(dialect),
        reward=weighted(outcome=(1.0 - form, outcome), format=(form, Format())),
        success=match,
        space=inside,
        response_space=space,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset(
            {BBOX, POLYGON, CIRCLE, REFUSAL, ACTION} | (set() if point_radius is point_share is None else {POINT})
        ),
        source=Source("grounding-rewards"),
        exploits=_exploits(form, kind, text, example),
        formula=(
            "total = (1 - format_weight) · outcome + format_weight · format\n"
            "outcome = (1 - type_weight) · match + type_weight · type\n"
            "match = type, place and arguments of one alternative"
        ),
        example=example,
    )


def _example(response_space: CoordSpace, space: CoordSpace, dialect: str) -> Example | None:
    """A click as a tool call, which the general dialect reads."""
    example = click_example(response_space, space, "tool_call" if dialect == "auto_action" else dialect)
    return example and replace(example, target=frozen({"bbox": [100, 100, 300, 200], "action": "click"}))


def _exploits(form: float, kind: float, text: str, example: Example | None) -> tuple[Exploit, ...]:
    """What is paid without being right, for the options that pay it."""

    def asked(target: dict[str, object], response: str | None = None) -> Example | None:
        return example and replace(example, target=frozen(target), response=response or example.response)

    blind = Exploit("blind-format", "any parsed answer is paid the format weight", form, asked({"action": "wait"}))
    near = Exploit(
        "type-alone",
        "the right type of action is paid the type weight wherever it goes and whatever it says",
        form + (1.0 - form) * kind,
        asked({"bbox": [600, 100, 800, 200], "action": "click"}),
    )
    letter = Exploit(
        "single-letter",
        "a text of nothing or of one letter is contained in many, and counts in full",
        1.0,
        asked(
            {"action": {"name": "type", "text": "restaurants"}},
            '<tool_call>{"name": "computer_use", "arguments": {"action": "type", "text": "a"}}</tool_call>',
        ),
    )
    return tuple(each for each, paid in ((blind, form), (near, kind), (letter, text == "contains")) if paid)
