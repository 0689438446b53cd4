"""UI-AGILE: the action, how near a click is to the middle of the box, the format, and what an action says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import gate, product, weighted
from grounding_rewards.parsing import UI_AGILE
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, published
from grounding_rewards.recipes.published._solutions import CLICK, SIZES, SOLUTION, THOUGHT, read_solution
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import DastLength, Overlap, ThinkingLength, Verifier, any_of, if_placed, same_action
from grounding_rewards.verifiers.alternatives import AnyOf
from grounding_rewards.verifiers.distance import SHAPES, Shape, centredness
from grounding_rewards.verifiers.match import TextAs
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import OfPlaces, Term

_PAPER = "UI-AGILE: Advancing GUI Agents with Effective Reinforcement Learning and Precise Inference-Time Grounding"
Thought = Literal["simple", "plain", "dast"]

_RIGHT = 2.0
"""Above this, the four terms together are right in the eyes of ``"dast"``."""
_ANSWER = "<think>-</think>\n<answer>[{{'action': '{}', 'coordinate': {}}}]</answer>"
_NAMED = frozen({"solution": SOLUTION, "parameter": "Save"})
_OTHER = "<answer>[{{'action': '{}' ,'coordinate': [0, 0, 0, 0] }}]</answer>"


def ui_agile(
    *,
    shape: Shape | Literal["binary"] = "gaussian",
    overlap: Kind = "iou",
    format_weight: Length = 1.0,
    thinking_length: Thought | None = None,
    length_weight: Length = 1.0,
) -> Recipe:
    """UI-AGILE's rewards: an action in any notation, coordinates in pixels of the image the model saw.

    total = action + grounding + w · format + parameter + v · thinking. action = 1 where the name of the target's
    action is part of the response's. grounding, where it is: 1 of actions other than a click; of a click inside the
    box 1 + f(n) with f(n) = exp(-4 n²) and n = max(|x - cx| / (width / 2), |y - cy| / (height / 2)), else 0; of an
    answered box 2 · IoU. Clicks, boxes and targets are first cut to whole pixels of the original image; a target
    without width or height is worth 0. format = 1 where the response is ``<think>...</think><answer>...</answer>``
    and, unless it names another action than a click, holds a point. parameter = 1 where the target has a parameter,
    and the first argument of the response that is a text is part of it in lower case. thinking counts where grounding
    is above 0. The first answer counts, and in it the first place; see ``read_loose_action``.

    What the source's recorded values leave open is set here: no place is taken from thinking; both sides of a parameter
    are lower-cased; white space around the thinking is not counted; both forms of its length need the grounding.

    Args:
        shape: f, one of those of ``Centredness``; or ``"binary"``, under which a hit (of an answered box, by its
            centre) is worth 1. The source's values for gaussian and binary are known; the other shapes have only their
            names from it.
        overlap: what counts twice of an answered box: iou, or diou or ciou, from 0.
        format_weight: w, the weight of format, from 0; the source trains with 1.
        thinking_length: the form of ``ThinkingLength`` that is added; or ``"dast"``, which adds v · ``DastLength`` of
            the whole response among its group in its place, right where the other terms add up to more than 2; None
            adds none.
        length_weight: v, the weight of the thinking, from 0; of use with ``thinking_length``.

    Returns:
        A recipe with parts ``action``, ``grounding``, ``format`` and ``parameter``, with ``thinking_length`` also
        ``thinking``, gated by ``grounded``, or ``length``; 0 <= total <= 4 + w + v, and from -v under ``"dast"``, which
        needs the groups. ``acc`` is 1 where the name is the target's, the place lies in its box, also of another action
        than a click that has one, and the parameter, if there is one, is the target's but for case. It needs the sizes
        of the original image and of the one the model saw.

    Source: UI-AGILE a8f7658, ``train/src/trl_train/src/open_r1/reward.py``.
    """
    placed = grounding(shape, overlap)
    parts: dict[str, tuple[float, Verifier]] = {
        "action": (1.0, NAMED), "grounding": (1.0, placed), "format": (format_weight, Written()),
        "parameter": (1.0, PARAMETER),
    }  # fmt: skip
    if thinking_length == "dast":
        parts["length"] = (length_weight, DastLength(weighted(**parts), above=_RIGHT))
    elif thinking_length is not None:
        thought = ThinkingLength(thinking_length)
        parts["thinking"] = (length_weight, gate(when=("grounded", placed), then=("thought", thought)))
    return published(
        name="ui-agile",
        dialect=UI_AGILE,
        reward=weighted(**parts),
        success=DONE,
        space="pixel",
        response_space="model_pixel",
        accepts={ACTION, BBOX},
        source=Source(_PAPER, "UI-AGILE", "a8f7658", ("train/src/trl_train/src/open_r1/reward.py",)),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(shape, format_weight, thinking_length, length_weight),
        formula=(
            "total = action + grounding + format_weight · format + parameter"
            + (f" + length_weight · {list(parts)[-1]}" if thinking_length else "")
            + f"\ngrounding = {_formula(shape, overlap)}, 1 of other actions\n"
            "n = max(|dx| / half the width, |dy| / half the height)"
        ),
        example=Example(_ANSWER.format("click", "[100, 75], 'input_text': 'save'"), _NAMED, *SIZES),
    )


def _formula(shape: str, overlap: str) -> str:
    if shape == BINARY:
        return "1 of a click inside"
    f = "exp(-4 n²)" if shape == "gaussian" else f"{shape}(n)"
    return f"1 + {f} of a click inside, 2 · {overlap} of a box"


def _exploits(shape: str, weight: float, form: Thought | None, extra: float) -> tuple[Exploit, ...]:
    middle, border = [1.0, 1.0] if shape == BINARY else (1.0 + SHAPES[shape](np.array([0.0, 1.0]))).tolist()
    # The score of the one character of thinking in all but the last.
    thought = extra * float(np.exp(-0.5 * ((1.0 - 150.0) / 75.0) ** 2)) if form == "simple" else 0.0
    filler = Exploit(
        "filler", "no thought is read, only counted", 1.0 + middle + weight + extra,
        Example(_ANSWER.format(CLICK, [100, 75]).replace("-", "a" * 149 + "."), SOLUTION, *SIZES),
    )  # fmt: skip
    every = "click_scroll_input_text_open_app_navigate_back_wait"
    right, cut, miss = _ANSWER.format("notclick", [100, 75]), _ANSWER.format(CLICK, [150.25, 75]), [0, 0]
    letter = "<think>-</think><answer>{'action': 'input_text', 'input_text': 'a'}</answer>"
    typing = frozen({"solution": _OTHER.format("input_text"), "parameter": "restaurants"})
    known = (
        Exploit("click-anywhere", "the action scores without its place", 1.0 + weight,
                Example(_ANSWER.format(CLICK, miss), SOLUTION, *SIZES)),
        Exploit("longer-name", "a name that contains the right one is right", 1.0 + middle + weight + thought,
                Example(right, SOLUTION, *SIZES)),
        Exploit("every-name", "a name that contains all names is right for every target", 2.0 + weight + thought,
                Example(_ANSWER.format(every, miss), _OTHER.format("wait"), *SIZES)),
        Exploit("one-letter", "any letter of the parameter is right", 3.0 + weight + thought,
                Example(letter, typing, *SIZES)),
        Exploit("cut-click", "clicks are cut to whole pixels of the original image, so that up to a pixel to the right "
                "of the box, or below it, is in it", 1.0 + border + weight + thought, Example(cut, SOLUTION, *SIZES)),
        *((filler,) if form in ("simple", "plain") and extra else ()),
    )  # fmt: skip
    if form != "dast":
        return known
    # Alone in its group, a response is as long as its budget.
    return tuple(replace(each, payoff=each.payoff + extra * (0.5 if each.payoff > _RIGHT else -0.1)) for each in known)


def read_native(value: Any) -> dict[str, Any] | None:
    """The source's solution, alone or beside its parameter; other actions than clicks have a box or zeros."""
    parameter = None
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return None  # JSON of the solution beside its parameter, which is read first, or the parameter would be lost
    if isinstance(value, dict) and "solution" in value and set(value) <= {"solution", "parameter"}:
        value, parameter = value["solution"], value.get("parameter")
    solution = read_solution(value)
    if solution is None or not isinstance(parameter, str | None):
        return None
    name, numbers = solution
    wire: dict[str, Any] = {"bbox": numbers} if name == CLICK or _is_box(numbers) else {}
    if parameter or name != CLICK:
        wire["action"] = {"name": name, "text": parameter or None}
    return wire


