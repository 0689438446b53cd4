"""UI-R1's first stage: its three points, and a reward for the length of a response among those of its group."""

from __future__ import annotations

from dataclasses import replace

from grounding_rewards.combine import Combination, weighted
from grounding_rewards.recipes.published.ui_r1 import of_form
from grounding_rewards.scoring import Exploit, Recipe
from grounding_rewards.verifiers import DastLength
from grounding_rewards.verifiers.options import Length

_FULL = 2.5
"""Above this, all three points are earned."""

_TRAINER = "src/ui_r1/src/open_r1/trainer/DAST_grpo_trainer.py"
_ALONE = {True: 0.5, False: -0.1}
"""The length's reward of a response that is alone in its group, right or wrong."""


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
    assert isinstance(plain.reward, Combination)
    parts = dict(plain.reward.parts)
    full = weighted(**{name: (1.0, part) for name, part in parts.items()})
    terms = dict(zip(parts, zip(plain.reward.numbers["weights"], parts.values(), strict=True), strict=True))
    return replace(
        plain,
        reward=weighted(**terms, length=(1.0, DastLength(full, above=_FULL))),
        source=replace(plain.source, files=(*plain.source.files, _TRAINER)),
        exploits=_exploits(plain),
        example=plain.example and replace(plain.example, group=_others(plain.example.response)),
        formula=(
            "total = action + coord + format_weight · format + length, coord = action · [a click is in the box]\n"
            "length = max(0.5 - 0.5 λ, 0.1) where all three are 1, else min(0.9 λ - 0.1, -0.1)\n"
            "λ = (L - B) / B, B = p · mean length of the right + (1 - p) · longest"
        ),
    )


def _others(right: str) -> tuple[str, str]:
    """A longer response that is right, too, and a miss."""
    return right.replace("-", "the button is at the top"), right.replace("[100, 75]", "[0, 0]")


def _exploits(plain: Recipe) -> tuple[Exploit, ...]:
    known = [replace(each, payoff=each.payoff + _ALONE[each.name == "bare-action"]) for each in plain.exploits]
    miss = next(each for each in known if each.name == "click-anywhere")
    assert miss.example is not None
    text = miss.example.response
    # "-" is all of the thinking.
    padded = replace(miss.example, response=text.replace("-", "so " * 99), group=(text,) * 3)
    what = "a wrong response loses the less, the longer it is: where all miss, the longest loses 0.1 and others up to 1"
    return (*known, Exploit("padded-miss", what, miss.payoff, padded))
