"""UI-R1 and UI-R1-E: a point for the action, its coordinate and the format each; and what the length adds to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.combine import weighted
from grounding_rewards.parsing.published import UI_R1, UI_R1_BRACED
from grounding_rewards.parsing.texts import SPACE
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, published
from grounding_rewards.recipes.published import _solutions
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import DastLength, JudgedFormat, any_of, if_placed, same_action
from grounding_rewards.verifiers.hit import inside_regions
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import OfPlaces

_PAPER = "UI-R1: Enhancing Efficient Action Prediction of GUI Agents by Reinforcement Learning"
Form = Literal["main", "dast", "nothink"]

_FILE = "src/ui_r1/src/open_r1/grpo_json_action_coord{}.py"
_TRAINER = "src/ui_r1/src/open_r1/trainer/DAST_grpo_trainer.py"
_ALONE = {True: 0.5, False: -0.1}
"""The length's reward of a response that is alone in its group, right or wrong."""

_TYPING = "<answer>[{'action': 'input_text' ,'coordinate': [0, 0, 0, 0] }]</answer>"
_ANSWER = "<answer>[{{'action': '{}', 'coordinate': {}}}]</answer>"


def ui_r1(*, form: Form = "main", format_weight: Length = 1.0) -> Recipe:
    """UI-R1's rewards: the action in answer tags, its coordinate in pixels of the image the model saw.

    total = action + coord + w · format. action = 1 where the name is the target's, letter for letter. coord = 1 where
    it is and, of a click, the point lies in the box, borders included, once both its numbers are brought to pixels of
    the original image and cut to whole ones; of other actions nothing more is asked. format = 1 where the response is
    ``<think>...</think><answer>...</answer>`` and no more. The first pair of answer tags is read, in thinking too.

    The source's first stage of training also adds a reward for the length of a response among those of its group, which
    is left out here: ``ui-r1-dast`` has it.

    Args:
        form: which of the source's files. ``"main"``: the first coordinate in the answer counts. ``"dast"``: the last
            one behind a ``{``, on whatever line. ``"nothink"``: the same, and format = 1 where the response is
            ``<answer>...</answer>`` alone.
        format_weight: w, the weight of format, from 0; the source trains with 1.

    Returns:
        A recipe with parts ``action``, ``coord`` and ``format``, 0 <= total <= 2 + w; ``acc`` is ``coord``. It needs
        the sizes of the original image and of the one the model saw.

    Source: UI-R1 2fe9bf0, ``src/ui_r1/src/open_r1/grpo_json_action_coord.py``, ``..._coord-dast.py`` and
    ``..._coord-nothink.py``.
    """
    return of_form("ui-r1", form, format_weight)


def ui_r1_e(*, format_weight: Length = 1.0) -> Recipe:
    """UI-R1-E's rewards: as ``ui-r1`` with ``form="nothink"``, for answers without thinking.

    Args:
        format_weight: w, the weight of format, from 0; the source trains with 1.

    Returns:
        A recipe with parts ``action``, ``coord`` and ``format``, 0 <= total <= 2 + w; ``acc`` is ``coord``.

    Source: UI-R1 2fe9bf0, ``src/ui_r1/src/open_r1/grpo_json_action_coord-nothink.py``.
    """
    return of_form("ui-r1-e", "nothink", format_weight)


def ui_r1_dast(*, format_weight: Length = 1.0) -> Recipe:
    """UI-R1's rewards as its trainer adds them up in the first stage: ``ui-r1`` with ``form="dast"``, and the length.

    total = action + coord + w · format + length, with length = max(0.5 - 0.5 λ, 0.1) where action, coord and format
    are all 1, else min(0.9 λ - 0.1, -0.1), and λ = (L - B) / B; see ``DastLength`` for the budget B of a group. The
    second stage, without thinking, is ``ui-r1-e``.

    The source takes for L the width of a padded batch, the same for all of its rows; here it is the response's own
    length, in tokens where ``token_lengths`` gives them, else in characters.

    Args:
        format_weight: w, the weight of format, from 0; the source trains with 1. All three points are asked for,
            whatever it is.

    Returns:
        A recipe with parts ``action``, ``coord``, ``format`` and ``length``, -1 <= total <= 3 + w; ``acc`` is
        ``coord``. It needs the groups, and the sizes of the original image and of the one the model saw.

    Source: UI-R1 2fe9bf0, ``src/ui_r1/src/open_r1/grpo_json_action_coord-dast.py`` and
    ``src/ui_r1/src/open_r1/trainer/DAST_grpo_trainer.py``.
    """
    plain = of_form("ui-r1-dast", "dast", format_weight)
    full = weighted(action=(1.0, _ACTION), coord=(1.0, _COORDINATE), format=(1.0, _solutions.THOUGHT))
    return replace(
        plain,
        reward=weighted(
            action=(1.0, _ACTION), coord=(1.0, _COORDINATE), format=(format_weight, _solutions.THOUGHT),
            length=(1.0, DastLength(full, above=2.5)),  # above that, all three points are earned
        ),
        source=replace(plain.source, files=(*plain.source.files, _TRAINER)),
        exploits=_dast_exploits(plain),
        example=plain.example and replace(plain.example, group=_others(plain.example.response)),
        formula=(
            "total = action + coord + format_weight · format + length, coord = action · [a click is in the box]\n"
            "length = max(0.5 - 0.5 λ, 0.1) where all three are 1, else min(0.9 λ - 0.1, -0.1)\n"
            "λ = (L - B) / B, B = p · mean length of the right + (1 - p) · longest"
        ),
    )  # fmt: skip


