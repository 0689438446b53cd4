"""UI-Venus: boxes or points of grounding, and for navigation the type of the action, its place and its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import best, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing import LIST_BOX, LIST_POINT, LIST_POINT_OR_REFUSAL, UI_VENUS, Dialect
from grounding_rewards.parsing.published import BARE, FUNCTIONS, VENUS_CLOSE, VENUS_OPEN, read_call
from grounding_rewards.parsing.texts import NUMBER, SPACE
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import listed_boxes
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import ActionType, CorrectRefusal, Format, Hit, JudgedFormat, Verifier
from grounding_rewards.verifiers.hit import inside_regions
from grounding_rewards.verifiers.match import Columns, argument, compared, text_rule
from grounding_rewards.verifiers.options import Length, Part, Share
from grounding_rewards.verifiers.terms import Term

_PAPER = "UI-Venus Technical Report: Building High-performance UI Agents with RFT"
_SOURCE = Source(_PAPER, "UI-Venus", "c3a1442", ("models/grounding/ui_venus1_5_gd.py",))


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
    if isinstance(version, bool) or version not in (1.0, 1.5):
        raise RecipeError(f"option version: got {version!r}; expected 1.0 or 1.5")
    pointed = version == 1.5  # answers with points; 1.0 with boxes
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
        source=_SOURCE,
        exploits=_exploits(format_weight, pointed),
        formula=(
            "total = (1 - w) · outcome + w · format\noutcome = max(hit, refusal)"
            if pointed
            else "total = (1 - w) · hit + w · format\nhit = 1[centre of the box in the target]"
        ),
        example=_example("[200,300]" if pointed else "[90,70,110,80]", pointed),
    )


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
        source=_SOURCE,
        native=NATIVE,
        exploits=_step_exploits(format_weight, coord),
        formula=(
            "total = w · format + (1 - w) · (type + coord + content)\n"
            "coord = α if d < near, α/2 if d < far; scrolls: 1.5 β all, β start and direction, β/2 either\n"
            f"content = γ if token F1 >= {content.least_f1:g}"
        ),
        example=_step("Click(box=(100, 75))", _CLICK),
    )


NATIVE = listed_boxes(
    "a bare list, 4 numbers x1 y1 x2 y2, in pixels of the original image; the source publishes no rows"
)


_PAIR = rf"\({NUMBER}, ?{NUMBER}\)"
_CALLS = (
    rf"(?:Click|LongPress)\(box={_PAIR}\)|(?:{'|'.join(BARE)})\(\)|Scroll\(start={_PAIR}, end={_PAIR}, "
    rf"direction='[a-z]+'\)|Drag\(start={_PAIR}, end={_PAIR}\)|Launch\(app='[^'\"\\<]*'\)|"
    r"(?:Type|Finished|CallUser)\(content='[^'\"\\<]*'\)"
)
_USUAL = rf"^<think>[^<]*</think>{SPACE}<action>(?:{_CALLS})</action>{SPACE}(?:<conclusion>[^<]*</conclusion>{SPACE})?$"


def is_formed(text: str) -> bool:
    """Thinking, one call of the action space in action tags and, if at all, a conclusion, and nothing else."""
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


def _step(call: str, target: Mapping[str, object]) -> Example:
    response = f"<think>It is at the top.</think>\n<action>{call}</action>\n<conclusion>I went on.</conclusion>"
    return Example(response, frozen(target), (1000, 500), (500, 250))


def _step_exploits(weight: float, coord: NavigationCoord) -> tuple[Exploit, ...]:
    rest = 1.0 - weight
    between = f"{500 * (0.5 + (coord.near + coord.far) / 2):.3f}"
    blind = Exploit(
        "blind-format", "any call in the right form earns the format weight", weight, _step("Wait()", _CLICK)
    )
    kind = Exploit(
        "type-alone",
        "the type scores whatever else is wrong: most steps are clicks, and a click anywhere earns it",
        weight + rest,
        _step("Type(content='no')", _TEXT),
    )
    miss = Exploit(
        "near-miss",
        "a click outside the target is right where it is nearer to its centre than near, and half right up to far",
        weight + rest + rest * (coord.alpha / 2),
        _step(f"Click(box=({between}, 125))", {"point": [500, 250], "action": "click"}),
    )
    direction = Exploit(
        "direction-alone",
        "the direction of a scroll is one of four, and scores wherever the scroll starts",
        weight + rest + rest * (coord.beta / 2),
        _step("Scroll(start=(0, 0), end=(0, 0), direction='down')", _SCROLL),
    )
    scores = weight > 0, rest > 0, rest * coord.alpha > 0 and coord.near < coord.far, rest * coord.beta > 0
    return tuple(each for each, counts in zip((blind, kind, miss, direction), scores, strict=True) if counts)


_POINTED = ("click", "long_press", "double_click", "triple_click", "right_click", "middle_click", "hover")
_MOVED = ("scroll", "drag")
_TIE = 1e-9
_CODES = {"up": 1, "down": 2, "left": 3, "right": 4}
_TYPE = ActionType()


@dataclass(frozen=True)
class NavigationCoord(Term):
    """α times a step of the distance where the type is right, or β times a step of what is right of a scroll.

    d is the distance to the marked point or the centre, 0 inside a place with an extent. Clicks and long presses: α
    where d < near, α/2 where d < far, else 0. Scrolls and drags: 1.5 β where both ends are within ``far`` and the
    direction is right, β for start and direction, β/2 for either, else 0; a diagonal has both directions. Other
    actions: 0.0.

    Args:
        alpha: the score of coordinates.
        beta: the score of scrolls.
        near: the distance below which coordinates are right, in units of the recipe's space.
        far: the distance below which they are half right, and ends of a scroll right.
    """

    alpha: float
    beta: float
    near: float
    far: float

    @property
    def high(self) -> float:
        """The larger of α and 1.5 β."""
        return float(max(self.alpha, 1.5 * self.beta))

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives, (pointed, moved) = rollouts.targets.alternatives, _asked(rollouts)
        near, far = _distances(rollouts, self.near, self.far)
        score = np.where(pointed & near, self.alpha, np.where(pointed & far, self.alpha / 2, 0.0))
        if moved.any():
            _, (start, end, direction) = _moves(rollouts, far, self.far)
            most = np.where(start & direction, np.where(end, 1.5 * self.beta, self.beta), 0.0)
            score = np.where(moved, np.where((start | direction) & ~(start & direction), self.beta / 2, most), score)
        return alternatives.best(np.where(_TYPE.each(rollouts) > 0, score, 0.0), len(rollouts))


@dataclass(frozen=True)
class NavigationContent(Term):
    """γ where the type is right and the F1 of the words of text and app is at least ``least_f1``, else 0.0.

    0.0 where the target has neither.

    Args:
        gamma: the score of content.
        least_f1: the F1 from which on a text is right.
    """

    gamma: float
    least_f1: Part

    @property
    def high(self) -> float:
        """γ."""
        return float(self.gamma)

    def __call__(self, rollouts: Rollouts) -> Floats:
        asked, right = _contents(rollouts, self.least_f1)
        earned = asked & right & (_TYPE.each(rollouts) > 0)
        return rollouts.targets.alternatives.best(np.where(earned, self.gamma, 0.0), len(rollouts))


@dataclass(frozen=True)
class NavigationMatch(Term):
    """1.0 where every term of one alternative is as high as it can be, else 0.0.

    The terms are those of ``NavigationCoord`` and ``NavigationContent``.
    """

    near: float
    far: float
    least_f1: float

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives, (pointed, moved) = rollouts.targets.alternatives, _asked(rollouts)
        near, far = _distances(rollouts, self.near, self.far)
        right = (_TYPE.each(rollouts) > 0) & _contents(rollouts, self.least_f1)[1]
        right &= near | ~pointed | (alternatives.place < 0)
        if moved.any():
            asked, held = _moves(rollouts, far, self.far)
            right &= ~moved | ~asked | held.all(axis=0)
        return alternatives.best(right.astype(np.float64), len(rollouts))


def _asked(rollouts: Rollouts) -> list[geometry.Bools]:
    """Return True for alternatives that are pressed at a place, and for those that move: (k,) each."""
    names = rollouts.targets.alternatives.canonical.names.tolist()
    return [np.array([name in kinds for name in names], dtype=np.bool_) for kinds in (_POINTED, _MOVED)]


def _distances(rollouts: Rollouts, *reaches: float) -> list[geometry.Bools]:
    """Return True for alternatives whose place is nearer than each reach: (k,); False where there is no place."""
    regions, alternatives = rollouts.targets.regions, rollouts.targets.alternatives
    inside = inside_regions(rollouts.predictions.xy, regions)
    marked = np.where(np.isnan(regions.point), regions.centre, regions.point)
    away = geometry.distance(regions.each(rollouts.predictions.xy), marked)
    return [alternatives.place_scores(inside | (away < reach)) > 0 for reach in reaches]


def _moves(rollouts: Rollouts, start: geometry.Bools, reach: float) -> tuple[geometry.Bools, NDArray[np.bool_]]:
    """Return whether a target asks for anything of a scroll, (k,), and its start, end and direction are right, (3, k).

    What it does not ask for is right where all that it asks for is.
    """
    alternatives = rollouts.targets.alternatives.canonical
    to, wanted = argument(rollouts, "to", alternatives)
    ended = end = np.zeros(len(alternatives), dtype=np.bool_)
    if wanted is not None:
        ended = ~np.isnan(wanted[:, 0])
        if to is not None:
            end = geometry.in_box(to, wanted) | (geometry.distance(to, geometry.centre(wanted)) < reach)
    went, way = _directions(rollouts, to, wanted)
    asked = np.stack([alternatives.place >= 0, ended, way[:, 0] != 0])
    held = np.stack([start, end, (went[:, :, None] == way[:, None, :]).any(axis=(1, 2))])
    some: geometry.Bools = np.logical_or.reduce(asked, axis=0)
    return some, np.where(asked, held, some & (held | ~asked).all(axis=0))


def _directions(
    rollouts: Rollouts, to: Floats | None, wanted: Floats | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of the directions of the responses and the alternatives, by name or from end to end: (k, 2) each.

    A diagonal has two, any other direction the same one twice; 0 is none.
    """
    regions, alternatives = rollouts.targets.regions, rollouts.targets.alternatives.canonical
    size = alternatives.each(rollouts.image_sizes)
    directions, right = argument(rollouts, "direction", alternatives)
    went, way = _codes(directions, len(alternatives)), _codes(right, len(alternatives))
    if to is not None:
        # A direction that was found from end to end is marked as a swipe's, and looked for again for diagonals.
        swiped = argument(rollouts, "swiped", alternatives)[0]
        named = went != 0 if swiped is None else (went != 0) & (swiped == None)[:, None]  # noqa: E711 (row by row)
        ends = _towards(to - alternatives.each(rollouts.predictions.xy), size)
        went = np.where(named | (ends == 0), went, ends)
    if wanted is not None and len(regions.row):  # without any place, the index -1 below would raise
        arguments, rows = rollouts.targets.alternatives.arguments, len(alternatives)
        found = (arguments.column("direction", rows) == None) | (arguments.column("swiped", rows) != None)  # noqa: E711
        start = np.where(alternatives.place[:, None] >= 0, regions.centre[alternatives.place], np.nan)
        ends = _towards(geometry.centre(wanted) - start, size)
        way = np.where(found[:, None], ends, way)
    return went, way