def _is_box(numbers: list[Any]) -> bool:
    """Four numbers in order and not all zero: the source asks nothing of those of other actions than clicks."""
    if len(numbers) != 4 or not any(numbers) or not all(isinstance(n, float) and isfinite(n) for n in numbers):
        return False
    return bool(numbers[0] <= numbers[2] and numbers[1] <= numbers[3])


NATIVE = NativeForm(
    "a text <answer>[{'action': 'click' ,'coordinate': [x1, y1, x2, y2] }]</answer>, in pixels of the original image, "
    'or {"solution": such a text, "parameter": what the action says}',
    read_native,
)

_DEVIATIONS = {
    **BAD_TARGET,
    "pieces-of-numbers": "The end of a number is not a number; the source reads -200 as 200, 2_00 and 200e0 as 0.",
    **UNICODE_DIGITS,
    "spaces": "White space around the response is good format; the source scores 0 for a line feed at the end.",
}


Kind = Literal["iou", "diou", "ciou"]

BINARY = "binary"
_WORDS = ("text", "direction", "app", "button", "status")


@dataclass(frozen=True)
class Near(OfPlaces):
    """1 + f(n) of a click inside, 2 · ``overlap`` of a box, as ``grounding`` says."""

    shape: str
    overlap: Kind

    @property
    def high(self) -> float:
        """The score of a hit of the centre."""
        return 1.0 if self.shape == BINARY else 2.0

    def places(self, rollouts: Rollouts) -> Floats:
        points, boxes, truth = _whole(rollouts)
        if self.shape == BINARY:
            return geometry.in_box(points, truth).astype(np.float64)
        score = 1.0 + centredness(points, truth, self.shape, outside=-1.0)  # so that a miss comes to 0.0
        boxed = ~np.isnan(boxes[:, 0])
        if not boxed.any():
            return score
        shared = np.maximum(Overlap(self.overlap).between(boxes, truth), 0.0)
        return np.where(boxed, 2.0 * shared, score)