def of_form(name: str, form: Form, format_weight: float) -> Recipe:
    """The recipe of one of the source's files, under a name."""
    thinks, last = form != "nothink", form != "main"
    written = _solutions.THOUGHT if thinks else _UNTHOUGHT
    return published(
        name=name,
        dialect=UI_R1_BRACED if last else UI_R1,
        reward=weighted(action=(1.0, _ACTION), coord=(1.0, _COORDINATE), format=(format_weight, written)),
        success=_COORDINATE,
        space="pixel",
        response_space="model_pixel",
        accepts={ACTION, BBOX},
        source=Source(_PAPER, "UI-R1", "2fe9bf0", (_FILE.format("" if form == "main" else f"-{form}"),)),
        answers="last" if last else "first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(format_weight, thinks),
        formula=(
            "total = action + coord + format_weight · format\n"
            "coord = action · [a click is in the box]"
        ),
        example=_example(thinks, _ANSWER.format("click", [100, 75]), _solutions.SOLUTION),
    )  # fmt: skip


def _example(thinks: bool, answer: str, target: str) -> Example:
    return Example(f"<think>-</think>\n{answer}" if thinks else answer, target, *_solutions.SIZES)


def _exploits(weight: float, thinks: bool) -> tuple[Exploit, ...]:
    miss = _example(thinks, _ANSWER.format("click", [0, 0]), _solutions.SOLUTION)
    typing = _example(thinks, "<answer>{'action': input_text}</answer>", _TYPING)
    blind = _example(thinks, "<answer></answer>", _solutions.SOLUTION)
    known = (
        Exploit("click-anywhere", "the action scores without its place: a miss keeps all but one point",
                1.0 + weight, miss),
        Exploit("bare-action", "of actions other than a click neither text nor place nor direction is looked at",
                2.0 + weight, typing),
    )  # fmt: skip
    return (*known, Exploit("blind-format", "the tags score, whatever they hold", weight, blind)) if weight else known


def _others(right: str) -> tuple[str, str]:
    """A longer response that is right, too, and a miss."""
    return right.replace("-", "the button is at the top"), right.replace("[100, 75]", "[0, 0]")


def _dast_exploits(plain: Recipe) -> tuple[Exploit, ...]:
    known = [replace(each, payoff=each.payoff + _ALONE[each.name == "bare-action"]) for each in plain.exploits]
    miss = next(each for each in known if each.name == "click-anywhere")
    assert miss.example is not None
    text = miss.example.response
    # "-" is all of the thinking.
    padded = replace(miss.example, response=text.replace("-", "so " * 99), group=(text,) * 3)
    what = "a wrong response loses the less, the longer it is: where all miss, the longest loses 0.1 and others up to 1"
    return (*known, Exploit("padded-miss", what, miss.payoff, padded))


@dataclass(frozen=True)
class _InPlace(OfPlaces):
    """1.0 where the point, cut to whole pixels, lies in the place, else 0.0."""

    def places(self, rollouts: Rollouts) -> Floats:
        # Below 0 this cuts away from 0, unlike int(), so that what is outside the image stays outside.
        return inside_regions(np.floor(rollouts.predictions.xy), rollouts.targets.regions).astype(np.float64)


_ACTION = any_of(
    same_action("written", otherwise=None),
    formula=(
        "1.0 where the response names an action, and names it as the target does; a place alone asks for a click."
    ),
)
_COORDINATE = any_of(
    same_action("written", click=if_placed(_InPlace()), otherwise=None),
    formula="""\
1.0 where the action is the target's and, of a click, the point, cut to whole pixels, lies in its place.

Borders count, and no edge is cut: (300.9, 200) lies in a box that ends at 300.""",
)


def _is_alone(text: str) -> bool:
    """Answer tags, and nothing around them but white space."""
    text = text.strip()
    return text.startswith("<answer>") and text.endswith("</answer>")


_UNTHOUGHT = JudgedFormat(_is_alone, ("<answer>", "</answer>"), rf"^{SPACE}<answer>[^<]*</answer>{SPACE}$")


def read_native(value: Any) -> dict[str, Any] | None:
    """``<answer>[{'action': 'click' ,'coordinate': [x1, y1, x2, y2] }]</answer>``; the box is read for clicks alone.

    A click of the wire form needs a place, too.
    """
    if isinstance(value, Mapping):
        return _solutions.clicks_with_places(value)
    solution = _solutions.read_solution(value)
    if solution is None:
        return None
    name, numbers = solution
    # A box alone asks for a click, and tables of boxes are the quickest.
    return {"bbox": numbers} if name == _solutions.CLICK else {"action": name}


NATIVE = NativeForm(
    "a text <answer>[{'action': 'click' ,'coordinate': [x1, y1, x2, y2] }]</answer>, in pixels of the original image",
    read_native,
)

_DEVIATIONS = {
    **BAD_TARGET,
    "double-quotes": "Keys and names in double quotes are read, as JSON has them, in targets too; the source knows "
    "single ones alone, and scores 0.",
    "spaces": "White space after [, before a comma, a colon or ] is read over where the source finds no name or no "
    "pair, in targets too; the source takes such a pair for none.",
    **UNICODE_DIGITS,
    "outer-spaces": "White space around the response, such as a last line feed, does not break the format; the source "
    "scores 0 for it.",
    "target-numbers": "A target's box may have decimals, as the source's own data have, and signs; the source reads "
    "such a box as four zeros, which no right answer hits, and one without a coordinate does.",
    "decimals": "Coordinates may have decimals and signs where there is no pair of whole numbers; the source takes "
    "such a pair for none, and tests the point (0, 0).",
    "no-coordinate": "A click without a coordinate is not a hit; the source tests it as the point (0, 0).",
}
