"""ms-swift: ``--external_plugins $(grounding-rewards where swift) --reward_funcs grounding_rewards``.

The options of ``trl.reward_funcs`` come as JSON from the variable GROUNDING_REWARDS_OPTIONS. With ``"split": true``
each part is a reward of its own, ``--reward_funcs gelato/distance gelato/format``, for ``--reward_weights``. ms-swift
loads this file by its path, and looks for modules in its folder first: it stands in one of its own. Unlike most others,
it imports its trainer, in whose table of rewards it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from swift.rewards import orms

from grounding_rewards_adapters import _small
from grounding_rewards_adapters.trl import RecipeReward, reward_funcs

NAME = "grounding_rewards"


def _made(number: int, args: Any = None, **_: Any) -> Callable[..., list[float | None]]:
    """Return a reward as ms-swift calls it: completions first, columns by name; it is logged under the recipe's name.

    Groups are of the trainer's ``num_generations``: its own ``prompt_id`` is one of the text, and other samples have
    it, too.
    """
    sizes = {name: getattr(args, name, None) for name in ("num_generations", "num_generations_eval")}
    return _called(reward_funcs(**{**sizes, **_small.options()})[number])


def _called(function: RecipeReward) -> Callable[..., list[float | None]]:
    def reward(completions: Sequence[Any], **columns: Any) -> list[float | None]:
        if images := columns.get("images"):  # paths stand for images
            columns["images"] = [[{"path": each} if isinstance(each, str) else each for each in row] for row in images]
        return function(completions=completions, **columns)

    reward.__name__ = function.__name__
    return reward


if _small.options().get("split"):
    REWARDS = {each.__name__: partial(_made, number) for number, each in enumerate(reward_funcs(**_small.options()))}
else:
    REWARDS = {NAME: partial(_made, 0)}
orms.update(REWARDS)