@dataclass(frozen=True)
class Written(Term):
    """1.0 where the response thinks and then answers, and its answer is a point or another action than a click."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        predictions = rollouts.predictions
        written: geometry.Bools = ~np.isnan(predictions.xy[:, 0]) & np.isnan(predictions.box[:, 0])
        if not written.all():
            others = [name != "" and CLICK not in name for name in predictions.actions.tolist()]
            written = written | np.array(others, dtype=np.bool_)
        return THOUGHT(rollouts) * written


def _whole(rollouts: Rollouts) -> tuple[Floats, Floats, Floats]:
    """Points (the centre of an answered box), answered boxes and targets, all cut to whole pixels: m rows of each."""
    regions, predictions = rollouts.targets.regions, rollouts.predictions
    # Below 0 this cuts away from 0, unlike int(), so that what is outside the image stays outside.
    points, boxes = np.floor(predictions.xy), np.floor(predictions.box)
    boxed = ~np.isnan(boxes[:, 0])
    if boxed.any():
        points = np.where(boxed[:, None], geometry.centre(boxes), points)
    return regions.each(points), regions.each(boxes), np.floor(regions.box)


def _part_of(written: str, wanted: str) -> float:
    return float(bool(written) and written.lower() in wanted.lower())


def _same(written: str, wanted: str) -> float:
    return float(not wanted or written.lower() == wanted.lower())


NAMED = any_of(
    same_action("contained", otherwise=None),
    formula="1.0 where the response's action contains the name of the target's; a place alone asks for a click.",
)
PARAMETER = any_of(
    TextAs(_part_of, _WORDS, missing="", unasked=0.0),
    formula="1.0 where the target has a parameter, and the response's, in lower case, is part of it.",
)
DONE = any_of(
    same_action(
        "written", otherwise=product(place=if_placed(Near(BINARY, "iou")), words=TextAs(_same, _WORDS, missing=""))
    ),
    formula=(
        "1.0 where the name is the target's, the place, if it has one, and but for case the parameter, if it has one."
    ),
)


def grounding(shape: str, overlap: Kind) -> AnyOf:
    """Return the score of an action with its place."""
    return any_of(
        same_action("contained", click=if_placed(Near(shape, overlap)), otherwise=None),
        formula="""\
Where the action is right, 1 + f(n) of a click inside, or 2 · overlap of a box; else 0.0.

n = max(|dx| / half the width, |dy| / half the height), 0 at the centre of the target and 1 at its edge; f is the
shape, as in Centredness, such as exp(-4 n²) for gaussian; binary scores 1.0 for a click or a centre
inside, and 0.0 for boxes. Everything is cut to whole pixels first, and borders count. overlap is an overlap
of both boxes, at least 0. An action without a place is worth 1.0, one that is not the target's 0.0.""",
    )
