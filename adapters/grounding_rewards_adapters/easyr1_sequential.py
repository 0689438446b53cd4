"""EasyR1, one response at a time: ``grounding-rewards where easyr1_sequential`` prints what its config names.

``easyr1.py`` gives the same scores, sooner, and can compare the rollouts of one sample; EasyR1 tells the two apart by
``REWARD_TYPE``. Functions only and absolute imports: EasyR1 loads this file by its path, under a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grounding_rewards_adapters import easyr1

REWARD_NAME = easyr1.REWARD_NAME
REWARD_TYPE = "sequential"

_SINGLE = "EasyR1's sequential entry gives single samples; easyr1.py beside it gives whole batches"
_TRAINER = replace(
    easyr1.TRAINER,
    name="EasyR1 (sequential)",
    lacking={"groups": _SINGLE, "trajectories": _SINGLE},
    patience=64,  # rows, which come one a call
)


def compute_score(reward_input: Mapping[str, Any], **options: Any) -> dict[str, float]:
    """Score one response, as EasyR1's reward manager asks for it where ``REWARD_TYPE`` is "sequential".

    Takes a row of ``easyr1.compute_score``, with its options, and returns what that returns for one row.

    Raises:
        RecipeError: as for ``easyr1.compute_score``, or the recipe needs other rows than this one.
        TargetError: the target cannot be used, and ``bad_target`` is ``"raise"``.

    >>> row = {"response": "(250, 250)", "response_length": 6, "ground_truth": [0.0, 0.0, 0.5, 0.5]}
    >>> compute_score(row, recipe="gelato")["overall"]
    1.0
    """
    return easyr1.scored(_TRAINER, [reward_input], options)[0]