def _codes(directions: NDArray[np.object_] | None, rows: int) -> NDArray[np.int64]:
    if directions is None:
        return np.zeros((rows, 2), dtype=np.int64)
    known = [0 if name is None else _CODES.get(name.strip().lower(), -1) for name in directions.tolist()]
    return np.array(known, dtype=np.int64).repeat(2).reshape(rows, 2)


def _towards(away: Floats, size: Floats) -> NDArray[np.int64]:
    """The directions of scrolls whose finger goes that way, which are the opposite; 0 where it goes nowhere."""
    right, down = (away * np.where(np.isnan(size), 1.0, size)).T
    across = np.where(right > 0, _CODES["left"], _CODES["right"])
    along = np.where(down > 0, _CODES["up"], _CODES["down"])
    # Whether a diagonal comes out as one depends on the last bit.
    tie = np.abs(np.abs(right) - np.abs(down)) <= _TIE * np.abs(right)
    level = np.abs(right) > np.abs(down)
    codes = np.stack([np.where(tie | level, across, along), np.where(tie | ~level, along, across)], axis=1)
    nowhere = (right == 0) & (down == 0) | np.isnan(right + down)
    return np.where(nowhere[:, None], 0, codes)


def _contents(rollouts: Rollouts, least: float) -> tuple[geometry.Bools, geometry.Bools]:
    """Return whether the alternatives ask for a text or an app, and whether those are right: (k,) each."""
    alternatives = rollouts.targets.alternatives.canonical
    rule = text_rule("f1", least)
    asked, right = np.zeros(len(alternatives), dtype=np.bool_), np.ones(len(alternatives), dtype=np.bool_)
    for name in ("text", "app"):
        written, wanted = _worded(argument(rollouts, name, alternatives))
        if wanted is not None:
            asked |= np.array([text is not None for text in wanted.tolist()], dtype=np.bool_)
            right &= compared((written, wanted), len(alternatives), rule) > 0
    return asked, right


def _worded(columns: Columns) -> Columns:
    """The same without texts of no words, which ask for nothing."""
    written, wanted = columns
    if wanted is None:
        return written, None
    words = [text if text is not None and text.strip() else None for text in wanted.tolist()]
    return written, np.array(words, dtype=np.object_)
