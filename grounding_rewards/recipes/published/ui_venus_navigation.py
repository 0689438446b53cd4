"""UI-Venus's navigation reward: the type of the action, its coordinates in steps, and its text."""

from __future__ import annotations

from collections.abc import Mapping

from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing import UI_VENUS
from grounding_rewards.parsing.published import BARE, FUNCTIONS, VENUS_CLOSE, VENUS_OPEN, read_call
from grounding_rewards.parsing.texts import NUMBER, SPACE
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.recipes._shared import bare_box
from grounding_rewards.recipes.published._ui_venus_terms import NavigationContent, NavigationCoord, NavigationMatch
from grounding_rewards.recipes.published.ui_venus import SOURCE
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, Example, Exploit, Recipe
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import ActionType, JudgedFormat
from grounding_rewards.verifiers.options import Length, Part, Share


def ui_venus_navigation(
    *,
    format_weight: Share = 0.1,
    coord_weight: Length = 1.0,
    scroll_weight: Length = 1.0,
    content_weight: Length = 1.0,
    near: Share = 0.04,
    far: Share = 0.14,
    least_f1: Part = 0.5,
) -> Recipe:
    """UI-Venus's reward of navigation steps: format, type, coordinates and content of one call.

    total = w · format + (1 - w) · (type + coord + content). coord of clicks and long presses = α where d < near, α/2
    where d < far, else 0. coord of scrolls and drags = 1.5 β where both ends and the direction are right, β for the
    start and the direction, β/2 for either. content = γ where the F1 of the words is at least ``least_f1``. format = 1
    for thinking, one call of the action space in action tags and, if at all, a conclusion, and nothing else.

    From the paper: the terms, their steps, and 0.5 for F1. There is no published reward code, and the paper does not
    tell the constants, so these are our choices: w1 = w and w2 = 1 - w, α = β = γ = 1, d as a share of the screen,
    ||(dx / width, dy / height)||, with 0.04 and 0.14, the tolerances of UI-S1 and AndroidControl; that coord and
    content are 0 unless the type is right; that d is taken from the marked point or the centre and is 0 inside a box
    or another place with an extent; that an end is right where d < far; that the direction of a drag, or of a scroll
    that names none, is that from end to end, and of a diagonal either of its two; that an end or a direction that the
    target does not name is right where the others are; that the app of ``Launch`` is content; and that several calls
    are no answer.

    Args:
        format_weight: w, the weight of format, 0 to 1.
        coord_weight: α, the weight of coordinates of clicks, from 0.
        scroll_weight: β, the weight of places and direction of scrolls and drags, from 0.
        content_weight: γ, the weight of texts, from 0.
        near: the distance below which coordinates are right, as a share of the screen.
        far: the distance below which coordinates are half right, and ends of a scroll right.
        least_f1: the F1 from which on a text is right, above 0 to 1.

    Returns:
        A recipe with parts ``format``, ``type``, ``coord`` and ``content``, from 0 to
        w + (1 - w) · (1 + max(α, 1.5 β) + γ); ``acc`` is 1 where all terms of one alternative are as high as they can
        be. Answers are in pixels of the image the model saw, targets in pixels of the original.

    Raises:
        RecipeError: an option does not fit.

    Source: the paper, and the action space of its prompts; the repository, UI-Venus c3a1442, holds inference only.
    """
    if near > far:
        raise RecipeError(f"option near: got {near}; expected at most far, {far}")
    content = NavigationContent(content_weight, least_f1)
    coord = NavigationCoord(coord_weight, scroll_weight, near, far)
    rest = 1.0 - format_weight
    form = JudgedFormat(is_formed, (VENUS_OPEN, VENUS_CLOSE, "</think>"), _USUAL)
    return Recipe(
        name="ui-venus-navigation",
        dialect=UI_VENUS,
        reward=weighted(
            format=(format_weight, form), type=(rest, ActionType()), coord=(rest, coord), content=(rest, content)
        ),
        success=NavigationMatch(near, far, content.least_f1),
        space=CoordSpace.UNIT,  # near and far are shares of the screen
        response_space=CoordSpace.MODEL_PIXEL,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset({BBOX, POLYGON, CIRCLE, POINT, ACTION}),
        source=SOURCE,
        native=NATIVE,
        exploits=_exploits(format_weight, coord),
        formula=(
            "total = w · format + (1 - w) · (type + coord + content)\n"
            "coord = α if d < near, α/2 if d < far; scrolls: 1.5 β ends and direction, β start, β/2 either\n"
            "content = γ if token F1 >= 0.5"
        ),
        example=_example("Click(box=(100, 75))", _CLICK),
    )


NATIVE = NativeForm(
    "a bare list, 4 numbers x1 y1 x2 y2, in pixels of the original image; the source publishes no rows",
    bare_box,
    lists_alone=True,
    bare_box=True,
)


_PAIR = rf"\({NUMBER}, ?{NUMBER}\)"
_CALLS = (
    rf"(?:Click|LongPress)\(box={_PAIR}\)|(?:{'|'.join(BARE)})\(\)|Scroll\(start={_PAIR}, end={_PAIR}, "
    rf"direction='[a-z]+'\)|Drag\(start={_PAIR}, end={_PAIR}\)|Launch\(app='[^'\"\\<]*'\)|"
    r"(?:Type|Finished|CallUser)\(content='[^'\"\\<]*'\)"
)
_USUAL = rf"^<think>[^<]*</think>{SPACE}<action>(?:{_CALLS})</action>{SPACE}(?:<conclusion>[^<]*</conclusion>{SPACE})?$"


def is_formed(text: str) -> bool:
    """Thinking, one call of the action space in action tags and, if at all, a conclusion, and nothing else.

    >>> is_formed("<think>up</think><action>PressBack()</action>"), is_formed("<action>PressBack()</action>")
    (True, False)
    """
    thought, _, answer = text.partition("</think>")
    call, closed, rest = answer.lstrip().removeprefix(VENUS_OPEN).partition(VENUS_CLOSE)
    if not (closed and thought.lstrip().startswith("<think>") and answer.lstrip().startswith(VENUS_OPEN)):
        return False
    act, rest = read_call(call), rest.strip()
    ends = not rest or (rest.startswith("<conclusion>") and rest.endswith("</conclusion>"))
    return (
        act is not None and act.name in FUNCTIONS and ends and not any(tag in rest for tag in (VENUS_OPEN, "</think>"))
    )


_CLICK = {"bbox": [100, 100, 300, 200], "action": "click"}
_TEXT = {"action": {"name": "type", "text": "red hat"}}
_SCROLL = {"point": [1000, 500], "action": {"name": "scroll", "direction": "down", "to": [1000, 400]}}


def _example(call: str, target: Mapping[str, object]) -> Example:
    response = f"<think>It is at the top.</think>\n<action>{call}</action>\n<conclusion>I went on.</conclusion>"
    return Example(response, frozen(target), (1000, 500), (500, 250))


def _exploits(weight: float, coord: NavigationCoord) -> tuple[Exploit, ...]:
    rest = 1.0 - weight
    between = f"{500 * (0.5 + (coord.near + coord.far) / 2):.3f}"
    blind = Exploit(
        "blind-format", "any call in the right form earns the format weight", weight, _example("Wait()", _CLICK)
    )
    kind = Exploit(
        "type-alone",
        "the type scores whatever else is wrong: most steps are clicks, and a click anywhere earns it",
        weight + rest,
        _example("Type(content='no')", _TEXT),
    )
    miss = Exploit(
        "near-miss",
        "a click outside the target is right where it is nearer to its centre than near, and half right up to far",
        weight + rest + rest * (coord.alpha / 2),
        _example(f"Click(box=({between}, 125))", {"point": [500, 250], "action": "click"}),
    )
    direction = Exploit(
        "direction-alone",
        "the direction of a scroll is one of four, and scores wherever the scroll starts",
        weight + rest + rest * (coord.beta / 2),
        _example("Scroll(start=(0, 0), end=(0, 0), direction='down')", _SCROLL),
    )
    scores = weight > 0, rest > 0, rest * coord.alpha > 0 and coord.near < coord.far, rest * coord.beta > 0
    return tuple(each for each, counts in zip((blind, kind, miss, direction), scores, strict=True) if counts)
